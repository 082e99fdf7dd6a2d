"""After crashes and restored backups, minting goes on later than anything issued, or is refused."""

from __future__ import annotations

import shutil
from fractions import Fraction

import pytest

from ibi.minting.model import MintRequest
from ibi.minting.rules.mint_log import LogBroken, verify
from ibi.standard.identity import Identity
from ibi.standard.storage_errors import StoreDamaged
from tests.support.minting_samples import IDENTITY, accept, dates, labels_on_record, mint
from tests.unit.storage.bench import Bench, all_unique

NEIGHBOUR = Identity("other.sid.inpe.br", "150.163.34.249")


# A crash between the log and the database.


def test_a_torn_line_is_cut_off(bench: Bench) -> None:
    bench.minted(2)
    whole = bench.log.read_bytes()
    for rest in (b"{", whole.splitlines()[-1], b"\0" * 5000, b"x" * 200_000, b"\0" * 4096 + b'"}\n'):
        bench.log.write_bytes(whole + rest)
        ticks = bench.open()
        assert bench.log.read_bytes() == whole
        ticks.close()
    bench.minted(1)
    assert all_unique(bench.open())


def test_a_line_that_the_database_does_not_know_counts(bench: Bench) -> None:
    bench.minted(1)
    shutil.copy(bench.database, bench.folder / "before")
    bench.minted(1)
    shutil.copy(bench.folder / "before", bench.database)
    ticks = bench.open()
    *_, last = verify(ticks.log())
    span = last.span()
    assert span is not None
    assert ticks.state().last == span.last
    assert dates(mint(ticks, bench.clocks))[0] > span.last


def test_a_line_taken_in_while_others_have_the_store_open(bench: Bench) -> None:
    """A process was killed between the log and the database; the others go on after it."""
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    mint(ticks, bench.clocks)

    def fail(step: str) -> None:
        if step == "line synced" and armed:
            raise LookupError

    armed = False
    other = bench.open(on_step=fail)
    armed = True
    with pytest.raises(LookupError):
        mint(other, bench.clocks, MintRequest(5, "rui"))
    assert len(list(ticks.log())) == 3
    mint(ticks, bench.clocks)
    assert all_unique(ticks)
    assert len(list(labels_on_record(ticks))) == 7


# Backups put back.


def test_an_older_database_goes_on_later_than_anything_issued(bench: Bench) -> None:
    bench.minted(2)
    shutil.copy(bench.database, bench.folder / "backup")
    bench.minted(3)
    shutil.copy(bench.folder / "backup", bench.database)
    bench.forget_locks()
    bench.minted(3)
    ticks = bench.open()
    assert all_unique(ticks)
    assert len(list(labels_on_record(ticks))) == 16


def test_an_older_database_takes_in_identities_and_clocks_from_the_log(bench: Bench) -> None:
    bench.minted(1)
    shutil.copy(bench.database, bench.folder / "backup")
    ticks = bench.open()
    bench.clocks.jump(60)
    accept(ticks, bench.clocks)
    mint(ticks, bench.clocks, MintRequest(4, "ana"))
    bench.clocks.jump(-60)
    accept(ticks, bench.clocks)
    mint(ticks, bench.clocks)
    ticks.freeze(NEIGHBOUR)
    mint(ticks, bench.clocks, identity=NEIGHBOUR)
    ticks.freeze(IDENTITY)
    state = ticks.state()
    ticks.close()
    shutil.copy(bench.folder / "backup", bench.database)
    again = bench.open()
    assert again.identity() == IDENTITY
    assert (again.state().last, again.state().ahead) == (state.last, state.ahead)
    for _ in range(150):
        mint(again, bench.clocks)
        bench.clocks.advance(Fraction(1, 2))
    assert all_unique(again)


@pytest.mark.parametrize("batches", [1, 40, 400])
def test_an_older_database_beside_the_journal_of_a_newer_one(bench: Bench, batches: int) -> None:
    """What an operator overlooks who puts back one file of three: SQLite then mixes the two."""
    bench.minted(5)
    shutil.copy(bench.database, bench.folder / "backup")
    ticks = bench.open()
    for number in range(batches):
        mint(ticks, bench.clocks, *[MintRequest(1, "ana", f"{number} {key}") for key in range(10)])
    journal = bench.database.with_name("ticks.sqlite-wal")
    shutil.copy(journal, bench.folder / "journal")
    mint(ticks, bench.clocks, MintRequest(3, "ana"))
    ticks.close()
    shutil.copy(bench.folder / "backup", bench.database)
    shutil.copy(bench.folder / "journal", journal)
    try:
        ticks = bench.open()
        for number in range(batches):
            mint(ticks, bench.clocks, MintRequest(1, "ana", f"again {number}"))
    except StoreDamaged:
        ticks.close()
        for path in bench.database.parent.glob("ticks.sqlite*"):
            path.unlink()
        ticks = bench.open()
    mint(ticks, bench.clocks)
    assert all_unique(ticks)


def test_a_database_that_is_gone_is_made_anew_from_the_log(bench: Bench) -> None:
    bench.minted(3)
    bench.database.unlink()
    bench.forget_locks()
    ticks = bench.open()
    assert ticks.identity() == IDENTITY
    mint(ticks, bench.clocks)
    assert all_unique(ticks)


def test_a_whole_directory_put_back_is_noticed_through_the_lock(bench: Bench) -> None:
    bench.minted(2)
    shutil.copytree(bench.data, bench.folder / "backup")
    ticks = bench.open()
    given = [date for _ in range(5) for date in dates(mint(ticks, bench.clocks, MintRequest(3, "ana")))]
    ticks.close()
    shutil.rmtree(bench.data)
    shutil.copytree(bench.folder / "backup", bench.data)
    restored = bench.open()
    assert restored.state().last == given[-1]
    assert dates(mint(restored, bench.clocks))[0] > given[-1]
    restored.close()
    # It is in the store now, and does not depend on the lock any more.
    bench.forget_locks()
    assert dates(mint(bench.open(), bench.clocks))[0] > given[-1]


def test_a_lock_behind_the_store_does_not_turn_the_clock(bench: Bench) -> None:
    """The mark of the last batch may be missing after a crash; after a clock was accepted, it may even be later."""
    bench.minted(1)
    ticks = bench.open()
    bench.clocks.jump(3600)
    accept(ticks, bench.clocks)
    mint(ticks, bench.clocks)
    marks = {path: path.read_bytes() for path in (bench.folder / "locks").iterdir()}
    bench.clocks.jump(-3600)
    accept(ticks, bench.clocks)
    state = ticks.state()
    ticks.close()
    for path, content in marks.items():
        path.write_bytes(content)
    assert bench.open().state() == state


# A log that is not what was written.


def test_a_log_shorter_than_the_database_knows_is_refused(bench: Bench) -> None:
    bench.minted(2)
    whole = bench.log.read_bytes()
    shorter = whole[: whole.rindex(b"\n", 0, -1) + 1]
    for content in (shorter, whole[:-1], b""):
        bench.log.write_bytes(content)
        with pytest.raises(LogBroken, match="Line 3"):
            bench.open()
    bench.log.unlink()
    with pytest.raises(LogBroken):
        bench.open()
    bench.log.write_bytes(whole)
    bench.minted(1)


def test_a_changed_last_line_is_refused(bench: Bench) -> None:
    bench.minted(2)
    whole = bench.log.read_bytes()
    bench.log.write_bytes(whole.replace(b'"ana"', b'"eva"'))
    with pytest.raises(LogBroken):
        bench.open()


def test_a_line_that_does_not_follow_is_refused(bench: Bench) -> None:
    bench.minted(2)
    whole = bench.log.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for extra in (
        last,
        b"{}\n",
        b"\n",
        b"nonsense\n",
        b"[" * 100_000 + b"\n",
        last.replace(b'"number":3', b'"number":4'),
    ):
        bench.log.write_bytes(whole + extra)
        with pytest.raises(LogBroken):
            bench.open()


def test_a_log_changed_while_the_store_is_open_is_noticed(bench: Bench) -> None:
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    mint(ticks, bench.clocks)
    whole = bench.log.read_bytes()
    bench.log.write_bytes(whole[:-20])
    with pytest.raises(LogBroken):
        mint(ticks, bench.clocks)
    bench.log.unlink()
    with pytest.raises(LogBroken):
        mint(ticks, bench.clocks)
    bench.log.write_bytes(whole)  # another file of that name
    mint(ticks, bench.clocks)
    assert len(list(verify(ticks.log()))) == 3


def test_the_log_says_where_it_was_changed(bench: Bench) -> None:
    bench.minted(4)
    ticks = bench.open()
    whole = bench.log.read_bytes()
    bench.log.write_bytes(whole.replace(b'"ana"', b'"eva"', 1))
    with pytest.raises(LogBroken, match="Line 3"):
        list(verify(ticks.log()))


def test_the_database_vouches_for_the_last_line(bench: Bench) -> None:
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    mint(ticks, bench.clocks)
    lines = ticks.log()
    whole = bench.log.read_bytes()
    bench.log.write_bytes(whole.replace(b'"ana"', b'"eva"'))
    with pytest.raises(LogBroken, match="Line 2"):
        list(verify(lines))
