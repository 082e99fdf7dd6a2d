"""Processes that work on the items of a store beside each other, for commands that have to read all of them.

They are forked before the command opens the store, because a database must not be open across a fork, and wait at a
pipe until they get names. The end of the command, however it ends, is the end of each pipe, and so of each of them.
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

from ibi.composition.archive_store import STORE, is_read_only, open_store
from ibi.errors import IbiError
from ibi.ports.archive_store import ReadAhead, ReadItem
from ibi.services.items.archive_store import VerifyAll
from ibi.services.items.stored_item import ItemReader
from ibi.storage.change_journal import GenerationFile
from ibi.storage.ocfl.store import OcflStore
from ibi.storage.sqlite.catalog_rows import row_of

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

_READ: Final = 200
_VERIFIED: Final = 25
"""Names that a process gets at a time, to read or to verify: items may be large."""
_AHEAD: Final = 2
"""Batches that a process has, so that it never waits for the next one."""
_WORTH_IT: Final = 400
"""Items for each process below which starting it takes longer than it saves."""
_PAUSE: Final = 0.2
"""Seconds between two reports of bytes read."""

OnBytes: TypeAlias = Callable[[int], None]
Work: TypeAlias = Callable[[Sequence[str], OnBytes], list[Any]]
"""Does what is to be done with these items, and gives as many results, which can be sent to another process."""
OpenWork: TypeAlias = Callable[[Path], AbstractContextManager[Work]]


class WorkerEnded(IbiError):
    """A process that was reading items has ended: {reason}. What was found before is recorded. Run the
    command again, with --jobs 1 if it ends again."""

    code = "worker-ended"


class StoreWorkers:
    """Processes that wait for names of items. Used by one thread."""

    def __init__(self, data: Path, jobs: int, open_work: OpenWork, batch: int) -> None:
        """To be made before anything of the data directory is opened; each process opens what it needs with
        `open_work` when it gets its first names, `batch` at a time."""
        self._batch = batch
        self._under_way: dict[Connection, deque[int]] = {}
        """The numbers of the batches that each process has."""
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
        """The results for all names, in their order, as lists for some at a time."""
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
        """Wait for what an earlier caller has not taken."""
        while any(self._under_way.values()):
            for _ in self._receive():
                pass

    def _receive(self) -> Iterator[tuple[int | None, Any]]:
        """What came: the number of a batch and its results; or none, and how many bytes were read."""
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
        """End all of them; those that are at work, because the command was stopped, at once, as a crash would: nothing
        that they do cannot be done again."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            if self._under_way.get(pipe):
                process.terminate()
        for process in self._processes:
            process.join()


def _run(pipe: Connection, others: Sequence[Connection], data: Path, open_work: OpenWork) -> None:
    """The life of a process: names come in, results go out, until the other end is closed."""
    # Ctrl-C is for the command, which then closes its ends.
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
    """Tells how many bytes were read, now and then."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._bytes, self._next = pipe, 0, time.monotonic() + _PAUSE

    def __call__(self, size: int) -> None:
        self._bytes += size
        if time.monotonic() >= self._next:
            self._pipe.send(self._bytes)
            self._bytes, self._next = 0, time.monotonic() + _PAUSE


def useful_jobs(data: Path, asked: int | None) -> int:
    """How many processes to start: as many as `asked` for, else one for each processor as far as there are items for
    them. None are of use where one is enough, and in a directory that may not be written there is one."""
    if is_read_only(data):
        return 0
    jobs = asked or min(len(os.sched_getaffinity(0)), _items_of(data) // _WORTH_IT)
    return jobs if jobs > 1 else 0


def _items_of(data: Path) -> int:
    """How many items there are by what the store says; if it does not, there may be many."""
    if not (data / STORE).is_dir():
        return 0
    with closing(GenerationFile(data / STORE)) as generation:
        expected = generation.read()
    return 1 << 30 if expected is None else expected.after.items


# --- verifying ---


@contextmanager
def verification_workers(data: Path, asked: int | None) -> Iterator[VerifyAll | None]:
    """`verify_all` of `ArchiveStore.verify`, in other processes; None if these are of no use."""
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


# --- reading in ---


@contextmanager
def reading_workers(data: Path, asked: int | None) -> Iterator[ReadAhead | None]:
    """`read_ahead` of an `ArchiveStore`, in other processes; None if these are of no use."""
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
    """What cannot be read, whatever the reason, is left to the command, which says why."""
    try:
        stamp = content.stamp(name)
        stored = reader.read(name)
        return ReadItem(name, stamp, row_of(stored.item, stored.revision))
    except IbiError:
        return ReadItem(name)
