"""E90: an Archive that was put back from a backup calls nothing Original before others were asked."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.standard.vocabulary import State
from ibi.transfers.service.worker import StillInDoubt
from tests.support.deposit_samples import deposits, put
from tests.support.transfer_archives import RESOLVER, TransferArchive, give, put_back, two_archives


def test_a_restored_archive_is_silent_until_it_was_told_its_own_releases(tmp_path: Path) -> None:
    with two_archives(tmp_path, RESOLVER) as (a, _):
        item = put(deposits(a.store))
    shutil.copytree(tmp_path / "a", tmp_path / "backup-a")
    with two_archives(tmp_path, RESOLVER) as (a, b):
        give(a, b, item)
        a.worker.step()
    network = b.network
    put_back(tmp_path, "a")
    with ExitStack() as opened:
        b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
        network.cut = {RESOLVER}
        again = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
        again.worker.step()
        assert (again.state(item.rep), again.tracking.is_silent) == (State.ORIGINAL, True)  # kept, and not said
        with pytest.raises(StillInDoubt):
            again.tracking.require_sure()
        network.cut = set()
        again.tracking.ask(again.chains, again.receiving)
        assert (again.state(item.rep), again.tracking.in_doubt) == (State.COPY, False)
        assert again.chains.chain(item.rep) == b.chains.chain(item.rep)
