"""A second factor: codes that a device makes from the time and a secret (RFC 6238), and recovery codes for when it is
lost.

A code counts in its own half minute, and in those before and after it, since clocks differ; and once: what was seen
over a shoulder is worth nothing.
"""

from __future__ import annotations

from base64 import b32encode
from dataclasses import replace
from hashlib import sha256
from hmac import compare_digest
from typing import Final
from urllib.parse import quote, urlencode

from ibi.instant import Instant
from ibi.model.account import SecondFactor

SECRET_BYTES: Final = 20
"""As RFC 4226 recommends for SHA-1."""
DIGITS: Final = 6
PERIOD: Final = 30
_TOLERANCE: Final = (0, -1, 1)
"""Periods, beside the present one, whose codes count."""
RECOVERY_CODES: Final = 10
_RECOVERY_BYTES: Final = 10
RECOVERY_RANDOM: Final = RECOVERY_CODES * _RECOVERY_BYTES


def code_at(secret: bytes, seconds: int) -> str:
    """The code of the period in which that second is."""
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.totp import TOTP

    return TOTP(secret, DIGITS, SHA1(), PERIOD).generate(seconds).decode("ascii")  # noqa: S303 - RFC 6238


def use_code(factor: SecondFactor, text: str, now: Instant) -> SecondFactor | None:
    """What is left of the factor after that code, or recovery code, was used; None if it is not a good one."""
    given = "".join(text[:100].split()).replace("-", "").lower()
    if given.isascii() and given.isdigit():
        return _use_digits(factor, given, now)
    digest = sha256(given.encode(errors="replace")).digest()
    known = next((each for each in factor.recovery if compare_digest(each, digest)), None)
    # Recovery codes stand in for a device that was known once.
    if known is None or factor.confirmed is None:
        return None
    return replace(factor, recovery=factor.recovery - {known})


def _use_digits(factor: SecondFactor, digits: str, now: Instant) -> SecondFactor | None:
    for step in (now.seconds // PERIOD + each for each in _TOLERANCE):
        if step > factor.last_step and compare_digest(code_at(factor.secret, step * PERIOD), digits):
            return replace(factor, last_step=step)
    return None


def recovery_codes(random: bytes) -> tuple[tuple[str, ...], frozenset[bytes]]:
    """New recovery codes, to be shown once, and what is kept of them. `random` is `RECOVERY_RANDOM` bytes."""
    if len(random) != RECOVERY_RANDOM:
        raise ValueError(f"recovery codes take {RECOVERY_RANDOM} random bytes")
    parts = (random[place : place + _RECOVERY_BYTES] for place in range(0, len(random), _RECOVERY_BYTES))
    plain = [b32encode(part).decode("ascii").lower() for part in parts]
    shown = tuple("-".join(code[place : place + 4] for place in range(0, len(code), 4)) for code in plain)
    return shown, frozenset(sha256(code.encode("ascii")).digest() for code in plain)


def spell_secret(secret: bytes) -> str:
    """The secret as people type it into a device."""
    text = b32encode(secret).decode("ascii")
    return " ".join(text[place : place + 4] for place in range(0, len(text), 4))


def enrolment_uri(secret: bytes, person: str, site: str) -> str:
    """What a device reads from a QR code."""
    label = quote(f"{site.replace(':', ' ')}:{person}", safe=":@")
    said = {"secret": b32encode(secret).decode("ascii"), "issuer": site, "digits": DIGITS, "period": PERIOD}
    return f"otpauth://totp/{label}?{urlencode(said, quote_via=quote)}"
