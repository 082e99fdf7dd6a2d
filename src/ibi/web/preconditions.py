"""Conditional requests (RFC 9110 §13): whether the reader has the file already, or means another one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime

from ibi.web.headers import RawHeaders, values
from ibi.web.refusals import PreconditionFailed

__all__ = ["Validators"]

_LATEST = 253_402_300_799


@dataclass(frozen=True, slots=True)
class Validators:
    """By what a version of a file is known: a strong tag made from its digest, and the date of the item."""

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
        """`PreconditionFailed` if the request is for another version (§13.2.2, steps 1 and 2)."""
        wanted = values(headers, b"if-match")
        if wanted:
            if not self._is_among(wanted, weak=False):
                raise PreconditionFailed(field="If-Match")
            return
        since = _date(values(headers, b"if-unmodified-since"))
        if since is not None and self.modified > since:
            raise PreconditionFailed(field="If-Unmodified-Since")

    def is_known(self, headers: RawHeaders) -> bool:
        """Whether the reader has this version (steps 3 and 4): 304."""
        known = values(headers, b"if-none-match")
        if known:
            return self._is_among(known, weak=True)
        since = _date(values(headers, b"if-modified-since"))
        return since is not None and self.modified <= since

    def allow_range(self, headers: RawHeaders) -> bool:
        """Whether a part fits what the reader has of the rest (step 5, If-Range)."""
        fields = values(headers, b"if-range")
        if not fields:
            return True
        return len(fields) == 1 and fields[0].strip() in (self.etag, self.last_modified)

    def _is_among(self, fields: list[str], *, weak: bool) -> bool:
        # Our tags have no comma in them: what is cut at one belongs to others' tags.
        tags = [tag.strip() for value in fields for tag in value.split(",")]
        return "*" in tags or self.etag in tags or (weak and f"W/{self.etag}" in tags)


def _date(fields: list[str]) -> int | None:
    """A date in any of HTTP's three forms; None for anything else, which is ignored (§13.1.3)."""
    if len(fields) != 1 or len(fields[0]) > 64:
        return None
    try:
        date = parsedate_to_datetime(fields[0])
        return int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
