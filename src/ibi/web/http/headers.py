"""Security headers of deposited files, which decide whether a browser shows a file or saves it.

Each file is confined to an origin of its own, without scripts, forms and plugins (CSP `sandbox`). Browsers must not
guess another type (`nosniff`, which every answer has). A PDF does not open inside a sandbox and needs none: browsers
show it in a program with another origin, and any scripts of the PDF run inside that program. Types that browsers pass
to other programs are for saving.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime

from ibi.archive.profile import encoded_path
from ibi.model.file import DEFAULT_MEDIA_TYPE, is_media_type
from ibi.web.http.request import RawHeaders, values
from ibi.web.http.request_errors import PreconditionFailed, RangeNotSatisfiable

SANDBOX = (
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " font-src 'self' data:; frame-src 'self'; form-action 'none'; base-uri 'none'"
)
"""Shows an old Web page with its pictures, styles and frames, all from this host, without running any script."""

PDF = "application/pdf"
_FOR_PDF = (
    "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none';"
    " frame-ancestors 'self' {pages}"
)
"""The style is the viewer's own. Only pages of this site may show it in a frame."""
_SHOWN = re.compile(
    r"text/(?:html|xml|plain|csv|css|markdown|x-bibtex)|application/(?:json|xml|xhtml\+xml|ld\+json)"
    r"|[a-z]+/[a-z0-9.-]+\+xml|image/(?:avif|bmp|gif|jpeg|png|tiff|webp)|audio/[a-z0-9.+-]+|video/[a-z0-9.+-]+"
)
_RUN = frozenset({"audioworklet", "paintworklet", "script", "serviceworker", "sharedworker", "worker"})
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._ -]+")


def safety_headers(media_type: str, path: str, *, pages: str) -> dict[str, str]:
    """Return the headers sent with the bytes of a file. `pages` is the origin of this site's pages."""
    kind = media_type.partition(";")[0].strip()
    essence = kind.lower()
    if essence == PDF:
        # No sandbox here, so the type has no parameters that could make a browser choose another type.
        return {"content-type": PDF, "content-security-policy": _FOR_PDF.format(pages=pages)}
    sent = media_type if is_media_type(media_type) else kind
    headers = {"content-type": sent or DEFAULT_MEDIA_TYPE, "content-security-policy": SANDBOX}
    if not _SHOWN.fullmatch(essence):
        headers["content-disposition"] = _attachment(path)
    return headers


def attachment_headers(media_type: str, path: str) -> dict[str, str]:
    """Return the headers of a file that is saved and never shown, for any type."""
    sent = media_type if is_media_type(media_type) else DEFAULT_MEDIA_TYPE
    return {
        "content-type": sent,
        "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
        "content-disposition": _attachment(path),
    }


def is_to_run(headers: RawHeaders) -> bool:
    """Return whether a browser fetches a file to run it, as a page's script or as a service worker.

    No document of this server may have scripts. The pages load scripts from this host, and must never load a
    depositor's.
    """
    wanted = values(headers, b"sec-fetch-dest")
    return bool(values(headers, b"service-worker")) or any(each.strip().lower() in _RUN for each in wanted)


# RFC 6266: filename for old programs, filename* (RFC 8187) for all others
def _attachment(path: str) -> str:
    name = path.rpartition("/")[2]
    plain = name if _PLAIN_NAME.fullmatch(name) else "file"
    encoded = re.sub(r"[^A-Za-z0-9\-._~%]", lambda sign: f"%{ord(sign[0]):02X}", encoded_path(name))
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"


# --- preconditions ----------------------------------------------------------------------------------------------------


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
