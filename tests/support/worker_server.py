"""A server of several worker processes, and connections to the one or the other of them."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.ibi_command import IbiCommand

_PATIENCE = 60.0


def wait_until(holds: Callable[[], object], what: str = "it") -> None:
    """Until that is true, which another process brings about."""
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come true"
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _sockets(pid: int) -> set[str]:
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(str(each.readlink()))
    return found


@dataclass(frozen=True)
class WorkerServer:
    ibi: IbiCommand
    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port
        return port

    def workers(self) -> list[int]:
        """The processes of the workers, in the order of their start."""
        return children(self.process.pid)

    def connection(self) -> HTTPConnection:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        connection.connect()
        return connection

    def worker_of(self, connection: HTTPConnection) -> int | None:
        """The worker that has accepted the connection."""
        ours = connection.sock.getsockname()[1]
        ends = f":{self.port:04X}", f":{ours:04X}"
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                name = f"socket:[{fields[9]}]"
                return next((pid for pid in self.workers() if name in _sockets(pid)), None)
        return None

    def connect_to(self, worker: int) -> HTTPConnection:
        """A connection that this worker has accepted."""
        for _ in range(200):
            connection = self.connection()
            wait_until(lambda one=connection: self.worker_of(one) is not None, "a connection")  # type: ignore[misc]
            if self.worker_of(connection) == worker:
                return connection
            connection.close()
        raise AssertionError(f"no connection came to {worker}")

    def counted(self, name: str) -> float:
        """The sum of a counter over all its labels."""
        with urlopen_text(self.connection(), "/metrics") as text:
            lines = [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)


@contextmanager
def urlopen_text(connection: HTTPConnection, path: str) -> Iterator[str]:
    connection.request("GET", path)
    yield connection.getresponse().read().decode()
    connection.close()


def ask(
    connection: HTTPConnection, method: str, path: str, body: bytes | str | None = None, **headers: str
) -> tuple[int, Mapping[str, str], Any]:
    """Status, headers and body, read as JSON if it is some."""
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    content = answer.read()
    is_json = "json" in (answer.getheader("content-type") or "")
    return (
        answer.status,
        {name.lower(): value for name, value in answer.getheaders()},
        (json.loads(content) if is_json else content),
    )


@contextmanager
def workers_up(ibi: IbiCommand, number: str = "2", **variables: str) -> Iterator[WorkerServer]:
    with ibi.up("--log-level", "warning", IBI_WORKERS=number, **variables) as (process, url):
        yield WorkerServer(ibi, process, url)
