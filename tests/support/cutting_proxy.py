"""A network between a client and a server that breaks: it cuts connections, takes no more bytes, or loses answers."""

from __future__ import annotations

import re
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class CuttingProxy:
    """Passes on what a client sends, up to `most` bytes of a connection: after that it is cut, `cuts` times, or, if
    `stalls`, nothing more is taken until `go_on` is set."""

    def __init__(self, server: str, most: int, *, cuts: int = 0, stalls: bool = False) -> None:
        self._server = urlsplit(server)
        self._most, self._stalls = most, stalls
        self._lock = threading.Lock()
        self.cuts_left, self.connections = cuts, 0
        self.stalled, self.go_on = threading.Event(), threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                self.connections += 1
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def close(self) -> None:
        self.go_on.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.create_connection((str(self._server.hostname), self._server.port or 80))
        threading.Thread(target=self._copy_answer, args=(server, client), daemon=True).start()
        passed = 0
        with client, server:
            with suppress(OSError):
                while piece := client.recv(65_536):
                    passed += len(piece)
                    if passed > self._most and not self._may_pass():
                        break
                    server.sendall(piece)
            for each in (client, server):  # closed alone, one that is being read from would stay open
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _may_pass(self) -> bool:
        if self._stalls:
            self.stalled.set()
            self.go_on.wait()
        with self._lock:
            self.cuts_left -= 1
            return self.cuts_left < 0

    @staticmethod
    def _copy_answer(server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := server.recv(65_536):
                client.sendall(piece)
            client.shutdown(socket.SHUT_WR)


@contextmanager
def cutting_proxy(server: str, most: int, *, cuts: int = 0, stalls: bool = False) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(server, most, cuts=cuts, stalls=stalls)
    threading.Thread(target=proxy.run, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.close()


class Losses:
    """Which of the messages that go through several proxies lose their answers, in the order in which they come."""

    def __init__(self, pattern: bytes = b"") -> None:
        """Messages that begin otherwise than the `pattern` are not counted, and always answered."""
        self._pattern, self._lock = re.compile(pattern), threading.Lock()
        self._number, self._lost = 0, 0

    def lose(self, number: int) -> None:
        """The answer to the message of this number from now on is lost; to none if it is 0."""
        with self._lock:
            self._number, self._lost = 0, number

    def is_lost(self, beginning: bytes) -> bool:
        """Whether the answer is to the next message, which begins so."""
        if not self._pattern.match(beginning):
            return False
        with self._lock:
            self._number += 1
            return self._number == self._lost


class LosingProxy:
    """Passes everything on, but for answers that are lost: the server has done what it was asked, and the client does
    not hear of it."""

    def __init__(self, server: int, losses: Losses) -> None:
        """`server` is its port, at which it need not be yet."""
        self._server, self._losses = server, losses
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        """A client waits for its answer before it asks again: what it sends after one is the next message."""
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._server)) as server:
            is_lost, is_asking = False, False
            while True:
                ready, _, _ = select.select([client, server], [], [])
                if client in ready:
                    if not (piece := client.recv(65_536)):
                        return
                    is_lost = is_lost if is_asking else self._losses.is_lost(piece)
                    is_asking = True
                    server.sendall(piece)
                elif not (piece := server.recv(65_536)) or is_lost:
                    return
                else:
                    is_asking = False
                    client.sendall(piece)
