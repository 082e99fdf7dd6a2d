"""Validators, conditions and ranges (RFC 9110 §13 and §14)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime

from ibi.web.request import RawHeaders, values
from ibi.web.request_errors import PreconditionFailed, RangeNotSatisfiable

# RFC 9110 §14.1.2: int-range = first-pos "-" [ last-pos ], suffix-range = "-" suffix-length
_ONE = re.compile(r"bytes=[ \t]*(\d{0,19})-(\d{0,19})[ \t]*", re.ASCII | re.IGNORECASE)


def byte_range(fields: Sequence[str], size: int) -> tuple[int, int] | None:
    """Return offset and length of the requested part. Return None for the whole file, and for any other form of range.

    Several ranges at once are answered with the whole file, which §14.2 allows: a multipart answer has no use here, and
    many small ranges have been used to overload servers.
    """
    match = _ONE.fullmatch(fields[0].strip()) if len(fields) == 1 else None
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        length = min(int(match[2]), size)
        return _check_range(size - length, length, size)
    first = int(match[1])
    last = min(int(match[2]), size - 1) if match[2] else size - 1
    if match[2] and int(match[2]) < first:
        return None
    return _check_range(first, last - first + 1, size)


def _check_range(offset: int, length: int, size: int) -> tuple[int, int]:
    if length <= 0:
        raise RangeNotSatisfiable(size=size)
    return offset, length


_LATEST = 253_402_300_799


@dataclass(frozen=True, slots=True)
class Validators:
    """The identification of a version of a file: a strong tag from its digest, and the date of the item."""

    digest: str
    modified: int
    """POSIX seconds."""

    @property
    def etag(self) -> str:
        return f'"{self.digest[:64]}"'

    @property
    def last_modified(self) -> str:
        return formatdate(min(max(self.modified, 0), _LATEST), usegmt=True)

    def check(self, headers: RawHeaders) -> None:
        """Raise `PreconditionFailed` if the request is for another version (§13.2.2, steps 1 and 2)."""
        wanted = values(headers, b"if-match")
        if wanted:
            if not self._is_among(wanted, weak=False):
                raise PreconditionFailed(field="If-Match")
            return
        since = _date(values(headers, b"if-unmodified-since"))
        if since is not None and self.modified > since:
            raise PreconditionFailed(field="If-Unmodified-Since")

    def is_known(self, headers: RawHeaders) -> bool:
        """Return whether the reader has this version (steps 3 and 4), so that the answer is 304."""
        known = values(headers, b"if-none-match")
        if known:
            return self._is_among(known, weak=True)
        since = _date(values(headers, b"if-modified-since"))
        return since is not None and self.modified <= since

    def allow_range(self, headers: RawHeaders) -> bool:
        """Return whether a part fits the rest that the reader has (step 5, If-Range)."""
        fields = values(headers, b"if-range")
        if not fields:
            return True
        return len(fields) == 1 and fields[0].strip() in (self.etag, self.last_modified)

    def _is_among(self, fields: list[str], *, weak: bool) -> bool:
        return _is_among(self.etag, fields, weak=weak)


def is_tag_known(headers: RawHeaders, etag: str) -> bool:
    """Return whether the reader has the version with this tag, so that the answer is 304. There is no date to
    compare."""
    return _is_among(etag, values(headers, b"if-none-match"), weak=True)


def _is_among(etag: str, fields: list[str], *, weak: bool) -> bool:
    # Tags of this server contain no comma, so that splitting at commas can only break foreign tags.
    tags = [tag.strip() for value in fields for tag in value.split(",")]
    return "*" in tags or etag in tags or (weak and f"W/{etag}" in tags)


def _date(fields: list[str]) -> int | None:
    """Return a date in any of HTTP's three forms; None for any other text, which is ignored (§13.1.3)."""
    if len(fields) != 1 or len(fields[0]) > 64:
        return None
    try:
        date = parsedate_to_datetime(fields[0])
        return int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
