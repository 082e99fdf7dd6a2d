"""The cache of outcomes, and how long each entry lives (E32).

An Archive may delete an item, restrict it, or get a later edition at any moment. If the resolver follows its changes,
an outcome lives until a change names it; otherwise for ten seconds. When a resolution learns something new about a
label, older cache entries for that label are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from ibi.membership.rules.authority import ArchiveRef, Homes, Word
from ibi.resolver.rules.answers import Match, ReceivedAnswer
from ibi.resolver.rules.basis import HOMELESS, Basis, absence_tag, relations_tag
from ibi.resolver.rules.outcome import (
    Deleted,
    NotFound,
    OriginalNotFound,
    Outcome,
    Redirect,
    RelatedItemMissing,
    redirect,
)
from ibi.resolver.rules.trace import Hop, Report, Trace, Verdict
from ibi.standard.label import Label
from ibi.standard.language_choice import Preference
from ibi.standard.lru_cache import LruCache, TaggedLruCache, Tags
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.url_list import Deletion, UrlEntry, UrlList
from ibi.standard.messages.values import IpAddress
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Step, Translation
from ibi.standard.vocabulary import State

LONGEST: Final = 3600
"""Longest lifetime in seconds, whatever the Archive allows: the Archive's URL key must still be valid (E32)."""
NEGATIVE_AGE: Final = 5
"""Lifetime in seconds of a negative outcome: just long enough for a flood of requests for one wrong link."""
_MOST: Final = 20_000
_MOST_NEGATIVE: Final = 2_000
_MOST_FORGOTTEN: Final = 4_096
"""Number of tags with a known time of invalidation.

When one is evicted, no resolution that began before its time is cached.
"""
_MOST_ABSENT: Final = 16
"""Number of Archives to remember that left and may come back."""
_ROOM: Final = 64 << 20
"""Bytes, by the estimates below: as much as `_MOST` ordinary entries take."""
_ORDINARY: Final = 2_500
"""Bytes of an entry with short texts, including the redirect of its last link."""
_ENTRY: Final = 600
_LANGUAGE: Final = 200
_WIDEST: Final = 4
"""Bytes of a character."""
_LONGEST_REMEMBERED: Final = 512
"""Characters. The outcome of a longer link is not cached, so that long links cannot fill the memory."""
_MOST_PREFERENCES: Final = 8
"""Most preferred languages of a reader for a cached outcome: few readers have more, and each affects the choice."""


UNFED_AGE: Final = 10
"""Lifetime in seconds of an outcome that rests on an Archive without a followed change feed."""


class ChangeFeeds(Protocol):
    """The Archives that send their changes to this resolver. Only this decides whether an outcome outlives `UNFED_AGE`.

    The follower of a feed drops the entries that the feed names (`Cache.forget_told`).
    """

    def is_fresh(self, archive: ArchiveRef, since: float) -> bool:
        """Return whether all changes that the Archive made since then, up to a second ago, have arrived here."""


class _NoFeeds:
    def is_fresh(self, archive: ArchiveRef, since: float) -> bool:
        return False


NO_FEEDS: Final[ChangeFeeds] = _NoFeeds()


class OutcomeKey(NamedTuple):
    """All inputs of an outcome. The reader's own pairs are not part of it: they are appended to the URL afterwards."""

    spelling: str
    """Of the label, because another store may be case sensitive."""
    steps: tuple[Step, ...]
    """Of the relation. It is mostly empty, and a tuple hashes faster than the value around it."""
    file_path: str | None
    file_list: bool
    required_original: bool
    languages: str | tuple[Preference, ...] | None

    @classmethod
    def of(cls, url: PersistentUrl, preferences: Sequence[Preference] = ()) -> OutcomeKey:
        """Return the key. `preferences` count only if the link asks for a translation without naming a language."""
        languages = (url.language or tuple(preferences)) if url.relation.open_translations else None
        return cls(
            url.label.spelling, url.relation.steps, url.file_path, url.file_list, url.required_original, languages
        )

    @property
    def length(self) -> int:
        """The number of characters that the client has chosen."""
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
        """True if the same request has countless variants: languages that lead to the same text, or other capitals."""
        return self.languages is not None or not (self.spelling.islower() or self.spelling.isupper())


class Remembered:
    """A cached result: a match, from which a redirect is made for each reader, or the outcome if nothing was found."""

    __slots__ = ("_base", "_made", "_url", "found", "since", "until")

    def __init__(self, found: Match | Outcome, since: float, until: float) -> None:
        self.found, self.since, self.until = found, since, until
        self._url: PersistentUrl | None = None
        self._base = ""
        self._made: Redirect | None = None
        """The redirect of the last link that was asked for, `_url`."""

    def outcome(self, url: PersistentUrl, base: str, clients: tuple[IpAddress, ...]) -> Outcome:
        """Return the outcome for a reader.

        Most readers of an item follow exactly the same link, which is parsed once. Then only their addresses are new.
        """
        found = self.found
        if not isinstance(found, Match):
            return found
        if self._made is not None and url is self._url and base == self._base:
            return self._made.for_clients(clients)
        made = redirect(url, base, clients, found)
        thanks = made.acknowledgment
        # Pairs are not cached: a few hundred characters can hold a hundred pairs, which take far more memory.
        if thanks is not None and not url.query and len(thanks.persistent_url) <= _LONGEST_REMEMBERED:
            self._url, self._base, self._made = url, base, made
        return made

    def seconds_left(self, now: float) -> int:
        return max(0, int(self.until - now))


class Cache:
    """A cache of outcomes. Each stays until something changes on which it rests.

    That may be an item, or an Archive that joins or leaves. The cache is bounded by number and by bytes. Most entries
    share `room`; the others have a fifth and an eighth of it in addition.
    """

    def __init__(self, most: int = _MOST, most_negative: int = _MOST_NEGATIVE, room: int = _ROOM) -> None:
        self._found: TaggedLruCache[OutcomeKey, Remembered] = TaggedLruCache(most, room)
        # Separate caches: a flood of links that lead nowhere, or all to one place, evicts nothing useful.
        self._varied: TaggedLruCache[OutcomeKey, Remembered] = TaggedLruCache(-(-most // 5), room // 5)
        self._nothing: TaggedLruCache[OutcomeKey, Remembered] = TaggedLruCache(most_negative, room // 8)
        self._all = (self._found, self._varied, self._nothing)
        self._archives: tuple[ArchiveRef, ...] = ()
        self._homes = Homes()
        self._absent: dict[ArchiveRef, None] = {}
        self._forgotten: OrderedDict[Hashable, float] = OrderedDict()
        """The time of the last invalidation of each tag. A resolution that was running at that time is not cached."""
        self._all_forgotten = self._last_forgotten = float("-inf")
        """The same for every tag that is no longer in `_forgotten`, and for any tag."""

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return self._found.size + self._varied.size + self._nothing.size

    def enter(self, archives: tuple[ArchiveRef, ...], homes: Homes, now: float) -> None:
        """Drop the entries that rest on Archives that left, and those that new Archives may know better."""
        before, homes_before = self._archives, self._homes
        if archives is before and homes is homes_before:
            return
        self._archives, self._homes = archives, homes  # also equal ones: the next call mostly passes the same objects
        left, joined = set(before).difference(archives), set(archives).difference(before)
        tags = {("prefix", prefix) for prefix in homes.changed_since(homes_before)}
        if left or joined or tags:
            self._nothing.clear()
            self._forget_tags((*tags, *left, *self._bettered_by(joined)), now)
            self._absent = dict.fromkeys((*(each for each in self._absent if each not in joined), *left))
            while len(self._absent) > _MOST_ABSENT:
                del self._absent[next(iter(self._absent))]

    def _bettered_by(self, joined: set[ArchiveRef]) -> Iterator[Hashable]:
        """Yield the tags of entries that new Archives may know better.

        An Archive that was here before adds nothing to what it knew then: only the entries from its absence are
        dropped.
        """
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
        """Drop every outcome that rests on an item with one of these labels."""
        self._forget_tags(labels, now)

    def forget_relations(self, archive: ArchiveRef, now: float) -> None:
        """Drop every outcome in which that Archive led from one item to another."""
        self._forget_tags((relations_tag(archive),), now)

    def forget_told(self, archive: ArchiveRef, labels: Iterable[Label], now: float) -> None:
        """Drop the outcomes that rest on that Archive's answers about these labels, which it reports as changed.

        Outcomes that it may know better are dropped too. Answers of other Archives stay: an Archive speaks only for
        itself.
        """
        for label in labels:
            for kept in self._all:
                kept.forget_tagged(label, with_any=(archive, HOMELESS))
            self._note_forgotten((archive, label), now)
            self._note_forgotten((HOMELESS, label), now)

    def forget_archive(self, archive: ArchiveRef, now: float) -> None:
        """Drop the outcomes that rest on that Archive's answers."""
        self._forget_tags((archive,), now)

    def rests_on(self, archive: ArchiveRef, now: float) -> bool:
        """Return whether a cached outcome still rests on that Archive's answers."""
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
        """Cache the outcome if that is allowed. Return its lifetime in seconds for caches, even if it is not cached
        here.

        `max_age` comes from the answers. `basis` is called only if the outcome is to be cached. The outcome is not
        cached if a tag of the basis was invalidated since the resolution `began`.
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
    """Return the parts of an answer that are reported beside the chosen entry: the item, the next edition and the key.

    If a translation is wanted, the existing translations stay too. An answer may list hundreds of relations.
    """
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
    """Return whether all Archives were heard: a silence is not cached (E24)."""
    if isinstance(outcome, NotFound | RelatedItemMissing | OriginalNotFound | Deleted):
        is_away = isinstance(outcome, OriginalNotFound) and outcome.away is not None
        return outcome.silence.is_complete and not is_away
    return False


DOUBTFUL_AGE: Final = 5
"""Lifetime in seconds while an Archive that may know better did not answer: the outcome may be an old Copy."""
CLAIMED_AGE: Final = 60
"""The same for an Original that an Archive of higher rank may claim."""


class HeardFacts:
    """The last facts heard about items, to notice changes: a deletion, another next edition, or another access.

    The store is bounded; facts that were evicted are not compared.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._facts: LruCache[Hashable, Hashable] = LruCache(most)

    def news(self, trace: Trace, outcome: Outcome, *, is_lasting: bool) -> frozenset[Label]:
        """Return the labels of items that have changed since an earlier resolution heard about them.

        `is_lasting` tells whether the answers may be cached. Answers that depend on the reader may not.
        """
        found = set()
        for hop in trace.hops:
            found |= {label for report in hop.reports for label in _find_deleted(report)}
            if hop.relation.begins_with_last_edition and self._is_new((hop.label, "!"), _next_edition(hop)):
                found.add(hop.label)
        if isinstance(outcome, Redirect) and trace.hops:
            last = trace.hops[-1]
            # An answer that depends on the reader's address differs between readers; that is no news.
            access = (outcome.entry.state, outcome.entry.url if is_lasting else None)
            if self._is_new((last.label, outcome.archive.service, outcome.entry.relation), access):
                found.add(last.label)
        return frozenset(found)

    def _is_new(self, key: Hashable, fact: Hashable) -> bool:
        before = self._facts.find(key)
        self._facts.keep(key, (fact,))
        return before is not None and before != (fact,)


def _find_deleted(report: Report) -> tuple[Label, ...]:
    """Return the labels that a report calls deleted, from any source: they are only asked for again."""
    is_deletion = isinstance(report.said, Deletion) and report.verdict is not Verdict.DISBELIEVED
    return report.said.ibi.labels if is_deletion and report.said is not None else ()


def _next_edition(hop: Hop) -> LabelForms | None:
    said = (report.said for report in hop.leading)
    return next((each.next_edition for each in said if isinstance(each, UrlList)), None)


def longest_followed(trace: Trace, is_followed: Callable[[ArchiveRef], bool]) -> int:
    """Return the longest lifetime of an outcome: `LONGEST` if the changes of all its Archives are followed.

    Otherwise return `UNFED_AGE`.
    """
    led = {report.archive for hop in trace.hops for report in hop.leading}
    return LONGEST if all(map(is_followed, led)) else UNFED_AGE


def max_ttl(
    trace: Trace, chosen: Redirect, archives: Sequence[ArchiveRef], holder: Callable[[Label], ArchiveRef | None]
) -> int:
    """Return the longest lifetime in seconds of the `chosen` redirect.

    It is shorter if one of the `archives` did not answer that may know better. Such an Archive may know of a later
    edition or a translation, have the Original of this Copy, or claim it with a higher rank. Silence does not count
    where the `holder` led on. If a label has a home, the home's answers may be cached, and a trusted Archive's for a
    moment. All others may not.
    """
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
