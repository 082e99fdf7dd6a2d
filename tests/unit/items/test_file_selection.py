"""Files and folders found for a deposit."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ibi.items.model.content import Copy
from ibi.items.ports.archive_store import SourceRefused
from ibi.items.service.file_selection import gather, media_type_of
from ibi.standard.document_errors import InvalidFileName


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("f/a.txt", "f/sub/b.txt", "f/.hidden", "f/.git/config", "other.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_a_folder_alone_is_the_item(folder: Path) -> None:
    found = gather([folder / "f"])
    assert found.sources == {
        "a.txt": Copy(str(folder / "f/a.txt")),
        "sub/b.txt": Copy(str(folder / "f/sub/b.txt")),
    }
    assert found.size == len("f/a.txt") + len("f/sub/b.txt")
    assert found.passed_over == (str(folder / "f/.git"), str(folder / "f/.hidden"))


def test_a_folder_beside_others_keeps_its_name(folder: Path) -> None:
    assert list(gather([folder / "f", folder / "other.txt"]).sources) == ["f/a.txt", "f/sub/b.txt", "other.txt"]
    assert "f/.git/config" in gather([folder / "f", folder / "other.txt"], hidden=True).sources


def test_a_hidden_file_that_is_named_is_taken(folder: Path) -> None:
    assert list(gather([folder / "f/.hidden"]).sources) == [".hidden"]


def test_the_folder_one_is_in_has_a_name_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "f" / "sub")
    assert list(gather([Path(".."), Path("../../other.txt")]).sources) == ["f/a.txt", "f/sub/b.txt", "other.txt"]
    assert list(gather([Path()]).sources) == ["b.txt"]


def test_two_files_of_one_name_are_refused(folder: Path) -> None:
    (folder / "f/other.txt").write_text("")
    with pytest.raises(InvalidFileName, match=r"other\.txt"):
        gather([folder / "other.txt", folder / "f/other.txt"])


@pytest.mark.parametrize("kind", ["link to a file", "link to a folder", "dangling link", "pipe", "socket", "nothing"])
def test_what_is_no_plain_file_is_refused_by_name(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = folder / "f" / "victim"
    with socket.socket(socket.AF_UNIX) as listener:
        match kind:
            case "link to a file":
                victim.symlink_to("/etc/hostname")
            case "link to a folder":
                victim.symlink_to("/etc")
            case "dangling link":
                victim.symlink_to("/nowhere")
            case "pipe":
                os.mkfifo(victim)
            case "socket":
                monkeypatch.chdir(folder / "f")  # the path of a socket has a bound
                listener.bind("victim")
        for paths in ([victim], [folder / "f"]) if kind != "nothing" else ([victim],):
            with pytest.raises(SourceRefused, match="victim"):
                gather(paths)


@pytest.mark.parametrize(
    "name", [b"caf\xe9", b"a\nb", b"nul.txt", b"a:b", b"end.", b" a", b"a\\b", "a\u202eb".encode()]
)
def test_a_name_that_cannot_be_kept_is_refused_by_name(folder: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(folder / "f") + b"/" + name)).write_text("")
    with pytest.raises(InvalidFileName):
        gather([folder / "f"])


def test_names_that_are_one_somewhere_are_refused(folder: Path) -> None:
    (folder / "f/A.TXT").write_text("")
    with pytest.raises(InvalidFileName, match=r"A\.TXT"):
        gather([folder / "f"])


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.pdf", "application/pdf"),
        ("folder/A.PDF", "application/pdf"),
        ("a.tar.gz", "application/gzip"),
        ("a.html", "text/html"),
        ("a.md", "text/markdown"),
        ("data:text/html,x", "application/octet-stream"),
        ("a", "application/octet-stream"),
        ("a.nobodyknows", "application/octet-stream"),
    ],
)
def test_media_types_come_from_names_alone(name: str, media_type: str) -> None:
    assert media_type_of(name) == media_type


def test_a_folder_with_nothing_in_it_is_told_of(folder: Path) -> None:
    (folder / "f/nothing/here").mkdir(parents=True)
    found = gather([folder / "f"])
    assert found.empty == (str(folder / "f/nothing/here"),)
    assert not any("nothing" in path for path in found.sources)
