"""A response of HTTP, as far as it is of interest here, and what it says about being kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["HttpResponse", "freshness"]

_LONGEST: Final = 86_400
_NOT_KEPT: Final = frozenset({b"no-store", b"no-cache", b"private"})
_SECONDS: Final = re.compile(rb'"?([0-9]{1,10})"?')


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The values of headers as they came, joined by commas if they came twice; empty if they did not."""

    status: int
    body: bytes
    content_type: bytes = b""
    cache_control: bytes = b""
    age: bytes = b""
    final: bytes = b""
    transferred_to: bytes = b""
    copies: bytes = b""

    @property
    def is_plain_text(self) -> bool:
        """Nobody has to say what nothing is."""
        kind = self.content_type.partition(b";")[0].strip().lower()
        return kind == b"text/plain" or not (kind or self.body)


@lru_cache(maxsize=256)
def freshness(cache_control: bytes, age: bytes = b"") -> int:
    """For how many seconds a response may be kept by a cache that serves many (RFC 9111 §4.2.1), a day at most; 0 if
    that is not said clearly."""
    directives: dict[bytes, bytes] = {}
    for directive in cache_control.lower().split(b","):
        name, _, value = directive.strip().partition(b"=")
        if directives.setdefault(name, value) != value:
            return 0  # two that contradict each other
    if not _NOT_KEPT.isdisjoint(directives):
        return 0
    seconds = _SECONDS.fullmatch(directives.get(b"s-maxage", directives.get(b"max-age", b"")))
    spent = _SECONDS.fullmatch(age or b"0")
    if seconds is None or spent is None:
        return 0
    return min(max(int(seconds[1]) - int(spent[1]), 0), _LONGEST)
