"""The pages in Markdown: wrapped, so that a change shows as few lines, and with links that lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.tables import ROOT

COLUMNS = 100
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines that can be broken, with their numbers: no code, no rows of tables, no link that fills a line."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        is_code ^= fence
        if not (is_code or fence or line.startswith("|") or LINK.fullmatch(line.strip(" -*.,"))):
            yield number, line


def anchors(page: Path) -> set[str]:
    """The places of a page that a link can name, as hosts of repositories make them from headings."""
    headings = (line.lstrip("# ") for _, line in prose(page.read_text(encoding="utf-8")) if line.startswith("#"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_prose_is_wrapped(page: Path) -> None:
    lines = prose(page.read_text(encoding="utf-8"))
    assert [f"{page.name}:{number}: {line}" for number, line in lines if len(line) > COLUMNS] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_link_to_another_page_leads_to_it(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target
