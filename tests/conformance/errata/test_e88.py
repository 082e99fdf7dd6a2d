"""E88: an Original has moved with the signed release that its holder keeps; what is not signed does not undo it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.items.rules.provenance import InvalidProvenance, check_chain
from ibi.membership.model.registration import Succession
from ibi.standard.label import Label
from ibi.standard.vocabulary import State
from ibi.transfers.service.release_register import ReleaseNotBelieved, ReleaseRegister
from ibi.transfers.store.releases import SqliteChainStore
from tests.support.deposit_samples import deposits, put
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.transfer_archives import TransferArchive, give, network_keys, two_archives


def register(folder: Path, a: TransferArchive, beliefs: MemoryBeliefs, home: TransferArchive) -> ReleaseRegister:
    """Of a resolver by which `home` is the home of every label."""

    def is_home(service: Label, _prefix: str) -> bool:
        return service in home.service.labels

    return ReleaseRegister(SqliteChainStore(folder), beliefs, network_keys(a.network), is_home, lambda: 1.0)


def test_the_release_and_the_copy_are_one_version_of_the_object(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        item = put(deposits(a.store))
        a.sending.begin(item, b.url, "agreed")
        b.receiving.go_on(item.rep)
        before = a.store.read(str(item.rep))
        assert (before.item.state, a.chains.chain(item.rep).texts) == (State.ORIGINAL, ())
        a.sending.go_on(item.rep)
        after, chain = a.store.read(str(item.rep)), a.chains.chain(item.rep)
        assert (after.item.state, after.head) == (State.COPY, before.head + 1)
        assert chain.is_under_way
        release = check_chain(chain.texts, network_keys(a.network), item.labels).last_release
        assert release is not None
        assert (release.giver, release.to, release.to_key) == (
            a.service.rep,
            b.service.rep,
            b.keys.signing_key().public,
        )


def test_a_resolver_believes_the_home_and_keeps_that_whatever_an_answer_says(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        item = put(deposits(a.store))
        give(a, b, item)
        texts, beliefs = b.chains.chain(item.rep).texts, MemoryBeliefs()
        with pytest.raises(ReleaseNotBelieved):
            register(tmp_path / "other", a, beliefs, home=b).hear(texts)
        told = register(tmp_path / "resolver", a, beliefs, home=a)
        assert told.hear(texts) == b.service.rep
        beliefs.record_successors(item.rep, (a.service.labels[0],), 2)
        assert beliefs.succession(item.rep) == Succession((b.service.labels[0],), is_signed=True)
        assert told.hear(texts[:1]) == b.service.rep  # replayed: it says nothing new
        forged = texts[0][:-4] + ("AAAA" if texts[0][-4:] != "AAAA" else "BBBB")
        with pytest.raises(InvalidProvenance):
            told.hear((forged,))
