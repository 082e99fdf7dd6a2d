"""`archive.json`; the contract of what it holds is in `tests/contract/test_archive_state.py`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ibi.membership.model.membership import ArchiveRecord
from ibi.membership.store.archive_state import FILE_NAME, ArchiveRecordDamaged, ArchiveRecordFile, ArchiveRecordLost
from ibi.storage.errors import StoreNewer
from tests.support.deposit_samples import labels


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = ArchiveRecordFile(tmp_path)
    assert file.write(ArchiveRecord(labels(0), b"0" * 32))
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    file.write(ArchiveRecord(labels(1), b"1" * 32))
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE_NAME, "directory.json", "directory.lock"]


def test_a_record_that_is_lost_is_not_taken_for_one_that_was_never_written(tmp_path: Path) -> None:
    file = ArchiveRecordFile(tmp_path)
    assert file.read() is None
    file.write(ArchiveRecord(labels(0), b"0" * 32))
    (tmp_path / FILE_NAME).unlink()
    with pytest.raises(ArchiveRecordLost, match=r"ibi archive init --recover"):
        file.read()
    file.write(ArchiveRecord(labels(0), b"1" * 32))
    assert ArchiveRecordFile(tmp_path).read() == ArchiveRecord(labels(0), b"1" * 32)


def test_the_record_of_an_earlier_version_is_noted_when_a_server_starts(tmp_path: Path) -> None:
    file = ArchiveRecordFile(tmp_path)
    file.write(ArchiveRecord(labels(0), b"0" * 32))
    (tmp_path / "directory.json").unlink()
    file.note()
    (tmp_path / FILE_NAME).unlink()
    with pytest.raises(ArchiveRecordLost):
        file.read()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b'"text"',
        b"\xff",
        b'{"schema": 1, "service": {}, "url_key_secret": "00"}',
        b'{"schema": 1, "service": {"rep": "x"}, "url_key_secret": "' + b"00" * 32 + b'"}',
        b'{"schema": 1, "service": {"rep": "a.br/b/2009/02.16.17.46"}, "url_key_secret": "' + b"zz" * 32 + b'"}',
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(ArchiveRecordDamaged):
        ArchiveRecordFile(tmp_path).read()


def test_a_record_of_a_newer_version_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b'{"schema": 2, "service": {}, "url_key_secret": ""}')
    with pytest.raises(StoreNewer):
        ArchiveRecordFile(tmp_path).read()
