"""Keys of Archives: the requests that a resolver accepts, by the key that signed them (E81 to E83), and registration
keys that are easy to guess (E61).

The first key that an Archive proves beside its registration key is pinned. From then on, the resolver accepts only
requests with its signature. An overheard registration key, or a whole overheard request, then neither includes nor
excludes an Archive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

from ibi.errors import ErrorKind, IbiError, InvalidInput
from ibi.label import Label
from ibi.messages.holders import CopiesStatement, read_copies_statement
from ibi.messages.identification import RegistrationKey
from ibi.messages.membership import ExclusionRequest, InclusionRequest
from ibi.messages.signatures import RequestSignature, leads_to, read_request_signature
from ibi.model.registration import NamedCopies, Registration
from ibi.resolver.membership import WeakKey
from ibi.signing import PublicKey

SKEW: Final = 300_000
"""Milliseconds by which the clocks of an Archive and its resolver may differ, including the transmission time."""


class SignatureMissing(IbiError):
    """This Archive has to sign its requests, and this one has no signature. If it signs no longer, because it runs
    another software or lost its key, the resolver's administrator takes its key away: `ibi resolver set
    --forget-archive-key`."""

    code = "signature-missing"
    kind = ErrorKind.FORBIDDEN


class SignatureRefused(IbiError):
    """The signature of this request does not count: {reason}."""

    code = "signature-refused"
    kind = ErrorKind.FORBIDDEN


class SignaturePolicy(StrEnum):
    """The signatures that a resolver requires on the requests of Archives."""

    LEGACY = "legacy"
    """The registration key alone, as in R §7.2. Signatures are ignored, and no key is pinned."""
    PREFER = "prefer"
    """Archives with a pinned key must sign. The first key that another Archive proves is pinned."""
    REQUIRE = "require"
    """All Archives must sign."""


class Audience(NamedTuple):
    """The names by which Archives may address this resolver: its keys, past and present, and its own address."""

    names: frozenset[str]


def read_signature(
    request: InclusionRequest | ExclusionRequest, audience: Audience, arrived: int
) -> RequestSignature | None:
    """Return the signature of a request that `arrived` at that millisecond; None if it has none.

    Raise `SignatureRefused` if the signature does not fit this request, this resolver or this time.
    """
    try:
        found = read_request_signature(request)
    except InvalidInput as error:
        raise SignatureRefused(reason=error.reason.format(**error.details)) from None
    if found is None:
        return None
    if found.audience not in audience.names:
        raise SignatureRefused(reason="it is for another resolver")
    behind = (arrived - found.at) // 1000
    if abs(arrived - found.at) > SKEW:
        side = "before" if behind > 0 else "after"
        raise SignatureRefused(
            reason=f"it was made {abs(behind)} seconds {side} it came, by the clocks of the Archive and of this"
            f" resolver; {SKEW // 1000} are allowed, so set the clocks right"
        )
    return found


def after_signature(
    registration: Registration,
    request: InclusionRequest | ExclusionRequest,
    signature: RequestSignature | None,
    policy: SignaturePolicy,
) -> Registration:
    """Return the registration after a request with the right registration key and that signature.

    Raise `SignatureMissing` or `SignatureRefused` if the request must not be accepted. The caller must serialise the
    requests of one Archive, so that only one of two equal requests is accepted.
    """
    if policy is SignaturePolicy.LEGACY:
        return registration
    pinned = registration.key
    if signature is None:
        if pinned is not None or policy is SignaturePolicy.REQUIRE:
            raise SignatureMissing()
        return registration
    if pinned is not None and not leads_to(pinned, signature.signer, request.key_changes):
        raise SignatureRefused(
            reason="it is by another key than the one that is known of this Archive. If the Archive has lost that, the"
            " resolver's administrator gives it another: `ibi resolver set --archive-key`"
        )
    if signature.at <= registration.signed_at:
        raise SignatureRefused(reason="this request, or a later one, has come already")
    if pinned is not None:
        registration = registration.with_key(signature.signer)
    return replace(registration, signed_at=signature.at)


def distrust_copies(
    registration: Registration | None, said: CopiesStatement, known: NamedCopies, now: int
) -> str | None:
    """Return why a statement about holders of Copies is not believed at millisecond `now`; None if it is (E84)."""
    if registration is None or registration.key is None:
        return "no key of that Archive is known"
    if said.signer != registration.key:
        return "it is signed by another key than that of the Archive"
    if set(said.archive).isdisjoint(registration.labels):
        return "it is about the Copies of another Archive"
    if said.at > now + SKEW:
        return "it is of a time to come"
    if said.at <= known.signed_at and known.statement is not None and _signer(known.statement) == said.signer:
        return "a later one is known"
    return None


def _signer(statement: str) -> PublicKey | None:
    try:
        return read_copies_statement(statement).signer
    except InvalidInput:
        return None


def wants_proof(registration: Registration, signature: RequestSignature | None) -> bool:
    """Return whether the Archive, when called back, should prove the key of its request, so that it can be pinned."""
    return registration.key is None and signature is not None


# --- registration keys ------------------------------------------------------------------------------------------------


_FEWEST: Final = 4
"""Least number of different digits. One in a thousand random ten-digit numbers has fewer."""

_SHORTEST_RUN: Final = 6
"""Digits in a row that count up, count down or stay. One in some thousands of random ten-digit numbers has so many."""

_LONGEST_PERIOD: Final = 5

_SHORTEST_EXCERPT: Final = 8
"""Digits in a row of a known constant. One in a hundred thousand random ten-digit numbers has so many."""

_CONSTANTS: Final = {
    "π": "314159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798",
    "e": "271828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642742",
    "√2": "141421356237309504880168872420969807856967187537694807317667973799073247846210703885038753432764157273",
    "the golden ratio": "16180339887498948482045868343656381177203091798057628621354486227052604628189024497072072041",
}

# The standard prints the first of these as its example, and manuals that follow it do the same.
_WELL_KNOWN: Final = frozenset(
    {
        "1234567890",
        "0123456789",
        "0987654321",
        "9876543210",
        "1234554321",
        "1122334455",
        "1212121212",
        *(digit * 10 for digit in "0123456789"),
        *(digits[:10] for digits in _CONSTANTS.values()),
    }
)


def key_weakness(key: RegistrationKey, labels: Iterable[Label] = ()) -> str | None:
    """Return why a key is easy to guess; None if it is not.

    A weak key is a pattern, or can be read in a table or in the Archive's own `labels` (E61; R Table 7.1 accepts any
    ten digits). A key of two numbers is good if one of them is hard to guess.
    """
    written = ["".join(filter(str.isdigit, label.spelling)) for label in labels]
    reasons = [_weakness(number, written) for number in key.reveal().split("-")]
    return None if None in reasons else reasons[0]


def require_unknown(key: RegistrationKey) -> None:
    """Raise `WeakKey` if every number of the key is on the list of numbers that attackers try first."""
    numbers = key.reveal().split("-")
    if all(number in _WELL_KNOWN for number in numbers):
        raise WeakKey(reason=_weakness(numbers[0], []) or "it is well known")


def _weakness(digits: str, written: list[str]) -> str | None:
    if len(set(digits)) == 1:
        return "all its digits are the same"
    if len(set(digits)) < _FEWEST:
        return "it has too few different digits"
    if _has_run(digits) or (_has_run(digits[::2]) and _has_run(digits[1::2])):
        return "its digits follow one another"
    if _repeats(digits) or digits == digits[::-1]:
        return "it repeats itself"
    for name, constant in _CONSTANTS.items():
        if _has_excerpt(digits, constant):
            return f"it has the digits of {name}"
    if any(digits in each for each in written):
        return "it stands in the IBI of the Archive"
    return None


def _has_run(digits: str) -> bool:
    """Return whether most of it counts up, counts down or stays, in one piece; after 9 comes 0."""
    steps = [(int(after) - int(before)) % 10 for before, after in pairwise(digits)]
    longest = length = 1
    for number, step in enumerate(steps):
        goes_on = number > 0 and step == steps[number - 1]
        length = 1 if step not in {0, 1, 9} else length + 1 if goes_on else 2
        longest = max(longest, length)
    return longest >= min(len(digits), max(_SHORTEST_RUN, len(digits) // 2 + 1))


def _repeats(digits: str) -> bool:
    """Return whether it repeats the same few digits. The last repetition may be incomplete."""
    return any(
        all(digits[place] == digits[place % period] for place in range(len(digits)))
        for period in range(1, min(_LONGEST_PERIOD, len(digits) // 2) + 1)
    )


def _has_excerpt(digits: str, constant: str) -> bool:
    """Return whether most of its digits occur in a row in the digits of a constant."""
    length = max(_SHORTEST_EXCERPT, len(digits) // 2 + 1)
    return any(digits[start : start + length] in constant for start in range(len(digits) - length + 1))
