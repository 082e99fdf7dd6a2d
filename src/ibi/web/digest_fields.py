"""Digests that came with a body: `Repr-Digest` and `Content-Digest` (RFC 9530), or `Digest` of old (RFC 3230)."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final

from ibi.archive.drafts import DigestMismatch
from ibi.web.headers import RawHeaders, values
from ibi.web.refusals import InvalidDigest

__all__ = ["check_digests", "expected_digests", "repr_digest"]

_FIELDS: Final = ("Repr-Digest", "Content-Digest", "Digest")
_LENGTHS: Final = {"sha-512": 64, "sha-256": 32}
# RFC 9530: a dictionary of byte sequences, sha-512=:…:; RFC 3230: sha-512=…
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9-]{1,40})=(:?)([A-Za-z0-9+/=]{1,200})\2\s*")


def expected_digests(headers: RawHeaders) -> dict[str, tuple[str, bytes]]:
    """By algorithm the field that names it, and the digest. Algorithms that are not known here are passed over; if
    none is, or one cannot be read, `InvalidDigest`: whoever sends a digest wants it checked."""
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
    """The field of an answer, from hexadecimal digits."""
    return f"sha-512=:{b64encode(bytes.fromhex(sha512)).decode('ascii')}:"
