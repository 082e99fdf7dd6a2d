"""Where backups are kept: a folder and a bucket behave alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi.backup.model.backup import CHUNK
from ibi.backup.ports import BackupIncomplete, BackupRefused, BackupTarget
from ibi.backup.store.backup_target import BucketRefused, S3Missing, open_target
from tests.support.bucket import bucket

KEYS = ("items/sid.inpe.br/mtc-m18@80/2009/02.16.17.46/v1-0a.tar", "chunks/00/00", "manifests/000001-00.json")


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.xdist_group("bucket"))])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path / "some" / "backup")
    else:
        with bucket(monkeypatch) as name:
            yield name


def opened(place: str, *, writing: bool = True) -> closing[BackupTarget]:
    return closing(open_target(place, os.environ, writing=writing))


def put(target: BackupTarget, key: str, content: bytes) -> None:
    target.put(key, len(content), iter([content[:3], content[3:]]))


def test_what_was_put_is_listed_and_read_by_the_next_process_that_opens_it(place: str) -> None:
    large = os.urandom(CHUNK + 70_000)
    with opened(place) as target:
        assert list(target.list()) == []
        for key in KEYS:
            put(target, key, key.encode())
        put(target, "chunks/01/large", large)
        target.settle()
        put(target, KEYS[1], b"replaced")
        target.settle()
    with opened(place, writing=False) as target:
        sizes = {KEYS[0]: len(KEYS[0]), KEYS[1]: 8, KEYS[2]: len(KEYS[2]), "chunks/01/large": len(large)}
        assert dict(target.list()) == sizes
        assert list(target.list("manifests/")) == [(KEYS[2], len(KEYS[2]))]
        assert list(target.list("nothing/")) == []
        assert b"".join(target.read(KEYS[0])) == KEYS[0].encode()
        assert b"".join(target.read("chunks/01/large")) == large
        with pytest.raises(BackupIncomplete, match="chunks/02/none"):
            list(target.read("chunks/02/none"))
    with opened(place) as target:
        target.delete([KEYS[0], "chunks/02/none", KEYS[1]])
        assert {key for key, _ in target.list()} == {KEYS[2], "chunks/01/large"}


@pytest.mark.parametrize("size", [10, 3 * CHUNK])
def test_what_fails_on_its_way_is_not_kept(place: str, size: int) -> None:
    class Damaged(Exception):
        pass

    def pieces() -> Iterator[bytes]:
        yield bytes(size // 2)
        raise Damaged

    with opened(place) as target:
        with pytest.raises(Damaged):
            target.put("chunks/00/a", size, pieces())
        put(target, "chunks/00/b", b"content")
        target.settle()
        assert [key for key, _ in target.list()] == ["chunks/00/b"]


def test_a_folder_has_one_writer_and_no_other_reader(tmp_path: Path) -> None:
    with opened(str(tmp_path / "a")) as target:
        put(target, KEYS[0], b"content")
        target.settle()
        for writing in (True, False):
            with pytest.raises(BackupRefused, match="try again when it is done"):
                opened(str(tmp_path / "a"), writing=writing)
    with opened(str(tmp_path / "a"), writing=False), opened(str(tmp_path / "a"), writing=False):
        pass
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "a").rglob("*")} == {0}
    with pytest.raises(BackupRefused, match="no backup there"):
        opened(str(tmp_path / "b"), writing=False)


def test_a_bucket_needs_a_name_and_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BucketRefused, match="names no bucket"):
        opened("s3:///prefix")
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(S3Missing, match=r"ibi\[s3\]"):
        opened("s3://bucket/prefix")
