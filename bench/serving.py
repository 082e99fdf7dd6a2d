"""Servers in processes of their own, what their processors do, and a client that costs next to nothing beside them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

__all__ = ["Client", "Running", "Spent", "ibi_up", "nginx", "running", "wait_for_rest"]

IBI = (sys.executable, "-c", "from ibi.command import main; main()")
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
_BUFFER = 1 << 20
_REST, _AT_REST = 3.0, 0.02
"""Seconds, longer than what a server does by itself lets pass in between; and the share of a processor it may take."""
_LONGEST_START = 300.0
_PATIENCE = 60.0
"""Seconds for an answer to come in, however busy the machine is; after that something is wrong."""


@dataclass(frozen=True)
class Running:
    """A server: one process, or a supervisor and its workers."""

    pid: int
    port: int

    def workers(self) -> list[int]:
        """The processes that it has started."""
        try:
            return [int(each) for each in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        except FileNotFoundError:
            return []

    def cpu(self) -> float:
        """Seconds of processors, of all its processes and threads: the clocks that clock_getcpuclockid(3) would
        name."""
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in (self.pid, *self.workers()))


@dataclass(frozen=True)
class Spent:
    """What `number` answers took, in seconds: on the wall, and of the server's processors."""

    number: int
    wall: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.number / self.wall

    @property
    def cpu_each(self) -> float:
        """µs."""
        return 1e6 * self.cpu / self.number


@contextmanager
def running(command: Sequence[str], place: Path, variables: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A server that tells the port it has found in the first line that it prints."""
    # One process, unless workers are what is measured.
    environment = {**os.environ, "IBI_WORKERS": "1", **(variables or {})}
    with subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)/?$", process.stdout.readline().strip())
            assert found, f"{command[:2]} did not start"
            yield Running(process.pid, int(found[1]))
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


@contextmanager
def ibi_up(data: Path, program: Sequence[str] = IBI, workers: int = 1) -> Iterator[Running]:
    """The Archive of a data directory, begun by the server itself. It mints under another name than that of the items
    there, which no mint log has: a server that found its own would take the log for lost."""
    own = {"IBI_MINT_HOST": "bench.sid.inpe.br", "IBI_MINT_IP": "150.163.34.244"}
    place = {"IBI_LOCK_DIR": str(data.parent / "locks"), "IBI_LOG_LEVEL": "error"}
    variables = {**own, **place, "IBI_WORKERS": str(workers)}
    with running((*program, "up", "--port", "0", "--data", str(data)), data.parent, variables) as server:
        yield server


def wait_for_rest(server: Running) -> None:
    """Until a server has done what it does by itself after a start, such as to look for files whose text is to be read:
    its processors are measured as a whole."""
    deadline = time.monotonic() + _LONGEST_START
    while time.monotonic() < deadline:
        before = server.cpu()
        time.sleep(_REST)
        if server.cpu() - before < _AT_REST * _REST:
            return
    raise TimeoutError("the server does not come to rest")


_NGINX = """
daemon off; master_process off; {user} pid {place}/pid; error_log {place}/errors;
events {{ }}
http {{
    access_log off; sendfile on; tcp_nopush on; types {{ }} default_type application/pdf;
    client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3;
    uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;
    server {{ listen 127.0.0.1:{port}; root {root}; keepalive_requests 1000000; {answer} }}
}}
"""


@contextmanager
def nginx(place: Path, root: Path, answer: str = "") -> Iterator[Running | None]:
    """nginx in one process, with files below `root`, or one `answer` to everything; None if this machine has none."""
    program = shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))
    if program is None:
        yield None
        return
    place.mkdir()
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    (place / "conf").write_text(
        _NGINX.format(place=place, root=root, port=port, user=user, answer=answer), encoding="utf-8"
    )
    process = subprocess.Popen(
        [program, "-p", str(place), "-c", str(place / "conf"), "-e", str(place / "errors")], stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, process)
        yield Running(process.pid, port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert process.poll() is None, "nginx did not start"
            time.sleep(0.01)
        else:
            return
    raise TimeoutError("nginx does not listen")


class Client:
    """Asks one server, over connections that are kept."""

    def __init__(self, server: Running, connections: int = 1, status: int = 200) -> None:
        self._servers, self._status_line = [server], b"HTTP/1.1 %d" % status
        with ExitStack() as opened:
            self._sockets = [opened.enter_context(closing(_connected(server.port))) for _ in range(connections)]
            self._opened = opened.pop_all()
        self._buffer = bytearray(_BUFFER)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def close(self) -> None:
        self._opened.close()

    def ask_health(self) -> None:
        """One request over each connection, so that all are accepted."""
        for connection in self._sockets:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(_BUFFER)

    def ask(self, targets: Sequence[bytes]) -> Spent:
        return self.send([b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target for target in targets])

    def send(self, requests: Sequence[bytes]) -> Spent:
        """Each connection has one request under way at a time. Half of them are asked while the others answer."""
        half = max(1, len(self._sockets) // 2)
        groups = cycle((self._sockets[:half], self._sockets[half:] or self._sockets))
        waiting: deque[list[socket.socket]] = deque([[]] if half < len(self._sockets) else [])
        start, cpu = time.perf_counter(), self._cpu()
        for first in range(0, len(requests), half):
            asked = [*zip(next(groups), requests[first : first + half], strict=False)]
            for connection, request in asked:
                connection.sendall(request)
            waiting.append([connection for connection, _ in asked])
            self._read_all(waiting.popleft())
        for connections in waiting:
            self._read_all(connections)
        return Spent(len(requests), time.perf_counter() - start, self._cpu() - cpu)

    def _cpu(self) -> float:
        return sum(server.cpu() for server in self._servers)

    def join(self, other: Client) -> None:
        """Ask the server of the other client, too, over its connections: those of both in turn."""
        self._servers += other._servers
        self._sockets = [each for pair in zip(self._sockets, other._sockets, strict=True) for each in pair]

    def _read_all(self, connections: Sequence[socket.socket]) -> None:
        """The last one first: a client that is woken for each answer would be measured with the server."""
        for connection in reversed(connections):
            self._read(connection)

    def fetch(self, target: bytes) -> tuple[int, Spent]:
        """The size of one answer, kept nowhere."""
        start, cpu = time.perf_counter(), self._cpu()
        self._sockets[0].sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
        size = self._read(self._sockets[0])
        return size, Spent(1, time.perf_counter() - start, self._cpu() - cpu)

    def _read(self, connection: socket.socket) -> int:
        """One answer to its end: the length of its body."""
        head = received = connection.recv(_BUFFER)
        while (end := head.find(b"\r\n\r\n")) < 0:
            assert received, "the server has closed the connection"
            received = connection.recv(_BUFFER)
            head += received
        found = _LENGTH.search(head, 0, end + 2)
        assert head.startswith(self._status_line), head[:200]
        assert found is not None, head[:200]
        length = int(found[1])
        left = length - (len(head) - end - 4)
        while left:
            number = connection.recv_into(self._buffer, min(left, _BUFFER))
            assert number, "the server has closed the connection"
            left -= number
        return length


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
