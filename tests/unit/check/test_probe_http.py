"""The sender of `ibi check` among servers that mean no good: bounded in bytes, seconds and redirects."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from ibi.check.client import ProbeSender
from ibi.check.rules.checking import Probe, ProbeResponse
from ibi.check.rules.examination import TimeIsOver
from ibi.net.server_url import ServerUrl

Handler = Callable[[socket.socket, bytes], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@contextmanager
def server(handle: Handler) -> Iterator[tuple[str, list[bytes]]]:
    """Its address, and the request lines that it got."""
    asked: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head = connection.recv(65_536)
            asked.append(head.partition(b"\r\n")[0])
            handle(connection, head)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", asked
        listener.shutdown(socket.SHUT_RDWR)


def sender(address: str, **options: float) -> ProbeSender:
    return ProbeSender(ServerUrl.parse(f"http://{address}"), **options)  # type: ignore[arg-type]


def ask(handle: Handler, probe: Probe | None = None, **options: float) -> tuple[ProbeResponse, list[bytes]]:
    with server(handle) as (address, asked):
        return sender(address, **options)(probe or Probe("/x")), asked


def replying(answer: bytes) -> Handler:
    return lambda connection, _: connection.sendall(answer)


def test_an_answer_is_taken_as_it_is() -> None:
    received, asked = ask(replying(OK + b"Content-Length: 3\r\n\r\na b"), Probe("/x?y=%20z", method="POST"))
    assert (received.status, received.body, received.header("content-type")) == (200, b"a b", "text/plain")
    assert asked == [b"POST /x?y=%20z HTTP/1.1"]


def test_bytes_that_come_one_by_one_are_cut_off() -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        for byte in OK * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)

    begin = time.monotonic()
    received, _ = ask(drip, for_one=0.4)
    assert received.failure == "no answer within 0 seconds"
    assert time.monotonic() - begin < 5


def test_an_endless_body_is_read_to_the_bound() -> None:
    def pour(connection: socket.socket, _: bytes) -> None:
        connection.sendall(OK + b"\r\n")
        while True:
            connection.sendall(b"a" * 65_536)

    received, _ = ask(pour)
    assert received.failure is None
    assert len(received.body) == 256 * 1024


@pytest.mark.parametrize("head", [b"Content-Length: 100\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n64\r\n"])
def test_an_answer_that_breaks_off_is_none(head: bytes) -> None:
    received, _ = ask(replying(OK + head + b"a b"))
    assert received.failure == "the answer breaks off"


def test_what_is_no_http_is_said_so() -> None:
    received, _ = ask(replying(b"220 mail.example.org ESMTP\r\n"))
    assert received.failure is not None
    assert received.failure.startswith("it does not speak HTTP")


@pytest.mark.parametrize(
    "place",
    ["http://169.254.169.254/latest", "http://10.0.0.1/", "http://[::1]:1/", "http://0.0.0.0/", "file:///etc/passwd"],
)
def test_redirects_and_urls_lead_to_no_address_that_is_not_public(place: str) -> None:
    redirect = replying(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())
    for probe in (Probe("/x", redirects=3), Probe(place)):
        received, asked = ask(redirect, probe)
        assert received.failure is not None
        assert len(asked) == probe.redirects // 3


def test_redirects_come_to_an_end() -> None:
    received, asked = ask(
        replying(b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n"), Probe("/x", redirects=3)
    )
    assert received.status == 302
    assert len(asked) == 4


def test_a_busy_server_is_asked_once_more_if_it_says_when() -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: %b\r\nContent-Length: 0\r\n\r\n"
    assert len(ask(replying(busy % b"0"))[1]) == 2
    assert len(ask(replying(busy % b"86400"))[1]) == 1


def test_when_the_time_is_over_only_what_cannot_be_left_out_is_sent() -> None:
    with server(replying(OK + b"Content-Length: 0\r\n\r\n")) as (address, asked):
        send = sender(address, for_all=0.0)
        with pytest.raises(TimeIsOver):
            send(Probe("/x"))
        assert send(Probe("/last", is_last=True)).status == 200
    assert asked == [b"GET /last HTTP/1.1"]


def test_a_server_that_had_less_than_its_time_is_not_said_to_be_silent() -> None:
    def keep_quiet(connection: socket.socket, _: bytes) -> None:
        connection.recv(1)  # until the other side has enough

    with pytest.raises(TimeIsOver):
        ask(keep_quiet, for_all=0.3, for_one=30.0)
    received, _ = ask(keep_quiet, for_all=30.0, for_one=0.3)
    assert received.failure == "no answer within 0 seconds"


def test_the_address_of_the_checker_is_told_where_nothing_translates_it() -> None:
    received, _ = ask(replying(OK + b"Content-Length: 0\r\n\r\n"))
    assert received.client == "127.0.0.1"


def test_what_a_stranger_sends_is_shown_on_one_line_and_cut() -> None:
    received, _ = ask(replying(OK + b"Content-Length: 5000\r\n\r\n" + b"\x1b[2J\r\n\xff" + b"a" * 4993))
    assert "\\x1b[2J\\r\\n\\xff" in str(received)
    assert str(received).isprintable()
    assert len(str(received)) < 1300
