"""`ibi rebuild --empty`: a part begins empty, and a copy has what it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibi.storage.connection import STATE
from tests.support.ibi_command import IbiCommand


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    made = IbiCommand(tmp_path)
    assert made("archive", "init", IBI_MINT_HOST="archive.ibi-empty.invalid", IBI_MINT_SANDBOX="true").code == 0
    for arguments in (
        ("token", "create", "--scope", "read", "--name", "sample"),
        ("person", "create", "ana", "--role", "reader"),
        ("collection", "create", "theses", "--title", "Theses"),
    ):
        assert made(*arguments).code == 0
    return made


def lists(command: IbiCommand) -> dict[str, bool]:
    """Which of the three are there."""
    asked = {"accounts": ("token", "sample"), "people": ("person", "ana"), "collections": ("collection", "theses")}
    return {part: text in command(name, "list").out for part, (name, text) in asked.items()}


@pytest.mark.parametrize("part", ["accounts", "people", "collections", "registry", "subscriptions"])
def test_only_that_part_begins_empty(command: IbiCommand, part: str) -> None:
    done = command("rebuild", "--empty", part)
    assert done.code == 0
    assert done.out.startswith(f"{part} begins empty; state-copies/state-")
    assert lists(command) == {name: name != part for name in ("accounts", "people", "collections")}


def test_the_copy_is_named_as_json(command: IbiCommand) -> None:
    found = json.loads(command("rebuild", "--empty", "people", "--json").out)
    assert found["database"] == "people"
    assert (command.data / found["aside"]).is_file()


def test_the_whole_state_is_set_aside(command: IbiCommand) -> None:
    found = json.loads(command("rebuild", "--empty", "state", "--json").out)
    assert (command.data / found["aside"]).is_file()
    assert not (command.data / STATE.file_name).exists()
    assert not any(lists(command).values())


def test_a_lost_state_begins_empty_only_on_purpose(command: IbiCommand) -> None:
    for path in command.data.glob("state.sqlite*"):
        path.unlink()
    refused = command("token", "list")
    assert refused.code != 0
    assert "ibi rebuild --empty state" in refused.err
    assert json.loads(command("rebuild", "--empty", "state", "--json").out)["aside"] is None
    assert not any(lists(command).values())


def test_another_name_is_refused(command: IbiCommand) -> None:
    assert command("rebuild", "--empty", "beliefs").code == 2
    assert all(lists(command).values())
