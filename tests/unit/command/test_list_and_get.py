"""`ibi list`, `ibi search` and `ibi get` on a data directory, and items named by links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reading.test_cli_versions import run


def lines(data: Path, *arguments: str) -> list[dict[str, Any]]:
    found = run(data, *arguments, "--json")
    assert found.exit_code == 0, found.output
    return [json.loads(line) for line in found.output.splitlines()]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("one")
    (folder / "deep/b.txt").write_text("two")
    flags = ("--creator", "Ana", "--language", "pt")
    assert run(tmp_path / "data", "deposit", str(folder), "--title", "Glaciers of the south", *flags).exit_code == 0
    assert run(tmp_path / "data", "deposit", str(folder / "a.txt"), "--title", "Another").exit_code == 0
    return tmp_path / "data"


def test_items_are_listed_and_found(data: Path) -> None:
    assert [each["title"] for each in lines(data, "list")] == ["Another", "Glaciers of the south"]
    assert [each["title"] for each in lines(data, "list", "--sort", "oldest", "-n", "1")] == ["Glaciers of the south"]
    (found,) = lines(data, "search", "glaciers", "south", "--language", "pt")
    assert set(found) == {"rep", "ibip", "persistent_url", "title", "creators", "state", "updated", "in_text"}
    assert lines(data, "search", "glaciers", "--creator", "Bob") == []
    assert run(data, "search", "glaciers").output == f"{found['ibip']}  Glaciers of the south (Ana)\n"
    assert [each["rep"] for each in lines(data, "search", found["persistent_url"])] == [found["rep"]]


def test_the_files_of_an_item_are_fetched_and_checked(data: Path, tmp_path: Path) -> None:
    (item,) = lines(data, "search", "glaciers")
    fetched = lines(data, "get", item["persistent_url"], str(tmp_path / "out"))
    assert [(Path(each["path"]).name, each["fetched"]) for each in fetched] == [("a.txt", True), ("b.txt", True)]
    assert (tmp_path / "out/deep/b.txt").read_text() == "two"
    assert [each["fetched"] for each in lines(data, "get", item["rep"], str(tmp_path / "out"))] == [False, False]
    (tmp_path / "out/a.txt").write_text("mine")
    refused = run(data, "get", item["rep"], str(tmp_path / "out"))
    assert refused.exit_code == 1
    assert "is there already" in str(refused.exception)


def test_an_earlier_version_is_fetched(data: Path, tmp_path: Path) -> None:
    (item,) = lines(data, "search", "another")
    (tmp_path / "a.txt").write_text("changed")
    assert run(data, "update", item["rep"], str(tmp_path / "a.txt")).exit_code == 0
    lines(data, "get", item["rep"], str(tmp_path / "first"), "--version", "1")
    lines(data, "get", item["rep"], str(tmp_path / "now"))
    assert [(tmp_path / name / "a.txt").read_text() for name in ("first", "now")] == ["one", "changed"]


def test_every_command_takes_links(data: Path) -> None:
    (item, other) = lines(data, "list")
    link = item["persistent_url"]
    for arguments in (("show", link), ("versions", link), ("update", link, "--title", "New"), ("stats", link)):
        assert run(data, *arguments).exit_code == 0, arguments
    assert run(data, "relate", link, "--next-edition", other["persistent_url"]).exit_code == 0
    assert run(data, "delete", other["persistent_url"], "--reason", "gone", "--replaced-by", link).exit_code == 0
