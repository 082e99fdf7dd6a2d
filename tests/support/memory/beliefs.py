"""Beliefs in the memory of one process."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from ibi.membership.model.registration import (
    DISPUTED,
    NO_SUCCESSION,
    ClaimKind,
    Dispute,
    FalseClaim,
    KnownDeletion,
    LabelBeliefs,
    NamedCopies,
    Ruling,
    Succession,
)
from ibi.resolver.ports import HOLDER_AGE, MOST_CLAIMS, MOST_HOLDINGS, MOST_SUCCESSIONS
from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.holders import CopiesStatement, CopyHolder

__all__ = ["MemoryBeliefs"]

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class MemoryBeliefs:
    """The port `Beliefs`."""

    prompt = True

    def __init__(self) -> None:
        self._successors: dict[str, dict[Label, tuple[Succession, int]]] = {}
        self._holdings: dict[Label, dict[Label, int]] = {}
        self._holders: dict[Label, Label] = {}
        self._copies: dict[Label, NamedCopies] = {}
        self._claims: dict[Label, dict[tuple[Label, ClaimKind], FalseClaim]] = {}
        self._told: dict[tuple[Label, Label], int] = {}
        self._proven: dict[tuple[Label, Label], int] = {}
        self._rulings: dict[Label, Ruling] = {}
        self._deletions: dict[str, dict[Label, KnownDeletion]] = {}

    def deletion(self, label: Label) -> KnownDeletion | None:
        return self._deletions.get(home_prefix(label), {}).get(label)

    def record_deletion(self, label: Label, known: KnownDeletion, at: int) -> None:
        of_home = self._deletions.setdefault(home_prefix(label), {})
        of_home.pop(label, None)
        of_home[label] = known
        if len(of_home) > MOST_SUCCESSIONS:
            del of_home[next(iter(of_home))]

    def forget_deletion(self, label: Label) -> None:
        self._deletions.get(home_prefix(label), {}).pop(label, None)

    def successors(self, label: Label) -> tuple[Label, ...]:
        return self.succession(label).chain

    def succession(self, label: Label) -> Succession:
        return self._successors.get(home_prefix(label), {}).get(label, (NO_SUCCESSION, 0))[0]

    def record_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        of_home = self._successors.setdefault(home_prefix(label), {})
        if self.succession(label).is_signed:
            return
        of_home.pop(label, None)
        if chain:
            self._keep_succession(of_home, label, Succession(chain), at)

    def record_signed_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        of_home = self._successors.setdefault(home_prefix(label), {})
        of_home.pop(label, None)
        self._keep_succession(of_home, label, Succession(chain, is_signed=True), at)

    @staticmethod
    def _keep_succession(
        of_home: dict[Label, tuple[Succession, int]], label: Label, known: Succession, at: int
    ) -> None:
        of_home[label] = known, at
        if len(of_home) > MOST_SUCCESSIONS:
            del of_home[min(of_home, key=lambda each: of_home[each][0].is_signed)]

    def holder(self, label: Label, now: int) -> Label | None:
        if label in self._rulings:
            return self._rulings[label].holder
        holder = self._holders.get(label)
        return holder if holder is not None and now < self._holdings[holder][label] + HOLDER_AGE else None

    def record_holder(self, label: Label, holder: Label, at: int) -> None:
        self.forget_holder(label)
        dropped = _add(self._holdings.setdefault(holder, {}), label, at, MOST_HOLDINGS)
        if dropped is not None:
            del self._holders[dropped]
        self._holders[label] = holder

    def forget_holder(self, label: Label) -> None:
        holder = self._holders.pop(label, None)
        if holder is not None:
            del self._holdings[holder][label]

    def copies(self, home: Label) -> NamedCopies:
        return self.named_copies(home)._replace(statement=None)

    def record_copies(self, home: Label, services: frozenset[Label], at: int) -> None:
        self._copies[home] = NamedCopies(frozenset(map(CopyHolder, services)), at)

    def record_signed_copies(self, home: Label, said: CopiesStatement, statement: str, at: int) -> None:
        self._copies[home] = NamedCopies(frozenset(said.holders), at, statement, said.at)

    def record_claim(self, label: Label, claimant: Label, home: Label, kind: ClaimKind, at: int) -> bool:
        of_claimant = self._claims.setdefault(claimant, {})
        before = of_claimant.pop((label, kind), None)
        first, times = (at, 0) if before is None else (before.first_seen, before.times)
        claim = FalseClaim(label, claimant, home, kind, first, at, times + 1)
        _add(of_claimant, (label, kind), claim, MOST_CLAIMS)
        return before is None

    def claims(self, most: int = 100) -> tuple[FalseClaim, ...]:
        every = (claim for of_claimant in self._claims.values() for claim in of_claimant.values())
        return tuple(sorted(every, key=lambda claim: (-claim.last_seen, claim.label, claim.claimant)))[:most]

    def disputes(self, most: int, label: Label | None = None, *, settled: bool = True) -> tuple[Dispute, ...]:
        claims = (claim for claim in self.claims(1 << 30) if claim.kind in DISPUTED and label in (None, claim.label))
        found = map(self._dispute, claims)
        return tuple(each for each in found if settled or each.settled_by is None)[:most]

    def _dispute(self, claim: FalseClaim) -> Dispute:
        chain, ruling = self.successors(claim.label), self._rulings.get(claim.label)
        holder = chain[-1] if chain else claim.home if ruling is None else ruling.holder
        key = claim.label, claim.claimant
        return Dispute(claim, holder, self._told.get(key), ruling, self._proven.get(key))

    def record_told(self, label: Label, claimant: Label, at: int) -> None:
        self._told[label, claimant] = at

    def record_proof(self, label: Label, claimant: Label, at: int) -> None:
        self._proven[label, claimant] = at

    def rule(self, ruling: Ruling) -> None:
        self._rulings[ruling.label] = ruling
        of_home = self._successors.get(home_prefix(ruling.label), {})
        if ruling.label in of_home:
            known, at = of_home[ruling.label]
            of_home[ruling.label] = Succession(known.chain), at

    def about(self, label: Label) -> LabelBeliefs:
        chain = self._successors.get(home_prefix(label), {}).get(label)
        holder = self._holders.get(label)
        return LabelBeliefs(
            () if chain is None else chain[0].chain,
            None if chain is None else chain[1],
            holder,
            None if holder is None else self._holdings[holder][label],
            tuple(claim for claim in self.claims(MOST_CLAIMS) if claim.label == label),
            self._rulings.get(label),
        )

    def named_copies(self, home: Label) -> NamedCopies:
        return self._copies.get(home, NamedCopies())

    def given_on(self, prefix: str) -> int:
        return sum(bool(known.chain) for known, _ in self._successors.get(prefix, {}).values())

    def flush(self) -> None:
        """All is written at once."""

    def close(self) -> None: ...


def _add(entries: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> _Key | None:
    """The key that was dropped for it, if any was: the one that was added first."""
    entries[key] = value
    if len(entries) <= most:
        return None
    oldest = next(iter(entries))
    del entries[oldest]
    return oldest
