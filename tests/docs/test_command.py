"""docs/command.md and the README against the command itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import click
import pytest

import ibi
from ibi.command import main
from ibi.command.root import app
from tests.docs.tables import ROOT

PAGE = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands(group: click.Group = app, path: str = "ibi") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(commands())
SECTIONS = {
    re.match(r"`(ibi(?: [a-z][a-z-]*)+)", section)[1]: section  # type: ignore[index]
    for section in PAGE.split("\n## ")[1:]
}


def test_every_command_has_a_section_and_no_other_has() -> None:
    assert set(SECTIONS) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_section_names_just_the_flags_there_are(name: str) -> None:
    options = [parameter for parameter in COMMANDS[name].params if isinstance(parameter, click.Option)]
    documented = {
        flag
        for line in SECTIONS[name].splitlines()
        if line.startswith("| `-")
        for flag in re.findall(r"`(-[-a-z]+)`", line.split("|")[1])
    }
    assert documented == {flag for option in options for flag in option.opts}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_section_says_what_the_help_says(name: str) -> None:
    section = " ".join(SECTIONS[name].split())
    assert " ".join((COMMANDS[name].help or "").split()) in section
    for option in (each for each in COMMANDS[name].params if isinstance(each, click.Option)):
        assert option.help


@pytest.mark.parametrize("example", re.findall(r"\$ (ibi (?:explain|url) .*)\n((?:.+\n)+?)```", README))
def test_the_tour_shows_what_is_really_printed(example: tuple[str, str]) -> None:
    command, shown = example
    printed = StringIO()
    with redirect_stdout(printed), suppress(SystemExit):
        main(shlex.split(command)[1:])
    assert printed.getvalue() == shown


def test_every_pair_of_labels_in_the_tour_is_of_one_instant() -> None:
    pairs = re.findall(r"(localhost/\S+?/\d{4}/[\d.]+)(?:\s+(?:ibip\s+)?|\",\"ibip\":\")(LK47B6W\w+/\w+)", README)
    assert len(pairs) == 4
    for rep, ibip in pairs:
        assert ibi.parse(rep).instant == ibi.parse(ibip).instant


PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
GROUPS = {name.rsplit(" ", 1)[0] for name in COMMANDS}
SHORT = {"ibi follow"}
"""Groups of which one command may be left unsaid."""


def mentioned_commands(text: str) -> Iterator[list[str]]:
    """The words of each command in a code span or on a line of a block."""
    blocks = "\n".join(re.findall(r"```.*?\n(.*?)```", text, re.DOTALL))
    for each in re.findall(r"`(ibi [^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        yield each.split()
    for each in re.findall(r"^(?:\$ )?(?:\S+=\S+ )*(ibi .*)$", blocks, re.MULTILINE):
        yield each.split()


def unknown_command(words: list[str]) -> str | None:
    """The name of the command that the words begin with, if there is none of this name."""
    name, rest = words[0], words[1:]
    while rest and f"{name} {rest[0]}" in GROUPS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    is_name = rest and re.fullmatch(r"[a-z][a-z-]*", rest[0])
    return f"{name} {rest[0]}" if is_name and name in GROUPS - SHORT and f"{name} {rest[0]}" not in COMMANDS else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_mentions_only_commands_there_are(page: Path) -> None:
    unknown = map(unknown_command, mentioned_commands(page.read_text(encoding="utf-8")))
    assert [name for name in unknown if name] == []
