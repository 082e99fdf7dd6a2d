"""An Archive that signs its requests, written by hand: nothing of what reads them is used to write them but the JWS."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import quote

from ibi.standard.signing import SigningKey, sign_statement
from tests.support.membership_app import PAIRS

SAFE = "-._~!$'()*,;:@/"
NOW = 1_795_168_800_000
"""The millisecond of `SetClocks`: 2026-11-20T10:00:00Z."""


def seed(letter: str) -> SigningKey:
    """A key that is the same in every run."""
    return SigningKey(letter.encode() * 32)


@dataclass
class SigningMember:
    """Signs requests with its `key`, each a millisecond later than the one before."""

    key: SigningKey = field(default_factory=lambda: seed("a"))
    to: str = "http://urlib.net:80"
    at: int = NOW
    changes: tuple[str, ...] = ()
    count: int = 0

    def query(self, subject: str = "inclusionRequest", **others: str) -> str:
        """The pairs of R Example 7.2, some of them others, and the signature over all of them."""
        self.at, self.count = self.at + 1, self.count + 1
        changes = {"archivekeychanges": " ".join(self.changes)} if self.changes else {}
        pairs = {**PAIRS, "servicesubject": subject, "archivekey": str(self.key.public), **changes, **others}
        claims = {"digest": digest(pairs), "to": self.to, "at": self.at, "nonce": f"word-{self.count}"}
        return written({**pairs, "archivesignature": sign_statement("membership-request", claims, self.key)})


def digest(pairs: dict[str, str]) -> str:
    text = "&".join(f"{name}={quote(value, SAFE)}" for name, value in sorted(pairs.items()))
    return urlsafe_b64encode(sha256(text.encode()).digest()).rstrip(b"=").decode()


def written(pairs: dict[str, str]) -> str:
    return "&".join(f"{name}={quote(value, SAFE)}" for name, value in pairs.items())
