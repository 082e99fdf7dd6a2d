"""What a service manager is told, and how workers share a port; processes are in tests/scenarios/test_workers.py."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ibi.web.fast.server import AddressInUse, begin_listening, bind_beside, listen
from ibi.web.fast.supervisor import ServiceManager


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
