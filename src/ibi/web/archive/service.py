"""`GET /<archive service IBI>?servicesubject=…`: what resolvers ask of an Archive (R §9)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import count
from secrets import randbelow

from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.archive.answer import StaticAnswer, answer, static_answer
from ibi.archive.counting import counted_acknowledgment
from ibi.archive.url_key import RANDOM_LIMIT
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.label import Label, RepositoryName, match_label
from ibi.messages.answers import ErrorAnswer, Notice
from ibi.messages.home_fields import FINAL_FIELD, Field
from ibi.messages.requests import Acknowledgment, UrlRequest, parse_request
from ibi.messages.url_list import Deletion, UrlList
from ibi.model.item import name_one_item
from ibi.web.archive_site import ArchiveSite
from ibi.web.fast.fast_path import Answer
from ibi.web.http.errors import UNTOLD, answer_to
from ibi.web.http.headers import RawHeaders, is_cross_site
from ibi.web.http.raw_target import as_text, decoded, has_subject
from ibi.web.http.request_errors import MethodNotAllowed

Fields = tuple[Field, ...]
"""Header fields that say what R's answers have no place for."""

MOST_KEPT = 4096
"""Answers kept at a time, by the words of the request and by its meaning."""

_LONGEST_KEY = 512
"""Characters of a request that is worth remembering."""

_ACKNOWLEDGMENT = b"servicesubject=acknowledgment"
_PLAIN_TEXT = (b"content-type", b"text/plain")
_NO_STORE = b"no-store"
_NOTICE = Notice().encode()
_NO_FIELDS: Fields = ()


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


class ArchiveService:
    """An ASGI application of its own: the answer, once made, costs a look-up and a signature."""

    def __init__(self, site: ArchiveSite, log: FilteringBoundLogger) -> None:
        self._site, self._log = site, log
        # What every answer needs, within reach.
        self._changes, self._keys, self._seconds = site.changes, site.keys, site.clocks.seconds
        labels = site.profile.service.labels
        self._paths = {f"/{text}".encode() for label in labels for text in (label.spelling, str(label))}
        self._by_words, self._by_meaning = KeptAnswers(), KeptAnswers()
        self._reps: dict[Label, RepositoryName] = {}
        """Of items that were acknowledged lately, by the labels that their keys carry."""
        self._state: Hashable = None
        self._max_age = b"max-age=%d" % site.max_age if site.max_age else _NO_STORE
        # Chance once, then a number: it keeps keys apart, and what keeps them from being forged is their signature.
        self._chance = count(randbelow(RANDOM_LIMIT))

    def is_asked(self, path: bytes, query: bytes) -> bool:
        """Whether it is this service's label, in either form and any case, and a request (R §6.1)."""
        return has_subject(query) and (path in self._paths or self._is_ours(path))

    def _is_ours(self, path: bytes) -> bool:
        text = decoded(path)
        found = match_label(text, 1) if text[:1] == "/" else None
        if found is None or found[1] != len(text):
            return False
        service = self._site.profile.service
        if found[0] in service.labels:
            return True
        item = self._site.catalog.find(found[0])  # the other form may be known to the service's own item alone
        return item is not None and name_one_item(item.labels, service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, headers, body = self._response(scope)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def at_once(self, scope: Scope) -> Answer:
        return Answer(*self._response(scope))

    def _response(self, scope: Scope) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        if scope["method"] == "GET":
            status, body, caching, fields = self.answered(scope["query_string"], scope["headers"])
        else:  # R §6.1: every message is a GET
            status, body, caching, fields = self._refusal(MethodNotAllowed(method=scope["method"][:20], allowed="GET"))
        headers = [_PLAIN_TEXT, (b"content-length", b"%d" % len(body)), (b"cache-control", caching), *fields]
        if status == 405:
            headers.append((b"allow", b"GET"))
        return status, headers, body

    def answered(self, query: bytes, headers: RawHeaders = ()) -> tuple[int, bytes, bytes, Fields]:
        """Status, body, Cache-Control and further fields of the answer to that query of a GET with these headers, as
        they are sent over HTTP. A refusal is an answer too (E18)."""
        try:
            # Thanks have each a key of their own: what was kept need not be looked through, nor its truth asked for.
            if _ACKNOWLEDGMENT in query:
                return 200, *self._answer(query, headers)
            self._forget_what_has_changed()
            found = self._by_words.find(query, self._now)
            body, caching, fields = self._answer(query, headers) if found is None else self._with_key(found)
        except IbiError as error:
            return self._refusal(error)
        return 200, body, caching, fields

    def told(self, request: UrlRequest) -> tuple[UrlList | Deletion | None, int, bool, Label | None, tuple[Label, ...]]:
        """What is answered to a resolver in the same process: the message that it would read from `answered`, for how
        many seconds it may be kept, whether an empty one is final, where the Original went, and who holds Copies.
        Refusals are raised."""
        try:
            self._forget_what_has_changed()
            found = self._by_meaning.find(_meaning(request), self._now)
            if found is None:
                found = self._by_words.find(request, self._now)
            if found is None:
                is_short = len(request.file_path or "") <= _LONGEST_KEY
                found = self._made(request if is_short else None, request, self._site.now)
            if found.missing is not None:
                return None, 0, self._is_final(found), found.transferred_to, ()
            message = found.message_with_key(self._keys, self._seconds(), next(self._chance))
            return message, self._age(found), False, found.transferred_to, found.copies_at
        except IbiError as error:
            self._refusal(error)
            raise

    def acknowledged(self, acknowledgment: Acknowledgment) -> bool:
        """Whether an acknowledgment was received, without HTTP: for a resolver in the same process."""
        try:
            self._count(acknowledgment)
        except IbiError as error:
            self._refusal(error)
            return False
        return True

    def _count(self, acknowledgment: Acknowledgment) -> None:
        now = Instant(self._seconds())  # of a day and of half a minute
        self._site.count(counted_acknowledgment(acknowledgment, self._rep_of, self._keys, self._site.recent, now))

    def _rep_of(self, label: Label) -> RepositoryName | None:
        self._forget_what_has_changed()
        found = self._reps.get(label)
        if found is not None:
            return found
        item = self._site.catalog.find(label)
        if item is None:
            return None
        if self._changes is not None:
            if len(self._reps) >= MOST_KEPT:
                self._reps.clear()
            self._reps[label] = item.rep
        return item.rep

    def _refusal(self, error: IbiError) -> tuple[int, bytes, bytes, Fields]:
        """E18."""
        told = answer_to(error)
        if not told.told:
            self._log.error("refused", code=error.code, detail=str(error), exc_info=error)
        body = ErrorAnswer(str(error) if told.told else UNTOLD).encode()
        return int(told.status), body, _NO_STORE, _NO_FIELDS

    def _answer(self, query: bytes, headers: RawHeaders) -> tuple[bytes, bytes, Fields]:
        """The body, what the header Cache-Control says, and further fields, of what is not kept."""
        site = self._site
        request = parse_request(as_text(query))
        if isinstance(request, Acknowledgment):
            # A page elsewhere could have the browsers of its readers acknowledge what they never asked for.
            if not is_cross_site(headers):
                self._count(request)
            return _NOTICE, _NO_STORE, _NO_FIELDS
        if isinstance(request, UrlRequest):
            return self._with_key(self._made(query if len(query) <= _LONGEST_KEY else None, request, site.now))
        body, _ = answer(site.profile, site.catalog, as_text(query), site.now, 0, site.keys)
        return body, _NO_STORE, _NO_FIELDS

    def _forget_what_has_changed(self) -> None:
        """Where nobody tells of changes, nothing was kept."""
        if self._changes is None:
            return
        state = self._changes()
        if state != self._state:
            self._by_words.clear()
            self._by_meaning.clear()
            self._reps.clear()
            self._state = state

    def _now(self) -> Instant:
        return self._site.now

    def _made(self, words: Hashable, request: UrlRequest, now: Instant) -> StaticAnswer:
        """Kept by those words, unless they are None. An answer that does not hang on the client is everybody's: it is
        found again by what is asked."""
        site, meaning = self._site, _meaning(request)
        found = None if site.changes is None else self._by_meaning.find(meaning, self._now)
        made = found
        if made is None:
            made = static_answer(site.profile, site.catalog, self._from_reader(request), now, site.keys)
        if site.changes is not None and words is not None:
            self._by_words.keep(words, made)
            if found is None and not made.depends_on_client:
                self._by_meaning.keep(meaning, made)
        return made

    def _from_reader(self, request: UrlRequest) -> UrlRequest:
        """Without the addresses of proxies of our own, that the request may have passed: everybody comes through them,
        and nobody is inside a network because they are."""
        proxies, (reader, *passed) = self._site.proxies, request.client_addresses
        if not (proxies and passed):
            return request
        strangers = (each for each in passed if not any(each in network for network in proxies))
        return replace(request, client_addresses=(reader, *strangers))

    def _with_key(self, found: StaticAnswer) -> tuple[bytes, bytes, Fields]:
        if found.missing is not None:
            return b"", _NO_STORE, (FINAL_FIELD,) if self._is_final(found) else found.fields
        body = found.with_key(self._keys, self._seconds(), next(self._chance))
        if found.is_lasting:
            return body, self._max_age, found.fields
        age = self._age(found)
        return body, b"max-age=%d" % age if age else _NO_STORE, found.fields

    def _age(self, found: StaticAnswer) -> int:
        """Seconds for which it may be kept. What is not here today may be deposited in a minute."""
        if found.is_lasting:
            return self._site.max_age
        return 0 if found.missing is not None else found.max_age(self._site.now, self._site.max_age)

    def _is_final(self, found: StaticAnswer) -> bool:
        """Asked for each answer: a label may be given out a moment after it was unknown, without a change of the
        catalogue that would make what is kept forgotten."""
        is_final, label = self._site.is_final, found.missing
        if is_final is None or label is None or found.transferred_to is not None:
            return False
        return is_final(label, self._site.now)


def _meaning(request: UrlRequest) -> Hashable:
    return request.label, request.relation, request.file_path, request.file_list
