"""Rules that select the Archives to ask, and their order (E31, E65, E70)."""

from __future__ import annotations

from collections.abc import Sequence

from ibi.membership.rules.authority import NO_AUTHORITY, NO_ROUTING, ArchiveRef, LabelAuthority, Routing, chain_after
from ibi.resolver.rules.answers import Referral
from ibi.resolver.rules.policy import Policy
from ibi.resolver.rules.question import Addressees, Question
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms


class Addressing:
    """Selects the Archives that one resolution asks.

    For labels dated after `latest`, in POSIX seconds, it selects only the home.
    """

    def __init__(
        self,
        archives: Sequence[ArchiveRef],
        routing: Routing,
        latest: int | None,
        policy: Policy,
        *,
        needs_original: bool,
    ) -> None:
        self._archives, self._routing, self._asks_all = archives, routing, policy.asks_all
        self._latest, self._needs_original = latest, needs_original

    def addressees(
        self, step: Referral, parent: Question | None, earlier: Sequence[Question], now: float
    ) -> Addressees:
        """Return the Archives to ask a new question. `earlier` are the questions of this resolution, in order."""
        if self._routing is NO_ROUTING:
            return self._all_of_them(step, parent)
        label, authority = self._label_and_authority(step, parent)
        if not label.is_dated:
            return self._all_of_them(step, parent)
        successors = _known_successors(label, authority, earlier)
        deciders, unreachable = self.deciders(authority, successors)
        holder = self._only_included(authority.holder)
        first, waiting = self._order(step, label, authority, deciders, holder, now)
        early = self._is_early(label)
        return Addressees(label, authority, successors, deciders, unreachable, first, waiting, holder, early)

    def _all_of_them(self, step: Referral, parent: Question | None) -> Addressees:
        """Return what the rules below would return if nothing distinguished one Archive from another."""
        is_same = parent is not None and step.forms == parent.forms
        label = parent.label if parent is not None and is_same else step.forms.labels[0]
        early = self._is_early(label)
        return Addressees(label, NO_AUTHORITY, (), (), None, () if early else self._archives, (), None, early)

    def deciders(
        self, authority: LabelAuthority, successors: Sequence[Label]
    ) -> tuple[tuple[ArchiveRef, ...], LabelForms | None]:
        """Return the Archives that decide, and the service of one that should decide but cannot be asked."""
        if not successors:
            return authority.homes, authority.away[0] if authority.away else None
        holder = self._only_included(self._routing.archive(successors[-1]))
        return ((holder,), None) if holder is not None else ((), LabelForms.of(successors[-1]))

    def chain_after(self, question: Question, archive: ArchiveRef, to: Label) -> tuple[Label, ...] | None:
        """Return the successors after `archive` says that it gave the Original to `to`; None if it has no right to."""
        ref = self._routing.archive(to)
        homes = [home.service for home in question.authority.homes]
        named, is_signed = to if ref is None else ref.service.labels[0], question.authority.is_signed
        return chain_after(question.successors, homes, archive.service, named, is_signed=is_signed)

    def _only_included(self, archive: ArchiveRef | None) -> ArchiveRef | None:
        return archive if archive in self._archives else None

    def _label_and_authority(self, step: Referral, parent: Question | None) -> tuple[Label, LabelAuthority]:
        """Return the form of the label to ask for, and its authority. A form with a home comes before one without."""
        if parent is not None and step.forms == parent.forms:
            return parent.label, parent.authority  # as it was spelled
        label, *others = step.forms.labels
        authority = self._routing.authority(label)
        for other in () if authority.exists else others:
            found = self._routing.authority(other)
            if found.exists:
                return other, found
        return label, authority

    def _is_early(self, label: Label) -> bool:
        return self._latest is not None and label.is_dated and label.instant.seconds > self._latest

    def _order(
        self,
        step: Referral,
        label: Label,
        authority: LabelAuthority,
        deciders: tuple[ArchiveRef, ...],
        holder: ArchiveRef | None,
        now: float,
    ) -> tuple[Sequence[ArchiveRef], Sequence[ArchiveRef]]:
        """Return the likely Archives, then all others (E31).

        If an Original is required, or no Archive is likely, ask all at once. The home is asked first, together with the
        successor that it named. For labels of the future, only they are asked (E70). Only the holder knows for certain
        whether there is a later edition or a better translation. If the holder is not known, all Archives are asked.
        """
        first = tuple(dict.fromkeys((*deciders, *authority.homes)))
        if self._is_early(label):
            return first, ()
        if self._asks_all:
            return self._archives, ()
        if first:
            return first, self._all_but(first)
        if authority.exists:
            return self._archives, ()
        likely = [archive for archive in self._routing.likely(label, now) if archive in self._archives]
        if holder is not None:
            likely.insert(0, holder)
        needs_all = step.wanted.needs_holder and holder is None
        if not likely or needs_all or self._needs_original:
            return self._archives, ()
        first = tuple(dict.fromkeys(likely))
        return first, self._all_but(first)

    def _all_but(self, first: Sequence[ArchiveRef]) -> Sequence[ArchiveRef]:
        return [archive for archive in self._archives if archive not in first]


def _known_successors(label: Label, authority: LabelAuthority, earlier: Sequence[Question]) -> tuple[Label, ...]:
    """Return the successors. What this resolution heard about the label earlier overrides the stored successors."""
    if authority.exists:
        for question in reversed(earlier):
            if question.label == label:
                return question.successors
    return authority.successors
