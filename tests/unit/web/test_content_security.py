"""Deposited documents cannot act on our host."""

from __future__ import annotations

import re

import pytest

from ibi.web.headers import safety_headers
from tests.support.archive_app import BASE, REP, archive_app, kept

HOSTILE = [
    *("text/html", "TEXT/HTML; charset=utf-7", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml"),
    *("application/rss+xml", "application/pdf", "text/javascript", "application/x-shockwave-flash"),
    *("multipart/related", "message/rfc822", "application/octet-stream", "text/plain", "image/png", "text/x-unknown"),
]
SHOWN = {"text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml", "application/rss+xml"}
SHOWN |= {"text/plain", "image/png", "application/pdf"}


@pytest.mark.parametrize("media", [each for each in HOSTILE if each != "application/pdf"])
async def test_every_document_is_shut_in_and_taken_for_what_it_is(media: str) -> None:
    answer = await archive_app(kept(REP, files={"x": (media, b"<script>")})).get(f"/col/{REP}/doc/x")
    policy = answer.headers["content-security-policy"]
    assert re.match(r"sandbox;", policy)
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"] == media


@pytest.mark.parametrize("media", HOSTILE)
def test_what_a_sandbox_does_not_hold_is_for_saving(media: str) -> None:
    headers = safety_headers(media, "x", pages=BASE)
    essence = media.lower().partition(";")[0]
    assert ("content-disposition" not in headers) == (essence in SHOWN)


@pytest.mark.parametrize("content_url", [None, "http://content.lab.br"])
async def test_a_pdf_is_shown_by_the_browsers_own_program_and_framed_by_us_alone(content_url: str | None) -> None:
    item = kept(REP, files={"x.pdf": ("application/pdf", b"%PDF")})
    host = {"host": "content.lab.br"} if content_url else {}
    answer = await archive_app(item, content_url=content_url).get(f"/col/{REP}/doc/x.pdf", host)
    assert "content-disposition" not in answer.headers
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none';"
        f" frame-ancestors 'self' {BASE}"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("application/pdf; a, text/html;charset=utf-8", "application/pdf"),
        ("Application/PDF; version=1.7", "application/pdf"),
        ("image/png; a, text/html", "image/png"),
        ("text/plain; a, text/html;charset=utf-8", "text/plain"),
        ('audio/ogg; codecs="a, text/html"', "audio/ogg"),
        ("video/mp4; a", "video/mp4"),
        ("application/zip; a, text/html", "application/zip"),
        ("text/html; charset=iso-8859-1", "text/html; charset=iso-8859-1"),
    ],
)
async def test_no_document_is_of_two_kinds(said: str, sent: str) -> None:
    """Of several types in one header a browser takes the last."""
    answer = await archive_app(kept(REP, files={"x": (said, b"<script>")})).get(f"/col/{REP}/doc/x")
    assert answer.headers["content-type"] == sent


@pytest.mark.parametrize("media", ["application/pdf; a, text/html;charset=utf-8", "application/pdf; version=1.7"])
async def test_nothing_but_a_plain_pdf_is_framed(media: str) -> None:
    page = f"/col/{REP}/metadata"
    accepted = {"accept": "text/html"}
    framed = await archive_app(kept(REP, files={"x.pdf": ("application/pdf", b"%PDF")})).get(page, accepted)
    other = await archive_app(kept(REP, files={"x.pdf": (media, b"%PDF")})).get(page, accepted)
    assert b"<iframe" in framed.body
    assert (other.status, b"<iframe" in other.body) == (200, False)


@pytest.mark.parametrize("name", ['a"b.bin', "a\u00fc\u4e2d.bin", "a;b=c.bin", "a b.bin", "d/e.bin", "a%0d%0ab.bin"])
def test_no_name_ends_the_header_that_tells_it(name: str) -> None:
    told = safety_headers("application/octet-stream", name, pages=BASE)["content-disposition"]
    assert re.fullmatch(r"attachment; filename=\"[A-Za-z0-9._ -]+\"; filename\*=UTF-8''[A-Za-z0-9\-._~%]+", told)


async def test_no_document_becomes_a_service_worker() -> None:
    app = archive_app(kept(REP, files={"sw.js": ("text/javascript", b"x")}))
    assert (await app.get(f"/col/{REP}/doc/sw.js", {"service-worker": "script"})).status == 404


@pytest.mark.parametrize("wanted", ["script", "worker", "sharedworker", "serviceworker", "Script"])
async def test_no_document_is_a_script_of_a_page(wanted: str) -> None:
    app = archive_app(kept(REP, files={"a.js": ("text/javascript", b"x")}))
    assert (await app.get(f"/col/{REP}/doc/a.js", {"sec-fetch-dest": wanted})).status == 404
    assert (await app.get(f"/col/{REP}/doc/a.js", {"sec-fetch-dest": "document"})).status == 200
