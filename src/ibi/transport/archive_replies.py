"""What an Archive's response says, however it came (R §6.2, §9.2; E18)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from ibi.errors import InvalidInput
from ibi.label import Label
from ibi.lru_cache import LruCache
from ibi.messages.answers import Answer, Confirmation, ErrorAnswer, Notice, parse_answer
from ibi.messages.home_fields import read_copies, read_final, read_transferred_to
from ibi.messages.key import UrlKey
from ibi.messages.service import ServiceSubject
from ibi.messages.signatures import read_confirmation
from ibi.messages.url_list import Deletion, LeftOut, UrlList, parse_url_list
from ibi.pairs import LenientPairs, Pairs, decode_leniently
from ibi.resolver.trace import Answered, Failure, Reply
from ibi.signing import PublicKey
from ibi.transport.http_connection import HttpResponse, freshness
from ibi.vocabulary import State

_NOTHING: Final = Pairs()
_NOTICE: Final = Notice().encode()
_KEY: Final = re.compile(rb"[0-9-]{1,256}")
_LONGEST_KEPT: Final = 4096
_ENTRY: Final = 1_000
"""Bytes that an entry of an answer takes once it is read, its texts aside."""
_READ: Final[LruCache[bytes, UrlList]] = LruCache(1024, 16 << 20)
"""What was read lately, by all that stands before its key. An Archive's answers about one item differ in that alone,
and reading one takes longer than anything else that a resolution does in its own process."""


def reply_of(response: HttpResponse | Failure, asked: Label | None = None) -> Reply:
    """The answer to a `urlRequest` about the label that was `asked` for."""
    answer = _read_before(response) or _answer(ServiceSubject.URL_REQUEST, response, asked)
    if isinstance(response, Failure) or isinstance(answer, Failure):
        return answer if isinstance(answer, Failure) else Failure.MALFORMED
    if answer is None or isinstance(answer, UrlList | Deletion):
        max_age = freshness(response.cache_control, response.age)
        if response.final or response.transferred_to or response.copies:
            return Answered(answer, max_age, *_beside(answer, response))
        return Answered(answer, max_age)
    return Failure.REFUSED


def _beside(answer: UrlList | Deletion | None, response: HttpResponse) -> tuple[bool, Label | None, tuple[Label, ...]]:
    """What the fields beside an answer say, each as far as it can go with that answer (E62 to E64): only what is not
    here is final, a tombstone was not transferred, an Original neither, and only what has one has Copies."""
    to = read_transferred_to(response.transferred_to) if not isinstance(answer, Deletion) else None
    if answer is None:
        return read_final(response.final) and not response.transferred_to, to, ()
    if not isinstance(answer, UrlList):
        return False, None, ()
    is_original = any(entry.relation.is_itself and entry.state is State.ORIGINAL for entry in answer.entries)
    return False, None if is_original else to, read_copies(response.copies)


def _read_before(response: HttpResponse | Failure) -> UrlList | None:
    """The answer if it ends in a key, from what was read before or is from now on; None if it has to be read whole."""
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
        return None  # how it is read may depend on what was asked for
    # Its texts are there twice: as they came, and as they were read.
    _READ.keep(before, answer, 2 * len(before) + _ENTRY * len(answer.entries))
    return answer


def is_notice(response: HttpResponse | Failure) -> bool:
    """Whether an acknowledgment was received (R Algorithm 1, line 20)."""
    if isinstance(response, HttpResponse) and response.body == _NOTICE:  # as the standard prints it
        return response.status == 200 and response.is_plain_text
    return isinstance(_answer(ServiceSubject.ACKNOWLEDGMENT, response), Notice)


def is_confirmation(response: HttpResponse | Failure) -> bool:
    """Whether an Archive is there that knows itself to be one (R §7.2, message 4)."""
    return isinstance(_answer(ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, response), Confirmation)


def proven_key(response: HttpResponse | Failure, challenge: str) -> PublicKey | None:
    """The key with which the one who confirms has signed the challenge; None if it has not (E81)."""
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
    if not response.is_plain_text:
        return Failure.MALFORMED
    try:
        answer = _read_answer(subject, response.body, asked)
    except InvalidInput:
        return Failure.UNREADABLE if subject is ServiceSubject.URL_REQUEST else Failure.MALFORMED
    return Failure.REFUSED if isinstance(answer, ErrorAnswer) else answer


def _read_answer(subject: ServiceSubject, body: bytes, asked: Label | None) -> Answer | None:
    # The length was bounded when it was received.
    pairs, left_out = decode_leniently(body, limit=len(body)) if body else LenientPairs(_NOTHING)
    if subject is not ServiceSubject.URL_REQUEST or "error" in pairs:
        return parse_answer(subject, pairs)
    answer = parse_url_list(pairs, asked)
    if answer is None or not left_out:
        return answer
    broken = (LeftOut(text.split(" ")[0], "it is no pair of a name and a value") for text in left_out)
    return replace(answer, left_out=(*answer.left_out, *broken))
