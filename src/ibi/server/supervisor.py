"""Several worker processes behind one port, and the process that supervises them.

The supervisor has a listening socket for each worker (SO_REUSEPORT), forks the workers, and does nothing else. It has
no thread, no event loop and no database, so that it can fork at any time. It keeps the sockets open: connections that
wait for a killed worker are served by the next one, and a replaced worker leaves none behind.

Each worker has a pipe from the supervisor. A byte in it asks the worker to hand over to its successor. When the pipe
closes, the supervisor is gone, and the worker ends.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import structlog

from ibi.server.server import begin_listening
from ibi.server.service_manager import ServiceManager
from ibi.server.worker_state import WorkerState

_SIGNALS: Final = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_MOMENT: Final = 0.02
"""Seconds between two looks at a starting worker."""
_PAUSE: Final = 1.0
"""Seconds between two looks otherwise."""
_SOUND_AFTER: Final = 1.0
"""Seconds after which a ready worker counts as sound: when it dies, the next one starts at once."""
_FIRST_DELAY: Final = 0.1
_LONGEST_DELAY: Final = 30.0
"""Longest delay in seconds before a replacement for a worker that could not start. `_FIRST_DELAY` is the shortest."""
_CLOSED_FROM: Final = 1.0
"""Least delay in seconds at which clients are sent to other workers instead of waiting as well."""
_HUNG_AFTER: Final = 60.0
"""Seconds without a turn of its event loop after which a worker is killed and replaced. It answers nothing any more."""
_END_WITHIN: Final = 4.0
"""Seconds in which a worker must end when its supervisor is gone."""
_STOP_WITHIN: Final = 20.0
"""Seconds in which workers must end when the server stops: longer than their own grace."""
_PR_SET_PDEATHSIG: Final = 1
_READY: Final = b"ready\n"
_HAND_OVER: Final = b"h"


class HandsOver(Protocol):
    """The server of a worker."""

    should_exit: bool

    def hand_over(self) -> None:
        """Take no more connections, and end when the present ones have been served. Call it from any thread."""


@dataclass
class WorkerSeat:
    """The objects that a worker gets from its supervisor."""

    slot: int
    state: WorkerState
    listener: socket.socket
    is_first: bool
    """True if no worker was ready before."""
    _orders: int
    _ready: int

    def tell_ready(self, words: str = "") -> None:
        """Report that requests are answered from now on. The words of the first worker are printed when all are
        ready."""
        if self._ready >= 0:
            os.write(self._ready, _READY + words.encode())
            os.close(self._ready)
            self._ready = -1

    def watch_orders(self, server: HandsOver) -> None:
        """Follow the supervisor's orders in a thread. It ends this process even if the event loop hangs."""
        threading.Thread(target=self._watch, args=(server,), name="orders", daemon=True).start()

    def _watch(self, server: HandsOver) -> None:
        while order := os.read(self._orders, 1):
            if order == _HAND_OVER:
                server.hand_over()
        server.should_exit = True
        time.sleep(_END_WITHIN)
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class _Place:
    """One of the sockets, and the worker that accepts from it."""

    listener: socket.socket
    is_listening: bool
    worker: _Worker | None = None
    failures: int = 0
    """Number of workers in a row that could not start, or died at once."""
    due: float = 0.0
    """The time at which the next worker is started."""


@dataclass
class _Worker:
    pid: int
    slot: int
    place: _Place
    orders: int
    told: int
    """`orders` is the pipe to the worker. `told` is the pipe from it, or -1 when all is read."""
    words: bytes = b""
    ready_at: float | None = None
    replaces: _Worker | None = None


class _IsWorker(Exception):
    """Raised in a new process, to leave what the supervisor was doing."""

    def __init__(self, seat: WorkerSeat) -> None:
        super().__init__(seat)
        self.seat = seat


Config = TypeVar("Config")


class Supervisor:
    """Runs workers until SIGTERM or SIGINT. It replaces them one by one at SIGHUP.

    `serve` is called in each worker with the config. At a SIGHUP, `reload` returns the new config, or raises an error
    that is logged.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        serve: Callable[[WorkerSeat, Config], None],
        config: Config,
        reload: Callable[[], Config],
        *,
        manager: ServiceManager | None = None,
        print_words: Callable[[str], None] = print,
    ) -> None:
        """`listeners` are the sockets of the workers, bound to one address. The first of them listens already."""
        self._serve, self._config, self._reload = serve, config, reload
        self._manager, self._print = manager or ServiceManager(), print_words
        self._state = WorkerState(len(listeners))
        self._places = [_Place(each, is_listening=each is listeners[0]) for each in listeners]
        self._workers: dict[int, _Worker] = {}
        self._to_replace: deque[_Place] = deque()
        self._is_reloading = self._is_stopping = self._is_told = False
        self._exit_code, self._stop_by = 0, 0.0
        self._log = structlog.get_logger("ibi.workers")

    def run(self) -> int:
        """Run the workers and return the exit code. In a worker, it returns when the worker's server has ended."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._supervise()
        except _IsWorker as found:
            seat = found.seat
        else:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return self._exit_code
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._serve(seat, self._config)
        return 0

    def _supervise(self) -> None:
        self._start(self._places[0])
        while self._workers or not self._is_stopping:
            self._wait()
            self._bury()
            self._listen_to_starting()
            if self._is_stopping:
                self._press_on()
                continue
            self._start_due()
            self._replace_next()
            self._look_after_hung()

    def _look_after_hung(self) -> None:
        """End hanging workers. Report to the manager that the service is alive while no worker hangs."""
        silences = {each.pid: self._state.silence(each.slot) for each in self._workers.values() if each.ready_at}
        for pid, silence in silences.items():
            if silence > _HUNG_AFTER:
                self._log.error("a worker hangs and is ended", worker=pid, seconds=round(silence))
                os.kill(pid, signal.SIGKILL)
        if all(silence < 10 * _PAUSE for silence in silences.values()):
            self._manager.tell_alive()

    def _wait(self) -> None:
        """Wait until a signal comes, or there is something to look at."""
        is_starting = any(each.ready_at is None for each in self._workers.values())
        delays = [each.due - time.monotonic() for each in self._places if each.worker is None]
        timeout = _MOMENT if is_starting else max(_MOMENT, min([_PAUSE, *delays]))
        while (found := signal.sigtimedwait(_SIGNALS, timeout)) is not None:
            timeout = 0.0
            if found.si_signo in (signal.SIGTERM, signal.SIGINT):
                self._stop()
            elif found.si_signo == signal.SIGHUP:
                self._begin_reload()

    def _bury(self) -> None:
        for worker in list(self._workers.values()):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self._read(worker)
                self._note_end(worker, os.waitstatus_to_exitcode(status))

    def _note_end(self, worker: _Worker, code: int) -> None:
        self._remove(worker)
        place = worker.place
        if worker.replaces is not None and worker.ready_at is None:
            self._log.error("a new worker did not start: the others go on as they are", code=code)
            self._to_replace.clear()
            self._end_reload()
        elif place.worker is not worker or self._is_stopping:
            return
        elif (successor := self._successor_of(worker)) is not None:  # it is starting already
            place.worker, successor.replaces = successor, None
        elif self._is_first(place):
            place.worker = None
            self._exit_code, self._is_stopping = code if code > 0 else 1, True  # the worker has given the reason
            self._stop()
        else:
            place.worker = None
            self._plan_restart(worker, code)

    def _remove(self, worker: _Worker) -> None:
        del self._workers[worker.pid]
        self._state.vacate(worker.slot)
        for descriptor in (worker.orders, worker.told):
            if descriptor >= 0:
                os.close(descriptor)

    def _successor_of(self, worker: _Worker) -> _Worker | None:
        return next((each for each in self._workers.values() if each.replaces is worker), None)

    def _plan_restart(self, worker: _Worker, code: int) -> None:
        """Set the time at which another worker takes the place of a dead one. The delay grows with the failures."""
        place, now = worker.place, time.monotonic()
        is_sound = worker.ready_at is not None and now >= worker.ready_at + _SOUND_AFTER
        place.failures = 0 if is_sound else place.failures + 1
        delay = _delay_after(place.failures)
        place.due = now + delay
        self._log.warning("a worker has died, and another takes its place", worker=worker.pid, code=code, after=delay)
        if delay >= _CLOSED_FROM and place is not self._places[0]:
            place.is_listening = False
            with suppress(OSError):
                place.listener.shutdown(socket.SHUT_RDWR)  # it stays bound

    def _start_due(self) -> None:
        if not any(each.ready_at is not None for each in self._workers.values()) and self._workers:
            return  # the first opens everything, and may repair it; the others then find it open
        for place in self._places:
            if place.worker is None and time.monotonic() >= place.due:
                self._start(place)

    def _start(self, place: _Place, replaces: _Worker | None = None) -> None:
        slot = next((slot for slot in range(self._state.slots) if not self._state.is_live(slot)), None)
        if slot is None:
            place.due = time.monotonic() + _PAUSE
            return
        if not place.is_listening:
            begin_listening(place.listener)
            place.is_listening = True
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        try:
            pid, (orders, orders_of_us, told, told_by_it) = _fork_with_pipes()
        except OSError as error:  # no process or descriptor is available: perhaps later
            self._put_off(place, error)
            return
        self._state.occupy(slot)
        if pid == 0:
            for descriptor in (orders_of_us, told):
                os.close(descriptor)
            seat = WorkerSeat(slot, self._state, place.listener, self._is_first(place), orders, told_by_it)
            self._become_worker(parent, seat)
        for descriptor in (orders, told_by_it):
            os.close(descriptor)
        worker = _Worker(pid, slot, place, orders_of_us, told, replaces=replaces)
        self._workers[pid] = worker
        if replaces is None:
            place.worker = worker

    def _put_off(self, place: _Place, error: OSError) -> None:
        """Delay the start at this place. The other workers continue. Raise the error if there are none: the server
        cannot start."""
        if not self._workers and not self._is_told:
            raise error
        place.failures += 1
        place.due = time.monotonic() + _delay_after(place.failures + 1)
        self._log.error("no worker can be started", reason=str(error))
        self._to_replace.clear()
        self._end_reload()

    def _is_first(self, place: _Place) -> bool:
        return not self._is_told and place is self._places[0]

    def _become_worker(self, parent: int, seat: WorkerSeat) -> None:
        """Close everything that belongs to the supervisor or to other workers, and end with the supervisor."""
        for worker in self._workers.values():
            for descriptor in (worker.orders, worker.told):
                if descriptor >= 0:
                    os.close(descriptor)
        for place in self._places:
            if place.listener is not seat.listener:
                place.listener.close()
        _end_with_parent(parent)
        raise _IsWorker(seat)

    def _listen_to_starting(self) -> None:
        for worker in list(self._workers.values()):
            if worker.ready_at is None and self._read(worker):
                self._note_ready(worker)
        if not self._is_told and all(
            each.failures or (each.worker is not None and each.worker.ready_at is not None) for each in self._places
        ):
            self._tell_words()

    def _read(self, worker: _Worker) -> bool:
        """Return whether a starting worker has reported that it is ready. This call does not wait."""
        while worker.told >= 0 and select.select([worker.told], [], [], 0)[0]:
            told = os.read(worker.told, 65_536)
            worker.words += told
            if not told:
                os.close(worker.told)
                worker.told = -1
                if worker.words.startswith(_READY):
                    worker.ready_at = time.monotonic()
        return worker.ready_at is not None

    def _note_ready(self, worker: _Worker) -> None:
        old = worker.replaces
        if old is None:
            return
        worker.replaces, worker.place.worker = None, worker
        with suppress(OSError):  # it has just died
            os.write(old.orders, _HAND_OVER)

    def _tell_words(self) -> None:
        self._is_told = True
        first = self._places[0].worker
        if first is not None:
            self._print(first.words.removeprefix(_READY).decode(errors="replace"))
        self._manager.tell_ready()

    def _begin_reload(self) -> None:
        if not self._is_told or self._is_stopping:
            return
        self._manager.tell_reloading()
        try:
            self._config = self._reload()
        except Exception as error:  # noqa: BLE001 - with any fault in the settings, the server goes on
            self._log.error("the settings cannot be used: the workers go on as they are", reason=str(error))
            self._manager.tell_ready()  # it waits for that
            return
        self._is_reloading = True
        self._to_replace = deque(self._places)

    def _replace_next(self) -> None:
        """Replace one worker after the other, so that all but one are there at any time."""
        if not self._is_reloading or any(each.replaces is not None for each in self._workers.values()):
            return
        while self._to_replace:
            place = self._to_replace[0]
            if place.worker is None:  # the next worker there has the new settings anyhow
                self._to_replace.popleft()
                continue
            if place.worker.ready_at is None:
                return
            if all(self._state.is_live(slot) for slot in range(self._state.slots)):
                return  # workers of earlier replacements still serve their last requests
            self._to_replace.popleft()
            self._start(place, replaces=place.worker)
            return
        self._end_reload()

    def _end_reload(self) -> None:
        if self._is_reloading:
            self._is_reloading = False
            self._manager.tell_ready()

    def _stop(self) -> None:
        if not self._is_stopping:
            self._manager.tell_stopping()
        self._is_stopping, self._stop_by = True, time.monotonic() + _STOP_WITHIN
        for worker in self._workers.values():
            os.kill(worker.pid, signal.SIGTERM)

    def _press_on(self) -> None:
        """Kill the workers that did not end in time."""
        if time.monotonic() > self._stop_by:
            for worker in self._workers.values():
                os.kill(worker.pid, signal.SIGKILL)


def _delay_after(failures: int) -> float:
    """Return the seconds until the next worker is started, after so many failures in a row."""
    return 0.0 if failures < 2 else min(_LONGEST_DELAY, _FIRST_DELAY * (1 << min(failures - 2, 20)))


def _fork_with_pipes() -> tuple[int, tuple[int, int, int, int]]:
    """Return the process, and both ends of a pipe to it and of one from it. Nothing stays open after an error."""
    opened: list[int] = []
    try:
        opened += os.pipe()
        opened += os.pipe()
        return os.fork(), (opened[0], opened[1], opened[2], opened[3])
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        raise


def _end_with_parent(parent: int) -> None:
    """Make the kernel send SIGTERM to this process when its parent ends in any way."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it was gone before
        os.kill(os.getpid(), signal.SIGTERM)
