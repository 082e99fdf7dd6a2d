"""What an Archive answers to resolvers (R §9), over HTTP or in the same process: made once, and kept while it is true.

The answer, once made, costs a look-up and a signature. There is one instance for each Archive of a process, so that
whoever asks, and by which way, finds what was made for another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import count
from secrets import randbelow
from typing import Final, NamedTuple

from ibi.archive.answer import StaticAnswer, answer, static_answer
from ibi.archive.counting import Recent, counted_acknowledgment
from ibi.archive.profile import ArchiveProfile
from ibi.archive.url_key import RANDOM_LIMIT, UrlKeys
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.messages.answers import Notice
from ibi.messages.home_fields import FINAL_FIELD, Field
from ibi.messages.requests import Acknowledgment, UrlRequest, parse_request
from ibi.model.visibility import IpNetwork
from ibi.ports.catalog import Catalog
from ibi.ports.clocks import Clocks
from ibi.ports.usage import UsageLog
from ibi.resolver.trace import Answered

MOST_KEPT = 4096
"""Answers kept at a time, by the words of the request and by its meaning."""
MAX_AGE: Final = 300
"""Seconds for which others may keep an answer, unless it ceases to be true earlier (E32)."""

_LONGEST_KEY = 512
"""Characters of a request that is worth remembering."""

_ACKNOWLEDGMENT = "servicesubject=acknowledgment"
_NOTICE = Notice().encode()


class WireAnswer(NamedTuple):
    """An answer as it is sent: the body, for how many seconds it may be kept, and header fields that say what R's
    answers have no place for."""

    body: bytes
    max_age: int = 0
    fields: tuple[Field, ...] = ()


_RECEIVED: Final = WireAnswer(_NOTICE)


class KeptAnswers:
    """What was answered lately but for the key. What was not asked for longest goes first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        # To find the oldest key of a plain dict is to pass all that were forgotten before it.
        self._kept: OrderedDict[Hashable, StaticAnswer] = OrderedDict()

    def find(self, key: Hashable, now: Callable[[], Instant]) -> StaticAnswer | None:
        """What was kept, if it is still true. The time is asked only of what has an end."""
        found = self._kept.get(key)
        if found is None:
            return None
        if found.good_until is not None and found.good_until <= now():
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return found

    def keep(self, key: Hashable, made: StaticAnswer) -> None:
        if len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        self._kept[key] = made

    def clear(self) -> None:
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)


class ArchiveAnswers:
    """The answers of one Archive.

    `changes` gives another value after every change of the catalogue; without it nothing is kept. `is_final` tells of a
    label that is unknown here whether it was certainly not given out for use elsewhere; without it nothing is certain.
    """

    def __init__(
        self,
        profile: ArchiveProfile,
        catalog: Catalog,
        keys: UrlKeys,
        clocks: Clocks,
        *,
        changes: Callable[[], Hashable] | None = None,
        is_final: Callable[[Label, Instant], bool] | None = None,
        proxies: tuple[IpNetwork, ...] = (),
        usage: UsageLog | None = None,
        recent: Recent | None = None,
        max_age: int = MAX_AGE,
    ) -> None:
        self._profile, self._catalog, self._keys, self._clocks = profile, catalog, keys, clocks
        self._changes, self._seconds, self._max_age = changes, clocks.seconds, max_age
        self._find_final, self._proxies, self._usage = is_final, proxies, usage
        self._recent = Recent() if recent is None else recent
        self._by_words, self._by_meaning = KeptAnswers(), KeptAnswers()
        self._reps: dict[Label, RepositoryName] = {}
        """Of items that were acknowledged lately, by the labels that their keys carry."""
        self._state: Hashable = None
        # Chance once, then a number: it keeps keys apart, and what keeps them from being forged is their signature.
        self._chance = count(randbelow(RANDOM_LIMIT))

    def reply(self, query: str, *, is_counted: bool = True) -> WireAnswer:
        """The answer to that query of a request; `IbiError` if it is refused (E18). An acknowledgment that is not to be
        counted is answered all the same."""
        # Acknowledgments have each a key of their own: what is kept need not be looked through.
        if _ACKNOWLEDGMENT in query:
            return self._make_reply(query, is_counted=is_counted)
        self._forget_what_has_changed()
        found = self._by_words.find(query, self._now)
        return self._make_reply(query, is_counted=is_counted) if found is None else self._with_key(found)

    def answer(self, request: UrlRequest) -> Answered:
        """The answer to a resolver in the same process: what it would read from `reply`, without writing and reading
        it. `IbiError` if it is refused."""
        self._forget_what_has_changed()
        found = self._by_meaning.find(_meaning(request), self._now)
        if found is None:
            found = self._by_words.find(request, self._now)
        if found is None:
            is_short = len(request.file_path or "") <= _LONGEST_KEY
            found = self._make(request if is_short else None, request, self._now())
        if found.missing is not None:
            return Answered(None, 0, self._is_final(found), found.transferred_to)
        message = found.message_with_key(self._keys, self._seconds(), next(self._chance))
        return Answered(message, self._age(found), False, found.transferred_to, found.copies_at)

    def acknowledge(self, acknowledgment: Acknowledgment) -> None:
        """Count it, if its key is one of ours."""
        now = Instant(self._seconds())  # of a day and of half a minute
        counted = counted_acknowledgment(acknowledgment, self._rep_of, self._keys, self._recent, now)
        if counted is not None and self._usage is not None:
            self._usage.count(*counted)

    def _rep_of(self, label: Label) -> RepositoryName | None:
        self._forget_what_has_changed()
        found = self._reps.get(label)
        if found is not None:
            return found
        item = self._catalog.find(label)
        if item is None:
            return None
        if self._changes is not None:
            if len(self._reps) >= MOST_KEPT:
                self._reps.clear()
            self._reps[label] = item.rep
        return item.rep

    def _make_reply(self, query: str, *, is_counted: bool) -> WireAnswer:
        request = parse_request(query)
        if isinstance(request, Acknowledgment):
            if is_counted:
                self.acknowledge(request)
            return _RECEIVED
        if isinstance(request, UrlRequest):
            return self._with_key(self._make(query if len(query) <= _LONGEST_KEY else None, request, self._now()))
        body, _ = answer(self._profile, self._catalog, query, self._now(), 0, self._keys)
        return WireAnswer(body)

    def _forget_what_has_changed(self) -> None:
        """Without `changes` nothing was kept."""
        if self._changes is None:
            return
        state = self._changes()
        if state != self._state:
            self._by_words.clear()
            self._by_meaning.clear()
            self._reps.clear()
            self._state = state

    def _now(self) -> Instant:
        return self._clocks.read().wall

    def _make(self, words: Hashable, request: UrlRequest, now: Instant) -> StaticAnswer:
        """Kept by those words, unless they are None. An answer that does not depend on the client is the same for all
        of them: it is found again by what is asked."""
        meaning = _meaning(request)
        found = None if self._changes is None else self._by_meaning.find(meaning, self._now)
        made = found
        if made is None:
            made = static_answer(self._profile, self._catalog, self._from_reader(request), now, self._keys)
        if self._changes is not None and words is not None:
            self._by_words.keep(words, made)
            if found is None and not made.depends_on_client:
                self._by_meaning.keep(meaning, made)
        return made

    def _from_reader(self, request: UrlRequest) -> UrlRequest:
        """Without the addresses of our own proxies, which the request may have passed: all readers come through them,
        and none is inside a network because a proxy is."""
        proxies, (reader, *passed) = self._proxies, request.client_addresses
        if not (proxies and passed):
            return request
        strangers = (each for each in passed if not any(each in network for network in proxies))
        return replace(request, client_addresses=(reader, *strangers))

    def _with_key(self, found: StaticAnswer) -> WireAnswer:
        if found.missing is not None:
            return WireAnswer(b"", 0, (FINAL_FIELD,) if self._is_final(found) else found.fields)
        body = found.with_key(self._keys, self._seconds(), next(self._chance))
        return WireAnswer(body, self._age(found), found.fields)

    def _age(self, found: StaticAnswer) -> int:
        """Seconds for which it may be kept. What is not here today may be deposited in a minute."""
        if found.is_lasting:
            return self._max_age
        return 0 if found.missing is not None else found.max_age(self._now(), self._max_age)

    def _is_final(self, found: StaticAnswer) -> bool:
        """Asked for each answer: a label may be given out a moment after it was unknown, without a change of the
        catalogue that would make what is kept forgotten."""
        is_final, label = self._find_final, found.missing
        if is_final is None or label is None or found.transferred_to is not None:
            return False
        return is_final(label, self._now())


def _meaning(request: UrlRequest) -> Hashable:
    return request.label, request.relation, request.file_path, request.file_list
