"""Plain technical English: what is written for people names who is meant, instead of *nobody* or *whoever*."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ibi.cli.app import app
from tests.docs.tables import ROOT

VAGUE = re.compile(r"\b(?:nobody|somebody|whoever|everybody)\b", re.IGNORECASE)
PAGE_TEXTS = ROOT / "src" / "ibi" / "web" / "pages"
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")])
TEXTS = sorted([*PAGE_TEXTS.rglob("*.html"), *PAGE_TEXTS.rglob("*.po")])


def vague_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if VAGUE.search(line)]


@pytest.mark.parametrize("page", [*DOCS, *TEXTS], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_says_who_is_meant(page: Path) -> None:
    assert vague_lines(page.read_text(encoding="utf-8")) == []


def test_there_are_pages_of_both_kinds() -> None:
    assert len(DOCS) > 10
    assert {page.suffix for page in TEXTS} == {".html", ".po"}


def helps(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    """What `--help` prints for a command, and for all below it."""
    context = click.Context(command, info_name=path, terminal_width=120)
    yield path, command.get_help(context)
    yield from ((path, option.help or "") for option in command.params if isinstance(option, click.Option))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from helps(below, f"{path} {name}")


def test_the_help_of_the_command_says_who_is_meant() -> None:
    found = list(helps(app, "ibi"))
    assert len({path for path, _ in found}) > 30
    assert [(path, line) for path, text in found for line in vague_lines(text)] == []


# --- docstrings and comments -----------------------------------------------------------------------------------------

MOST_PER_THOUSAND = 1.0
"""Vague words in a thousand words of docstrings and comments. A few are right: an error may speak of anyone at all."""
WORD = re.compile(r"[^\W\d_]+")


def documentation(source: str) -> Iterator[str]:
    """The docstrings of a module, those of its attributes included, and its comments."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_docstrings_of_attributes_and_comments_are_read() -> None:
    source = '"""One."""\nA = "not this"  # two\n"""Three."""\n'
    assert sorted(documentation(source)) == ["# two", "One.", "Three."]


def test_docstrings_and_comments_say_who_is_meant() -> None:
    words, vague = 0, list[str]()
    for file in sorted((ROOT / "src").rglob("*.py")):
        for text in documentation(file.read_text(encoding="utf-8")):
            words += len(WORD.findall(text))
            vague += [f"{file.relative_to(ROOT)}: {line}" for line in text.splitlines() for _ in VAGUE.findall(line)]
    assert words > 10_000
    assert 1000 * len(vague) <= MOST_PER_THOUSAND * words, "\n".join(vague)
