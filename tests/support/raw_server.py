"""A server on a socket that answers each request with the bytes of a test, which need not be HTTP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

Talk = Callable[[socket.socket, threading.Event], None]


def says(content: bytes) -> Talk:
    """Sends these bytes, and hangs up."""
    return lambda connection, _: connection.sendall(content)


def is_silent(_: socket.socket, is_over: threading.Event) -> None:
    is_over.wait()


def drips(connection: socket.socket, is_over: threading.Event) -> None:
    """Sends the head of an answer that has no end, a byte at a time."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Field: ")
    while not is_over.wait(0.02):
        connection.sendall(b"x")


@contextmanager
def raw_server(talk: Talk) -> Iterator[str]:
    """The address of the server."""
    is_over = threading.Event()

    def answer(connection: socket.socket) -> None:
        with closing(connection), suppress(OSError):
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(1 << 16)
            talk(connection, is_over)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            is_over.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
