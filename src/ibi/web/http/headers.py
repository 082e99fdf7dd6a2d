"""Request headers: their values, the site a request comes from, digests of bodies, and idempotency keys.

The standard has Archives included and excluded by GET (R §7.2). A link or an image on any page can make a browser send
one, from inside a network that the page itself cannot reach. Programs send none of the headers looked at here.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from ibi.archive.drafts import DigestMismatch
from ibi.errors import IbiError
from ibi.web.http.request_errors import InvalidDigest, InvalidIdempotencyKey

RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]
"""Names in small letters, as ASGI gives them."""

HARDENING: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    # For answers to programs: shown in a browser, they can load, run and frame nothing. Pages set their own.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Headers of every answer that does not set them itself."""


def values(headers: RawHeaders, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def only_value(headers: RawHeaders, name: bytes) -> str | None:
    """The value of a header that may be given once; `ValueError` if it is given twice, which is ambiguous."""
    found = None
    for key, value in headers:
        if key == name:
            if found is not None:
                raise ValueError(name.decode("latin-1"))
            found = value
    return None if found is None else found.decode("latin-1").strip(" \t")


def only_cookie(headers: RawHeaders, name: str) -> str | None:
    """The value of a cookie, however malformed other cookies of this host are; None if it is given twice, because one
    may have been planted by another site."""
    wanted, found = name.encode("ascii"), set()
    for key, value in headers:
        if key == b"cookie" and wanted in value:
            pairs = (pair.strip(b" \t").partition(b"=") for pair in value.split(b";"))
            found |= {text for given, _, text in pairs if given == wanted}
    return found.pop().decode("latin-1") if len(found) == 1 else None


_OWN = frozenset({"none", "same-origin"})


class CrossSiteRequest(IbiError):
    """A page of another site sent this request. It was not done."""

    code = "cross-site-request"


def is_cross_site(headers: RawHeaders) -> bool:
    """Whether the browser says that a page of another site caused the request."""
    return any(value.strip().lower() == "cross-site" for value in values(headers, b"sec-fetch-site"))


def refuse_other_sites(headers: RawHeaders) -> None:
    """Raise `CrossSiteRequest` unless the browser says that a person or a page of this site caused the request; also if
    it says so twice, or illegibly."""
    if any(value.strip().lower() not in _OWN for value in values(headers, b"sec-fetch-site")):
        raise CrossSiteRequest()
    hosts = {value.strip().lower() for value in values(headers, b"host")}
    for name in (b"origin", b"referer"):
        if any(authority(value) not in hosts for value in values(headers, name)):
            raise CrossSiteRequest()


def authority(url: str) -> str | None:
    """`host[:port]` of a URL as the header Host writes it; None if the URL is not HTTP(S).

    Not `Origin`: one browser writes both headers, in one spelling. What differs in it is refused, rather than taken for
    the same by a rule that the browser may not have.
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme.lower() in {"http", "https"} else None


_FIELDS: Final = ("Repr-Digest", "Content-Digest", "Digest")
_LENGTHS: Final = {"sha-512": 64, "sha-256": 32}
# RFC 9530: a dictionary of byte sequences, sha-512=:…:; RFC 3230: sha-512=…
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9-]{1,40})=(:?)([A-Za-z0-9+/=]{1,200})\2\s*")


def expected_digests(headers: RawHeaders) -> dict[str, tuple[str, bytes]]:
    """By algorithm, the field that names it and the digest. Unknown algorithms are ignored; if none is known, or a
    digest cannot be read, raise `InvalidDigest`, because a client that sends a digest wants it checked."""
    found: dict[str, tuple[str, bytes]] = {}
    for field in _FIELDS:
        given = values(headers, field.lower().encode("ascii"))
        entries = [_entry(field, text) for value in given for text in value.split(",")]
        known = {name: (field, digest) for name, digest in entries if name in _LENGTHS}
        if entries and not known:
            raise InvalidDigest(field=field)
        found |= known
    return found


def _entry(field: str, text: str) -> tuple[str, bytes]:
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise InvalidDigest(field=field)
    name = match[1].lower()
    try:
        digest = b64decode(match[3], validate=True)
    except ValueError:
        raise InvalidDigest(field=field) from None
    if len(digest) != _LENGTHS.get(name, len(digest)):
        raise InvalidDigest(field=field)
    return name, digest


def check_digests(expected: Mapping[str, tuple[str, bytes]], actual: Mapping[str, bytes], path: str) -> None:
    for algorithm, (field, digest) in expected.items():
        if actual[algorithm] != digest:
            raise DigestMismatch(
                field=field, path=repr(path), algorithm=algorithm, found=b64encode(actual[algorithm]).decode("ascii")
            )


def repr_digest(sha512: str) -> str:
    """The header of an answer, from hexadecimal digits."""
    return f"sha-512=:{b64encode(bytes.fromhex(sha512)).decode('ascii')}:"


MAX_KEY = 255
"""Characters of an idempotency key."""


def idempotency_key(headers: RawHeaders) -> str | None:
    try:
        key = only_value(headers, b"idempotency-key")
    except ValueError:
        key = ""
    if key is None or (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        return key
    raise InvalidIdempotencyKey(least=1, most=MAX_KEY)
