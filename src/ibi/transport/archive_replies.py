"""What an Archive's response says, however it came (R §6.2, §9.2; E18)."""

from __future__ import annotations

from typing import Final

from ibi.errors import InvalidInput
from ibi.messages.answers import Answer, Confirmation, ErrorAnswer, Notice, parse_answer
from ibi.messages.service import ServiceSubject
from ibi.messages.url_list import Deletion, UrlList
from ibi.pairs import Pairs
from ibi.resolver.reply import Answered, Reply
from ibi.resolver.trace import Failure
from ibi.transport.http_response import HttpResponse, freshness

__all__ = ["is_confirmation", "is_notice", "reply_of"]

_NOTHING: Final = Pairs()


def reply_of(response: HttpResponse | Failure) -> Reply:
    """The answer to a `urlRequest`."""
    answer = _answer(ServiceSubject.URL_REQUEST, response)
    if isinstance(response, Failure) or isinstance(answer, Failure):
        return answer if isinstance(answer, Failure) else Failure.MALFORMED
    if answer is None or isinstance(answer, UrlList | Deletion):
        return Answered(answer, freshness(response.cache_control, response.age))
    return Failure.REFUSED


def is_notice(response: HttpResponse | Failure) -> bool:
    """Whether an acknowledgment was received (R Algorithm 1, line 20)."""
    return isinstance(_answer(ServiceSubject.ACKNOWLEDGMENT, response), Notice)


def is_confirmation(response: HttpResponse | Failure) -> bool:
    """Whether an Archive is there that knows itself to be one (R §7.2, message 4)."""
    return isinstance(_answer(ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, response), Confirmation)


def _answer(subject: ServiceSubject, response: HttpResponse | Failure) -> Answer | Failure | None:
    if isinstance(response, Failure):
        return response
    if response.status != 200:
        return Failure.REFUSED if response.status >= 300 else Failure.MALFORMED
    if not response.is_plain_text:
        return Failure.MALFORMED
    try:
        # The length was bounded when it was received.
        pairs = Pairs.decode(response.body, limit=len(response.body)) if response.body else _NOTHING
        answer = parse_answer(subject, pairs)
    except InvalidInput:
        return Failure.MALFORMED
    return Failure.REFUSED if isinstance(answer, ErrorAnswer) else answer
