"""An answer that differs from one read before in its key alone is not read again, and means the same."""

from __future__ import annotations

import pytest

from ibi.membership.client.archive_replies import _READ, reply_of
from ibi.net.http_connection import HttpResponse
from ibi.standard.errors import InvalidInput
from ibi.standard.messages import ErrorAnswer, ServiceSubject, UrlKey, UrlList, parse_answer
from ibi.standard.pairs import decode_leniently
from ibi.standard.reply import Answered, Failure
from tests.conformance.resolution.section_10.test_section_10_1 import ANSWER

KEYLESS = ANSWER.rpartition(b"\r\nurlkey ")[0]


def reply(body: bytes) -> object:
    return reply_of(HttpResponse(200, body, b"text/plain", b""))


def read(body: bytes) -> object:
    """Read as a whole."""
    try:
        answer = parse_answer(ServiceSubject.URL_REQUEST, decode_leniently(body).pairs)
        return Failure.REFUSED if isinstance(answer, ErrorAnswer) else Answered(answer, 0)  # type: ignore[arg-type]
    except InvalidInput:
        return Failure.UNREADABLE


@pytest.mark.parametrize("times", [1, 2, 3])
def test_each_has_the_key_that_came_with_it(times: int) -> None:
    for number in range(times):
        found = reply(KEYLESS + b"\r\nurlkey 142724488%d-5349022633744855" % number)
        assert isinstance(found, Answered)
        assert isinstance(found.answer, UrlList)
        assert found.answer.url_key == UrlKey(f"142724488{number}-5349022633744855")
    assert reply(ANSWER) == read(ANSWER)


@pytest.mark.parametrize(
    "body",
    [
        KEYLESS,
        KEYLESS + b"\r\nurlkey 12",
        KEYLESS + b"\r\nurlkey " + b"1" * 256,
        KEYLESS + b"\r\nurlkey " + b"1" * 257,
        KEYLESS + b"\r\nerror {not today}\r\nurlkey 1427244889-5349022633744855",
        KEYLESS + b"\r\nurlkey {1427244889-5349022633744855}",
        KEYLESS + b"\r\nurlkey 1427244889-5349022633744855\r\n",
        KEYLESS + b"\r\nurlkey 1427244889-5349022633744855 x y",
        KEYLESS + b"\r\nurlkey 1427244889-5349022633744855\r\nurlkey 1427244889-5349022633744855",
        KEYLESS + b"\nurlkey 1427244889-5349022633744855",
        b"urlkey 1427244889-5349022633744855\r\n" + KEYLESS,
        b"urlkey 1427244889-5349022633744855\r\n" + KEYLESS + b"\r\nurlkey 1427244889-5349022633744855",
        KEYLESS + b"\r\nx {a b\r\nurlkey 1427244889-5349022633744855",
        KEYLESS + b"\r\nx {a b\r\nurlkey 1427244889-5349022633744855}",
        KEYLESS + b"\r\nx\r\nurlkey 1427244889-5349022633744855",
        KEYLESS.replace(b"Original", b"Deleted") + b"\r\nurlkey 1427244889-5349022633744855",
        KEYLESS.replace(b"url ", b"urx ") + b"\r\nurlkey 1427244889-5349022633744855",
        b"\r\nurlkey 1427244889-5349022633744855",
        b"urlkey 1427244889-5349022633744855",
        KEYLESS + b"\r\nurlkey \xd9\xa1427244889-5349022633744855",
        KEYLESS + b"\r\nURLKEY 1427244889-5349022633744855",
    ],
)
def test_whatever_else_is_spelled_otherwise_is_read_as_a_whole(body: bytes) -> None:
    assert [reply(body), reply(ANSWER), reply(body)] == [read(body), read(ANSWER), read(body)]


def test_what_was_read_is_kept_as_far_as_there_is_room() -> None:
    """A few kilobytes are many entries once they are read."""
    for item in range(2000):
        about = b"\r\n".join(b"ibi.metadata(f%d) {rep lab.br/a%d/2020/01.01.01.01}" % (n, item) for n in range(70))
        reply(KEYLESS.partition(b"\r\nurl ")[0] + b"\r\n" + about + b"\r\nurlkey 1427244889-5349022633744855")
    assert 0 < _READ.size <= 16 << 20
    assert len(_READ) < 300
