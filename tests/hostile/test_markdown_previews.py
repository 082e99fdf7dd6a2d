"""Markdown that takes seconds to render: who looks at its page does not pay for it, and it is rendered once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time

import pytest

from ibi.items.rules import markdown_preview
from ibi.items.rules.markdown_preview import RENDERING
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.store.catalogue.previews import SqlitePreviews
from ibi.items.store.text_process import MOST_RENDERING, TextProcess
from tests.support.archive_app import REP, ArchiveApp, archive_app, kept
from tests.support.page_reader import read_page

SIZE = 64 << 10
MOST_CPU = 0.05
"""Seconds of the server for one request."""


def filled(unit: str, size: int = SIZE) -> str:
    return (unit * (size // len(unit) + 1))[:size]


PATHOLOGICAL = {
    "open brackets": filled("["),
    "closed brackets": filled("]"),
    "nested brackets": "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "links in links": filled("[a](") + "b" + ")" * 100,
    "open links": filled("[a](<b"),
    "pictures in pictures": filled("![[]()"),
    "nested emphasis": "*a " * (SIZE // 6) + "b* " * (SIZE // 6),
    "emphasis of two kinds": filled("*a_ "),
    "many stars": filled("*"),
    "stars and words": filled("**a *a "),
    "backticks of every length": "".join("e" + "`" * length for length in range(1, 360)),
    "open backticks": filled("`a``b"),
    "one long line": filled("a"),
    "blanks": filled(" ") + "a",
    "words": filled("word "),
    "nested quotations": ">" * SIZE,
    "quotations": filled("> a\n"),
    "nested lists": "".join("  " * depth + "* a\n" for depth in range(250)),
    "lists of one item": filled("* a\n1. b\n"),
    "list marks": filled("- ") + "a",
    "references": "".join(f"[{number}]: /u\n" for number in range(5_000)) + "[1] " * 3_000,
    "a reference that is used often": "[a]: /" + "x" * 1_900 + "\n\n" + filled("[a] ", SIZE - 2_000),
    "open references": filled("[a]: "),
    "a table of many columns": filled("a|", 20_000) + "\n" + filled("-|", 20_000) + "\n" + filled("b|", 20_000),
    "a table of many rows": "a|b\n-|-\n" + filled("c|d\n"),
    "a table without cells": filled("|", 3_000) + "\n" + filled("-|", 6_000) + "\n" + filled("|\n", 50_000),
    "entities": filled("&amp;"),
    "half entities": filled("&a"),
    "elements": filled("<b>"),
    "half elements": filled("<a "),
    "comments": filled("<!-- "),
    "declarations": filled("<!A "),
    "processing instructions": filled("<?"),
    "addresses": filled("<http://a>"),
    "half addresses": filled("<a:"),
    "backslashes": filled("\\"),
    "escapes": filled("\\*"),
    "headings": filled("# a\n"),
    "underlined headings": filled("a\n=\n"),
    "fences": filled("```\n"),
    "line ends": filled("\n"),
    "tabs": filled("\t*\n"),
    "characters that no page has": filled("\x00\x01"),
}


@pytest.fixture
def previews(tmp_path: Path) -> Iterator[MarkdownPreviews]:
    with closing(SqlitePreviews(tmp_path, RENDERING)) as store:
        made = MarkdownPreviews(store, TextProcess())
        yield made
        made.stop()


async def cost(app: ArchiveApp, path: str) -> float:
    """Seconds of the processor that this process spends on a page."""
    begun = process_time()
    answer = await app.get(path)
    spent = process_time() - begun
    assert answer.status == 200
    assert len(answer.body) < 500_000
    if len(answer.body) < 200_000:
        read_page(answer.body)  # raises if anything in it is out of place
    return spent


@pytest.mark.parametrize("name", PATHOLOGICAL)
async def test_a_page_with_pathological_markdown_costs_its_reader_nothing(
    name: str, previews: MarkdownPreviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> str:
        raise AssertionError("Markdown was rendered by the process that answers requests")

    monkeypatch.setattr(markdown_preview, "render", refuse)
    text = PATHOLOGICAL[name].encode()
    app = archive_app(kept(REP, files={"a.md": ("text/markdown", text)}), previews=previews)
    plain = archive_app(kept(REP, files={"a.md": ("text/markdown", b"# Templates are read")}))
    pages = (f"/col/{REP}/preview/a.md", f"/col/{REP}/metadata")
    for path in pages:
        await plain.get(path)
    before = getrusage(RUSAGE_CHILDREN)
    for path in pages:
        assert await cost(app, path) <= MOST_CPU, f"{path} before it is rendered"
    assert await asyncio.to_thread(previews.wait, 60)
    for path in pages:
        assert min([await cost(app, path) for _ in range(3)]) <= MOST_CPU, f"{path} after it was rendered"
    after = getrusage(RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent <= MOST_RENDERING + 0.5, "it was rendered once, and within its limit"
