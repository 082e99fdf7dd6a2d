"""E89: the receiver countersigns before it says Original; in between no Archive does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.standard.vocabulary import State
from ibi.transfers.rules.transfer import TransferRefused
from tests.support.deposit_samples import deposits, put
from tests.support.transfer_archives import two_archives


def test_original_is_said_in_the_version_that_has_the_countersignature(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        item = put(deposits(a.store))
        a.sending.begin(item, b.url, "agreed")
        b.receiving.go_on(item.rep)
        a.sending.go_on(item.rep)
        assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.COPY)
        before = b.store.read(str(item.rep)).head
        b.receiving.go_on(item.rep)
        assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.ORIGINAL)
        assert b.store.read(str(item.rep)).head == before + 1
        chain = b.chains.chain(item.rep)
        assert (chain.is_under_way, chain.links[-1].signer) == (False, b.keys.signing_key().public)


def test_what_was_agreed_cannot_be_declined_nor_what_was_released_be_withdrawn(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        item = put(deposits(a.store))
        a.sending.begin(item, b.url, "agreed")
        b.receiving.go_on(item.rep)
        with pytest.raises(TransferRefused):
            b.receiving.decline(item.rep)
        a.sending.go_on(item.rep)
        with pytest.raises(TransferRefused):
            a.sending.withdraw(item.rep)
