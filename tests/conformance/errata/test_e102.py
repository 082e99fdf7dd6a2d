"""E102: giver and receiver that are both put back from before a transfer leave one Original."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from ibi.standard.vocabulary import State
from tests.support.deposit_samples import deposits, put
from tests.support.transfer_archives import RESOLVER, TransferArchive, give, put_back, two_archives


def test_a_transfer_that_both_sides_lost_is_repaired_by_what_they_signed(tmp_path: Path) -> None:
    with two_archives(tmp_path, RESOLVER) as (a, _):
        item = put(deposits(a.store))
    for name in "ab":
        shutil.copytree(tmp_path / name, tmp_path / f"backup-{name}")
    with two_archives(tmp_path, RESOLVER) as (a, b):
        give(a, b, item)
        b.worker.step()
        network, before = b.network, b.chains.chain(item.rep)
    with ExitStack() as opened:
        for name in "ab":
            put_back(tmp_path, name)
        a, b = (TransferArchive(network, name, tmp_path, opened, resolver=RESOLVER, is_new=False) for name in "ab")
        assert (a.state(item.rep), b.state(item.rep)) == (State.ORIGINAL, None)
        for each in (a, b, a, b):
            each.worker.step()
            each.repair()
        assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.ORIGINAL)
        assert a.chains.chain(item.rep) == b.chains.chain(item.rep) == before
