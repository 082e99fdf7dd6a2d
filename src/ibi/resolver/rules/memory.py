"""Routing that learns from every resolution (E20, E31, E32, E65, E66).

Facts that decide about an item are durable, in `Beliefs`: the successors that homes named, the holders of items without
a home, the Copies that homes named, and claims that homes contradict. The Archive that answered last is only a hint
that saves questions. Hints are kept in a bounded cache in memory and may be evicted.

The memory learns only about labels that were asked for: when an answer mentions another form, that is the statement of
one Archive. It learns a holder only if no silent Archive could have contradicted it: being quicker is not enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ibi.items.model.item import name_one_item
from ibi.membership.model.registration import ClaimKind, KnownDeletion
from ibi.membership.rules.authority import ArchiveRef, Home, Homes, LabelAuthority, Word, chain_after
from ibi.resolver.ports import Beliefs
from ibi.resolver.rules.outcome import (
    Deleted,
    NoArchiveAnswered,
    OriginalNotFound,
    Outcome,
    Redirect,
    UnprovenClaims,
    Unsettled,
)
from ibi.resolver.rules.trace import Hop, Report, Trace, Verdict
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix
from ibi.standard.lru_cache import LruCache
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.url_list import Deletion, UrlList
from ibi.standard.vocabulary import State

MOST_LABELS: Final = 20_000
MOST_PREFIXES: Final = 4_000
PROVISIONAL_AGE: Final = 300.0
"""Seconds for which an Archive is asked first that had an item while others, perhaps its holder, were silent."""

_FOREVER: Final = float("inf")
_NO_ARCHIVES: Final[frozenset[ArchiveRef]] = frozenset()
_UNSAID: Final = (Verdict.DISBELIEVED, Verdict.LATE)


class _Likely(NamedTuple):
    archive: ArchiveRef
    until: float


class NewClaim(NamedTuple):
    """A false claim that was not recorded before."""

    label: Label
    claimant: ArchiveRef
    home: ArchiveRef
    kind: ClaimKind


class Memory:
    """A `Routing` that learns. Hints may be out of date: the Archive that answers decides, and is remembered."""

    def __init__(self, beliefs: Beliefs, most_labels: int = MOST_LABELS, most_prefixes: int = MOST_PREFIXES) -> None:
        self._beliefs = beliefs
        self._by_label: LruCache[Label, _Likely] = LruCache(most_labels)
        self._by_prefix: LruCache[str, ArchiveRef] = LruCache(most_prefixes)
        self._holders_by_prefix: LruCache[str, ArchiveRef] = LruCache(most_prefixes)
        self._archives: Sequence[ArchiveRef] = ()
        self._homes = Homes()
        self._by_service: dict[Label, ArchiveRef] = {}
        self._vouched: frozenset[ArchiveRef] = frozenset()
        self.today = 0

    @property
    def prompt(self) -> bool:
        """True if an event loop may call this. If not, only one thread may: this is not safe for concurrent calls."""
        return self._beliefs.prompt

    def include(self, archives: Sequence[ArchiveRef], homes: Homes, today: float) -> None:
        """Set the present Archives and the time of day. Between two changes the sequence should be the same object."""
        self.today = int(today)
        if archives is not self._archives or homes is not self._homes:
            self._archives, self._homes = archives, homes
            self._by_service = {label: archive for archive in archives for label in archive.service.labels}
            self._vouched = frozenset(archive for archive in archives if archive.vouched)

    def archive(self, service: Label) -> ArchiveRef | None:
        return self._by_service.get(service)

    def likely(self, label: Label, now: float) -> Sequence[ArchiveRef]:
        """Return the Archive that had the item last, then the Archive that had an item with the same prefix."""
        if not label.is_dated:
            return ()
        likely, other = self._by_label.find(label), self._by_prefix.find(home_prefix(label))
        last = None if likely is None or likely.until <= now else likely.archive
        known = map(self._current, (last, other))
        return tuple(dict.fromkeys(archive for archive in known if archive is not None))

    def _current(self, archive: ArchiveRef | None) -> ArchiveRef | None:
        """Return the current entry of an Archive. If it moved or its networks changed, facts about it stay true."""
        return None if archive is None else self._by_service.get(archive.service.labels[0], archive)

    def authority(self, label: Label) -> LabelAuthority:
        homes = self._homes.of(label)
        if not homes:
            service = self._beliefs.holder(label, self.today)
            holder = None if service is None else self._by_service.get(service)
            absent = None if service is None or holder is not None else LabelForms.of(service)
            return LabelAuthority(holder=holder, absent_holder=absent)
        copy_holders, known = self._copy_holders(homes, label), self._beliefs.succession(label)
        trusted = self._trusted_archives(homes, copy_holders)
        if self._beliefs.deletion(label) is not None:  # E99: no Copy stands in for a deleted item
            copy_holders = trusted = _NO_ARCHIVES
        return LabelAuthority(
            tuple(home.archive for home in homes if home.archive is not None),
            tuple(home.service for home in homes if home.archive is None),
            known.chain,
            trusted,
            copy_holders=copy_holders,
            is_signed=known.is_signed,
        )

    def _copy_holders(self, homes: tuple[Home, ...], label: Label) -> frozenset[ArchiveRef]:
        """Return the Archives that the homes named for their Copies of such items, here or in the register."""
        named: frozenset[CopyHolder] = frozenset()
        for home in homes:
            named |= self._beliefs.copies(home.service.labels[0]).holders | home.copies
        if not named:
            return _NO_ARCHIVES
        prefix = home_prefix(label)
        return self._find_included(holder.service for holder in named if holder.has_copies_of(prefix))

    def _trusted_archives(self, homes: tuple[Home, ...], copy_holders: frozenset[ArchiveRef]) -> frozenset[ArchiveRef]:
        """Return the Archives that are trusted: the administrator vouches for them or named them in the place of a
        home, or a home named them for its Copies."""
        trusted = self._vouched | copy_holders if copy_holders else self._vouched
        for home in homes:
            if home.successor is not None:
                trusted |= self._find_included(home.successor.labels)
        return trusted

    def _find_included(self, services: Iterable[Label]) -> frozenset[ArchiveRef]:
        return frozenset(archive for each in services if (archive := self._by_service.get(each)) is not None)

    def holder(self, label: Label) -> ArchiveRef | None:
        """Return the known holder of an item without a home; None if it is not included, as it cannot be asked."""
        service = self._beliefs.holder(label, self.today) if label.is_dated else None
        return None if service is None else self._by_service.get(service)

    def expected_archive(self, label: Label) -> ArchiveRef | None:
        """Return the Archive without which "not found" means little for a label without a home (E24).

        It is the holder of the Original, or of an item with the same prefix.
        """
        return self.holder(label) or self._current(self._holders_by_prefix.find(home_prefix(label)))

    def learn(self, trace: Trace, outcome: Outcome, now: float) -> tuple[NewClaim, ...]:
        """Learn from a resolution, and return the false claims that were not known."""
        claims: list[NewClaim] = []
        for hop in trace.hops:
            if not hop.label.is_dated:
                continue  # E72: a claim of a label of before 2008 is followed, but not remembered
            if hop.word is Word.NO_HOME:
                claims += self._claims_against_holder(hop)
                self._learn_without_home(hop, outcome, now)
            else:
                self._learn_from_home(hop)
                claims += self._new_claims(hop)
        return tuple(claims)

    def _learn_from_home(self, hop: Hop) -> None:
        homes = self._homes.of(hop.label)
        services = [home.service for home in homes]
        before, is_signed = self._beliefs.succession(hop.label)
        chain = before
        for report in sorted(hop.reports, key=lambda report: report.archive.service not in services):
            if report.verdict in _UNSAID:
                continue
            if report.transferred_to is not None and not is_signed:  # E88: an answer may have been changed in transit
                named = self._canonical(report.transferred_to)
                after = chain_after(chain, services, report.archive.service, named)
                chain = chain if after is None else after
            if report.archive.service in services:
                self._learn_copies(report)
        if chain != before:
            self._beliefs.record_successors(hop.label, chain, self.today)
        self._learn_deletion(hop)

    def _learn_deletion(self, hop: Hop) -> None:
        """Record a deletion, so that the item stays deleted while the Archives that decide are silent (E99)."""
        known = self._beliefs.deletion(hop.label)
        if hop.word is Word.GIVEN and known is not None:
            self._beliefs.forget_deletion(hop.label)
        if hop.word is Word.DELETED and (known is None or known.when is None):
            deletion = _deletion_of(hop)
            if deletion is not None and deletion != known:
                self._beliefs.record_deletion(hop.label, deletion, self.today)

    def recall(self, outcome: Outcome) -> Outcome:
        """Return the outcome, corrected by earlier knowledge if the Archive that decides is silent.

        The item may be known to be deleted (E99). Or the Archive has ended, and the item is that of its service (E91).
        """
        if not isinstance(outcome, UnprovenClaims | NoArchiveAnswered | OriginalNotFound):
            return outcome
        if isinstance(outcome, UnprovenClaims) and outcome.why is not Unsettled.HOME_SILENT:
            return outcome
        label = outcome.label
        ended = next((home for home in self._homes.of(label) if label in home.service.labels), None)
        if ended is not None and ended.successor is not None:
            successor = ended.successor.labels[0]
            return NoArchiveAnswered(label, outcome.silence, outcome.home, timed_out=False, successor=successor)
        known = self._beliefs.deletion(label)
        if known is None:
            return outcome
        when = None if known.when is None else Instant(known.when)
        return Deleted(outcome.label, self._by_service.get(known.by), when, (), outcome.silence, known.by)

    def _canonical(self, service: Label) -> Label:
        archive = self._by_service.get(service)
        return service if archive is None else archive.service.labels[0]

    def _learn_copies(self, report: Report) -> None:
        """Learn the holders of Copies: a home that has the item names all of them, or none.

        A signed statement outranks this (E84), because an answer may have been changed in transit.
        """
        if isinstance(report.said, UrlList) and _state(report) is not State.COPY:
            home, named = report.archive.service.labels[0], frozenset(map(self._canonical, report.copies_at))
            known = self._beliefs.copies(home)
            if not known.is_signed and named != known.services:
                self._beliefs.record_copies(home, named, self.today)

    def _claims_against_holder(self, hop: Hop) -> Iterator[NewClaim]:
        """Yield the claims of the Original of an item without a home while its known holder has it."""
        known = self._beliefs.holder(hop.label, self.today)
        holder = None if known is None else self._by_service.get(known)
        word = next((each for each in hop.reports if each.archive == holder and _claims_original(each)), None)
        if word is not None:
            yield from self._record_claims(hop, word, (each for each in hop.reports if _claims_original(each)))

    def _claims_of_several(self, hop: Hop) -> Iterator[NewClaim]:
        """Yield the claims of an Original that the home gave away without naming a successor, except the claim of
        the Archive registered longest (E69)."""
        claiming = [each for each in hop.reports if each.archive not in hop.deciders and _claims_original(each)]
        if len(claiming) > 1:
            first = min(claiming, key=lambda each: each.archive.registered)
            yield from self._record_claims(hop, first, claiming)

    def _record_claims(self, hop: Hop, word: Report, reports: Iterable[Report]) -> Iterator[NewClaim]:
        for report in reports:
            if report.archive != word.archive:
                yield from self._record_claim(hop, word, report, ClaimKind.ORIGINAL)

    def _record_claim(self, hop: Hop, word: Report, report: Report, kind: ClaimKind) -> Iterator[NewClaim]:
        labels = report.archive.service.labels[0], word.archive.service.labels[0]
        if self._beliefs.record_claim(hop.label, *labels, kind, self.today):
            yield NewClaim(hop.label, report.archive, word.archive, kind)

    def _new_claims(self, hop: Hop) -> Iterator[NewClaim]:
        """Yield the claims that contradict the Archives that decide."""
        if hop.word is Word.NOT_HERE:
            yield from self._claims_of_several(hop)
        word = next((report for report in hop.reports if report.archive in hop.deciders and _has_said(report)), None)
        if word is None or hop.word not in (Word.GIVEN, Word.DELETED):
            return
        for report in hop.reports:
            kind = None if report.archive in hop.deciders else _contradiction(word, report, hop)
            if kind is not None:
                yield from self._record_claim(hop, word, report, kind)

    def _learn_without_home(self, hop: Hop, outcome: Outcome, now: float) -> None:
        """Learn about an item without a home. A known holder stays the holder while it is switched off."""
        known = self._beliefs.holder(hop.label, self.today)
        holder = None if known is None else self._by_service.get(known)
        until = _FOREVER if self._is_beyond_doubt(hop, holder) else now + PROVISIONAL_AGE
        for report in hop.reports:
            if report.archive == holder and _has_given_up(report):
                self._beliefs.forget_holder(hop.label)
                known = None
            self._learn_likely(hop.label, report, until)
        if isinstance(outcome, Redirect) and until == _FOREVER and _has_chosen(hop) and known is None:
            self._learn_holder(hop, outcome)

    def _is_beyond_doubt(self, hop: Hop, holder: ArchiveRef | None) -> bool:
        """Return whether the holder led on, or no silent Archive could have outranked the one that did.

        An Original could be outranked by Archives registered longer, everything else by any Archive.
        """
        return all(report.archive == holder or not self._could_be_outranked(report, hop) for report in hop.leading)

    def _could_be_outranked(self, leading: Report, hop: Hop) -> bool:
        unheard = hop.unheard_among(self._archives)
        if _state(leading) is State.ORIGINAL:
            return any(archive.registered < leading.archive.registered for archive in unheard)
        return bool(unheard)

    def _learn_likely(self, label: Label, report: Report, until: float) -> None:
        if report.verdict is Verdict.EMPTY:
            likely = self._by_label.find(label)
            if likely is not None and self._current(likely.archive) == report.archive:
                self._by_label.forget(label)
        if report.verdict.leads_on:
            self._by_label.keep(label, _Likely(report.archive, until))
            if until == _FOREVER:
                self._by_prefix.keep(home_prefix(label), report.archive)

    def _learn_holder(self, hop: Hop, chosen: Redirect) -> None:
        """Record the Archive that was chosen with the Original, unless another holder is known.

        Two claims do not erase the holder. Otherwise a mere claim of an item could remove its holder.
        """
        if chosen.entry.state is State.ORIGINAL and chosen.entry.relation.is_itself:
            self._beliefs.record_holder(hop.label, chosen.archive.service.labels[0], self.today)
            self._holders_by_prefix.keep(home_prefix(hop.label), chosen.archive)


def _has_chosen(hop: Hop) -> bool:
    return any(report.verdict is Verdict.CHOSEN for report in hop.reports)


def _deletion_of(hop: Hop) -> KnownDeletion | None:
    """Return the deletion that an Archive reported that decides."""
    for report in hop.reports:
        if report.archive in hop.deciders and isinstance(report.said, Deletion) and _has_said(report):
            when = report.said.timestamp
            return KnownDeletion(report.archive.service.labels[0], None if when is None else when.seconds)
    return None


def _has_said(report: Report) -> bool:
    return report.said is not None and report.verdict not in _UNSAID


def _claims_original(report: Report) -> bool:
    return _has_said(report) and _state(report) is State.ORIGINAL


def _has_given_up(report: Report) -> bool:
    """Return whether an Archive holds the Original no more: it has nothing under the label, or a Copy (R §5.2)."""
    if report.verdict is Verdict.EMPTY:
        return True
    return report.verdict is not Verdict.DISBELIEVED and _state(report) is State.COPY


def _state(report: Report) -> State | None:
    """Return the state of the item itself in an Archive's answer."""
    entry = report.said.entry() if isinstance(report.said, UrlList) else None
    return None if entry is None else entry.state


def _contradiction(word: Report, report: Report, hop: Hop) -> ClaimKind | None:
    """Return the claim of `report` that contradicts the Archive that decides; None if there is none."""
    said, decided = report.said, word.said
    if not _has_said(report):
        return None
    if isinstance(said, Deletion):
        return None if isinstance(decided, Deletion) else ClaimKind.DELETED
    if _state(report) is State.ORIGINAL:
        return ClaimKind.ORIGINAL
    if not isinstance(said, UrlList) or said.next_edition is None or not hop.relation.begins_with_last_edition:
        return None
    later = decided.next_edition if isinstance(decided, UrlList) else None
    return None if later is not None and name_one_item(later, said.next_edition) else ClaimKind.NEXT_EDITION
