"""Parallel processes that work on the items of a store, for commands that read all of them.

The processes are forked before the command opens the store, because a database must not be open across a fork. They
wait at a pipe for names. When the command ends in any way, each pipe closes, and so each process ends.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ibi.items.opening.archive_store import STORE, is_read_only, open_store
from ibi.items.ports.archive_store import ReadAhead, ReadItem
from ibi.items.service.store_verification import VerifyAll
from ibi.items.service.stored_item import ItemReader
from ibi.items.store.catalogue.rows import row_of
from ibi.items.store.generation_file import GenerationFile
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.errors import IbiError

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

_READ: Final = 200
_VERIFIED: Final = 25
"""Names that a process gets at a time, to read or to verify. Items may be large."""
_AHEAD: Final = 2
"""Batches that a process has, so that it never waits for the next one."""
_WORTH_IT: Final = 400
"""Items for each process below which starting it takes longer than it saves."""
_PAUSE: Final = 0.2
"""Seconds between two reports of bytes read."""

OnBytes: TypeAlias = Callable[[int], None]
Work: TypeAlias = Callable[[Sequence[str], OnBytes], list[Any]]
"""A function that processes these items, and returns one picklable result for each."""
OpenWork: TypeAlias = Callable[[Path], AbstractContextManager[Work]]


class WorkerEnded(IbiError):
    """A process that was reading items has ended: {reason}. What was found before is recorded. Run the
    command again, with --jobs 1 if it ends again."""

    code = "worker-ended"


class StoreWorkers:
    """Processes that wait for names of items. One thread uses them."""

    def __init__(self, data: Path, jobs: int, open_work: OpenWork, batch: int) -> None:
        """Fork the processes, before anything of the data directory is opened. Each process calls `open_work` when it
        gets its first names; it gets `batch` names at a time."""
        self._batch = batch
        self._under_way: dict[Connection, deque[int]] = {}
        """The numbers of the batches of each process."""
        self._pipes: list[Connection] = []
        self._processes: list[ForkProcess] = []
        context = get_context("fork")
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            self._pipes.append(ours)
            process = context.Process(target=_run, args=(theirs, tuple(self._pipes), data, open_work), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)

    def results(self, names: Iterable[str], on_bytes: OnBytes | None = None) -> Iterator[list[Any]]:
        """Yield the results for all names, in their order, as lists of some at a time."""
        self._drain()
        rest, waiting, done = iter(names), deque[int](), dict[int, list[Any]]()
        given = self._under_way = {pipe: deque() for pipe in self._pipes}
        number = 0
        while True:
            for pipe, numbers in given.items():
                while len(numbers) < _AHEAD and (batch := list(islice(rest, self._batch))):
                    self._send(pipe, batch)
                    numbers.append(number)
                    waiting.append(number)
                    number += 1
            if not waiting:
                return
            for batch_number, answer in self._receive():
                if batch_number is not None:
                    done[batch_number] = answer
                elif on_bytes is not None:
                    on_bytes(answer)
            while waiting and waiting[0] in done:
                yield done.pop(waiting.popleft())

    def _send(self, pipe: Connection, batch: list[str]) -> None:
        try:
            pipe.send(batch)
        except OSError as error:
            raise self._explain_end(pipe) from error

    def _drain(self) -> None:
        """Discard results that an earlier caller did not take."""
        while any(self._under_way.values()):
            for _ in self._receive():
                pass

    def _receive(self) -> Iterator[tuple[int | None, Any]]:
        """Yield received answers: the number of a batch and its results, or None and the bytes read."""
        for pipe in wait([pipe for pipe, numbers in self._under_way.items() if numbers]):
            assert isinstance(pipe, Connection)
            try:
                answer = pipe.recv()
            except (EOFError, OSError) as error:
                raise self._explain_end(pipe) from error
            if isinstance(answer, str):
                raise WorkerEnded(reason=answer)
            yield self._under_way[pipe].popleft() if isinstance(answer, list) else None, answer

    def _explain_end(self, pipe: Connection) -> WorkerEnded:
        process = self._processes[self._pipes.index(pipe)]
        process.join(5)
        code = process.exitcode
        killed = f"it was killed by signal {-code}" if code is not None and code < 0 else f"its exit status is {code}"
        return WorkerEnded(reason=killed)

    def close(self) -> None:
        """End all processes. If the command was stopped, working ones end at once, like in a crash: their work can be
        repeated."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            if self._under_way.get(pipe):
                process.terminate()
        for process in self._processes:
            process.join()


def _run(pipe: Connection, others: Sequence[Connection], data: Path, open_work: OpenWork) -> None:
    """Run a process: receive names and send results until the other end closes."""
    # Ctrl-C is meant for the command, which then closes its ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:
        other.close()
    with pipe, ExitStack() as opened:
        work: Work | None = None
        while True:
            try:
                names = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                work = work or opened.enter_context(open_work(data))
                answer: object = work(names, _Reports(pipe))
            except IbiError as error:
                answer = str(error)
            try:
                pipe.send(answer)
            except OSError:
                return


class _Reports:
    """Sends the number of bytes read from time to time."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._bytes, self._next = pipe, 0, time.monotonic() + _PAUSE

    def __call__(self, size: int) -> None:
        self._bytes += size
        if time.monotonic() >= self._next:
            self._pipe.send(self._bytes)
            self._bytes, self._next = 0, time.monotonic() + _PAUSE


def useful_jobs(data: Path, asked: int | None) -> int:
    """Return the number of processes to start: `asked`, or else one per processor if there are enough items.

    0 if one process is enough, and for a directory that may not be written.
    """
    if is_read_only(data):
        return 0
    jobs = asked or min(len(os.sched_getaffinity(0)), _items_of(data) // _WORTH_IT)
    return jobs if jobs > 1 else 0


def _items_of(data: Path) -> int:
    """Return the number of items in the store's own record. Without that record, assume many."""
    if not (data / STORE).is_dir():
        return 0
    with closing(GenerationFile(data / STORE)) as generation:
        expected = generation.read()
    return 1 << 30 if expected is None else expected.after.items


@contextmanager
def verification_workers(data: Path, asked: int | None) -> Iterator[VerifyAll | None]:
    """Open `verify_all` for `ArchiveStore.verify` in other processes. None if these do not help."""
    jobs = useful_jobs(data, asked)
    if not jobs:
        yield None
        return
    with closing(StoreWorkers(data, jobs, _verifying, _VERIFIED)) as workers:
        yield lambda names, on_bytes: chain.from_iterable(workers.results(names, on_bytes))


@contextmanager
def _verifying(data: Path) -> Iterator[Work]:
    with open_store(data) as store:
        yield store.verify_items


@contextmanager
def reading_workers(data: Path, asked: int | None) -> Iterator[ReadAhead | None]:
    """Open `read_ahead` for an `ArchiveStore` in other processes. None if these do not help."""
    jobs = useful_jobs(data, asked)
    if not jobs:
        yield None
        return
    with closing(StoreWorkers(data, jobs, _reading, _READ)) as workers:
        yield workers.results


@contextmanager
def _reading(data: Path) -> Iterator[Work]:
    with closing(OcflStore(data / STORE)) as content:
        reader = ItemReader(content)
        yield lambda names, _: [_read(content, reader, name) for name in names]


def _read(content: OcflStore, reader: ItemReader, name: str) -> ReadItem:
    """Return the item as read. If it cannot be read, the command reads it again and reports the reason."""
    try:
        stamp = content.stamp(name)
        stored = reader.read(name)
        return ReadItem(name, stamp, row_of(stored.item, stored.revision))
    except IbiError:
        return ReadItem(name)
