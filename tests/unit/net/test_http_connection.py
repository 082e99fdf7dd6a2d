"""Whatever bytes a server sends, in whatever pieces: one answer or one failure, and nothing raised."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from hypothesis import example, given
from hypothesis import strategies as st

from ibi.membership.client.archive_replies import is_confirmation, is_notice, reply_of
from ibi.net.http_connection import HttpConnection, HttpResponse
from ibi.standard.reply import Answered, Failure
from tests.support.raw_archive import http

MOST = 2000


class Wire:
    """A transport that notes what is done to it; the connection under test is its other end."""

    def __init__(self) -> None:
        self.written, self.aborted, self.events = b"", False, list[str]()
        self.connection = HttpConnection(
            MOST, lambda freed: self.events.append("freed"), lambda lost: self.events.append("lost")
        )
        self.connection.connection_made(cast("asyncio.BaseTransport", self))

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.aborted = True


class Asked:
    request = b"GET / HTTP/1.1\r\n\r\n"

    def __init__(self) -> None:
        self.answers: list[HttpResponse | Failure] = []

    def answered(self, response: HttpResponse | Failure) -> None:
        self.answers.append(response)

    def unheard(self) -> bool:
        return False


def received(pieces: Sequence[bytes], *, ended: bool = True, error: Exception | None = None) -> tuple[Wire, Asked]:
    wire, asked = Wire(), Asked()
    wire.connection.send(asked)
    for piece in pieces:
        wire.connection.data_received(piece)
    if ended:
        wire.connection.connection_lost(error)
    return wire, asked


STATUS_LINES = st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 404 No", b"HTTP/1.1 100 Go on", b"HTTP/1."]
)
HEADERS = st.sampled_from(
    [
        b"Content-Type: text/plain",
        b"Content-Type: text/html",
        b"Content-Length: 0",
        b"Content-Length: 5",
        b"Content-Length: 99999",
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked",
        b"Content-Encoding: gzip",
        b"Connection: close",
        b"Connection: upgrade",
        b"Upgrade: websocket",
        b"Cache-Control: max-age=5",
        b"Age: \xff",
        b" folded",
        b"",
    ]
)
BODIES = st.sampled_from([b"", b"a b", b"a {b", b"5\r\nab cd\r\n0\r\n\r\n", b"ffffffffff\r\n", b"0\r\nAge: 1\r\n\r\n"])


@st.composite
def nearly_http(draw: st.DrawFn) -> bytes:
    """Responses that are wrong in a place or two."""
    lines = [draw(STATUS_LINES), *draw(st.lists(HEADERS, max_size=5))]
    return (
        b"\r\n".join(lines)
        + draw(st.sampled_from([b"\r\n\r\n", b"\n\n", b"\r\n"]))
        + draw(BODIES | st.binary(max_size=40))
    )


def cut(whole: bytes, places: Sequence[int]) -> list[bytes]:
    marks = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return [whole[start:end] for start, end in pairwise(marks)]


@given(
    st.lists(st.binary(max_size=60) | nearly_http(), max_size=4).map(b"".join),
    st.lists(st.integers(0, 500), max_size=6),
    st.sampled_from([None, ConnectionResetError()]),
)
@example(b"", [], None)
@example(b"HTTP/1.1 200 OK\r\n\r\n" * 3, [], None)
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", [], None)
def test_any_bytes_are_one_answer_or_one_failure(sent: bytes, places: list[int], error: Exception | None) -> None:
    wire, asked = received(cut(sent, places), error=error)
    (answer,) = asked.answers
    assert isinstance(answer, HttpResponse | Failure)
    assert isinstance(reply_of(answer), Answered | Failure)
    assert is_notice(answer) in (True, False)
    assert is_confirmation(answer) in (True, False)
    assert wire.events.count("lost") == 1
    assert wire.events.count("freed") <= 1


@given(st.binary(max_size=200), st.sampled_from([b"text/plain", b""]), st.binary(max_size=30))
def test_any_body_is_an_answer_or_a_failure(content: bytes, kind: bytes, caching: bytes) -> None:
    reply = reply_of(HttpResponse(200, content, kind, caching, caching))
    assert isinstance(reply, Failure) or 0 <= reply.max_age <= 86_400


@given(st.lists(st.integers(0, 500), max_size=8))
def test_how_it_is_cut_makes_no_difference(places: list[int]) -> None:
    _, asked = received(cut(http(b"confirmation yes", "Cache-Control: no-store"), places), ended=False)
    assert asked.answers == [HttpResponse(200, b"confirmation yes", b"text/plain", b"no-store")]


def test_a_second_response_changes_nothing_of_the_first() -> None:
    wire, asked = received([http(b"confirmation yes") + http(b"x", "Age: 3", status="500 No")], ended=False)
    assert asked.answers == [HttpResponse(200, b"confirmation yes", b"text/plain")]
    assert wire.aborted
    assert wire.events == ["lost"]


def test_nothing_of_one_answer_is_left_for_the_next() -> None:
    wire, first = received([http(b"a b", "Cache-Control: max-age=5", "Age: 1")], ended=False)
    second = Asked()
    wire.connection.send(second)
    wire.connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert len(first.answers) == 1
    assert second.answers == [HttpResponse(200, b"")]
    assert wire.written == Asked.request * 2
    assert wire.events == ["freed", "freed"]


def test_trailers_are_no_headers() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    _, asked = received([head + b"3\r\na b\r\n0\r\nCache-Control: max-age=5\r\n\r\n"], ended=False)
    assert asked.answers == [HttpResponse(200, b"a b", b"text/plain")]


def test_what_is_given_up_is_told_nothing_more() -> None:
    wire, asked = Wire(), Asked()
    wire.connection.send(asked)
    wire.connection.abort()
    wire.connection.data_received(http())
    wire.connection.connection_lost(None)
    assert asked.answers == []
    assert (wire.aborted, wire.events) == (True, ["lost"])


def test_what_was_not_asked_for_ends_the_connection() -> None:
    wire = Wire()
    wire.connection.data_received(http())
    assert not wire.connection.is_open
    assert wire.events == ["lost"]


def test_memory_is_bounded_by_what_is_read() -> None:
    wire, asked = Wire(), Asked()
    wire.connection.send(asked)
    wire.connection.data_received(b"HTTP/1.0 200 OK\r\n\r\n")
    fed = 0
    while not asked.answers:
        wire.connection.data_received(b" " * 100)
        fed += 100
    assert asked.answers == [Failure.TOO_LARGE]
    assert fed <= MOST + 100
    assert wire.aborted
