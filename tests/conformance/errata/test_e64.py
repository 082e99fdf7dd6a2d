"""E64: an Archive names those that hold Copies of its Originals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.membership.client.archive_replies import reply_of
from ibi.net.http_connection import HttpResponse
from ibi.standard.label import parse
from ibi.standard.messages import State
from ibi.standard.reply import Answered
from tests.conformance.resolution.section_10.test_section_10_1 import ANSWER
from tests.support.archive_app import BASE, IBIP, OTHER, REP, SERVICE, archive_app, deleted, kept
from tests.unit.archive.test_service import url_request

ONE, TWO = parse("one.br/arq/2020/01.01.00.00"), parse("8JMKD3MGP8W/3UM2JL2")
HEADER = "one.br/arq/2020/01.01.00.00, 8JMKD3MGP8W/3UM2JL2"
PROFILE = ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE), copies_at=(ONE, TWO))


async def test_answers_about_originals_name_them_and_no_others() -> None:
    copy, content = kept("lab.br/arq/2009/07.21.14.45")
    app = archive_app(
        kept(REP, IBIP),
        deleted("lab.br/arq/2009/07.21.14.44"),
        (replace(copy, state=State.COPY), content),
        profile=PROFILE,
    )
    for more in ("", "&parsedibiurl.verb=%21", "", "&parsedibiurl.filepath=/none"):
        answer = await app.get(url_request(more=more))
        assert (answer.headers["ibi-copies"], answer.headers["cache-control"]) == (HEADER, "max-age=300")
    for ibi in (OTHER, "lab.br/arq/2009/07.21.14.44", "lab.br/arq/2009/07.21.14.45"):
        assert "ibi-copies" not in (await app.get(url_request(ibi=ibi))).headers


async def test_the_body_is_the_same_with_and_without() -> None:
    plain, naming = archive_app(kept(REP, IBIP)), archive_app(kept(REP, IBIP), profile=PROFILE)
    bodies = [(await app.get(url_request())).body.rpartition(b"urlkey ")[0] for app in (plain, naming)]
    assert bodies[0] == bodies[1] != b""
    assert "ibi-copies" not in (await plain.get(url_request())).headers


def copies(value: bytes, body: bytes = ANSWER) -> object:
    reply = reply_of(HttpResponse(200, body, b"text/plain" if body else b"", copies=value))
    assert isinstance(reply, Answered)
    return reply.copies_at


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        (HEADER.encode(), (ONE, TWO)),
        (b"one.br/arq/2020/01.01.00.00,8JMKD3MGP8W/3UM2JL2", (ONE, TWO)),
        (b"one.br/arq/2020/01.01.00.00 \t,\t 8JMKD3MGP8W/3UM2JL2", (ONE, TWO)),
        (b"8JMKD3MGP8W/3UM2JL2, 8jmkd3mgp8w/3um2jl2", (TWO,)),
        (b"8JMKD3MGP8W/3UM2JL2, ", ()),
        (b"8JMKD3MGP8W/3UM2JL2, nothing", ()),
        (b"8JMKD3MGP8W/3UM2JL2, \xff", ()),
        (b"", ()),
        (b", ".join([b"8JMKD3MGP8W/3UM2JL2"] * 32), (TWO,)),
        (b", ".join([b"8JMKD3MGP8W/3UM2JL2"] * 33), ()),
        (b"8JMKD3MGP8W/3UM2JL2" + b" " * 9000, ()),
    ],
)
def test_the_holders_of_copies_are_read_strictly(value: bytes, labels: object) -> None:
    assert copies(value) == labels


def test_what_is_not_here_has_no_copies() -> None:
    assert copies(HEADER.encode(), b"") == ()
