"""Links by IBI inside deposited HTML."""

from __future__ import annotations

import time
from hashlib import sha512

import pytest

from ibi.reading.delivery.linked_documents import MOST_TAGS, relative_link, with_links
from ibi.web.request import repr_digest
from tests.support.archive_app import BASE, REP, RESOLVER, archive_app, kept

DOC = f"/col/{REP}/doc"
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
LABEL = "8JMKD3MGP8W/35MME4E"
HTML = f'<p>See <a class=x HREF = "ibi:{LABEL}!">it</a> and <a href=/plain>that</a>, ibi:{LABEL} as text.</p>'.encode()
THERE = f'<p>See <a class=x HREF = "{BASE}/ibi/{LABEL}!">it</a> and <a href=/plain>that</a>, ibi:{LABEL} as text.</p>'


@pytest.mark.parametrize(
    ("document", "view"),
    [
        ('<a href="ibi:A/B">', '<a href="@A/B">'),
        ("<a href='ibi:A/B'>", "<a href='@A/B'>"),
        ("<a href=ibi:A/B>", "<a href=@A/B>"),
        ('<A\n HREF\t=\n" IBI:A/B">', '<A\n HREF\t=\n" @A/B">'),
        ('<img src="ibi:A/B"><a href="ibi:C/D">', '<img src="@A/B"><a href="@C/D">'),
        ('<a title="a > b" href="ibi:A/B">', '<a title="a > b" href="@A/B">'),
        ('<a data-href="ibi:A/B">', '<a data-href="ibi:A/B">'),
        ('<a href="http://x/ibi:A/B">', '<a href="http://x/ibi:A/B">'),
        ('<!-- <a href="ibi:A/B"> -->', '<!-- <a href="ibi:A/B"> -->'),
        ('<!-- open <a href="ibi:A/B">', '<!-- open <a href="ibi:A/B">'),
        ('href="ibi:A/B"', 'href="ibi:A/B"'),
        ('<a href="ibi:">', '<a href="ibi:">'),
        ('<a href="ibi:"><b>', '<a href="ibi:"><b>'),
        ('<a href="ibi:A/B"', '<a href="ibi:A/B"'),
        ("", ""),
    ],
)
def test_links_are_attributes_of_tags(document: str, view: str) -> None:
    base = "http://archive.example.org/ibi/"
    assert with_links(document.encode(), base) == view.replace("@", base).encode()


@pytest.mark.parametrize(
    "piece", [b"<a ", b"<a href=", b'<a "', b"<!--", b"<!---->", b"<", b"href=ibi:", b"<a href='ibi:A", b" ", b"<a>"]
)
def test_no_document_takes_longer_than_its_length(piece: bytes) -> None:
    began = time.process_time()
    with_links(piece * (1_000_000 // len(piece)), "http://x/")
    assert time.process_time() - began < 10


def test_tags_that_are_looked_at_are_bounded() -> None:
    link = b"<a href=ibi:A/B>"
    assert with_links(b"<b>" * (MOST_TAGS - 1) + link + link, "@").endswith(b"<a href=@A/B><a href=ibi:A/B>")


async def test_programs_get_the_bytes_that_were_deposited_with_their_digest() -> None:
    app = archive_app(kept(REP, files={"a.html": ("text/html", HTML)}))
    answer = await app.get(f"{DOC}/a.html")
    assert (answer.status, answer.body) == (200, HTML)
    assert answer.headers["repr-digest"] == repr_digest(sha512(HTML).hexdigest())
    assert "Accept" in answer.headers["vary"]


async def test_a_browser_is_sent_to_the_view_whose_links_work() -> None:
    app = archive_app(kept(REP, files={"dir/a.html": ("text/html", HTML)}))
    sent = await app.get(f"{DOC}/dir/a.html", BROWSER)
    assert (sent.status, sent.headers["location"]) == (302, f"{BASE}{DOC}/dir/a.html?view=links")
    view = await app.get(f"{DOC}/dir/a.html?view=links", BROWSER)
    assert (view.status, view.body.decode()) == (200, THERE)


async def test_the_view_is_another_resource_with_a_tag_and_digest_of_its_own() -> None:
    app = archive_app(kept(REP, files={"a.html": ("text/html", HTML)}))
    plain, view = await app.get(f"{DOC}/a.html"), await app.get(f"{DOC}/a.html?view=links", BROWSER)
    assert view.headers["etag"] != plain.headers["etag"]
    assert view.headers["repr-digest"] == repr_digest(sha512(view.body).hexdigest())
    assert view.headers["link"] == f'<{BASE}{DOC}/a.html>; rel="canonical"'
    assert view.headers["content-security-policy"] == plain.headers["content-security-policy"]
    again = await app.get(f"{DOC}/a.html?view=links", {"if-none-match": view.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


async def test_a_document_without_such_links_is_shown_at_its_address() -> None:
    app = archive_app(kept(REP, files={"a.html": ("text/html", b"<p>ibi:x</p>")}))
    answer = await app.get(f"{DOC}/a.html", BROWSER)
    assert (answer.status, answer.body) == (200, b"<p>ibi:x</p>")


@pytest.mark.parametrize("media_type", ["text/plain", "application/pdf", "text/xml"])
async def test_other_files_have_no_view(media_type: str) -> None:
    app = archive_app(kept(REP, files={"a": (media_type, HTML)}))
    assert (await app.get(f"{DOC}/a", BROWSER)).body == HTML


async def test_a_part_is_of_what_was_deposited() -> None:
    app = archive_app(kept(REP, files={"a.html": ("text/html", HTML)}))
    answer = await app.get(f"{DOC}/a.html", {**BROWSER, "range": "bytes=0-2"})
    assert (answer.status, answer.body) == (206, HTML[:3])


@pytest.mark.parametrize("path", [f"ibi/{LABEL}", f"dir/ibi/{LABEL}", f"dir/IBI/{LABEL}"])
async def test_a_link_relative_to_the_document_leads_to_resolution(path: str) -> None:
    answer = await archive_app(kept(REP)).get(f"{DOC}/{path}!?x=1", BROWSER)
    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}/ibi/{LABEL}!?x=1")


async def test_a_file_of_that_name_is_the_file() -> None:
    app = archive_app(kept(REP, files={f"ibi/{LABEL}": ("text/plain", b"mine")}))
    assert (await app.get(f"{DOC}/ibi/{LABEL}", BROWSER)).body == b"mine"


async def test_what_is_no_label_is_no_file() -> None:
    assert (await archive_app(kept(REP)).get(f"{DOC}/ibi/nonsense", BROWSER)).status == 404


async def test_the_way_from_the_document_ends_at_the_resolver() -> None:
    app = archive_app(kept(REP), resolver=RESOLVER)
    answer = await app.get(f"/ibi/{LABEL}!", BROWSER)
    assert (answer.status, answer.headers["location"]) == (302, f"{RESOLVER}/{LABEL}!")


def test_the_first_that_is_a_label_is_meant() -> None:
    link = relative_link(f"ibi/no/ibi/{LABEL}/file.pdf", "")
    assert link is not None
    assert (link.label.spelling, link.file_path) == (LABEL, "/file.pdf")
    assert relative_link("a/b.html", "") is None
    assert relative_link(f"nibi/{LABEL}", "") is None
