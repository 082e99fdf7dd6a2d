"""Where it is not certain that nothing was issued after what the log knows, minting goes on later than now (E57)."""

from __future__ import annotations

import shutil
from fractions import Fraction

import pytest

from ibi.minting.model import Gap, MintRequest
from ibi.minting.rules.errors import ClockBehind
from ibi.minting.rules.minter import Rules
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.storage.errors import MintLogLost
from tests.support.minting_samples import IDENTITY, START, accept, dates, mint
from tests.unit.storage.bench import Bench

COARSE = Rules(wait_bound=Fraction(60))
"""Left alone, it gives the date of the minute that has begun."""
MINUTE = Instant(START.seconds // 60 * 60)


def begin(bench: Bench) -> str:
    """A directory that has minted a label, some time ago; its epoch."""
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    ticks.set_doubt(in_doubt=False)
    mint(ticks, bench.clocks)
    epoch = ticks.epoch()
    ticks.close()
    bench.clocks.advance(120)
    return epoch


def is_lost(ticks: SqliteTicks) -> bool:
    return ticks.state().gap is Gap.LOST_TRACK


def test_a_directory_left_in_order_goes_on_as_if_never_closed(bench: Bench) -> None:
    epoch = begin(bench)
    ticks = bench.open()
    assert (ticks.epoch(), ticks.is_in_doubt(), ticks.state().gap) == (epoch, False, Gap.NONE)
    assert dates(mint(ticks, bench.clocks, rules=COARSE)) == [Instant(MINUTE.seconds + 120)]


def test_a_crash_before_the_mark_loses_no_track(bench: Bench) -> None:
    epoch = begin(bench)

    def fail(step: str) -> None:
        if step == "committed" and armed:
            raise LookupError

    armed = False
    ticks = bench.open(on_step=fail)
    armed = True
    with pytest.raises(LookupError):
        mint(ticks, bench.clocks)
    ticks.close()
    again = bench.open()
    assert (again.epoch(), again.state().gap) == (epoch, Gap.NONE)


def forget_locks(bench: Bench) -> None:
    bench.forget_locks()


def boot(bench: Bench) -> None:
    bench.clocks.boot("another")


def copy_all(bench: Bench) -> None:
    """The files of a machine, copied with their locks."""
    for name in ("data", "locks"):
        shutil.copytree(bench.folder / name, bench.folder / f"copy of {name}")
        shutil.rmtree(bench.folder / name)
        (bench.folder / f"copy of {name}").rename(bench.folder / name)


def lose_database(bench: Bench) -> None:
    for path in bench.database.parent.glob("ticks.sqlite*"):
        path.unlink()


@pytest.mark.parametrize("event", [forget_locks, boot, copy_all, lose_database])
def test_after_each_of_these_the_next_label_is_later_than_now(bench: Bench, event) -> None:  # type: ignore[no-untyped-def]
    epoch = begin(bench)
    event(bench)
    ticks = bench.open()
    assert is_lost(ticks)
    assert ticks.is_in_doubt()
    assert ticks.epoch() != epoch
    # The time counts at which the label is minted: the clock may have been wrong when the directory was opened.
    bench.clocks.advance(7)
    now = bench.clocks.read().wall
    (date,) = dates(mint(ticks, bench.clocks, rules=COARSE))
    assert date > now
    assert ticks.state().gap is Gap.NONE
    ticks.close()
    again = bench.open()
    assert (again.epoch() != epoch, again.state().gap, again.is_in_doubt()) == (True, Gap.NONE, True)


@pytest.mark.parametrize("locks", ["kept", "lost"])
@pytest.mark.parametrize("more", [1, 5])
def test_an_older_backup_repeats_no_date(bench: Bench, locks: str, more: int) -> None:
    begin(bench)
    shutil.copytree(bench.data, bench.folder / "backup")
    ticks = bench.open()
    given = [date for _ in range(more) for date in dates(mint(ticks, bench.clocks, MintRequest(3, "ana")))]
    ticks.close()
    shutil.rmtree(bench.data)
    (bench.folder / "backup").rename(bench.data)
    if locks == "lost":
        bench.forget_locks()
    bench.clocks.advance(1)
    restored = bench.open()
    assert is_lost(restored)
    for rules in (Rules(), COARSE):
        assert dates(mint(restored, bench.clocks, rules=rules))[0] > max(given)


def test_two_histories_of_the_same_length_are_told_apart(bench: Bench) -> None:
    begin(bench)
    shutil.copytree(bench.data, bench.folder / "backup")
    one = bench.open()
    (given,) = dates(mint(one, bench.clocks))
    one.close()
    shutil.rmtree(bench.data)
    (bench.folder / "backup").rename(bench.data)
    marks = {path: path.read_bytes() for path in (bench.folder / "locks").iterdir()}
    other = bench.open()
    mint(other, bench.clocks, MintRequest(2, "rui"))
    other.close()
    for path, content in marks.items():
        path.write_bytes(content)
    restored = bench.open()
    assert is_lost(restored)
    assert dates(mint(restored, bench.clocks))[0] > given


def test_labels_go_on_later_than_the_newest_that_is_kept(bench: Bench) -> None:
    begin(bench)
    bench.forget_locks()
    now = bench.clocks.read().wall
    newest = Instant(now.seconds + 3, "7")
    bench.newest = newest
    ticks = bench.open()
    assert ticks.state().last == newest
    assert dates(mint(ticks, bench.clocks))[0] > newest


def test_a_kept_label_of_a_clock_that_ran_ahead_waits_for_an_operator_once(bench: Bench) -> None:
    begin(bench)
    bench.forget_locks()
    bench.newest = Instant(bench.clocks.read().wall.seconds + 3600)
    ticks = bench.open()
    assert isinstance(mint(ticks, bench.clocks).outcomes[0], ClockBehind)
    accept(ticks, bench.clocks)
    mint(ticks, bench.clocks)
    ticks.close()
    bench.forget_locks()
    again = bench.open()  # the label is on record now as one that is passed over
    mint(again, bench.clocks)
    assert bench.newest not in dates(mint(again, bench.clocks))


def test_a_sandbox_of_one_machine_is_neither_doubted_nor_spread(bench: Bench) -> None:
    sandbox = Identity.of_sandbox(8765)
    ticks = bench.open()
    ticks.freeze(sandbox)
    assert (ticks.is_in_doubt(), ticks.state().gap) == (False, Gap.NONE)
    mint(ticks, bench.clocks, identity=sandbox)
    ticks.close()
    bench.forget_locks()
    again = bench.open()
    assert (again.is_in_doubt(), again.state().gap) == (False, Gap.BEGINNING)


def test_a_lost_log_beside_kept_labels_is_refused_until_that_is_accepted(bench: Bench) -> None:
    begin(bench)
    shutil.rmtree(bench.data / "mint")
    bench.forget_locks()
    bench.newest = Instant(START.seconds + 60)
    ticks = bench.open()
    for _ in range(2):
        with pytest.raises(MintLogLost, match=r"--accept-loss") as refusal:
            ticks.freeze(IDENTITY)
        assert "2027-03-01T12:01:30Z" in str(refusal.value)
    assert ticks.identity() is None
    ticks.close()
    accepted = bench.open(accept_loss=True)
    accepted.freeze(IDENTITY)
    assert is_lost(accepted)
    now = bench.clocks.read().wall
    assert dates(mint(accepted, bench.clocks, rules=COARSE))[0] > now
    accepted.close()
    mint(bench.open(), bench.clocks)


def test_with_nothing_kept_a_directory_begins_later_than_now(bench: Bench) -> None:
    """Nothing is left that could tell: the log, the locks and the items of a former installation are gone."""
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    assert ticks.is_in_doubt()
    assert dates(mint(ticks, bench.clocks, rules=Rules()))[0] > START


def test_the_doubt_is_remembered(bench: Bench) -> None:
    begin(bench)
    ticks = bench.open()
    ticks.set_doubt(in_doubt=True)
    ticks.close()
    assert bench.open().is_in_doubt()
