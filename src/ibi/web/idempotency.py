"""The header Idempotency-Key: by it a request that is repeated after a lost answer is known as the same."""

from __future__ import annotations

from ibi.web.headers import RawHeaders, only_value
from ibi.web.refusals import InvalidIdempotencyKey

__all__ = ["MAX_KEY", "idempotency_key"]

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
