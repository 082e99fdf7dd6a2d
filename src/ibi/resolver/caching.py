"""Outcomes that are kept: what for, and for how long (E32).

An Archive may delete an item, restrict it, or get a later edition at any moment. Where its changes are followed, an
outcome is kept until they say otherwise; else for ten seconds. And whatever any question brings to light of a label,
of all that is kept of it nothing older is believed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from ibi.label import Label
from ibi.languages import Preference
from ibi.lru_cache import LruCache, TaggedLruCache, Tags
from ibi.messages.identification import LabelForms
from ibi.messages.url_list import Deletion, UrlEntry, UrlList
from ibi.messages.values import IpAddress
from ibi.persistent_url import PersistentUrl
from ibi.relation import Step, Translation
from ibi.resolver.answers import Match, ReceivedAnswer
from ibi.resolver.authority import ArchiveRef, Homes, Word
from ibi.resolver.basis import HOMELESS, Basis, absence_tag, relations_tag
from ibi.resolver.outcome import Deleted, NotFound, OriginalNotFound, Outcome, Redirect, RelatedItemMissing, redirect
from ibi.resolver.trace import Hop, Report, Trace, Verdict
from ibi.vocabulary import State

LONGEST: Final = 3600
"""Seconds beyond which nothing is kept, whatever its Archive allows: its key has to be good still (E32)."""
NEGATIVE_AGE: Final = 5
"""Seconds for which it is believed that there is nothing: long enough for a flood of one wrong link, and no more."""
_MOST: Final = 20_000
_MOST_NEGATIVE: Final = 2_000
_MOST_FORGOTTEN: Final = 4_096
"""Tags of which it is known when they were forgotten; of more, all that began before the first of them is not kept."""
_MOST_ABSENT: Final = 16
"""Archives that left and may come back."""
_ROOM: Final = 64 << 20
"""Bytes, by the estimates below: as much as so many ordinary ones take."""
_ORDINARY: Final = 2_500
"""Bytes that one takes whose texts are short, the redirect of its last link included."""
_ENTRY: Final = 600
_LANGUAGE: Final = 200
_WIDEST: Final = 4
"""Bytes of a character."""
_LONGEST_REMEMBERED: Final = 512
"""Characters: the outcome of a longer link is found anew, so that long links cannot fill the memory."""
_MOST_PREFERENCES: Final = 8
"""Languages that a reader may prefer if the outcome is to be kept: few have more, and each counts in the choice."""


UNFED_AGE: Final = 10
"""Seconds for which an outcome is kept that rests on the word of an Archive whose changes are not followed."""


class ChangeFeeds(Protocol):
    """Which Archives tell this resolver of their changes: the one place that decides whether an outcome lives longer
    than `UNFED_AGE`. Who follows a feed forgets what it names (`Cache.forget_told`)."""

    def is_fresh(self, archive: ArchiveRef, since: float) -> bool:
        """Whether the changes that the Archive has made since then are told here, all of them until a second ago."""


class _NoFeeds:
    def is_fresh(self, archive: ArchiveRef, since: float) -> bool:
        return False


NO_FEEDS: Final[ChangeFeeds] = _NoFeeds()


class OutcomeKey(NamedTuple):
    """All that an outcome depends on. The reader's own pairs are not in it: they go onto the URL afterwards."""

    spelling: str
    """Of the label: another's store may be case sensitive."""
    steps: tuple[Step, ...]
    """Of the relation: mostly none, and a tuple is hashed sooner than a value around it."""
    file_path: str | None
    file_list: bool
    required_original: bool
    languages: str | tuple[Preference, ...] | None

    @classmethod
    def of(cls, url: PersistentUrl, preferences: Sequence[Preference] = ()) -> OutcomeKey:
        """`preferences` count only where a translation is asked for that names no language."""
        languages = (url.language or tuple(preferences)) if url.relation.open_translations else None
        return cls(
            url.label.spelling, url.relation.steps, url.file_path, url.file_list, url.required_original, languages
        )

    @property
    def length(self) -> int:
        """Characters that the client has chosen."""
        length = len(self.spelling) + len(self.file_path or "")
        for step in self.steps:
            length += len(step.parameter or "")
        if isinstance(self.languages, tuple):
            length += sum(len(each.range) for each in self.languages)
        return length

    @property
    def has_many_languages(self) -> bool:
        return isinstance(self.languages, tuple) and len(self.languages) > _MOST_PREFERENCES

    @property
    def is_one_of_many(self) -> bool:
        """Whether the same can be asked for in any number of ways: with other languages that lead to the same text, or
        with capitals here and there."""
        return self.languages is not None or not (self.spelling.islower() or self.spelling.isupper())


class Remembered:
    """What was found, to be made a redirect for another reader; or the outcome if it was nothing."""

    __slots__ = ("_base", "_made", "_url", "found", "since", "until")

    def __init__(self, found: Match | Outcome, since: float, until: float) -> None:
        self.found, self.since, self.until = found, since, until
        self._url: PersistentUrl | None = None
        self._base = ""
        self._made: Redirect | None = None
        """The redirect of the last link by which it was asked for, which `_url` is."""

    def outcome(self, url: PersistentUrl, base: str, clients: tuple[IpAddress, ...]) -> Outcome:
        """What a reader gets. Most readers of an item follow the very same link, which is read once: only their
        addresses are new."""
        found = self.found
        if not isinstance(found, Match):
            return found
        if self._made is not None and url is self._url and base == self._base:
            return self._made.for_clients(clients)
        made = redirect(url, base, clients, found)
        thanks = made.acknowledgment
        # Pairs are not remembered: a few hundred characters can be a hundred of them, which take far more.
        if thanks is not None and not url.query and len(thanks.persistent_url) <= _LONGEST_REMEMBERED:
            self._url, self._base, self._made = url, base, made
        return made

    def seconds_left(self, now: float) -> int:
        return max(0, int(self.until - now))


class Cache:
    """Outcomes, each until something changes on which it rests: an item, or an Archive that joins or leaves.

    It is bounded by their number and by their bytes: `room` for most of them, a fifth and an eighth of it beside that
    for the rest.
    """

    def __init__(self, most: int = _MOST, most_negative: int = _MOST_NEGATIVE, room: int = _ROOM) -> None:
        self._found: TaggedLruCache[OutcomeKey, Remembered] = TaggedLruCache(most, room)
        # Apart: a flood of links that lead nowhere, or all to one place, drives nothing out that is of use.
        self._varied: TaggedLruCache[OutcomeKey, Remembered] = TaggedLruCache(-(-most // 5), room // 5)
        self._nothing: TaggedLruCache[OutcomeKey, Remembered] = TaggedLruCache(most_negative, room // 8)
        self._all = (self._found, self._varied, self._nothing)
        self._archives: tuple[ArchiveRef, ...] = ()
        self._homes = Homes()
        self._absent: dict[ArchiveRef, None] = {}
        self._forgotten: OrderedDict[Hashable, float] = OrderedDict()
        """When all that was kept of a tag was forgotten: what was under way at that time is not kept."""
        self._all_forgotten = self._last_forgotten = float("-inf")
        """The same for every tag that is no longer in `_forgotten`; and for any tag."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._found.size + self._varied.size + self._nothing.size

    def enter(self, archives: tuple[ArchiveRef, ...], homes: Homes, now: float) -> None:
        """Forget what rests on Archives that left, and what those that joined may know better."""
        before, homes_before = self._archives, self._homes
        if archives is before and homes is homes_before:
            return
        self._archives, self._homes = archives, homes  # also equal ones: the next are mostly the very same
        left, joined = set(before).difference(archives), set(archives).difference(before)
        tags = {("prefix", prefix) for prefix in homes.changed_since(homes_before)}
        if left or joined or tags:
            self._nothing.clear()
            self._forget_tags((*tags, *left, *self._bettered_by(joined)), now)
            self._absent = dict.fromkeys((*(each for each in self._absent if each not in joined), *left))
            while len(self._absent) > _MOST_ABSENT:
                del self._absent[next(iter(self._absent))]

    def _bettered_by(self, joined: set[ArchiveRef]) -> Iterator[Hashable]:
        """One that was here before knows nothing better than it did then: what was kept in its absence goes."""
        for archive in joined:
            yield absence_tag(archive) if archive in self._absent else HOMELESS

    def find(self, wish: OutcomeKey, now: float) -> Remembered | None:
        for kept in self._all:
            remembered = kept.find(wish)
            if remembered is not None:
                if now < remembered.until:
                    return remembered
                kept.forget(wish)
        return None

    def forget_labels(self, labels: Iterable[Label], now: float) -> None:
        """Forget every outcome that rests on an item with one of these labels."""
        self._forget_tags(labels, now)

    def forget_relations(self, archive: ArchiveRef, now: float) -> None:
        """Forget every outcome by which that Archive led from one item to another."""
        self._forget_tags((relations_tag(archive),), now)

    def forget_told(self, archive: ArchiveRef, labels: Iterable[Label], now: float) -> None:
        """Forget what rests on that Archive's word about these labels, by which it says that they changed; and what it
        may know better. The word of others about them stays: an Archive speaks for itself."""
        for label in labels:
            for kept in self._all:
                kept.forget_tagged(label, with_any=(archive, HOMELESS))
            self._note_forgotten((archive, label), now)
            self._note_forgotten((HOMELESS, label), now)

    def forget_archive(self, archive: ArchiveRef, now: float) -> None:
        """Forget what rests on that Archive's word."""
        self._forget_tags((archive,), now)

    def rests_on(self, archive: ArchiveRef, now: float) -> bool:
        """Whether something that is kept still rests on that Archive's word."""
        return any(now < each.until for kept in self._all for each in kept.find_tagged(archive))

    def forget_all(self, now: float) -> None:
        for kept in self._all:
            kept.clear()
        self._all_forgotten = self._last_forgotten = now

    def _forget_tags(self, tags: Iterable[Hashable], now: float) -> None:
        for tag in tags:
            for kept in self._all:
                kept.forget_tagged(tag)
            self._note_forgotten(tag, now)

    def _note_forgotten(self, tag: Hashable, now: float) -> None:
        self._forgotten.pop(tag, None)
        if len(self._forgotten) >= _MOST_FORGOTTEN:
            _, self._all_forgotten = self._forgotten.popitem(last=False)
        self._forgotten[tag] = self._last_forgotten = now

    def _was_forgotten(self, basis: Basis, tags: Iterable[Hashable], since: float) -> bool:
        if self._last_forgotten <= since:  # as nearly always
            return False
        forgotten = self._forgotten
        return self._all_forgotten > since or any(
            forgotten.get(tag, since) > since for tag in (*tags, *basis.told_tags())
        )

    def keep(
        self,
        wish: OutcomeKey,
        outcome: Outcome,
        max_age: int,
        now: float,
        basis: Callable[[], Basis] = Basis,
        *,
        began: float | None = None,
    ) -> int:
        """Keep the outcome if that is allowed; `max_age` is what its answers say, `basis` tells what it rests on, if it
        is to be kept. Return for how many seconds it may be cached, even if it is not kept here.

        It is not kept if something of the basis was forgotten since the resolution `began`.
        """
        age = min(max_age, LONGEST) if isinstance(outcome, Redirect) else NEGATIVE_AGE if _is_final(outcome) else 0
        if age <= 0 or not _is_worth_keeping(wish):
            return max(0, age)
        rests_on = basis()
        tags = rests_on.tags(self._absent)
        if began is not None and self._was_forgotten(rests_on, tags, began):
            return 0
        if isinstance(outcome, Redirect):
            self._keep_found(wish, outcome, (now, now + age), tags)
            return age
        self._nothing.keep_tagged(wish, Remembered(outcome, now, now + age), tags, _size_of_nothing(wish, outcome))
        self._found.forget(wish)
        self._varied.forget(wish)
        return age

    def _keep_found(self, wish: OutcomeKey, found: Redirect, times: tuple[float, float], tags: Tags) -> None:
        located = Match(ReceivedAnswer(found.archive, _abridge(found.answer, wish)), found.entry)
        kept = self._varied if wish.is_one_of_many else self._found
        kept.keep_tagged(wish, Remembered(located, *times), tags, _size_of_found(wish, located))
        self._nothing.forget(wish)

    def __len__(self) -> int:
        return len(self._found) + len(self._varied) + len(self._nothing)


def _is_worth_keeping(wish: OutcomeKey) -> bool:
    return wish.length <= _LONGEST_REMEMBERED and not wish.has_many_languages


def _abridge(answer: UrlList, wish: OutcomeKey) -> UrlList:
    """What of an answer is told beside the entry that was chosen: the item, the next edition, the key; and where a
    translation is wanted, which there are. An answer may speak of hundreds of relations."""
    if len(answer.entries) == 1:
        return answer
    by_language = any(isinstance(step, Translation) for step in wish.steps)
    told = (each for each in answer.entries if each.relation.is_itself or (by_language and _is_translated(each)))
    return replace(
        answer, entries=tuple(each if each.ibi is None else UrlEntry(each.relation, each.ibi) for each in told)
    )


def _is_translated(entry: UrlEntry) -> bool:
    return any(isinstance(step, Translation) for step in entry.relation.steps)


def _size_of_found(wish: OutcomeKey, located: Match) -> int:
    (_, answer, _), chosen = located
    size = _ORDINARY + _WIDEST * wish.length + len(chosen.url or "")
    for entry in answer.entries:
        size += _ENTRY + (0 if entry is chosen else len(entry.url or ""))
    return size


def _size_of_nothing(wish: OutcomeKey, outcome: Outcome) -> int:
    languages = outcome.languages if isinstance(outcome, RelatedItemMissing) else ()
    return _ORDINARY + _WIDEST * wish.length + _LANGUAGE * len(languages)


def _is_final(outcome: Outcome) -> bool:
    """Whether all Archives were heard: silence is not kept (E24)."""
    if isinstance(outcome, NotFound | RelatedItemMissing | OriginalNotFound | Deleted):
        is_away = isinstance(outcome, OriginalNotFound) and outcome.away is not None
        return outcome.silence.is_complete and not is_away
    return False


DOUBTFUL_AGE: Final = 5
"""Seconds for which an outcome is kept while an Archive that may know better did not answer: it may be an old Copy."""
CLAIMED_AGE: Final = 60
"""The same for an Original that an Archive of higher rank may claim."""


class HeardFacts:
    """What was last heard of items, so that news of them is noticed: that one was deleted, has another next edition, or
    another access. Bounded; what is pushed out is merely not compared."""

    def __init__(self, most: int = _MOST) -> None:
        self._facts: LruCache[Hashable, Hashable] = LruCache(most)

    def news(self, trace: Trace, outcome: Outcome, *, is_lasting: bool) -> frozenset[Label]:
        """The labels of items of which this resolution heard otherwise than an earlier one. `is_lasting` tells whether
        the answers may be kept: those that depend on the reader may not."""
        found = set()
        for hop in trace.hops:
            found |= {label for report in hop.reports for label in _find_deleted(report)}
            if hop.relation.begins_with_last_edition and self._is_new((hop.label, "!"), _next_edition(hop)):
                found.add(hop.label)
        if isinstance(outcome, Redirect) and trace.hops:
            last = trace.hops[-1]
            # What depends on the reader's address differs from reader to reader, which is no news.
            access = (outcome.entry.state, outcome.entry.url if is_lasting else None)
            if self._is_new((last.label, outcome.archive.service, outcome.entry.relation), access):
                found.add(last.label)
        return frozenset(found)

    def _is_new(self, key: Hashable, fact: Hashable) -> bool:
        before = self._facts.find(key)
        self._facts.keep(key, (fact,))
        return before is not None and before != (fact,)


def _find_deleted(report: Report) -> tuple[Label, ...]:
    """From any source: what is kept is then asked for again, and nothing worse."""
    is_deletion = isinstance(report.said, Deletion) and report.verdict is not Verdict.DISBELIEVED
    return report.said.ibi.labels if is_deletion and report.said is not None else ()


def _next_edition(hop: Hop) -> LabelForms | None:
    said = (report.said for report in hop.leading)
    return next((each.next_edition for each in said if isinstance(each, UrlList)), None)


def longest_followed(trace: Trace, is_followed: Callable[[ArchiveRef], bool]) -> int:
    """Upper bound on how long an outcome may be cached by whose word it rests on: that of Archives whose changes are
    followed, or of another."""
    led = {report.archive for hop in trace.hops for report in hop.leading}
    return LONGEST if all(map(is_followed, led)) else UNFED_AGE


def max_ttl(
    trace: Trace, chosen: Redirect, archives: Sequence[ArchiveRef], holder: Callable[[Label], ArchiveRef | None]
) -> int:
    """Upper bound in seconds on how long what was `chosen` may be cached. It is lower if one of the `archives` did not
    answer that may know of a later edition or a translation, have the Original of what is a Copy, or claim it with a
    higher rank; not where the `holder` led on. Where a label has a home, its word may be cached, a trusted Archive's
    for a moment, and nothing else."""
    return min(_longest(hop, chosen, archives, holder(hop.label)) for hop in trace.hops)


def _longest(hop: Hop, chosen: Redirect, archives: Sequence[ArchiveRef], holder: ArchiveRef | None) -> int:
    if not hop.label.is_dated:
        return 0  # E72: another claim may come at any time
    if hop.word is not Word.NO_HOME:
        return _longest_with_home(hop)
    if all(report.archive == holder for report in hop.leading):
        return LONGEST
    unheard = hop.unheard_among(archives)
    if unheard and _may_be_bettered(hop, chosen):
        return DOUBTFUL_AGE
    return CLAIMED_AGE if any(each.registered < chosen.archive.registered for each in unheard) else LONGEST


def _longest_with_home(hop: Hop) -> int:
    if hop.word is Word.GIVEN:
        decided = all(report.archive in hop.deciders for report in hop.leading)
        return LONGEST if decided else DOUBTFUL_AGE
    return DOUBTFUL_AGE if hop.word in (Word.SILENT, Word.AWAITED, Word.DELETED) else 0


def _may_be_bettered(hop: Hop, chosen: Redirect) -> bool:
    if hop.relation.begins_with_last_edition or hop.relation.open_translations:
        return True
    is_last = any(report.verdict is Verdict.CHOSEN for report in hop.reports)
    return is_last and chosen.entry.state is not State.ORIGINAL
