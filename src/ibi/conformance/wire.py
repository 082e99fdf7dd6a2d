"""What a check sends, and what it receives: values only. An adapter carries them over HTTP.

What was received comes from a server that may be wrong in any way: it is bounded where it is read, and made safe where
it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from ibi.safe_text import printable, shorten

READER: Final = "192.0.2.1"
"""On whose behalf a check asks: an address that no reader has (RFC 5737)."""

_MOST_SHOWN: Final = 600
_SHOWN_FIELDS: Final = ("content-type", "location", "allow")
_KEY: Final = re.compile("(registrationkey=)[^& ;]*", re.IGNORECASE)
_SPECIAL: Final = frozenset('%&+=?# {}"<>\\^`|')


def encode_value(text: str) -> str:
    """A value as R Table 6.1 writes it: special characters, and all that is not visible ASCII, as `%XX`."""
    return "".join(
        chr(byte) if 0x21 <= byte <= 0x7E and chr(byte) not in _SPECIAL else f"%{byte:02X}" for byte in text.encode()
    )


def write_query(pairs: Sequence[tuple[str, str]]) -> str:
    return "&".join(f"{name}={encode_value(value)}" for name, value in pairs)


class Awaited(Enum):
    """What the Archive of the checker waits for before a link counts as answered."""

    NOTHING = "nothing"
    ACKNOWLEDGMENT = "acknowledgment"
    QUIET = "quiet"
    """That nothing more comes for a moment."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One HTTP request. `target` is a path with its query, on the server under test, or a whole URL."""

    target: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    number: int = 0
    """Tells requests apart that are otherwise the same: equal probes are sent once in a run."""
    redirects: int = 0
    """How many redirects are followed."""
    awaited: Awaited = Awaited.NOTHING
    may_fail: bool = field(default=False, compare=False)
    """Whether having no answer at all is for the check to judge."""
    is_last: bool = field(default=False, compare=False)
    """Whether it cannot be left out, also when the time is over: it undoes what others did."""

    def __str__(self) -> str:
        shown = " ".join(f"{name}: {value};" for name, value in self.headers)
        return shorten(_without_key(printable(f"{self.method} {self.target} {shown}".rstrip(" ;"))), _MOST_SHOWN)


@dataclass(frozen=True, slots=True)
class HeardRequest:
    """A request that reached the Archive of the checker, as it was sent: nothing is decoded."""

    method: str
    path: str
    query: str

    def pairs(self) -> list[tuple[str, str]]:
        """Names and values as they were sent, in their order."""
        return [(name, value) for name, _, value in (each.partition("=") for each in self.query.split("&"))]

    def value(self, name: str) -> str | None:
        """The first value of that name, as it was sent."""
        return next((value for each, value in self.pairs() if each == name), None)

    @property
    def subject(self) -> str | None:
        return self.value("servicesubject")

    def __str__(self) -> str:
        return shorten(_without_key(printable(f"{self.method} {self.path}?{self.query}")), _MOST_SHOWN)


@dataclass(frozen=True, slots=True)
class ProbeResponse:
    """An HTTP response, or why there is none. Names of header fields are in lower case."""

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    failure: str | None = None
    url: str = ""
    """Where it came from, after redirects."""
    heard: tuple[HeardRequest, ...] = field(default=())
    """What reached the Archive of the checker meanwhile."""

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each == name), None)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status < 400 and self.header("location") is not None

    @property
    def location(self) -> str:
        return self.header("location") or ""

    @property
    def media_type(self) -> str:
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    def __str__(self) -> str:
        if self.failure is not None:
            return shorten(printable(self.failure), _MOST_SHOWN)
        fields = "; ".join(f"{name}: {value}" for name in _SHOWN_FIELDS if (value := self.header(name)) is not None)
        return shorten(f"{self.status} {printable(fields)} {self.shown_body()}".rstrip(), 2 * _MOST_SHOWN)

    def shown_body(self) -> str:
        """The beginning of the body: line ends visible, other bytes that do not print escaped."""
        text = self.body[:_MOST_SHOWN].decode("latin-1")
        escaped = "".join(each if each.isascii() and each.isprintable() else _escape(each) for each in text)
        return f"{escaped}…" if len(self.body) > _MOST_SHOWN else escaped


def _without_key(text: str) -> str:
    """Leave out a registration key: reports are passed on to others."""
    return _KEY.sub(r"\1***", text)


def _escape(character: str) -> str:
    return {"\r": "\\r", "\n": "\\n", "\t": "\\t"}.get(character, f"\\x{ord(character):02x}")
