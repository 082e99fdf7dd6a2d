"""The small parts that pages are made of: drawings, plots, first looks, codes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from ibi.reading.pages.persistent_links import qr_code
from ibi.reading.pages.preview import MOST_IMAGE, MOST_TEXT, first_look
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.usage.model import Usage, UsageDay
from ibi.web import page_answers as pages
from ibi.web.drawings import MONTHS, drawing, element, first_day, monthly_use, usage_plot
from ibi.web.middleware import KnownSite
from ibi.web.rendering import SITE, SiteFacts, render_text
from tests.support.archive_app import NOW, REP, archive_app, kept
from tests.support.page_reader import read_page

PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=30)


@given(PRINTABLE, PRINTABLE)
def test_a_drawing_says_what_it_is_given_and_no_more(words: str, value: str) -> None:
    drawn = element("text", words, element("title", words), class_=value, text_anchor="end")

    root = ElementTree.fromstring(str(drawn))

    assert (root.text or "", root.get("class"), root.get("text-anchor")) == (words, value, "end")
    assert [each.tag for each in root] == ["title"]


def test_a_drawing_is_named_by_its_title_and_its_description() -> None:
    root = ElementTree.fromstring(str(drawing("d", 10, 20.5, "<T>", "&D", class_="c")))

    assert root.get("viewBox") == "0 0 10 20.5"
    named = {each.get("id"): each.text for each in root}
    assert [named[name] for name in (root.get("aria-labelledby") or "").split()] == ["<T>", "&D"]


# --- use -------------------------------------------------------------------------------------------------------------


def test_use_is_added_up_by_month_over_the_turn_of_the_year() -> None:
    rep, now = RepositoryName.parse(REP), Instant.parse("2026-02-10T00:00:00Z")
    today = now.seconds // 86_400
    days = [(UsageDay(rep, today - ago), Usage(downloads=1)) for ago in (0, 9, 10, 41, 700)]

    months = monthly_use(days, now)

    assert len(months) == MONTHS
    assert [(each.year, each.month, each.usage.downloads) for each in months[-3:]] == [
        (2025, 12, 1),
        (2026, 1, 1),
        (2026, 2, 2),
    ]
    assert first_day(now) == Instant.parse("2025-03-01T00:00:00Z").seconds // 86_400


@pytest.mark.parametrize("language", ["en", "pt-BR", "es"])
@pytest.mark.parametrize("number", [0, 1, 10**9])
def test_any_use_is_drawn_inside_its_picture(language: str, number: int) -> None:
    months = monthly_use([(UsageDay(RepositoryName.parse(REP), NOW.seconds // 86_400), Usage(number, number))], NOW)

    root = ElementTree.fromstring(str(usage_plot(months, language)))

    bars = [each.attrib for each in root.iter("rect")]
    assert len(bars) == 2 * MONTHS
    assert all(float(bar["y"]) >= 0 and float(bar["height"]) >= 0 for bar in bars)


# --- first looks -----------------------------------------------------------------------------------------------------


def looked_at(media_type: str, content: bytes) -> str | None:
    item, files = kept(REP, files={"a": (media_type, content)})
    preview = first_look(archive_app((item, files)).site, item, None)
    return None if preview is None else preview.text if preview.kind == "text" else preview.kind


@pytest.mark.parametrize(
    ("media_type", "content", "seen"),
    [
        ("text/plain", "árvore".encode(), "árvore"),
        ("text/plain", b"\xef\xbb\xbfx", "x"),
        ("text/plain", "árvore".encode("latin-1"), "árvore"),
        ("text/plain", "café".encode("latin-1"), "café"),  # not a letter that is cut in two
        ("text/plain; charset=windows-1252", b"\x93quoted\x94", "“quoted”"),
        ("text/plain; charset=unicode_escape", b"\\ud800 \xff", "\\ud800 ÿ"),
        ("text/plain", ("é" * MOST_TEXT).encode()[: MOST_TEXT + 1], "é" * (MOST_TEXT // 2)),
        ("text/plain", b"a\x00b\x1bc", "a\ufffdb\ufffdc"),
        ("text/csv; charset=utf-8", b"a,b", "table"),
        ("application/json", b"{}", "{}"),
        ("image/png", b"x", "image"),
        ("IMAGE/PNG", b"x", "image"),
        ("application/pdf", b"x", "pdf"),
        ("image/svg+xml", b"<svg/>", "image"),  # as a picture, in which no script runs
        ("text/html", b"<p>", None),
        ("text/xml", b"<p/>", None),
        ("application/octet-stream", b"x", None),
    ],
)
def test_a_first_look(media_type: str, content: bytes, seen: str | None) -> None:
    assert looked_at(media_type, content) == seen


def test_a_huge_picture_is_not_looked_at() -> None:
    item, _ = kept(REP, files={"a": ("image/png", b"x")})
    huge = replace(item, files=(replace(item.files[0], size=MOST_IMAGE + 1),))

    assert first_look(archive_app().site, huge, None) is None


# --- around every page -----------------------------------------------------------------------------------------------


def test_a_code_is_named_for_those_who_cannot_see_it() -> None:
    root = ElementTree.fromstring(str(qr_code("http://urlib.net/8JMKD3MGP8W/34PGRBS", 'Code "1" <of> & more')))

    assert (root.get("role"), root.get("aria-label")) == ("img", 'Code "1" <of> & more')


async def test_every_page_knows_its_site_unless_the_request_knows_better() -> None:
    found: list[SiteFacts] = []

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        found.append(scope[SITE])

    async def nothing() -> None: ...

    signed_in = SiteFacts("Library", person="ana")
    known = KnownSite(page, SiteFacts("Library"))
    await known({"type": "http"}, nothing, nothing)  # type: ignore[arg-type]
    await known({"type": "http", SITE: signed_in}, nothing, nothing)  # type: ignore[arg-type]

    assert found == [SiteFacts("Library"), signed_in]


async def test_a_site_has_a_name_and_says_if_it_is_a_sandbox() -> None:
    words = render_text(
        "alert.html", "en", site=SiteFacts("Lab & Co", sandbox=True), target="/", title="T", said="S", elsewhere=None
    )

    page = read_page(words.encode())
    assert page.title == "T · Lab & Co"
    assert "This is a sandbox" in page.text


@pytest.mark.parametrize("sign", ["\x00", "\x0b", "\x85", "\ufdd0", "\ufffe", "\U0010ffff"])
def test_what_no_page_can_hold_is_shown_as_missing(sign: str) -> None:
    words = render_text("alert.html", "en", site=SiteFacts(), target="/", title="T", said=f"a{sign}b", elsewhere=None)

    assert "a\ufffdb" in read_page(words.encode()).text


async def test_a_refusal_speaks_the_readers_language() -> None:
    app = archive_app(kept(REP))
    answer = await app.get(f"/col/{REP}/doc/x", {"accept": "text/html", "accept-language": "pt"})

    assert answer.status == 404
    assert f"{REP} não tem o arquivo 'x'." in read_page(answer.body).text


GENERIC = re.compile(r"<(?:b|bdi|code|div|i|p|pre|small|span|strong)\b(?=[^>]*\baria-label)(?![^>]*\brole=)[^>]*>")


@pytest.mark.parametrize(
    "template", sorted((Path(pages.__file__).parent / "templates").glob("*.html")), ids=lambda p: p.name
)
def test_no_element_without_a_role_has_a_name(template: Path) -> None:
    """ARIA forbids a name for what is generic: it may be passed over, and is by some screen readers."""
    assert GENERIC.findall(template.read_text(encoding="utf-8")) == []


SCROLLS = re.compile(r"([^{}]*)\{([^{}]*\boverflow(?:-x)?: *(?:auto|scroll)[^{}]*)\}")


@pytest.mark.parametrize("sheet", sorted((Path(pages.__file__).parent / "static").glob("*.css")), ids=lambda p: p.name)
def test_what_is_hidden_from_sight_cannot_leave_a_box_that_scrolls(sheet: Path) -> None:
    """It is positioned absolutely: in a box that is not positioned itself it would widen the page."""
    for selector, rules in SCROLLS.findall(sheet.read_text(encoding="utf-8")):
        assert "position:" in rules or selector.strip().rpartition(" ")[2].startswith("pre"), selector
