"""The ports `BlockDigests` and `Verifications`, tried on their adapter."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha512
from pathlib import Path

import pytest

from ibi.items.model.content import Damage, IntegritySummary, Problem, Verification
from ibi.items.store.catalogue.catalog import FILE_NAME
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.standard.storage_errors import CatalogDamaged

DIGEST, OTHER = sha512(b"a").hexdigest(), sha512(b"b").hexdigest()
LOST = Problem(Damage.DAMAGED, "E092", "v1/content/doc/a.txt", "its content is not what was deposited", DIGEST)
GONE = Problem(Damage.MISSING, "E092", "v1/content/doc/b.txt", "it is missing", OTHER)
EXTRA = Problem(Damage.EXTRA, "E001", "notes.txt", "it does not belong there")
LISTING = Problem(Damage.STRUCTURE, "catalogue", "item.json", "the catalogue says otherwise")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteIntegrity]:
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as opened:
        yield opened


def test_blocks_are_found_by_the_digest_of_the_whole(ledger: SqliteIntegrity) -> None:
    assert ledger.find_blocks(DIGEST) is None
    ledger.keep_blocks(DIGEST, b"1" * 64)
    ledger.keep_blocks(OTHER, b"2" * 96)
    ledger.keep_blocks(DIGEST, b"3" * 64)
    assert (ledger.find_blocks(DIGEST), ledger.find_blocks(OTHER)) == (b"3" * 64, b"2" * 96)
    ledger.forget_blocks([OTHER])
    assert (ledger.find_blocks(DIGEST), ledger.find_blocks(OTHER)) == (b"3" * 64, None)


def test_digests_that_are_damaged_themselves_are_not_known(tmp_path: Path) -> None:
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as ledger:
        ledger.keep_blocks(DIGEST, b"1" * 64)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        ((kept,),) = file.execute("SELECT blocks FROM block_digests").fetchall()
        file.execute("UPDATE block_digests SET blocks = ?", (b"2" + kept[1:],))
        file.commit()
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as ledger:
        assert ledger.find_blocks(DIGEST) is None
        ledger.keep_blocks(DIGEST, b"1" * 64)
        assert ledger.find_blocks(DIGEST) == b"1" * 64


def test_what_was_verified_longest_ago_is_due_first_and_what_never_was_before_it(ledger: SqliteIntegrity) -> None:
    ledger.expect(["a", "b", "c"])
    assert ledger.next_due(0, 0) in {"a", "b", "c"}
    for name, at in (("a", 300), ("b", 100), ("c", 200)):
        ledger.record(name, (), at)
    ledger.expect(["a", "b", "c"])
    assert [ledger.next_due(before, 0) for before in (100, 101, 1000)] == [None, "b", "b"]
    ledger.record("b", (), 400)
    assert ledger.next_due(1000, 0) == "c"
    ledger.forget("c")
    assert ledger.next_due(1000, 0) == "a"
    ledger.expect(["d"])
    assert ledger.next_due(0, 0) == "d"


def test_all_items_by_the_time_of_their_verification_damaged_ones_first(ledger: SqliteIntegrity) -> None:
    ledger.expect(["e", "d", "c", "b", "a"])
    ledger.record_all([("a", ()), ("c", [LOST])], 300)
    ledger.record_all([("b", ())], 100)
    assert ledger.due() == ["c", "d", "e", "b", "a"]
    assert ledger.due(before=300) == ["c", "d", "e", "b"]
    assert ledger.due(before=100) == ["c", "d", "e"]


def test_a_damaged_item_is_due_on_terms_of_its_own(ledger: SqliteIntegrity) -> None:
    ledger.record("a", [LOST], 100)
    assert (ledger.next_due(0, 100), ledger.next_due(0, 101)) == (None, "a")


def test_a_verification_says_what_is_damaged_until_one_finds_nothing(ledger: SqliteIntegrity) -> None:
    ledger.record("a", [LOST, EXTRA, LISTING], 100)
    ledger.record("a", [LOST, GONE], 200)
    assert dict(ledger.damaged_items()) == {"a": Verification("a", 200, 100, (LOST, GONE))}
    assert ledger.damaged_items()["a"].digests == {DIGEST, OTHER}
    ledger.record("a", (), 300)
    assert not ledger.damaged_items()


def test_what_is_only_in_the_way_is_no_damage(ledger: SqliteIntegrity) -> None:
    ledger.record("a", [EXTRA, LISTING], 100)
    assert not ledger.damaged_items()


def test_damage_found_by_a_reader_is_noted_once(ledger: SqliteIntegrity) -> None:
    ledger.record("a", (), 50)
    assert ledger.note_damage("a", LOST, 100)
    assert not ledger.note_damage("a", LOST, 101)
    assert ledger.note_damage("a", GONE, 102)
    assert dict(ledger.damaged_items()) == {"a": Verification("a", 50, 100, (LOST, GONE))}
    assert ledger.note_damage("b", LOST, 103)
    assert ledger.damaged_items()["b"].verified is None


def test_the_summary(ledger: SqliteIntegrity) -> None:
    assert ledger.summary() == IntegritySummary()
    ledger.expect(["a", "b", "c"])
    ledger.record("a", [LOST], 100)
    ledger.record("b", (), 200)
    assert ledger.summary() == IntegritySummary(items=3, verified=2, damaged=1, oldest=100, newest=200)


def test_the_last_letter(ledger: SqliteIntegrity) -> None:
    assert ledger.last_letter() is None
    ledger.note_letter(100)
    ledger.note_letter(200)
    assert ledger.last_letter() == 200


def test_everything_is_there_after_a_restart_and_for_others(tmp_path: Path) -> None:
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as one, closing(SqliteIntegrity(tmp_path / FILE_NAME)) as other:
        assert not other.damaged_items()
        one.note_damage("a", LOST, 100)
        one.keep_blocks(DIGEST, b"1" * 64)
        one.note_letter(7)
        while not other.damaged_items():
            pass
        assert (other.find_blocks(DIGEST), other.last_letter()) == (b"1" * 64, 7)
        other.record("a", (), 200)
        while one.damaged_items():
            pass


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_keeps_no_damage_from_being_known(tmp_path: Path, content: bytes) -> None:
    """The catalogue is in the same file, so it stays for the next start to see to."""
    (tmp_path / FILE_NAME).write_bytes(content)
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as ledger:
        assert ledger.find_blocks(DIGEST) is None
        ledger.keep_blocks(DIGEST, b"1" * 64)
        assert ledger.find_blocks(DIGEST) == b"1" * 64
        assert ledger.note_damage("a", LOST, 100)
        assert list(ledger.damaged_items()) == ["a"]
        with pytest.raises(CatalogDamaged):
            ledger.record("a", [LOST], 100)
    assert (tmp_path / FILE_NAME).read_bytes() == content


def test_a_disk_that_refuses_keeps_no_damage_from_being_known(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with closing(SqliteIntegrity(tmp_path / "file" / FILE_NAME)) as ledger:
        assert ledger.find_blocks(DIGEST) is None
        ledger.keep_blocks(DIGEST, b"1" * 64)
        ledger.forget_blocks([DIGEST])
        assert ledger.note_damage("a", LOST, 100)
        assert list(ledger.damaged_items()) == ["a"]


def test_an_item_is_wanted_until_it_was_verified_by_whichever_process(ledger: SqliteIntegrity, tmp_path: Path) -> None:
    ledger.expect(["a", "b"])
    for name, at in (("b", 20), ("a", 10), ("b", 5)):
        ledger.want(name, at)
    assert ledger.wanted() == (("a", 10), ("b", 20))
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as other:
        other.record("a", (), 30)
    assert ledger.wanted() == (("b", 20),)
    ledger.forget("b")
    assert ledger.wanted() == ()


def test_the_latest_verifications_come_first_with_what_they_found(ledger: SqliteIntegrity) -> None:
    ledger.expect(["a", "b", "c"])
    ledger.record("a", (), 100)
    ledger.record("b", (LOST,), 200)
    assert ledger.latest(5) == (Verification("b", 200, 200, (LOST,)), Verification("a", 100))
    assert [each.name for each in ledger.latest(1)] == ["b"]
