"""The command at a server that reviews deposits: a deletion waits, and a draft with refused values goes nowhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ibi.deposits.model import RefusedValue
from ibi.deposits.store.draft_files import DraftFiles
from ibi.storage.machine import MachineClocks
from tests.support.ibi_command import IbiCommand, Outcome


@dataclass
class Reviewed:
    command: IbiCommand
    url: str
    tokens: dict[str, str]

    def __call__(self, who: str, *arguments: str) -> Outcome:
        return self.command(*arguments, "--server", self.url, "--token", self.tokens[who])

    def published(self, file: Path) -> str:
        """The label of an item of the depositor's that a librarian published."""
        said = self("dan", "deposit", str(file), "--title", "Uma tese")
        draft = re.search(r"draft-\w+", said.out)
        assert draft is not None, said.err
        made = self("ada", "review", draft[0], "--publish", "--json")
        return str(json.loads(made.out)["rep"])


@pytest.fixture
def reviewed(tmp_path: Path) -> Iterator[Reviewed]:
    command, tokens = IbiCommand(tmp_path), {}
    with command.up(IBI_ARCHIVE_REVIEW="true") as (_, url):
        for name, role, scope in (("ada", "librarian", "edit"), ("dan", "depositor", "deposit")):
            assert command("person", "create", name, "--role", role).code == 0
            tokens[name] = command("token", "create", "--scope", scope, "--for", name).out.split()[0]
        yield Reviewed(command, url, tokens)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tese.txt"
    path.write_text("Palavras", encoding="ascii")
    return path


def test_a_deletion_waits_for_a_librarian_who_declines_or_deletes(reviewed: Reviewed, file: Path) -> None:
    label = reviewed.published(file)
    before = reviewed("dan", "show", label, "--json").out
    said = reviewed("dan", "delete", label, "--reason", "The data are wrong.")
    assert said.code == 0, said.err
    assert f"The deletion of {label} waits for a librarian. The item is unchanged until then." in said.out
    draft = re.search(r"draft-\w+", said.out)
    assert draft is not None
    assert reviewed("dan", "show", label, "--json").out == before
    assert json.loads(reviewed("dan", "delete", label, "--reason", "x", "--json").out)["id"] == draft[0]
    listed = reviewed("ada", "review").out
    assert listed.startswith(f"{draft[0]}  submitted")
    assert listed.rstrip().endswith("Uma tese  delete")
    assert "dan submitted: The data are wrong." in reviewed("dan", "review", draft[0]).out
    assert "it is cited" in reviewed("ada", "review", draft[0], "--return", "it is cited").out
    assert reviewed("ada", "review").out == ""
    assert reviewed("dan", "delete", label, "--reason", "Wrong all the same.").code == 0
    assert reviewed("ada", "review", draft[0], "--publish").out == f"{label} is deleted.\n"
    assert "Wrong all the same." in reviewed("dan", "show", label).out


def test_a_draft_with_refused_values_is_neither_published_nor_submitted(reviewed: Reviewed, file: Path) -> None:
    said = reviewed("dan", "deposit", str(file), "--title", "Uma tese")
    draft = re.search(r"draft-\w+", said.out)
    assert draft is not None, said.err
    assert reviewed("dan", "review", draft[0], "--withdraw").code == 0
    files = DraftFiles(reviewed.command.data, MachineClocks())
    record = files.read(draft[0])
    assert record is not None
    # As the form writes it, which a command does not.
    files.write(replace(record, refused={"date": RefusedValue("31/02/2026", "invalid-metadata")}))
    for who, *arguments in (
        ("dan", "deposit", "--draft", draft[0], str(file)),
        ("dan", "review", draft[0], "--publish"),
        ("ada", "review", draft[0], "--publish"),
    ):
        refused = reviewed(who, *arguments)
        assert refused.code == 1
        assert "has values that could not be read: date." in refused.err
