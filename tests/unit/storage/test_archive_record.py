"""What an Archive keeps of itself."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ibi.storage.archive_record import (
    FILE_NAME,
    ArchiveRecord,
    ArchiveRecordDamaged,
    read_archive_record,
    write_archive_record,
)
from ibi.storage.errors import StoreNewer
from tests.support.deposit_samples import labels


def test_what_is_written_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    assert read_archive_record(tmp_path) is None
    record = ArchiveRecord.new(labels(0))
    assert write_archive_record(tmp_path, record) is True
    assert read_archive_record(tmp_path) == record
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    assert len(record.url_key_secret) == 32
    assert record.url_key_secret.hex() not in repr(record)


def test_the_first_record_stays(tmp_path: Path) -> None:
    first = ArchiveRecord.new(labels(0))
    write_archive_record(tmp_path, first)
    assert write_archive_record(tmp_path, ArchiveRecord.new(labels(1))) is False
    assert read_archive_record(tmp_path) == first
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


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
        read_archive_record(tmp_path)


def test_a_record_of_a_newer_version_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b'{"schema": 2, "service": {}, "url_key_secret": ""}')
    with pytest.raises(StoreNewer):
        read_archive_record(tmp_path)
