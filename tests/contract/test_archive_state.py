"""The ports `ArchiveRecords` and `MembershipState`, tried on every adapter."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibi.membership.model.membership import ArchiveRecord, Membership, Phase
from ibi.membership.ports.archive_state import ArchiveRecords, MembershipState
from ibi.membership.store.archive_state import ArchiveRecordFile, MembershipFiles
from tests.support.deposit_samples import labels
from tests.support.memory.archive_state import MemoryArchiveRecords, MemoryMembership

Memberships = Callable[[], MembershipState]
"""The state of one Archive, as another process opens it."""

RECORDS: dict[str, Callable[[Path], ArchiveRecords]] = {
    "memory": lambda _: MemoryArchiveRecords(),
    "file": lambda folder: ArchiveRecordFile(folder / "data"),
}
MEMBERSHIPS: dict[str, Callable[[Path], Memberships]] = {
    "memory": lambda _: MemoryMembership().open,
    "files": lambda folder: lambda: MembershipFiles(folder / "data"),
}


@pytest.fixture(params=RECORDS)
def records(request: pytest.FixtureRequest, tmp_path: Path) -> ArchiveRecords:
    return RECORDS[request.param](tmp_path)


@pytest.fixture(params=MEMBERSHIPS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Memberships:
    return MEMBERSHIPS[request.param](tmp_path)


def record(number: int) -> ArchiveRecord:
    return ArchiveRecord(labels(number), bytes([number]) * 32)


def test_a_record_is_read_as_it_was_written(records: ArchiveRecords) -> None:
    assert records.read() is None
    assert records.write(record(1)) is True
    assert records.read() == record(1)


def test_the_first_record_stays(records: ArchiveRecords) -> None:
    records.write(record(1))
    assert records.write(record(2)) is False
    assert records.read() == record(1)


def test_of_two_who_begin_at_once_one_succeeds(records: ArchiveRecords) -> None:
    with ThreadPoolExecutor(4) as threads:
        written = list(threads.map(lambda number: records.write(record(number)), range(8)))
    assert sum(written) == 1
    assert records.read() == record(written.index(True))


def test_the_secret_is_not_shown() -> None:
    assert record(1).url_key_secret.hex() not in repr(record(1))
    assert repr(record(1).url_key_secret) not in repr(record(1))


def test_every_archive_is_switched_on_until_it_is_switched_off(opened: Memberships) -> None:
    state, other = opened(), opened()
    assert state.switched_on
    for on in (False, False, True, True, False):
        state.switch(on=on)
        assert state.switched_on is on
        assert other.switched_on is on


def test_a_membership_that_was_never_written_has_not_begun(opened: Memberships) -> None:
    assert opened().read() == Membership()


def test_what_was_written_last_is_read_by_every_process(opened: Memberships) -> None:
    state = opened()
    included = Membership(Phase.INCLUDED, confirmed=True, known=True)
    failed = Membership(Phase.EXCLUDING, known=True, reason="nothing came")
    for membership in (included, failed):
        state.write(membership)
        assert opened().read() == membership


def test_one_process_at_a_time_speaks_to_the_resolver(opened: Memberships) -> None:
    one, other = opened(), opened()
    assert one.hold()
    assert one.hold()
    assert not other.hold()
    other.release()  # which it does not hold
    assert not other.hold()
    one.release()
    one.release()
    assert other.hold()
    assert not one.hold()
    other.release()
