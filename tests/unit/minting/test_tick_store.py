"""What a commit of the clock leaves on the disk."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ibi.minting.model import MintRequest, TickState
from ibi.minting.ports import Remembered
from ibi.minting.rules.minter import Decision, Rules, decide
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.identity import Identity
from tests.support.set_clocks import SetClocks

IDENTITY = Identity("www.urlib.net", "150.163.34.243")


def mint(ticks: SqliteTicks, clocks: SetClocks) -> None:
    def decision(state: TickState, remembered: Remembered) -> Decision:
        return decide(IDENTITY, Rules(), state, [MintRequest(1, "ana")], clocks.read(), remembered)

    ticks.advance(decision)
    clocks.advance(1)


def test_the_log_of_the_database_stays_short(tmp_path: Path) -> None:
    clocks = SetClocks()
    with closing(SqliteTicks(tmp_path / "data", machine="here", lock_directory=tmp_path / "locks")) as ticks:
        ticks.freeze(IDENTITY)
        sizes = []
        for _ in range(300):
            mint(ticks, clocks)
            sizes.append(sum(file.stat().st_size for file in (tmp_path / "data" / "mint").glob("*-wal")))
    assert max(sizes[100:]) == sizes[99] < 1 << 20


def test_what_was_committed_is_read_again_by_the_next(tmp_path: Path) -> None:
    clocks = SetClocks()
    for _ in range(3):
        with closing(SqliteTicks(tmp_path / "data", machine="here", lock_directory=tmp_path / "locks")) as ticks:
            ticks.freeze(IDENTITY)
            before = ticks.state()
            mint(ticks, clocks)
            mint(ticks, clocks)
            state = ticks.state()
            assert before.last is None or (state.last is not None and state.last > before.last)
        with closing(SqliteTicks(tmp_path / "data", machine="here", lock_directory=tmp_path / "locks")) as ticks:
            assert ticks.state() == state
            assert ticks.identity() == IDENTITY
