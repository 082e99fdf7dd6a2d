"""The decisions of both sides of a transfer, one at a time; `tests/simulator` has their sequences."""

from __future__ import annotations

from ibi.items.rules.provenance import NO_CHAIN, Chain, countersign, manifest_digest, sign_release
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import SigningKey
from ibi.standard.vocabulary import State
from ibi.transfers.model import IncomingTransfer, ReceiverStage
from ibi.transfers.rules.doubt import Here
from ibi.transfers.rules.transfer import Rest, receiver_hears_chain

A, B, C = (RepositoryName.parse(f"{name}.example/ibi/2020/01.01.00.00") for name in "abc")
KEYS = {name: SigningKey(bytes([number]) * 32) for number, name in enumerate((A, B, C), 1)}
ITEM = LabelForms(RepositoryName.parse("a.example/ibi/2020/02.02.00.00"))
MANIFEST = manifest_digest({"item.json": "0" * 128})


def released(chain: Chain, giver: RepositoryName, to: RepositoryName) -> Chain:
    return sign_release(chain, ITEM, giver, to, KEYS[to].public, MANIFEST, Instant(1_800_000_000), KEYS[giver])


def test_a_chain_that_contradicts_what_followed_here_is_missed_and_raises_nothing() -> None:
    """The sender shows another continuation of the release than the one that is kept here."""
    taken = countersign(released(NO_CHAIN, A, B), KEYS[B])
    here = Here(LabelForms(B), (KEYS[B].public,), State.COPY, MANIFEST, released(taken, B, C))
    kept = IncomingTransfer(ITEM, A, KEYS[A].public, "http://a.example", 1, MANIFEST, ReceiverStage.HELD)
    told = released(taken, B, A).texts
    after, step = receiver_hears_chain(kept, here, told, lambda *_: True, 1)
    assert (after.stage, step) == (ReceiverStage.HELD, Rest())
    assert after.reason == "the release is not believed: it contradicts the chain that is here"
