"""The blocking client among servers that break off, drip, pour and lie, on real sockets."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from math import inf
from time import monotonic

import pytest

from ibi.net.blocking_http import PIECE, BlockingAnswer, BlockingConnection, BrokenAnswer, Waits
from ibi.net.server_url import ServerUrl
from tests.support.mail_server import CERTIFICATE, trusting

WAITS = Waits(connect=5.0, head=5.0, silence=5.0)
OK = b"HTTP/1.1 200 OK\r\n"
MOST = 1000

Talk = Callable[[socket.socket], None]


@contextmanager
def server(talk: Talk | bytes, tls: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """Its port, and the bytes that each connection sent first. Bytes are answered to every request."""
    asked: list[bytes] = []

    def answer(connection: socket.socket) -> None:
        while head := connection.recv(1 << 16):
            asked.append(head)
            if isinstance(talk, bytes):
                connection.sendall(talk)
            else:
                talk(connection)
                break

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if tls is None:
                answer(connection)
            else:
                with tls.wrap_socket(connection, server_side=True) as private:
                    answer(private)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], asked
        listener.shutdown(socket.SHUT_RDWR)


def connect(port: int, *addresses: str, host: str = "ibi.example.org", waits: Waits = WAITS) -> BlockingConnection:
    return BlockingConnection(ServerUrl.parse(f"http://{host}:{port}"), addresses or ("127.0.0.1",), waits)


def read(
    said: bytes | Talk, how: Callable[[BlockingAnswer], bytes], method: str = "GET", waits: Waits = WAITS
) -> tuple[int, bytes, bool]:
    """The status, the body as `how` reads it, and whether the connection is still usable."""
    with server(said) as (port, _), closing(connect(port, waits=waits)) as connection:
        answer = connection.ask(method, "/x", {})
        return answer.status, how(answer), connection.is_usable


def strictly(answer: BlockingAnswer) -> bytes:
    return b"".join(map(bytes, answer.pieces(MOST)))


def cut(answer: BlockingAnswer) -> bytes:
    return answer.read(MOST)


READINGS = pytest.mark.parametrize("how", [strictly, cut])


def test_a_request_is_sent_as_it_is_to_the_given_address_and_no_other() -> None:
    with server(OK + b"Content-Length: 0\r\n\r\n") as (port, asked), closing(connect(port)) as connection:
        connection.ask("POST", "/a?b=%20c", {"Accept": "*/*"}, b"yes").read(MOST)
        connection.ask("POST", "/", {}).read(MOST)
        connection.ask("GET", "/", {}).read(MOST)
    host = f"Host: ibi.example.org:{port}\r\n".encode()
    assert asked == [
        b"POST /a?b=%20c HTTP/1.1\r\n" + host + b"Accept: */*\r\nContent-Length: 3\r\n\r\nyes",
        b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + host + b"\r\n",
    ]


@pytest.mark.parametrize(
    ("target", "value"), [("/ x", "a"), ("/\r\nX: y", "a"), ("", "a"), ("/é", "a"), ("/", "a\r\nX: y"), ("/", "a\nb")]
)
def test_nothing_is_sent_that_would_change_the_request(target: str, value: str) -> None:
    with server(b"") as (port, asked), closing(connect(port)) as connection:
        with pytest.raises(ValueError, match="no such characters"):
            connection.ask("GET", target, {"Accept": value})
        assert not connection.is_usable
    assert asked == []


def test_headers_are_read_in_their_order_and_joined_by_name() -> None:
    said = OK + b"Link: <a>\r\nX-Odd: \xe9\r\nLINK:<b>\t\r\nContent-Length: 0\r\n\r\n"
    with server(said) as (port, _), closing(connect(port)) as connection:
        answer = connection.ask("GET", "/", {})
    assert answer.headers == (("link", "<a>"), ("x-odd", "é"), ("link", "<b>"), ("content-length", "0"))
    assert (answer.header("link"), answer.header("age")) == ("<a>, <b>", "")


@READINGS
@pytest.mark.parametrize(
    ("said", "is_usable"),
    [
        (OK + b"Content-Length: 3\r\n\r\nyes", True),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\ny\r\n2;a=b\r\nes\r\n0\r\nA: b\r\n\r\n", True),
        (OK + b"Content-Length: 3\r\nConnection: close\r\n\r\nyes", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes", False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 3\r\n\r\nyes", True),
        (OK + b"Content-Length: 3\r\n\r\nyes, and more", False),
    ],
)
def test_an_answer_is_read_to_its_end(how: Callable[[BlockingAnswer], bytes], said: bytes, is_usable: bool) -> None:
    status, body, was_usable = read(said, how)
    assert (status, body) == (200, b"yes")
    assert was_usable <= is_usable
    if how is strictly:
        assert was_usable == is_usable


@READINGS
def test_a_body_without_a_length_ends_with_the_connection(how: Callable[[BlockingAnswer], bytes]) -> None:
    assert read(lambda connection: connection.sendall(OK + b"\r\nyes"), how) == (200, b"yes", False)


@pytest.mark.parametrize(
    ("method", "status"), [("GET", b"204 No Content"), ("GET", b"304 Not Modified"), ("HEAD", b"200 OK")]
)
def test_some_answers_have_no_body_whatever_they_announce(method: str, status: bytes) -> None:
    said = b"HTTP/1.1 " + status + b"\r\nContent-Length: 5\r\n\r\n"
    assert read(said, strictly, method) == (int(status[:3]), b"", True)


@READINGS
@pytest.mark.parametrize(
    "said",
    [
        b"220 mail.example.org ESMTP\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        OK + b"No colon\r\n\r\n",
        OK + b"Folded: a\r\n b\r\n\r\n",
        OK + b"Spaced : a\r\n\r\n",
        OK + b"A: b\nContent-Length: 3\r\n\r\nyes",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 3, 4\r\n\r\nyes",
        OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nyes!",
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nyes\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 300,
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * 20,
        OK + b"A: b\r\n" * 20_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
    ],
)
def test_what_is_not_plainly_an_answer_is_refused(how: Callable[[BlockingAnswer], bytes], said: bytes) -> None:
    with pytest.raises(BrokenAnswer):
        read(said, how)


def test_a_server_that_speaks_something_else_is_not_waited_for() -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"220 mail.example.org ESMTP\r\n")
        keep_quiet(connection)

    with pytest.raises(BrokenAnswer):
        read(greet, strictly, waits=replace(WAITS, head=inf))


@READINGS
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 20",
        OK + b"Content-Length: 3\r\n",
        OK + b"Content-Length: 3\r\n\r\nye",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nye",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_none(how: Callable[[BlockingAnswer], bytes], said: bytes) -> None:
    with pytest.raises(ConnectionResetError):
        read(lambda connection: connection.sendall(said), how)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 1000000000000\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        b"\r\n",
    ],
)
def test_a_body_is_bounded(head: bytes) -> None:
    def pour(connection: socket.socket) -> None:
        connection.sendall(OK + head)
        while True:
            connection.sendall(b"a" * 65_536)

    with pytest.raises(BrokenAnswer):
        read(pour, strictly)
    assert read(pour, cut) == (200, b"a" * MOST, False)


def test_large_pieces_come_whole() -> None:
    content = bytes(range(256)) * (2 * PIECE // 256) + b"end"

    def give(connection: socket.socket) -> None:
        connection.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(content) + content)

    assert read(give, lambda answer: b"".join(map(bytes, answer.pieces(len(content)))))[1] == content


def drip(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b"a")


def keep_quiet(connection: socket.socket) -> None:
    connection.recv(1)  # until the other side has enough


def begin_and_keep_quiet(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 5\r\n\r\na")
    keep_quiet(connection)


@pytest.mark.parametrize(
    ("talk", "waits"),
    [
        (keep_quiet, replace(WAITS, head=0.1)),
        (keep_quiet, replace(WAITS, in_all=0.1)),
        (begin_and_keep_quiet, replace(WAITS, silence=0.1)),
        (begin_and_keep_quiet, replace(WAITS, connect=inf, head=inf, silence=inf, in_all=0.1)),
        (drip, replace(WAITS, silence=0.1, slowest=1e9)),
        (drip, replace(WAITS, in_all=0.1)),
    ],
)
def test_every_wait_is_bounded(talk: Talk, waits: Waits) -> None:
    begin = monotonic()
    with pytest.raises(TimeoutError):
        read(talk, lambda answer: b"".join(map(bytes, answer.pieces(1_000_000))), waits=waits)
    assert monotonic() - begin < 4


def test_a_body_has_to_come_within_its_time() -> None:
    with pytest.raises(TimeoutError, match="too slowly"):
        read(begin_and_keep_quiet, lambda answer: answer.read(MOST, within=0.1))


def test_a_refusal_is_heard_before_all_was_sent() -> None:
    def refuse(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass

    with server(refuse) as (port, _), closing(connect(port)) as connection:
        answer = connection.ask("PUT", "/x", {"Content-Length": "20000000"}, iter([b"a" * 1_000_000] * 20))
        assert answer.status == 413


def test_a_request_is_broken_off_from_another_thread() -> None:
    with server(keep_quiet) as (port, _), closing(connect(port, waits=replace(WAITS, head=60.0))) as connection:
        threading.Timer(0.1, connection.break_off).start()
        with pytest.raises(ConnectionError):
            connection.ask("GET", "/", {})


def test_an_address_that_takes_no_connection_is_left_for_the_next() -> None:
    with server(OK + b"Content-Length: 0\r\n\r\n") as (port, _):
        with closing(connect(port, "127.0.0.2", "127.0.0.1")) as connection:
            assert connection.ask("GET", "/", {}).status == 200
        with pytest.raises(ConnectionRefusedError):
            connect(port, "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.1")
        with pytest.raises(OSError, match="cannot be resolved"):
            BlockingConnection(ServerUrl.parse(f"http://127.0.0.1:{port}"), (), WAITS)


@pytest.mark.parametrize(
    ("host", "trusted", "is_fine"),
    [("127.0.0.1", True, True), ("other.example.org", True, False), ("127.0.0.1", False, False)],
)
def test_the_certificate_is_checked_for_the_name_whatever_the_address(host: str, trusted: bool, is_fine: bool) -> None:
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(CERTIFICATE)
    with server(OK + b"Content-Length: 0\r\n\r\n", own) as (port, asked):
        url = ServerUrl.parse(f"https://{host}:{port}")
        if is_fine:
            with closing(BlockingConnection(url, ("127.0.0.1",), WAITS, trusting())) as connection:
                assert connection.ask("GET", "/", {}).status == 200
        else:
            with pytest.raises(ssl.SSLCertVerificationError):
                BlockingConnection(url, ("127.0.0.1",), WAITS, trusting() if trusted else None)
            assert asked == []
