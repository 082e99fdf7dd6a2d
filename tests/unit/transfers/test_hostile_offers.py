"""Offers of strangers: they take no place of another Archive's, lead nothing elsewhere, and are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ibi.items.rules.provenance import NO_CHAIN, sign_release
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.signing import SigningKey
from ibi.transfers.model import IncomingTransfer, ReceiverStage, SenderStage
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.rules.transfer_messages import Offer, sign_offer
from ibi.transfers.service import receiving
from ibi.transfers.service.receiving import A_MINUTE_OF_NETWORK, TooManyOffers
from tests.support.deposit_samples import deposits, draft, labels, put, sources
from tests.support.transfer_archives import TransferArchive, give, two_archives

STRANGER = SigningKey(b"z" * 32)
EVIL = RepositoryName.parse("evil.example/ibi/2020/01.01.00.00")


class Parties:
    """`a` offers its item to `b`, and a stranger does as well."""

    def __init__(self, a: TransferArchive, b: TransferArchive) -> None:
        self.a, self.b, self.item = a, b, put(deposits(a.store))

    @property
    def kept(self) -> IncomingTransfer:
        kept = self.b.ledger.incoming(self.item.rep)
        assert kept is not None
        return kept

    def offer(self, key: SigningKey, *, agreed: bool = False, **change: Any) -> None:
        given = Offer(self.item.labels, 1, EVIL, "http://evil.example", self.b.url, "0" * 128, 1 << 39)
        self.b.receiving.take_offer(sign_offer(replace(given, **change), key), agreed=agreed)


@pytest.fixture
def parties(tmp_path: Path) -> Iterator[Parties]:
    with two_archives(tmp_path) as (a, b):
        yield Parties(a, b)


@pytest.mark.parametrize("stage", [ReceiverStage.WAITING, ReceiverStage.ACCEPTED, ReceiverStage.HELD])
def test_a_stranger_takes_no_place_of_another(parties: Parties, stage: ReceiverStage) -> None:
    parties.a.sending.begin(parties.item, parties.b.url)
    if stage is not ReceiverStage.WAITING:
        parties.b.receiving.agree(parties.item.rep)
    if stage is ReceiverStage.HELD:
        parties.b.receiving.go_on(parties.item.rep)
    before = parties.kept
    assert before.stage is stage
    for change in ({}, {"number": 9}, {"released": True}, {"giver": parties.a.service.labels[0]}):
        with pytest.raises(TransferRefused):
            parties.offer(STRANGER, **change)
    assert parties.kept == before


def test_the_home_of_the_label_takes_the_place_of_a_stranger_whose_offer_waits(parties: Parties) -> None:
    """As the register of the resolver has it: any server can offer first, and would keep the home out."""
    key = parties.a.keys.signing_key().public
    parties.b.receiving._is_home = lambda _offer, signer: signer == key
    parties.offer(STRANGER)
    parties.a.sending.begin(parties.item, parties.b.url)
    assert (parties.kept.giver_key, parties.kept.stage) == (key, ReceiverStage.WAITING)
    parties.b.receiving.decline(parties.item.rep)
    parties.offer(STRANGER)
    parties.b.receiving.agree(parties.item.rep)
    with pytest.raises(TransferRefused, match="decline that offer first"):
        parties.b.receiving.take_offer(sign_offer(_offer_of(parties), parties.a.keys.signing_key()), agreed=False)


def _offer_of(parties: Parties) -> Offer:
    return Offer(parties.item.labels, 1, parties.a.service.labels[0], parties.a.url, parties.b.url, "0" * 128, 1 << 39)


def test_a_release_that_stays_wrong_ends_the_transfer_with_the_reason(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, rep = parties.a, parties.b, parties.item.rep
    a.sending.begin(parties.item, b.url, "agreed")
    b.receiving.go_on(rep)
    assert parties.kept.stage is ReceiverStage.HELD
    manifest = a.chains.here(rep).manifest
    assert manifest is not None
    giver, to = a.service.labels[0], b.service.labels[0]
    given = (parties.item.labels, giver, to, b.keys.signing_key().public, manifest, Instant(1_800_000_000))
    forged = sign_release(NO_CHAIN, *given, STRANGER).texts
    monkeypatch.setattr(b.receiving._peers, "chain", lambda _url, _label: forged)
    for _ in range(9):
        assert b.receiving.go_on(rep).stage is ReceiverStage.HELD
    ended = b.receiving.go_on(rep)
    assert (ended.stage, "the release is not believed" in ended.reason) == (ReceiverStage.ENDED, True)
    monkeypatch.undo()
    told = a.sending.go_on(rep)
    assert (told.stage, told.reason) == (SenderStage.WITHDRAWN, ended.reason)
    assert give(a, b, parties.item) is SenderStage.DONE


def test_what_was_accepted_is_of_one_key_even_for_who_has_a_token(parties: Parties) -> None:
    parties.a.sending.begin(parties.item, parties.b.url)
    parties.b.receiving.agree(parties.item.rep, str(parties.a.keys.signing_key().public))
    with pytest.raises(TransferRefused, match="decline that offer first"):
        parties.offer(STRANGER, agreed=True)
    parties.b.receiving.decline(parties.item.rep)
    parties.offer(STRANGER)
    assert parties.kept.giver_key == STRANGER.public


def test_an_offer_is_accepted_by_its_key(parties: Parties) -> None:
    parties.offer(STRANGER)
    with pytest.raises(TransferRefused, match=str(STRANGER.public)):
        parties.b.receiving.agree(parties.item.rep, str(parties.a.keys.signing_key().public))
    assert parties.kept.stage is ReceiverStage.WAITING


def test_the_record_of_what_was_taken_is_not_replaced(parties: Parties) -> None:
    assert give(parties.a, parties.b, parties.item) is SenderStage.DONE
    before = parties.kept
    with pytest.raises(TransferRefused):
        parties.offer(STRANGER)
    assert parties.kept == before


def test_what_was_accepted_is_brought_from_where_it_was_offered(parties: Parties) -> None:
    parties.a.sending.begin(parties.item, parties.b.url)
    parties.b.receiving.agree(parties.item.rep)
    before = parties.kept
    again: dict[str, Any] = {"giver": before.giver, "manifest": before.manifest, "begun": before.begun}
    key = parties.a.keys.signing_key()
    parties.offer(key, **again)
    assert (parties.kept.source, parties.kept.stage) == (parties.a.url, ReceiverStage.ACCEPTED)
    parties.offer(key, agreed=True, **again)
    assert parties.kept.source == "http://evil.example"


def test_a_copy_that_is_not_what_was_offered_ends_the_transfer(parties: Parties) -> None:
    parties.offer(parties.a.keys.signing_key(), agreed=True, url=parties.a.url, giver=parties.a.service.labels[0])
    first = parties.b.receiving.go_on(parties.item.rep)
    assert (first.stage, first.reason) == (ReceiverStage.ACCEPTED, "what the sender has is not what it offered")
    for _ in range(9):
        parties.b.receiving.go_on(parties.item.rep)
    assert (parties.kept.stage, parties.kept.reason) == (ReceiverStage.ENDED, first.reason)


def test_an_item_that_changes_after_it_was_offered_is_taken_as_it_is(parties: Parties) -> None:
    a, b, item = parties.a, parties.b, parties.item
    a.sending.begin(item, b.url, "agreed")
    given = sources(a=b"corrected")
    deposits(a.store).update(item.rep, draft(*given), given, "Ana")
    assert b.receiving.go_on(item.rep).stage is ReceiverStage.ACCEPTED
    assert give(a, b, item) is SenderStage.DONE


class TestBounds:
    """Of offers without a token."""

    def send(self, b: TransferArchive, number: int, network: str, *, agreed: bool = False) -> None:
        offer = Offer(labels(number), 1, EVIL, "http://evil.example", b.url, "0" * 128)
        b.receiving.take_offer(sign_offer(offer, STRANGER), agreed=agreed, network=network)

    def test_few_are_taken_in_a_minute(self, parties: Parties) -> None:
        for number in range(A_MINUTE_OF_NETWORK):
            self.send(parties.b, number, "192.0.2.0/24")
        with pytest.raises(TooManyOffers):
            self.send(parties.b, 30, "192.0.2.0/24")
        self.send(parties.b, 0, "192.0.2.0/24")  # which asks how far it is
        self.send(parties.b, 31, "192.0.2.0/24", agreed=True)
        self.send(parties.b, 32, "198.51.100.0/24")

    @pytest.mark.parametrize(("name", "other"), [("MOST_OF_NETWORK", True), ("MOST_WAITING", False)])
    def test_only_some_wait(self, parties: Parties, monkeypatch: pytest.MonkeyPatch, name: str, *, other: bool) -> None:
        monkeypatch.setattr(receiving, name, 2)
        for number in range(2):
            self.send(parties.b, number, "192.0.2.0/24")
        with pytest.raises(TooManyOffers):
            self.send(parties.b, 2, "192.0.2.0/24")
        if other:
            self.send(parties.b, 2, "198.51.100.0/24")
        else:
            with pytest.raises(TooManyOffers):
                self.send(parties.b, 2, "198.51.100.0/24")

    def test_a_home_finds_room_whatever_strangers_offer(
        self, parties: Parties, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        a, b = parties.a, parties.b
        key = a.keys.signing_key().public
        b.receiving._is_home = lambda _offer, signer: signer == key
        monkeypatch.setattr(receiving, "MOST_WAITING", 2)
        for number in range(5, 7):
            self.send(b, number, "192.0.2.0/24")
        with pytest.raises(TooManyOffers):
            self.send(b, 7, "198.51.100.0/24")
        a.sending.begin(parties.item, b.url)
        assert parties.kept.stage is ReceiverStage.WAITING

    def test_offers_that_are_withdrawn_again_are_kept_for_some_days(
        self, parties: Parties, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        b = parties.b
        for number in range(5, 8):
            offer = Offer(labels(number), 1, EVIL, "http://evil.example", b.url, "0" * 128)
            for each in (offer, replace(offer, withdrawn=True)):
                b.receiving.take_offer(sign_offer(each, STRANGER), agreed=False, network="192.0.2.0/24")
        b.worker.step()
        assert len(b.ledger.list_incoming(ReceiverStage.ENDED)) == 3
        monkeypatch.setattr(receiving, "_ENDED", -1)
        b.receiving.forget_offers()
        assert b.ledger.list_incoming() == ()


def test_the_samples_are_items_of_their_own() -> None:
    assert len({labels(number).rep for number in range(33)}) == 33
