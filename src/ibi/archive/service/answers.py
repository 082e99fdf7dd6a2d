"""The answers of an Archive to resolvers (R §9), over HTTP or in the same process. They are made once, and cached while
valid.

A cached answer costs a look-up and a signature. Each Archive of a process has one instance, so that all callers share
one cache.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from itertools import count
from secrets import randbelow
from typing import Final, NamedTuple, Protocol, cast

from ibi.archive.rules.answer import StaticAnswer, answer, static_answer
from ibi.archive.rules.profile import ArchiveProfile
from ibi.items.ports.catalog import Catalog
from ibi.items.service.change_watch import ChangeWatch, RecordingCatalog, Touched
from ibi.jobs.promptness import beside
from ibi.minting.ports import GivenOut
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.lru_cache import TaggedLruCache, Tags
from ibi.standard.messages.answers import Notice, ServiceSubject
from ibi.standard.messages.holders import FINAL_FIELD, Field
from ibi.standard.messages.identification import RANDOM_LIMIT, UrlKeys
from ibi.standard.messages.membership import InclusionConfirmationRequest
from ibi.standard.messages.requests import Acknowledgment, UrlRequest, parse_archive_request
from ibi.standard.networks import IpNetwork
from ibi.standard.reply import Answered
from ibi.usage.model import ReferrerClass
from ibi.usage.ports import UsageLog
from ibi.usage.rules.counting import Recent, counted_acknowledgment

MOST_KEPT = 50_000
"""Answers in each cache: one by the words of the request, one by its meaning."""
_ROOM: Final = 64 << 20
"""Bytes that each cache takes, about."""
_ORDINARY: Final = 3_000
"""Bytes that an answer takes beside its body, about, with its request and its tags."""
MAX_AGE: Final = 300
"""Seconds for which an answer may be cached, unless it expires earlier (E32)."""

_LONGEST_KEY = 512
"""Characters of a request that is worth caching."""

_ACKNOWLEDGMENT = "servicesubject=acknowledgment"
_NOTICE = Notice().encode()


class ArchiveInDoubt(IbiError):
    """This Archive may have been put back from a backup, and asks others at this moment whether it gave Originals away
    since: try again in {retry_after} seconds."""

    code = "archive-in-doubt"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 5

    def __init__(self, **parameters: object) -> None:
        super().__init__(**{"retry_after": self.retry_after, **parameters})


class OriginalAwaited(IbiError):
    """The Original of {label} belongs to this Archive, which was put back from a backup and does not have it again yet:
    try again in {retry_after} seconds."""

    code = "original-awaited"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 5

    def __init__(self, **parameters: object) -> None:
        super().__init__(**{"retry_after": self.retry_after, **parameters})


class Doubts(Protocol):
    """Tells which answers would be untrue after a restore from a backup."""

    @property
    def is_silent(self) -> bool:
        """True if no item may be called Original at the moment, since it may have been given away."""

    def is_awaited(self, labels: Iterable[Label], given_to: Label | None) -> bool:
        """Return whether the Original of an item that is not here belongs here. `given_to` is the Archive to which this
        one gave it."""


class _NoDoubts:
    is_silent = False

    def is_awaited(self, labels: Iterable[Label], given_to: Label | None) -> bool:
        return False


NO_DOUBTS: Final[Doubts] = _NoDoubts()


class WireAnswer(NamedTuple):
    """An answer on the wire: the body, the seconds for which it may be cached, and header fields for facts that have no
    place in R's answers."""

    body: bytes
    max_age: int = 0
    fields: tuple[Field, ...] = ()


_RECEIVED: Final = WireAnswer(_NOTICE)
_UNREAD: Final = {ServiceSubject.URL_REQUEST: WireAnswer(b""), ServiceSubject.ACKNOWLEDGMENT: _RECEIVED}
"""The answers to requests of which only the subject can be read (E18)."""


class KeptAnswers(TaggedLruCache[Hashable, StaticAnswer]):
    """A cache of recent answers, without their keys. The tags of an answer are the labels that it was made of."""

    def find_valid(self, key: Hashable, now: Callable[[], Instant]) -> StaticAnswer | None:
        """Return the cached answer, if it is still valid. `now` is called only for an answer that expires."""
        found = self.find(key)
        if found is None or found.good_until is None or found.good_until > now():
            return found
        self.forget(key)
        return None


class ArchiveAnswers:
    """The answers of one Archive.

    `watch` reports the labels that changed in the catalogue; without it nothing is cached. `given_out` tells whether a
    label unknown here was certainly never given out for use elsewhere; without it no answer is final.

    Where the catalogue or `given_out` is slow (`prompt` is false), an event loop calls the methods with the suffix
    `_slowly`: they look up in a thread. The caches belong to the event loop either way.
    """

    def __init__(
        self,
        profile: ArchiveProfile,
        catalog: Catalog,
        keys: UrlKeys,
        clocks: Clocks,
        *,
        watch: ChangeWatch | None = None,
        given_out: GivenOut | None = None,
        proxies: tuple[IpNetwork, ...] = (),
        usage: UsageLog | None = None,
        recent: Recent | None = None,
        max_age: int = MAX_AGE,
        doubts: Doubts = NO_DOUBTS,
    ) -> None:
        self._doubts = doubts
        self._profile, self._catalog, self.keys, self._clocks = profile, catalog, keys, clocks
        self.watch, self._seconds, self.max_age = watch, clocks.seconds, max_age
        self._given_out, self._proxies, self._usage = given_out, proxies, usage
        self.prompt = catalog.prompt and (given_out is None or given_out.prompt)
        self._recent = Recent() if recent is None else recent
        self._by_words, self._by_meaning = KeptAnswers(MOST_KEPT, _ROOM), KeptAnswers(MOST_KEPT, _ROOM)
        self._reps: TaggedLruCache[Label, RepositoryName] = TaggedLruCache(MOST_KEPT)
        """Repository names of recently acknowledged items, by the labels in their keys."""
        if watch is not None:
            watch.tell(self._forget_touched)
        self.on_call_back: Callable[[], None] = _nothing
        """Called when a resolver asks the Archive to confirm its inclusion."""
        self.prove: Callable[[str], tuple[Field, ...]] = _prove_nothing
        """Signs the challenge of a resolver."""
        # A random start, then a count: it only keeps keys apart. The signature keeps them from being forged.
        self._chance = count(randbelow(RANDOM_LIMIT))

    def reply(self, query: str, *, is_counted: bool = True) -> WireAnswer:
        """Return the answer to the query of a request. `IbiError` if it is refused (E18). An acknowledgment that is not
        counted gets an answer all the same."""
        found = self._find_reply(query)
        if found is None:
            request = parse_archive_request(query)
            if isinstance(request, Acknowledgment):
                if is_counted:
                    self.acknowledge(request)
                return _RECEIVED
            if isinstance(request, ServiceSubject):  # the rest cannot be read
                return _UNREAD[request]
            if isinstance(request, InclusionConfirmationRequest):
                return self._confirm(query, request)
            if not isinstance(request, UrlRequest):
                return self._without_look_up(query)
            found = self._make(_words(query), request, self._now())
        return self._with_key(found, found.missing is not None and self._is_final(found))

    async def reply_slowly(self, query: str, *, is_counted: bool = True) -> WireAnswer:
        """Do the same as `reply`, for an event loop."""
        found = self._find_reply(query)
        if found is None:
            request = parse_archive_request(query)
            if isinstance(request, Acknowledgment):
                if is_counted:
                    await self.acknowledge_slowly(request)
                return _RECEIVED
            if isinstance(request, ServiceSubject):  # the rest cannot be read
                return _UNREAD[request]
            if isinstance(request, InclusionConfirmationRequest):
                return self._confirm(query, request)
            if not isinstance(request, UrlRequest):
                return self._without_look_up(query)
            found = await self._make_slowly(_words(query), request)
        return self._with_key(found, found.missing is not None and await beside(lambda: self._is_final(found)))

    def answer(self, request: UrlRequest) -> Answered:
        """Return the answer to a resolver in the same process: that of `reply`, without encoding and parsing.
        `IbiError` if it is refused."""
        found = self._find_answer(request)
        if found is None:
            found = self._make(_key(request), request, self._now())
        return self._message_with_key(found, found.missing is not None and self._is_final(found))

    async def answer_slowly(self, request: UrlRequest) -> Answered:
        """Do the same as `answer`, for an event loop."""
        found = self._find_answer(request)
        if found is None:
            found = await self._make_slowly(_key(request), request)
        return self._message_with_key(found, found.missing is not None and await beside(lambda: self._is_final(found)))

    def acknowledge(self, acknowledgment: Acknowledgment) -> None:
        """Count an acknowledgment, if its key is one of ours."""
        self._count(acknowledgment, self._rep_of)

    async def acknowledge_slowly(self, acknowledgment: Acknowledgment) -> None:
        """Do the same as `acknowledge`, for an event loop."""
        known = self.keys.check(acknowledgment.url_key, self._seconds())
        if known is not None:
            self._forget_what_has_changed()
            rep = known.rep or self._reps.find(known.label)
            item = None if rep is not None else await beside(lambda: self._catalog.find(known.label))
            if item is not None:
                rep = item.rep
                self._keep_rep(known.label, rep)
            self._count(acknowledgment, lambda _: rep)

    def _count(self, acknowledgment: Acknowledgment, rep_of: Callable[[Label], RepositoryName | None]) -> None:
        now = Instant(self._seconds())  # of a day and of half a minute
        counted = counted_acknowledgment(acknowledgment, rep_of, self.keys, self._recent, now)
        if counted is not None and self._usage is not None:
            self._usage.count(*counted, ReferrerClass.RESOLVER)

    def _rep_of(self, label: Label) -> RepositoryName | None:
        self._forget_what_has_changed()
        found = self._reps.find(label)
        if found is not None:
            return found
        item = self._catalog.find(label)
        if item is None:
            return None
        self._keep_rep(label, item.rep)
        return item.rep

    def _keep_rep(self, label: Label, rep: RepositoryName) -> None:
        if self.watch is not None:
            self._reps.keep_tagged(label, rep, (rep,))

    def _find_reply(self, query: str) -> StaticAnswer | None:
        # Each acknowledgment has a key of its own, so it is never in the cache.
        if _ACKNOWLEDGMENT in query or self._doubts.is_silent:
            return None
        self._forget_what_has_changed()
        return self._by_words.find_valid(query, self._now)

    def _find_answer(self, request: UrlRequest) -> StaticAnswer | None:
        if self._doubts.is_silent:
            return None
        self._forget_what_has_changed()
        found = self._by_meaning.find_valid(_meaning(request), self._now)
        return self._by_words.find_valid(request, self._now) if found is None else found

    def _confirm(self, query: str, request: InclusionConfirmationRequest) -> WireAnswer:
        """Return the answer to a resolver that calls back, with the signature of its challenge (E81)."""
        self.on_call_back()
        fields = () if request.challenge is None else self.prove(request.challenge)
        return self._without_look_up(query)._replace(fields=fields)

    def _without_look_up(self, query: str) -> WireAnswer:
        """Return the answer to a request that is not about an item."""
        body, _ = answer(self._profile, self._catalog, query, self._now(), 0, self.keys)
        return WireAnswer(body)

    def _forget_what_has_changed(self) -> Hashable:
        """Look for changes of the catalogue, and return the version up to which they are known. Without a watch nothing
        is cached."""
        return None if self.watch is None else self.watch.check()

    def _forget_touched(self, touched: Touched) -> None:
        for cache in (self._by_words, self._by_meaning, self._reps):
            if touched.everything:
                cache.clear()
            else:
                for label in touched.labels:
                    cache.forget_tagged(label)

    def _now(self) -> Instant:
        return self._clocks.read().wall

    def _make(self, words: Hashable, request: UrlRequest, now: Instant) -> StaticAnswer:
        """Make the answer and cache it under those words, unless they are None."""
        found = self._find_meaning(request)
        made, tags = self._build(request, now) if found is None else (found, self._by_meaning.tags(_meaning(request)))
        self._keep(words, request, made, tags, is_new=found is None)
        return made

    async def _make_slowly(self, words: Hashable, request: UrlRequest) -> StaticAnswer:
        """Do the same as `_make`, for an event loop. An answer from before a change of the catalogue is not cached."""
        version = self._forget_what_has_changed()
        found, now = self._find_meaning(request), self._now()
        if found is not None:
            self._keep(words, request, found, self._by_meaning.tags(_meaning(request)), is_new=False)
            return found
        made, tags = await beside(lambda: self._build(request, now))
        if self._forget_what_has_changed() == version:
            self._keep(words, request, made, tags, is_new=True)
        return made

    def _build(self, request: UrlRequest, now: Instant) -> tuple[StaticAnswer, Tags]:
        """Return the answer, and the labels that it was made of. `ArchiveInDoubt` if the Archive is silent. The caches
        are not read then either: another process may notice the doubt a moment after the start."""
        if self._doubts.is_silent:
            raise ArchiveInDoubt()
        asked = RecordingCatalog(self._catalog)
        made = static_answer(self._profile, cast("Catalog", asked), self._from_reader(request), now, self.keys)
        return made, frozenset(asked.labels)

    def _find_meaning(self, request: UrlRequest) -> StaticAnswer | None:
        if self.watch is None or self._doubts.is_silent:
            return None
        return self._by_meaning.find_valid(_meaning(request), self._now)

    def _keep(self, words: Hashable, request: UrlRequest, made: StaticAnswer, tags: Tags, *, is_new: bool) -> None:
        """Cache the answer under its words, and under the meaning of the request unless it depends on the client."""
        if self.watch is not None and words is not None:
            size = _ORDINARY + len(made.body)
            self._by_words.keep_tagged(words, made, tags, size)
            if is_new and not made.depends_on_client:
                self._by_meaning.keep_tagged(_meaning(request), made, tags, size)

    def _from_reader(self, request: UrlRequest) -> UrlRequest:
        """Return the request without the addresses of our own proxies. Every request passes them, so they do not put a
        reader inside a network."""
        proxies, (reader, *passed) = self._proxies, request.client_addresses
        if not (proxies and passed):
            return request
        strangers = (each for each in passed if not any(each in network for network in proxies))
        return replace(request, client_addresses=(reader, *strangers))

    def _with_key(self, found: StaticAnswer, is_final: bool) -> WireAnswer:
        _require_certain(found, self._doubts)
        if found.missing is not None:
            return WireAnswer(b"", 0, (FINAL_FIELD,) if is_final else found.fields)
        body = found.with_key(self.keys, self._seconds(), next(self._chance))
        return WireAnswer(body, self._age(found), found.fields)

    def _message_with_key(self, found: StaticAnswer, is_final: bool) -> Answered:
        _require_certain(found, self._doubts)
        if found.missing is not None:
            return Answered(None, 0, None if found.transferred_to else is_final, found.transferred_to)
        message = found.message_with_key(self.keys, self._seconds(), next(self._chance))
        final = False if message is None and found.transferred_to is None else None
        return Answered(message, self._age(found), final, found.transferred_to, found.copies_at)

    def _age(self, found: StaticAnswer) -> int:
        """Return the seconds for which the answer may be cached. An item that is missing now may be deposited in a
        minute."""
        if found.is_lasting:
            return self.max_age
        return 0 if found.missing is not None else found.max_age(self._now(), self.max_age)

    def _is_final(self, found: StaticAnswer) -> bool:
        """Return whether an empty answer is final. Each answer is checked: an unknown label may be minted a moment
        later, which does not change the catalogue and so does not clear the cache."""
        given_out, label = self._given_out, found.missing
        if given_out is None or label is None or not label.is_dated or found.transferred_to is not None:
            return False
        return given_out.is_final(label)


def _require_certain(found: StaticAnswer, doubts: Doubts) -> None:
    """Raise `OriginalAwaited` if the answer is of less than the Original that belongs here. Each answer is checked: the
    Original may come back without a change of the catalogue."""
    lacking = found.without_original
    if lacking and doubts.is_awaited(lacking, found.transferred_to):
        raise OriginalAwaited(label=str(lacking[0]))


def _nothing() -> None:
    """Do nothing: the default of an Archive without a membership."""


def _prove_nothing(_: str) -> tuple[Field, ...]:
    """Return no fields: the default of an Archive without a key."""
    return ()


def _meaning(request: UrlRequest) -> Hashable:
    return request.label, request.relation, request.file_path, request.file_list


def _words(query: str) -> str | None:
    """Return the cache key of a request, None if it is too long."""
    return query if len(query) <= _LONGEST_KEY else None


def _key(request: UrlRequest) -> UrlRequest | None:
    """Return the cache key of a request, None if it is too long."""
    return request if len(request.file_path or "") <= _LONGEST_KEY else None
