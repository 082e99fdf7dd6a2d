"""Headers of a request as they came, without a mapping made for each request; and those of every answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

__all__ = ["HARDENING", "RawHeaders", "only_cookie", "only_value", "values"]

RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]
"""Names in small letters, as ASGI gives them."""

HARDENING: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    # An answer for programs: shown in a browser it can load, run and frame nothing. Pages say otherwise themselves.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""What every answer carries unless it says otherwise."""


def values(headers: RawHeaders, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def only_value(headers: RawHeaders, name: bytes) -> str | None:
    """The value of a header that may be there once; `ValueError` if it is there twice, for then nobody knows which."""
    found = None
    for key, value in headers:
        if key == name:
            if found is not None:
                raise ValueError(name.decode("latin-1"))
            found = value
    return None if found is None else found.decode("latin-1").strip(" \t")


def only_cookie(headers: RawHeaders, name: str) -> str | None:
    """The value of a cookie, whatever others of this host look like; None if two values claim to be it, for then nobody
    knows who planted which."""
    wanted, found = name.encode("ascii"), set()
    for key, value in headers:
        if key == b"cookie" and wanted in value:
            pairs = (pair.strip(b" \t").partition(b"=") for pair in value.split(b";"))
            found |= {text for given, _, text in pairs if given == wanted}
    return found.pop().decode("latin-1") if len(found) == 1 else None
