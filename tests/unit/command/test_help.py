"""What `ibi --help` shows."""

from __future__ import annotations

import re

import click
import pytest

from ibi.command import main
from ibi.command.root import app

GROUPS = ["archive", "person", "resolver", "token"]


def help_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_every_command_is_shown_once_in_a_group_with_a_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_of(capsys)
    commands = re.findall(r"^  ([a-z]+) {2,}(\S.*)$", shown, re.MULTILINE)

    assert sorted(name for name, _ in commands) == app.list_commands(click.Context(app))
    assert not [text for _, text in commands if text.endswith("...")]
    assert max(map(len, shown.splitlines())) <= 80
    assert len(re.findall(r"^[A-Z].*:$", shown, re.MULTILINE)) == 6  # the options, four groups, and the examples


@pytest.mark.parametrize("group", GROUPS)
def test_no_line_of_a_group_is_cut_off(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "..." not in help_of(capsys, group).partition("Commands:")[2]


def test_the_examples_are_commands_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"^  ibi (\w+)", help_of(capsys).partition("Examples:")[2], re.MULTILINE)

    assert len(examples) >= 4
    assert set(examples) <= set(app.list_commands(click.Context(app)))


@pytest.mark.parametrize("name", app.list_commands(click.Context(app)))
def test_a_command_is_in_the_module_of_its_name(name: str) -> None:
    command = app.get_command(click.Context(app), name)

    assert command is not None
    assert command.name == name
