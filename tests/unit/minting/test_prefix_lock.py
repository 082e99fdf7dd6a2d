"""A prefix belongs to one store of a machine at a time."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.minting.store import prefix_lock
from ibi.minting.store.prefix_lock import NO_OWNER, Owner, PrefixLocks, PrefixRecord
from ibi.standard.instant import Instant
from ibi.storage.errors import IdentityInUse, LockRefused
from ibi.storage.locks import DataLock, LockDirectory, is_data_directory_of

PREFIXES = ("sid.inpe.br/mtc-m18", "8JMKD3MGP8W")
HIGH = Instant.parse("2027-01-01T00:00:01.5Z")


class House:
    """Where owners live."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.directory = LockDirectory(folder / "locks")

    def owner(self, name: str) -> Owner:
        data = self.folder / name
        (data / "mint").mkdir(parents=True, exist_ok=True)
        lock = DataLock(data)
        lock.write_instance(f"instance of {name}")
        lock.close()
        return Owner(f"instance of {name}", str(data))

    def locks(self, name: str) -> PrefixLocks:
        return PrefixLocks(self.directory, self.owner(name))

    def file(self, prefix: str) -> Path:
        for path in self.directory.path.iterdir():
            record = PrefixRecord.decode(path.read_bytes())
            if record is not None and record.prefix == prefix:
                return path
        raise LookupError(prefix)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr(prefix_lock, "_PATIENCE", 0.05)
    house = House(tmp_path)
    yield house
    house.directory.close()


texts = st.text(st.characters(exclude_categories=[]))


@given(texts, texts, texts, st.one_of(st.none(), st.just(HIGH)), st.integers(0, 1 << 62))
def test_a_record_round_trips(prefix: str, instance: str, path: str, high: Instant | None, number: int) -> None:
    record = PrefixRecord(prefix, Owner(instance, path), high, number)
    assert PrefixRecord.decode(record.encode()) == record
    assert PrefixRecord.decode(record.encode() + b"the end of a longer one") == record


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 500, b"{}", b"[]", b"3", b'{"prefix":', b"[" * 100_000, b"\xff", b'{"number": 1e999}']
)
def test_what_is_no_record_says_nothing(content: bytes) -> None:
    assert PrefixRecord.decode(content) is None


def test_the_stores_of_one_directory_share(house: House) -> None:
    one, other = house.locks("a"), house.locks("a")
    assert one.hold(PREFIXES, 0) is None
    assert other.hold(PREFIXES, 0) is None
    assert other.are_just(reversed(PREFIXES))
    one.close()
    other.close()


def test_another_is_refused_while_the_directory_is_there(house: House) -> None:
    one, other = house.locks("a"), house.locks("b")
    one.hold(PREFIXES, 0)
    for _ in range(2):  # held, then only on record
        with pytest.raises(IdentityInUse, match="/a "):
            other.hold(PREFIXES, 0)
        one.close()


def test_another_is_refused_while_the_lock_is_held_wherever_the_directory_went(house: House) -> None:
    one, other = house.locks("a"), house.locks("b")
    one.hold(PREFIXES, 0)
    (house.folder / "a").rename(house.folder / "gone")
    with pytest.raises(IdentityInUse):
        other.hold(PREFIXES, 0)
    one.close()
    other.hold(PREFIXES, 0)
    other.close()


def test_a_date_left_behind_is_in_force_until_the_next_mark(house: House) -> None:
    one = house.locks("a")
    one.hold(PREFIXES, 0)
    one.mark(HIGH, 17)
    one.close()
    (house.folder / "a").rename(house.folder / "gone")
    for _ in range(2):
        other = house.locks("b")
        assert other.hold(PREFIXES, 99) == HIGH
        other.close()
    other.hold(PREFIXES, 99)
    other.mark(HIGH, 99)
    other.close()
    assert house.locks("b").hold(PREFIXES, 99) is None


@pytest.mark.parametrize(("number", "high"), [(16, HIGH), (17, None), (18, None)])
def test_a_store_that_knows_less_than_its_mark_was_put_back(house: House, number: int, high: Instant | None) -> None:
    one = house.locks("a")
    one.hold(PREFIXES, 17)
    one.mark(HIGH, 17)
    one.close()
    again = house.locks("a")
    assert again.hold(PREFIXES, number) == high
    again.close()


def test_one_of_two_refused_gives_up_the_other(house: House) -> None:
    one, other, third = house.locks("a"), house.locks("b"), house.locks("c")
    one.hold(PREFIXES[1:], 0)
    with pytest.raises(IdentityInUse):
        other.hold(PREFIXES, 0)
    assert other.are_just(())
    third.hold(PREFIXES[:1], 0)
    for locks in (one, third):
        locks.close()


def test_what_is_given_up_belongs_to_no_process(house: House) -> None:
    one, other = house.locks("a"), house.locks("b")
    one.hold(PREFIXES, 3)
    one.mark(HIGH, 3)
    one.keep_just(PREFIXES[:1])
    record = PrefixRecord.decode(house.file(PREFIXES[1]).read_bytes())
    assert record == PrefixRecord(PREFIXES[1], NO_OWNER, HIGH, 3)
    assert other.hold(PREFIXES[1:], 0) == HIGH
    for locks in (one, other):
        locks.close()


def test_a_file_of_another_user_is_refused(house: House) -> None:
    if os.geteuid():
        pytest.skip("only root can give files away")
    one = house.locks("a")
    one.hold(PREFIXES, 0)
    one.close()
    os.chown(house.file(PREFIXES[0]), 12345, -1)
    with pytest.raises(LockRefused, match="user 12345"):
        house.locks("a").hold(PREFIXES, 0)


def test_the_administrator_leaves_the_file_to_whose_directory_it_is(house: House) -> None:
    if os.geteuid():
        pytest.skip("only root can give files away")
    house.owner("a")
    os.chown(house.folder / "a", 12345, -1)
    one = house.locks("a")
    one.hold(PREFIXES, 0)
    one.close()
    assert house.file(PREFIXES[0]).stat().st_uid == 12345
    again = house.locks("a")
    again.hold(PREFIXES, 0)
    again.close()


def test_who_holds_it_without_a_word_is_waited_for_a_moment(house: House) -> None:
    one = house.locks("a")
    one.hold(PREFIXES[:1], 0)
    one.close()
    path = house.file(PREFIXES[0])
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(LockRefused, match="does not say which"):
        house.locks("a").hold(PREFIXES[:1], 0)
    timer = threading.Timer(0.02, os.close, [descriptor])
    timer.start()
    one.hold(PREFIXES[:1], 0)
    timer.join()
    one.close()


def test_many_take_it_at_once_and_one_directory_wins(tmp_path: Path) -> None:
    house = House(tmp_path)
    results: list[str] = []
    barrier = threading.Barrier(12)

    def take(name: str) -> None:
        directory = LockDirectory(tmp_path / "locks")
        locks = PrefixLocks(directory, house.owner(name))
        barrier.wait()
        try:
            locks.hold(PREFIXES, 0)
            results.append(name)
        except IdentityInUse:
            pass

    for name in "abcd":
        house.owner(name)
    threads = [threading.Thread(target=take, args=("abcd"[number % 4],)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # With two prefixes, two may get one each and both give up.
    assert len(set(results)) <= 1
    house.directory.close()


# Who lives where.


def test_a_directory_that_may_not_be_looked_into_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError

    assert not is_data_directory_of(tmp_path, "x")
    (tmp_path / "file").touch()
    assert not is_data_directory_of(tmp_path / "file", "x")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert is_data_directory_of(tmp_path, "x")
