"""Signatures of requests and answers of membership, of confirmations, and of changes of keys (E81 to E83).

R knows only a registration key, which travels with every request and can be overheard. An Archive therefore signs its
requests to a resolver: all pairs, the resolver addressed, the time, and a nonce. The resolver signs its answer. Both
signatures are in an extra pair or HTTP field, which others ignore. Before an Archive sends its registration key again,
the resolver must prove its known key.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeVar

from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label.search import parse_home_prefix
from ibi.standard.messages.answers import ExclusionStatus, InclusionStatus
from ibi.standard.messages.holders import MOST_PREFIXES
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.signing import InvalidStatement, PublicKey, SigningKey, Statement, read_statement, sign_statement

MOST_CHANGES: Final = 8
"""Most changes of a key that are sent and followed at a time."""
LONGEST_WORD: Final = 64
"""Most characters of a nonce."""
_LATEST: Final = 1 << 53
"""Limit of a time in milliseconds: the range of integers in any JSON implementation."""

_REQUEST: Final = "membership-request"
_ANSWER: Final = "membership-answer"
_CONFIRMATION: Final = "confirmation"
_CHANGE: Final = "key-change"
_PROOF: Final = "proof"
_NOTIFICATION: Final = "notification"
_FOLLOWER: Final = "follower"
_KEPT: Final = "kept-register"

SignedRequest = TypeVar("SignedRequest", bound=InclusionRequest | ExclusionRequest)


def milliseconds(instant: Instant) -> int:
    """Return the milliseconds since 1970, rounded down, as in signatures."""
    return int(instant.as_fraction() * 1000)


class RequestSignature(NamedTuple):
    """The content of the signature of a request; its digest is that of the received pairs."""

    signer: PublicKey
    audience: str
    """The public key of the addressed resolver, or its address while the Archive does not know its key."""
    at: int
    """The time of the signature, in milliseconds since 1970."""
    nonce: str


def sign_request(
    request: SignedRequest, key: SigningKey, audience: str, at: int, nonce: str, changes: Iterable[str] = ()
) -> SignedRequest:
    """Return the request with the Archive's key, the changes that led to it, and a signature over all pairs."""
    told = tuple(changes)[-MOST_CHANGES:]
    bare = replace(request, archive_key=key.public, key_changes=told, signature=None, received_digest=None)
    claims = {"digest": bare.pairs_digest, "to": audience, "at": at, "nonce": nonce}
    return replace(bare, signature=sign_statement(_REQUEST, claims, key))


def read_request_signature(request: InclusionRequest | ExclusionRequest) -> RequestSignature | None:
    """Return the signature of the request; None if it has none.

    Raise `InvalidStatement` if it is not a signature of exactly these pairs, by the key in the request.
    """
    if request.signature is None:
        return None
    found = read_statement(request.signature, _REQUEST)
    if found.signer != request.archive_key:
        raise InvalidStatement(request.signature, 0, "it is by another key than `archivekey`")
    if _text(found, "digest") != request.pairs_digest:
        raise InvalidStatement(request.signature, 0, "it is of another request")
    return RequestSignature(found.signer, _text(found, "to", 512), _time(found), _text(found, "nonce"))


def sign_answer(nonce: str, answer: InclusionStatus | ExclusionStatus, key: SigningKey) -> str:
    """Return the resolver's signature of its answer to the request with that nonce."""
    return sign_statement(_ANSWER, _answer_claims(nonce, answer), key)


def read_answer(text: str, nonce: str, answer: InclusionStatus | ExclusionStatus) -> PublicKey:
    """Return the signer of exactly this answer to this request; raise `InvalidStatement` if it is of another."""
    found = read_statement(text, _ANSWER)
    if found.claims != _answer_claims(nonce, answer):
        raise InvalidStatement(text, 0, "it is of another answer")
    return found.signer


def _answer_claims(nonce: str, answer: InclusionStatus | ExclusionStatus) -> dict[str, object]:
    return {"nonce": nonce, "answer": answer.encode().decode("ascii")}


def sign_confirmation(challenge: str, key: SigningKey) -> str:
    """Return the proof, for a resolver that called back, that this Archive has the key."""
    return sign_statement(_CONFIRMATION, {"challenge": challenge}, key)


def read_confirmation(text: str, challenge: str) -> PublicKey:
    """Return the key of the answering Archive; raise `InvalidStatement` if it answered another challenge."""
    found = read_statement(text, _CONFIRMATION)
    if found.claims.get("challenge") != challenge:
        raise InvalidStatement(text, 0, "it is of another challenge")
    return found.signer


def sign_proof(challenge: str, key: SigningKey) -> str:
    """Return the proof, for an Archive, that the resolver it asks has the key."""
    return sign_statement(_PROOF, {"challenge": challenge}, key)


def read_proof(text: str, challenge: str) -> PublicKey:
    """Return the key of the resolver; raise `InvalidStatement` if it answered another challenge."""
    found = read_statement(text, _PROOF)
    if found.claims.get("challenge") != challenge:
        raise InvalidStatement(text, 0, "it is of another challenge")
    return found.signer


def sign_kept(challenge: str, register: str, key: SigningKey) -> str:
    """Return the proof that this Archive has the key and keeps this register, for a resolver that lost it."""
    return sign_statement(_KEPT, _kept_claims(challenge, register), key)


def read_kept(text: str, challenge: str, register: str) -> PublicKey:
    """Return the key of the Archive that keeps the register; raise `InvalidStatement` if it proves another one."""
    found = read_statement(text, _KEPT)
    if found.claims != _kept_claims(challenge, register):
        raise InvalidStatement(text, 0, "it is of another register")
    return found.signer


def _kept_claims(challenge: str, register: str) -> dict[str, object]:
    return {"challenge": challenge, "digest": sha256(register.encode()).hexdigest()}


class NotificationSignature(NamedTuple):
    """The content of the signature of a notification; its digest is that of the received body."""

    signer: PublicKey
    to: str
    """The server with the inbox to which it is sent."""
    at: int
    """The time of the signature, in milliseconds since 1970."""


def sign_notification(body: bytes, to: str, at: int, key: SigningKey) -> str:
    """Return the signature by which an inbox recognises a notification from a registered Archive."""
    return sign_statement(_NOTIFICATION, {"digest": sha256(body).hexdigest(), "to": to, "at": at}, key)


def read_notification_signature(text: str, body: bytes) -> NotificationSignature:
    """Return the signature of exactly this body; raise `InvalidStatement` if it is of another."""
    found = read_statement(text, _NOTIFICATION)
    if _text(found, "digest") != sha256(body).hexdigest():
        raise InvalidStatement(text, 0, "it is of another notification")
    return NotificationSignature(found.signer, _text(found, "to", 512), _time(found))


class FollowerSignature(NamedTuple):
    """The statement of an Archive to an Archive that it follows."""

    signer: PublicKey
    to: str
    """The server that it follows."""
    at: int
    """The time of the signature, in milliseconds since 1970."""
    prefixes: frozenset[str]
    """The prefixes of which it keeps Copies; empty for all items."""


def sign_follower(prefixes: Iterable[str], to: str, at: int, key: SigningKey) -> str:
    """Return the signature by which an Archive learns which Archive keeps Copies of its items."""
    return sign_statement(_FOLLOWER, {"prefixes": sorted(prefixes), "to": to, "at": at}, key)


def read_follower_signature(text: str) -> FollowerSignature:
    """Return the signature; raise `InvalidStatement` if it is none."""
    found = read_statement(text, _FOLLOWER)
    prefixes: Any = found.claims.get("prefixes")
    is_list = isinstance(prefixes, list) and all(isinstance(each, str) for each in prefixes)
    if not is_list or len(prefixes) > MOST_PREFIXES:
        raise InvalidStatement("prefixes", 0, "it does not say which prefixes")
    return FollowerSignature(
        found.signer, _text(found, "to", 512), _time(found), frozenset(map(parse_home_prefix, prefixes))
    )


def sign_key_change(old: SigningKey, new: PublicKey, at: int) -> str:
    """Return the statement of the old key that the new one replaces it, since that POSIX second."""
    return sign_statement(_CHANGE, {"key": str(new), "at": at}, old)


def leads_to(known: PublicKey, current: PublicKey, changes: Iterable[str]) -> bool:
    """Return whether the `known` key, or a chain of keys from it, named the `current` one.

    Unreadable changes are ignored: they prove nothing.
    """
    named = dict(filter(None, map(_read_change, tuple(changes)[-MOST_CHANGES:])))
    for _ in range(len(named) + 1):
        if known == current:
            return True
        following = named.pop(known, None)
        if following is None:
            return False
        known = following
    return known == current


def former_keys(current: PublicKey, changes: Iterable[str]) -> tuple[PublicKey, ...]:
    """Return the keys that named the `current` one, directly or through a chain, the latest first."""
    named = dict(filter(None, map(_read_change, tuple(changes)[-MOST_CHANGES:])))
    found: dict[PublicKey, None] = {}
    while (before := next((old for old, new in named.items() if new == current), None)) is not None:
        del named[before]
        found[before] = None
        current = before
    return tuple(found)


def replaced_at(key: PublicKey, changes: Iterable[str]) -> int | None:
    """Return when the key was replaced, in POSIX seconds, by its own earliest statement; None if there is none."""
    times = []
    for text in changes:
        with suppress(InvalidInput):
            found = read_statement(text, _CHANGE)
            if found.signer == key:
                times.append(_time(found))
    return min(times, default=None)


def _read_change(text: str) -> tuple[PublicKey, PublicKey] | None:
    try:
        found = read_statement(text, _CHANGE)
        return found.signer, PublicKey.parse(_text(found, "key"))
    except InvalidInput:
        return None


def _text(found: Statement, name: str, longest: int = LONGEST_WORD) -> str:
    value: Any = found.claims.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise InvalidStatement(name, 0, "it does not say {name}", name=name)
    return value


def _time(found: Statement) -> int:
    value: Any = found.claims.get("at")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _LATEST:
        raise InvalidStatement("at", 0, "it does not say when")
    return value
