"""Dumps on a disk: whole or not there, the newest two of them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.harvesting.store import DumpDirectory, write_dump
from ibi.standard.storage_errors import StorageError


def spoilt() -> Iterator[bytes]:
    yield b"a line\n"
    raise KeyError


def age(path: str, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def test_the_newest_is_found_and_the_one_before_it_is_kept(tmp_path: Path) -> None:
    files = DumpDirectory(tmp_path)
    assert (files.newest(), files.written()) == (None, None)
    for number in range(1, 5):
        size = files.write(f"ab-{number}", [b"%d\n" % number, b"second\n"])
        newest = files.newest()
        assert newest is not None
        assert gzip.decompress(Path(newest).read_bytes()) == b"%d\nsecond\n" % number
        assert Path(newest).stat().st_size == size
        age(newest, number)
        assert files.written() == number
    assert sorted(path.name for path in (tmp_path / "dumps").iterdir()) == ["ab-3.ndjson.gz", "ab-4.ndjson.gz"]


def test_nothing_is_left_of_a_dump_that_fails(tmp_path: Path) -> None:
    files = DumpDirectory(tmp_path)
    files.write("ab-1", [b"whole\n"])
    with pytest.raises(KeyError):
        files.write("ab-2", spoilt())
    assert [path.name for path in (tmp_path / "dumps").iterdir()] == ["ab-1.ndjson.gz"]


def test_what_a_killed_process_left_is_removed_and_other_files_are_not(tmp_path: Path) -> None:
    files = DumpDirectory(tmp_path)
    files.write("ab-1", [b"x"])
    for name in (".ab-2.ndjson.gz.0123", "notes.txt", "x.ndjson.gz"):
        (tmp_path / "dumps" / name).write_bytes(b"")
    files.write("ab-3", [b"x"])
    names = {path.name for path in (tmp_path / "dumps").iterdir()}
    assert names == {"ab-1.ndjson.gz", "ab-3.ndjson.gz", "notes.txt", "x.ndjson.gz"}


@pytest.mark.parametrize("name", ["all.ndjson", "all.ndjson.gz"])
def test_a_named_file_is_replaced_whole_or_stays_as_it_was(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"before")
    with pytest.raises(KeyError):
        write_dump(path, spoilt())
    assert path.read_bytes() == b"before"
    write_dump(path, [b"a\n", b"b\n"])
    found = path.read_bytes()
    assert (gzip.decompress(found) if name.endswith(".gz") else found) == b"a\nb\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        write_dump(tmp_path / "nowhere" / "file", [b"x"])
