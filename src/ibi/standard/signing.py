"""Signed statements of Archives and resolvers, with Ed25519 keys (RFC 8032).

A statement is a compact JWS (RFC 7515 with EdDSA of RFC 8037), so that other tools can check it. The signed bytes are
transmitted unchanged, and no canonical notation is needed. A statement proves that the holder of a key signed it. The
reader decides to which Archive or resolver the key belongs, and whether it still counts.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ibi.standard.errors import InvalidInput

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
LONGEST_STATEMENT: Final = 16 << 20
"""Most characters; the register of ten thousand Archives has a third of this."""
_ALGORITHM: Final = "EdDSA"
_KIND: Final = re.compile(r"[a-z][a-z-]{0,40}")


class InvalidKey(InvalidInput):
    """{quoted} is not a public key: {reason}."""

    code = "invalid-key"
    request_field = "key"


class InvalidStatement(InvalidInput):
    """{quoted} is not a signed statement: {reason}."""

    code = "invalid-statement"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The public part of an Ed25519 key."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != KEY_BYTES:
            raise InvalidKey(self.raw.hex(), 0, "it has {found} bytes and not 32", found=len(self.raw))

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Parse base64url without padding, as in a JWK (RFC 8037)."""
        raw = _decode(text)
        if raw is None:
            raise InvalidKey(text, 0, "it is not written in base64url")
        return cls(raw)

    def __str__(self) -> str:
        return _encode(self.raw)

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Return whether the holder of this key has signed these bytes."""
        from cryptography.exceptions import InvalidSignature  # slow to import: most commands sign nothing
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, signed)
        except (InvalidSignature, ValueError):  # not every 32 bytes are a point of the curve
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The private part of an Ed25519 key, known only to its holder: 32 random bytes."""

    seed: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.seed) != KEY_BYTES:
            raise ValueError(f"the seed of a key has {KEY_BYTES} bytes")

    @property
    def public(self) -> PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return PublicKey(Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw())

    def sign(self, content: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(content)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement signed by the holder of a key."""

    kind: str
    signer: PublicKey
    claims: dict[str, Any]


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    """The header. Any other member is refused: it could name other algorithms, or keys elsewhere."""

    alg: str
    kid: str
    typ: str


def sign_statement(kind: str, claims: Mapping[str, object], key: SigningKey) -> str:
    """Return the signed statement. The signature covers `kind`: one kind cannot pass as another."""
    header = {"alg": _ALGORITHM, "kid": str(key.public), "typ": _type_of(kind)}
    signed = f"{_encode(msgspec.json.encode(header))}.{_encode(msgspec.json.encode(dict(claims)))}"
    return f"{signed}.{_encode(key.sign(signed.encode('ascii')))}"


def read_statement(text: str, kind: str) -> Statement:
    """Return the statement if its signature is right; else raise `InvalidStatement`."""
    if len(text) > LONGEST_STATEMENT:
        raise InvalidStatement(text, LONGEST_STATEMENT, "it has more than {most} characters", most=LONGEST_STATEMENT)
    parts = [_decode(part) for part in text.split(".", 3)]
    if len(parts) != 3 or None in parts:
        raise InvalidStatement(text, 0, "it does not consist of three parts in base64url")
    header, claims, signature = (part or b"" for part in parts)
    signer = _read_header(text, header, kind)
    if len(signature) != SIGNATURE_BYTES or not signer.verifies(signature, text.rpartition(".")[0].encode("ascii")):
        raise InvalidStatement(text, 0, "its signature is not that of its key")
    return Statement(kind, signer, _read_claims(text, claims))


def claimed_signer(text: str) -> PublicKey | None:
    """Return the key that a statement names as its signer, unchecked; None if it names none."""
    header = _decode(text.partition(".")[0])
    try:
        return None if header is None else PublicKey.parse(msgspec.json.decode(header, type=_Header).kid)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidKey):
        return None


def _read_header(text: str, header: bytes, kind: str) -> PublicKey:
    try:
        found = msgspec.json.decode(header, type=_Header)
        signer = PublicKey.parse(found.kid)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidKey) as error:
        raise InvalidStatement(text, 0, "its header is not understood") from error
    if found.alg != _ALGORITHM:
        raise InvalidStatement(text, 0, "it is signed by another algorithm than EdDSA")
    if found.typ != _type_of(kind):
        raise InvalidStatement(text, 0, "it is of another kind than {kind}", kind=kind)
    return signer


def _read_claims(text: str, claims: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(claims, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidStatement(text, 0, "what it says is not a JSON object") from error


def _type_of(kind: str) -> str:
    if not _KIND.fullmatch(kind):
        raise ValueError(f"{kind!r} is no kind of statement")
    return f"ibi-{kind}+jws"


def _encode(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes | None:
    """Return the bytes; None if it is not their only valid notation."""
    try:
        content = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return None
    return content if _encode(content) == text else None
