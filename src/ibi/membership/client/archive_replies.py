"""Reads the responses of Archives."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from ibi.net.http_connection import HttpResponse, freshness
from ibi.standard.errors import InvalidInput, InvalidPairs
from ibi.standard.label import Label
from ibi.standard.lru_cache import LruCache
from ibi.standard.messages.answers import Answer, Confirmation, ErrorAnswer, Notice, ServiceSubject, parse_answer
from ibi.standard.messages.holders import read_copies, read_final, read_transferred_to
from ibi.standard.messages.identification import UrlKey
from ibi.standard.messages.signatures import read_confirmation
from ibi.standard.messages.url_list import Deletion, LeftOut, UrlList, parse_url_list
from ibi.standard.pairs import LenientPairs, Pairs, decode_leniently
from ibi.standard.reply import Answered, Failure, Reply
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State

_NOTHING: Final = Pairs()
_NOTICE: Final = Notice().encode()
_KEY: Final = re.compile(rb"[0-9-]{1,256}")
_TELLING: Final = frozenset({"ibi", "confirmation", "notice", "error"})
"""Each kind of answer has exactly one of these names."""
_LONGEST_KEPT: Final = 4096
_ENTRY: Final = 1_000
"""Bytes of memory per entry of a parsed answer, without its texts."""
_READ: Final[LruCache[bytes, UrlList]] = LruCache(1024, 16 << 20)
"""Cache of parsed answers, by the text before the key. An Archive's answers about one item differ only in the key.
Parsing an answer is the most expensive step of a resolution in this process."""


def reply_of(response: HttpResponse | Failure, asked: Label | None = None) -> Reply:
    """Return the answer to a `urlRequest` about the label that was `asked` for."""
    answer = _read_before(response) or _answer(ServiceSubject.URL_REQUEST, response, asked)
    if isinstance(response, Failure) or isinstance(answer, Failure):
        return answer if isinstance(answer, Failure) else Failure.MALFORMED
    if answer is None or isinstance(answer, UrlList | Deletion):
        max_age = freshness(response.cache_control, response.age)
        if response.final or response.transferred_to or response.copies:
            return Answered(answer, max_age, *_beside(answer, response))
        return Answered(answer, max_age)
    return Failure.REFUSED


def _beside(
    answer: UrlList | Deletion | None, response: HttpResponse
) -> tuple[bool | None, Label | None, tuple[Label, ...]]:
    """Return the fields that came with an answer: `final`, the new Archive of the Original, the Archives with Copies
    (E62 to E64). Fields that contradict the answer are dropped.

    An answer can be final only if the item is absent. A deleted item, or an Original, has no new Archive. Only an
    Archive that has the item can name Copies.
    """
    to = read_transferred_to(response.transferred_to) if not isinstance(answer, Deletion) else None
    if answer is None:
        return None if response.transferred_to else read_final(response.final), to, ()
    if not isinstance(answer, UrlList):
        return None, None, ()
    is_original = any(entry.relation.is_itself and entry.state is State.ORIGINAL for entry in answer.entries)
    return None, None if is_original else to, read_copies(response.copies)


def _read_before(response: HttpResponse | Failure) -> UrlList | None:
    """Return the answer with the help of the cache, if it ends in a key. Return None if the whole answer has to be
    parsed."""
    if isinstance(response, Failure) or response.status != 200 or not response.is_plain_text:
        return None
    before, name, key = response.body.rpartition(b"\r\nurlkey ")
    if not name or len(before) > _LONGEST_KEPT or not _KEY.fullmatch(key):
        return None
    found = _READ.find(before)
    try:
        if found is None:
            found = _keyless(before)
        return None if found is None else found.with_key(UrlKey(key.decode("ascii")))
    except InvalidInput:
        return None


def _keyless(before: bytes) -> UrlList | None:
    pairs = Pairs.decode(before)
    answer = None if "urlkey" in pairs or "error" in pairs else parse_url_list(pairs)
    if not isinstance(answer, UrlList):
        return None
    if answer.left_out:
        return None  # its meaning may depend on the requested label
    # Each text is in memory twice: raw and parsed.
    _READ.keep(before, answer, 2 * len(before) + _ENTRY * len(answer.entries))
    return answer


def is_notice(response: HttpResponse | Failure) -> bool:
    """Return whether an acknowledgment was received (R Algorithm 1, line 20)."""
    if isinstance(response, HttpResponse) and response.body == _NOTICE:  # as the standard prints it
        return response.status == 200 and response.is_plain_text
    return isinstance(_answer(ServiceSubject.ACKNOWLEDGMENT, response), Notice)


def is_confirmation(response: HttpResponse | Failure) -> bool:
    """Return whether the server confirmed that it is an Archive (R §7.2, message 4)."""
    return isinstance(_answer(ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, response), Confirmation)


def proven_key(response: HttpResponse | Failure, challenge: str) -> PublicKey | None:
    """Return the key that signed the challenge in this confirmation; None without a valid signature (E81)."""
    if isinstance(response, Failure) or not is_confirmation(response):
        return None
    signature = response.keys.read_signature()
    try:
        return None if signature is None else read_confirmation(signature, challenge)
    except InvalidInput:
        return None


def _answer(
    subject: ServiceSubject, response: HttpResponse | Failure, asked: Label | None = None
) -> Answer | Failure | None:
    if isinstance(response, Failure):
        return response
    if response.status != 200:
        return Failure.REFUSED if response.status >= 300 else Failure.MALFORMED
    if not (response.is_plain_text or response.is_html):
        return Failure.MALFORMED
    try:
        if response.is_html and not _is_list(response.body):
            return Failure.MALFORMED  # a page for people
        answer = _read_answer(subject, response.body, asked)
    except InvalidInput:
        return Failure.UNREADABLE if subject is ServiceSubject.URL_REQUEST else Failure.MALFORMED
    return Failure.REFUSED if isinstance(answer, ErrorAnswer) else answer


def _is_list(body: bytes) -> bool:
    """Return whether a body of type `text/html` is an answer nevertheless (E47). It has only pairs, and one pair names
    the kind of answer. Pairs alone are not enough: a page may have an even number of words by chance."""
    if not body.strip():
        return True
    try:
        pairs, left_out = decode_leniently(body, limit=len(body))
    except InvalidPairs:
        return False
    return not (left_out or _TELLING.isdisjoint(pairs))


def _read_answer(subject: ServiceSubject, body: bytes, asked: Label | None) -> Answer | None:
    # The length was limited at reception.
    pairs, left_out = decode_leniently(body, limit=len(body)) if body else LenientPairs(_NOTHING)
    if subject is not ServiceSubject.URL_REQUEST or "error" in pairs:
        return parse_answer(subject, pairs)
    answer = parse_url_list(pairs, asked)
    if answer is None or not left_out:
        return answer
    broken = (LeftOut(text.split(" ")[0], "it is no pair of a name and a value") for text in left_out)
    return replace(answer, left_out=(*answer.left_out, *broken))
