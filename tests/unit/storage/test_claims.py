"""One identity, one minter: other data directories, copies and moves."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction

import pytest

from ibi.minting.model import MintRequest
from ibi.minting.rules.mint_log import verify
from ibi.standard.identity import Identity
from ibi.storage.errors import (
    DataDirectoryCopied,
    IdentityInUse,
)
from tests.support.minting_samples import IDENTITY, dates, mint
from tests.unit.storage.bench import Bench

NEIGHBOUR = Identity("other.sid.inpe.br", "150.163.34.249")


# A second minter of one identity.


def test_a_second_data_directory_with_the_identity_is_refused(bench: Bench) -> None:
    first = bench.open()
    first.freeze(IDENTITY)
    second = bench.open(bench.folder / "second")
    with pytest.raises(IdentityInUse, match=str(bench.data)):
        second.freeze(IDENTITY)
    assert second.identity() is None
    # Whether it runs or not.
    first.close()
    with pytest.raises(IdentityInUse):
        second.freeze(IDENTITY)
    # And if only one of the two forms is the same.
    with pytest.raises(IdentityInUse):
        second.freeze(replace(IDENTITY, ip="150.163.34.250"))
    with pytest.raises(IdentityInUse):
        second.freeze(replace(IDENTITY, host="other.sid.inpe.br"))
    second.freeze(NEIGHBOUR)
    second.close()
    bench.open()


def test_what_was_refused_leaves_no_claim(bench: Bench) -> None:
    bench.minted(1)
    second = bench.open(bench.folder / "second")
    with pytest.raises(IdentityInUse):
        second.freeze(replace(IDENTITY, host="new.sid.inpe.br"))
    third = bench.open(bench.folder / "third")
    third.freeze(Identity("new.sid.inpe.br"))


def test_an_identity_given_up_may_be_minted_elsewhere_after_what_was_issued(bench: Bench) -> None:
    first = bench.open()
    first.freeze(IDENTITY)
    given = dates(mint(first, bench.clocks, MintRequest(5, "ana")))
    first.freeze(NEIGHBOUR)
    second = bench.open(bench.folder / "second")
    second.freeze(IDENTITY)
    assert second.state().last == given[-1]
    later = dates(mint(second, bench.clocks, MintRequest(5, "ana")))
    with pytest.raises(IdentityInUse):
        first.freeze(IDENTITY)
    second.freeze(Identity("third.sid.inpe.br"))
    first.freeze(IDENTITY)
    assert first.state().last == later[-1] > given[-1]


def test_a_directory_that_is_gone_leaves_its_identity_to_the_next(bench: Bench) -> None:
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    given = dates(mint(ticks, bench.clocks, MintRequest(5, "ana")))
    ticks.close()
    shutil.rmtree(bench.data)
    for folder in ("second", "third"):
        data = bench.folder / folder
        ticks = bench.open(data)
        ticks.freeze(IDENTITY)
        ticks.close()
        assert bench.open(data).state().last == given[-1]
        bench.close()
        shutil.rmtree(data)


def test_a_date_taken_over_survives_a_crash_in_between(bench: Bench) -> None:
    ticks = bench.open()
    ticks.freeze(IDENTITY)
    given = dates(mint(ticks, bench.clocks, MintRequest(5, "ana")))
    ticks.close()
    shutil.rmtree(bench.data)

    def fail(step: str) -> None:
        if step == dying:
            raise LookupError

    for dying in ("line written", "line synced", "rows written", "committed"):
        data = bench.folder / dying
        ticks = bench.open(data, on_step=fail)
        with pytest.raises(LookupError):
            ticks.freeze(IDENTITY)
        ticks.close()
        dying = ""
        ticks = bench.open(data)
        ticks.freeze(IDENTITY)
        assert ticks.state().last == given[-1]
        ticks.close()
        shutil.rmtree(data)


# Copies and moves.


def test_a_moved_directory_is_the_same_one(bench: Bench) -> None:
    bench.minted(2)
    moved = bench.folder / "moved"
    bench.data.rename(moved)
    ticks = bench.open(moved)
    mint(ticks, bench.clocks)
    ticks.close()
    mint(bench.open(moved), bench.clocks)


def test_a_directory_by_another_name_is_the_same_one(bench: Bench) -> None:
    bench.minted(1)
    link = bench.folder / "link"
    link.symlink_to(bench.data)
    one, other = bench.open(), bench.open(link)
    mint(one, bench.clocks)
    mint(other, bench.clocks)


@pytest.mark.parametrize("rebooted", [False, True])
def test_a_copy_beside_the_original_is_refused(bench: Bench, rebooted: bool) -> None:
    bench.minted(1)
    copy = bench.folder / "copy"
    shutil.copytree(bench.data, copy)
    if rebooted:
        bench.forget_locks()
    with pytest.raises(IdentityInUse, match=str(bench.data)):
        bench.open(copy)
    if not rebooted:
        with pytest.raises(IdentityInUse):
            bench.open(copy, confirmed=bench.clocks.read())
    bench.minted(1)
    shutil.rmtree(bench.data)
    mint(bench.open(copy), bench.clocks)


def test_a_directory_from_another_machine_is_refused_until_confirmed(bench: Bench) -> None:
    bench.minted(2)
    bench.forget_locks()
    lines = bench.log.read_bytes()
    with pytest.raises(DataDirectoryCopied):
        bench.open(machine="another")
    assert bench.log.read_bytes() == lines
    bench.clocks.advance(Fraction(29))
    ticks = bench.open(machine="another", confirmed=bench.clocks.read())
    *_, last = verify(ticks.log())
    assert (last.kind, last.at) == ("copy", bench.clocks.read().wall)
    assert ticks.state().last == bench.clocks.read().wall
    assert dates(mint(ticks, bench.clocks))[0] > bench.clocks.read().wall
    ticks.close()
    bench.open(machine="another").close()
    with pytest.raises(DataDirectoryCopied):
        bench.open()


def test_a_confirmed_copy_moves_the_clocks_of_all_its_identities(bench: Bench) -> None:
    bench.minted(1)
    ticks = bench.open()
    ticks.freeze(NEIGHBOUR)
    ticks.close()
    shutil.copy(bench.database, bench.folder / "backup")
    bench.clocks.advance(10)
    now = bench.clocks.read()
    bench.open(machine="another", confirmed=now).close()
    shutil.copy(bench.folder / "backup", bench.database)  # what was confirmed is in the log
    ticks = bench.open(machine="this machine")
    assert ticks.state().last == now.wall
    ticks.freeze(IDENTITY)
    assert ticks.state().last == now.wall


def test_a_confirmed_copy_is_still_refused_beside_who_mints_here(bench: Bench) -> None:
    bench.minted(1)
    copy = bench.folder / "copy"
    shutil.copytree(bench.data, copy)
    running = bench.open()
    with pytest.raises(IdentityInUse):
        bench.open(copy, machine="another", confirmed=bench.clocks.read())
    mint(running, bench.clocks)


def test_a_directory_without_an_identity_may_be_copied(bench: Bench) -> None:
    bench.open().close()
    shutil.copytree(bench.data, bench.folder / "copy")
    ticks = bench.open(bench.folder / "copy", machine="another")
    ticks.freeze(IDENTITY)
