"""What a service manager is told, how workers share a port and are replaced; servers are in
tests/scenarios/test_workers.py."""

from __future__ import annotations

import errno
import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from ibi.server import supervisor
from ibi.server.server import AddressInUse, begin_listening, bind_beside, listen
from ibi.server.service_manager import ServiceManager
from ibi.server.supervisor import Supervisor, WorkerSeat
from tests.support.worker_server import children, wait_until


@pytest.mark.parametrize("address", ["path", "abstract"])
def test_the_manager_is_told_each_state(tmp_path: Path, address: str) -> None:
    path = str(tmp_path / "notify") if address == "path" else f"@ibi-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(path.replace("@", "\0"))
        told.settimeout(30)
        manager = ServiceManager({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "60000000"})
        manager.tell_ready()
        manager.tell_alive()
        manager.tell_alive()  # not due yet
        manager.tell_reloading()
        manager.tell_stopping()
        states = [told.recv(4096).decode().partition("=")[0] for _ in range(4)]
    assert states == ["READY", "WATCHDOG", "RELOADING", "STOPPING"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"NOTIFY_SOCKET": "relative"},
        {"NOTIFY_SOCKET": "/nothing/listens/there"},
        {"NOTIFY_SOCKET": "/" + "x" * 500, "WATCHDOG_USEC": "soon"},
        {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"},
    ],
)
def test_a_manager_that_cannot_be_told_stops_nothing(given: dict[str, str]) -> None:
    manager = ServiceManager(given)
    manager.tell_ready()
    manager.tell_alive()
    manager.tell_stopping()


def test_sockets_beside_each_other_share_a_port_that_no_other_server_gets() -> None:
    with listen("127.0.0.1", 0) as first, bind_beside(first) as second:
        assert second.getsockname() == first.getsockname()
        for _ in range(2):
            begin_listening(second)
            with pytest.raises(AddressInUse):
                listen("127.0.0.1", first.getsockname()[1])
            second.shutdown(socket.SHUT_RDWR)  # as of a worker that cannot start: it stays bound, and takes none
            for _ in range(20):
                socket.create_connection(first.getsockname()).close()
                first.accept()[0].close()


# --- workers that die, hang or cannot be started ---


class Served:
    """The server of a worker: it tells each client its process."""

    should_exit = False

    def hand_over(self) -> None:
        self.should_exit = True

    def run(self, seat: WorkerSeat) -> None:
        seat.listener.settimeout(0.02)
        while not self.should_exit:
            seat.state.beat(seat.slot)
            with suppress(TimeoutError), seat.listener.accept()[0] as client:
                client.sendall(str(os.getpid()).encode())


@dataclass
class Supervised:
    """A supervisor of two workers in a process of its own. A file named `closed` keeps workers that start from being
    ready, one named `full` keeps them from being forked."""

    folder: Path
    pid: int = 0

    def workers(self) -> set[int]:
        return set(children(self.pid))

    def wait_for(self, *, but: Iterable[int] = (), number: int = 2) -> set[int]:
        """So many workers, none of them one of `but`."""
        wait_until(lambda: len(self.workers()) == number and not self.workers() & set(but), "workers")
        return self.workers()

    def signal(self, sign: signal.Signals) -> None:
        os.kill(self.pid, sign)

    def run(self, listeners: Sequence[socket.socket]) -> None:
        fork = os.fork

        def fork_if_there_is_room() -> int:
            if (self.folder / "full").exists():
                raise BlockingIOError(errno.EAGAIN, "no process is left")
            return fork()

        def serve(seat: WorkerSeat, _: None) -> None:
            while (self.folder / "closed").exists():
                time.sleep(0.01)
            served = Served()
            seat.watch_orders(served)
            seat.tell_ready()
            served.run(seat)

        os.fork = fork_if_there_is_room
        supervisor._HUNG_AFTER = 0.5  # type: ignore[misc]
        supervisor._PAUSE = 0.1  # type: ignore[misc]
        Supervisor(listeners, serve, None, lambda: None, print_words=lambda _: (self.folder / "told").touch()).run()


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    found = Supervised(tmp_path)
    with listen("127.0.0.1", 0) as first, bind_beside(first) as second:
        found.pid = os.fork()
        if found.pid == 0:
            try:
                found.run([first, second])
            finally:
                os._exit(0)
        wait_until((tmp_path / "told").exists, "a start")
        yield found
        os.kill(found.pid, signal.SIGTERM)
        os.waitpid(found.pid, 0)


def test_a_worker_that_hangs_is_ended_and_replaced(supervised: Supervised) -> None:
    before = supervised.wait_for()
    hanging = min(before)
    os.kill(hanging, signal.SIGSTOP)

    after = supervised.wait_for(but=[hanging])

    assert before - after == {hanging}


def test_a_server_goes_on_while_no_process_can_be_started(supervised: Supervised) -> None:
    before = supervised.wait_for()
    lost, other = sorted(before)
    (supervised.folder / "full").touch()
    os.kill(lost, signal.SIGKILL)
    assert supervised.wait_for(number=1) == {other}
    supervised.signal(signal.SIGHUP)  # and none is replaced

    (supervised.folder / "full").unlink()

    assert other in supervised.wait_for()


def test_a_worker_that_dies_while_it_is_replaced_leaves_no_other_than_its_successor(supervised: Supervised) -> None:
    before = supervised.wait_for()
    (supervised.folder / "closed").touch()
    supervised.signal(signal.SIGHUP)
    starting = supervised.wait_for(number=3) - before
    for each in before:
        os.kill(each, signal.SIGKILL)
    wait_until(lambda: not supervised.workers() & before, "the end of the old workers")
    (supervised.folder / "closed").unlink()
    second = supervised.wait_for(but=before)

    supervised.signal(signal.SIGHUP)
    third = supervised.wait_for(but=second)

    assert starting <= second
    assert len(third) == 2
