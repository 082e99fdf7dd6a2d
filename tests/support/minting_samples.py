"""What the tests of stores share: an identity, and a short way to mint without a service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ibi.minting.model import BatchShare, MintRequest, TickState
from ibi.minting.ports import Remembered, Ticks
from ibi.minting.rules.mint_log import verify
from ibi.minting.rules.minter import Decision, Rules, decide, with_accepted_clock
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from tests.support.set_clocks import SetClocks

START = Instant.parse("2027-03-01T12:00:30.25Z")
IDENTITY = Identity("mtc-m18.sid.inpe.br", "150.163.34.248")
RULES = Rules(wait_bound=Fraction(0))
"""Nobody waits: every label is due when it is minted, or within microseconds."""


def mint(
    ticks: Ticks,
    clocks: SetClocks,
    *requests: MintRequest,
    rules: Rules = RULES,
    identity: Identity = IDENTITY,
) -> Decision:
    queue: Sequence[MintRequest] = requests or [MintRequest(1, "ana")]

    def decision(state: TickState, remembered: Remembered) -> Decision:
        return decide(identity, rules, state, queue, clocks.read(), remembered)

    return ticks.advance(decision)


def dates(decision: Decision) -> list[Instant]:
    """Of the labels minted now, in order."""
    assert decision.batch is not None, decision.outcomes
    return [tick.date for tick in decision.batch.ticks()]


def share(outcome: object) -> BatchShare:
    if not isinstance(outcome, BatchShare):
        raise AssertionError(outcome)
    return outcome


def accept(ticks: Ticks, clocks: SetClocks) -> None:
    """What the operator does."""
    ticks.accept_clock(lambda state, issued: with_accepted_clock(state, clocks.read(), issued))


def labels_on_record(ticks: Ticks) -> Iterator[str]:
    """Every repository name that the log says was given out, the log being checked on the way."""
    for entry in verify(ticks.log()):
        batch = entry.batch()
        if batch is not None:
            yield from (label.rep for label in BatchShare(batch, 0, batch.count, "").labels())
