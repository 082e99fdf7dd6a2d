"""Previews of Markdown: rendered once, by another process; nothing of them runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.rules.markdown_preview import RENDERING, PreviewRefused, fill_links, render
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.store.catalogue.previews import SqlitePreviews
from ibi.items.store.text_process import TextProcess
from tests.support.archive_app import BASE, REP, archive_app, kept
from tests.support.page_reader import Page, read_page

PENDING, REFUSED, CUT = "still being formatted", "too long or too intricate", "The first 64 KB; the file has more."


@pytest.fixture
def previews(tmp_path: Path) -> Iterator[MarkdownPreviews]:
    with closing(SqlitePreviews(tmp_path, RENDERING)) as store:
        made = MarkdownPreviews(store, TextProcess())
        yield made
        made.stop()


async def shown(previews: MarkdownPreviews | None, text: str, path: str = "a.md") -> list[Page]:
    """The page of the file at first, and once it was rendered."""
    app = archive_app(kept(REP, files={path: ("text/markdown", text.encode())}), previews=previews)
    pages = []
    for _ in range(2):
        answer = await app.get(f"/col/{REP}/preview/{path}")
        assert answer.status == 200
        pages.append(read_page(answer.body))  # it refuses what could act
        assert previews is None or await asyncio.to_thread(previews.wait, 60)
    return pages


async def test_markdown_is_plain_text_and_says_so_until_it_is_rendered(previews: MarkdownPreviews) -> None:
    first, second = await shown(previews, "# Title\n\n*text*")
    assert first.one("pre").text == "# Title\n\n*text*"
    assert PENDING in first.text
    assert [each.text for each in second.all("h3")] == ["Title"]
    assert [each.text for each in second.all("em")] == ["text"]
    assert "Plain text" not in second.text
    assert not second.all("pre")


async def test_markdown_is_rendered_once_for_all_items_and_after_a_restart(
    previews: MarkdownPreviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, run = [0], TextProcess.render

    def count(self: TextProcess, text: str) -> Any:
        number[0] += 1
        return run(self, text)

    monkeypatch.setattr(TextProcess, "render", count)
    await shown(previews, "[a](../b)")
    (_, elsewhere) = await shown(previews, "[a](../b)", "x/y/c.md")
    assert f"{BASE}/col/{REP}/doc/x/b" in elsewhere.links
    with closing(SqlitePreviews(tmp_path, RENDERING)) as store:
        first, _ = await shown(MarkdownPreviews(store, TextProcess()), "[a](../b)")
    assert f"{BASE}/col/{REP}/b" in first.links
    assert number == [1]


async def test_the_same_bytes_in_another_encoding_are_another_preview(previews: MarkdownPreviews) -> None:
    content = "*café ÀÁ*".encode("latin-1")
    for charset, text in (("windows-1251", "cafй АБ"), ("iso-8859-1", "café ÀÁ"), ("windows-1251", "cafй АБ")):
        media_type = f"text/markdown; charset={charset}"
        app = archive_app(kept(REP, files={"a.md": (media_type, content)}), previews=previews)
        for _ in range(2):
            page = read_page((await app.get(f"/col/{REP}/preview/a.md")).body)
            assert text in page.text
            assert await asyncio.to_thread(previews.wait, 60)
        assert [each.text for each in page.all("em")] == [text]


async def test_many_readers_at_once_have_it_rendered_once(
    previews: MarkdownPreviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, run = [0], TextProcess.render

    def count(self: TextProcess, text: str) -> Any:
        number[0] += 1
        return run(self, text)

    monkeypatch.setattr(TextProcess, "render", count)
    app = archive_app(kept(REP, files={"a.md": ("text/markdown", b"[" * 65_536)}), previews=previews)
    answers = await asyncio.gather(*(app.get(f"/col/{REP}/preview/a.md") for _ in range(60)))
    assert {answer.status for answer in answers} == {200}
    assert await asyncio.to_thread(previews.wait, 60)
    await app.get(f"/col/{REP}/preview/a.md")
    assert await asyncio.to_thread(previews.wait, 60)
    assert number == [1]


async def test_markdown_that_is_refused_is_plain_text_for_good_and_says_so(previews: MarkdownPreviews) -> None:
    first, second = await shown(previews, f"[a]: /{'x' * 1_900}\n\n" + "[a] " * 8_000)
    assert PENDING in first.text
    assert REFUSED in second.text
    assert str(second.one("pre").text).startswith("[a]: /xxx")


async def test_links_that_become_too_long_on_the_page_of_an_item_are_refused_there(previews: MarkdownPreviews) -> None:
    text, path = "[a](b) " * 2_500, f"{'d' * 200}/{'e' * 200}/a.md"
    _, near = await shown(previews, text)
    assert near.links.count(f"{BASE}/col/{REP}/doc/b") == 2_500
    _, far = await shown(previews, text, path)
    assert REFUSED in far.text


async def test_a_long_text_is_cut_and_says_so_before_and_after(previews: MarkdownPreviews) -> None:
    first, second = await shown(previews, "word " * 20_000)
    assert CUT in first.text
    assert str(first.one("pre").text).endswith("…")
    assert len(str(first.one("pre").text)) == 65_537
    assert "word…" in second.text.replace("\n", "") or "…" in [each.text for each in second.all("p")]


async def test_without_a_renderer_markdown_is_plain_text_and_says_so() -> None:
    first, second = await shown(None, "# Title")
    assert REFUSED in first.text
    assert first.one("pre").text == second.one("pre").text == "# Title"


@pytest.mark.parametrize(
    ("language", "words"), [("pt-BR", "ainda está sendo formatado"), ("es", "aún se está formateando")]
)
async def test_what_is_said_of_plain_text_is_translated(previews: MarkdownPreviews, language: str, words: str) -> None:
    app = archive_app(kept(REP, files={"a.md": ("text/markdown", b"# T")}), previews=previews)
    answer = await app.get(f"/col/{REP}/preview/a.md", {"accept-language": language})
    assert words in read_page(answer.body).text


async def test_the_page_of_an_item_shows_markdown_as_its_own_page_does(previews: MarkdownPreviews) -> None:
    app = archive_app(kept(REP, files={"a.md": ("text/markdown", b"# Title")}), previews=previews)
    assert PENDING in read_page((await app.get(f"/col/{REP}/metadata")).body).text
    assert await asyncio.to_thread(previews.wait, 60)
    page = read_page((await app.get(f"/col/{REP}/metadata")).body)
    assert "Title" in [each.text for each in page.all("h3")]


# --- what is rendered -------------------------------------------------------------------------------------------------

HERE = f"{BASE}/col/{REP}/doc/docs/a.md"


def rendered(text: str, url: str = HERE) -> str:
    found = fill_links(render(text), url)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:alert(1))",
        "![x](http://evil.example.com/track.png)",
        "<javascript:alert(1)>",
        "[a]: javascript:alert(1)\n\n[a]",
        '[x](http://a.example.com/"onclick=alert(1))',
        "| a |\n|--:|\n| <b onclick=alert(1)>x</b> |",
        '```"onclick=alert(1)\n<script>\n```',
        "[x](&#1;@javascript:alert(1))",
        "[x](\x01/javascript:alert(1))",
        "[x](java\nscript:alert(1))",
        "> " * 500 + "deep",
        "[" * 500,
        "*a " * 5_000,
    ],
)
async def test_markdown_neither_runs_nor_loads_anything(previews: MarkdownPreviews, text: str) -> None:
    for page in await shown(previews, text):
        assert not [each for each in page.all("img") if "evil" in each.attrib["src"]]
        for link in page.links:
            assert link.startswith(("http://", "https://", "/", "?", "#"))


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("../data.csv", f"{BASE}/col/{REP}/doc/data.csv"),
        ("b.csv", f"{BASE}/col/{REP}/doc/docs/b.csv"),
        ("x/./../b.csv", f"{BASE}/col/{REP}/doc/docs/b.csv"),
        (".", f"{BASE}/col/{REP}/doc/docs/"),
        ("..", f"{BASE}/col/{REP}/doc/"),
        ("../" * 30 + "x", f"{BASE}/x"),
        ("/search?q=a", f"{BASE}/search?q=a"),
        ("#part", f"{HERE}#part"),
        ("?q", f"{HERE}?q"),
        ("//other.example/x", "https://other.example/x"),
        ("https://other.example/x?a=1", "https://other.example/x?a=1"),
    ],
)
def test_links_in_markdown_begin_where_the_file_is(link: str, address: str) -> None:
    assert f'href="{address}" rel="nofollow ugc noopener"' in rendered(f"[d]({link})")


def test_links_in_markdown_to_no_web_page_lead_nowhere() -> None:
    for link in ("mailto:a@b.example.com", "tel:1", "http:", "https:x", "x" * 2_001):
        assert "href" not in rendered(f"[d]({link})"), link
    assert "<h3>T</h3>" in rendered("# T")


def test_an_address_of_a_file_stays_within_its_attribute() -> None:
    assert 'href="http://h/&#34;&gt;/b"' in rendered("[d](b)", 'http://h/">/a.md')


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\n" + "> " * 25 + "deep words\n\nend",
        "".join(f"{'  ' * level}- level {level}\n" for level in range(12)),
        "> " * 19 + "- a\n",
        "".join(f"{'   ' * level}1. a\n" for level in range(11)),
    ],
)
def test_markdown_that_would_lose_its_deepest_text_is_refused(text: str) -> None:
    with pytest.raises(PreviewRefused, match="too deep"):
        render(text)


def test_quotes_and_lists_are_rendered_as_deep_as_the_parser_reads() -> None:
    assert "deepest" in render("> " * 19 + "deepest")
    assert "level 8" in render("".join(f"{'  ' * level}- level {level}\n" for level in range(9)))


@given(st.text(st.sampled_from("[]()<>*_`#|-!\\&;:/.?\x01@\n ahtps1\"'"), max_size=80))
def test_any_markdown_has_harmless_elements_or_is_refused(text: str) -> None:
    try:
        found = rendered(text)
    except PreviewRefused:
        return
    assert "\x01" not in found
    page = read_page(f"<!DOCTYPE html><html lang='en'><body><main>{found}</main></body></html>".encode())
    assert all(link.startswith(("http://", "https://")) for link in page.links)
