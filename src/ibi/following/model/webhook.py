"""Webhooks: addresses to which an Archive sends its changes.

A delivery is a request as in Standard Webhooks (www.standardwebhooks.com). It has an id that stays the same when it
is repeated, a time, and an HMAC-SHA256 of both and the body with a key that only the two sides know.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import msgspec

from ibi.items.model.change import ChangeKind, ItemChange
from ibi.standard.errors import InvalidInput
from ibi.standard.label.search import home_prefix, parse_home_prefix
from ibi.standard.origin import InvalidOrigin, Origin, authority_of

SECRET_BYTES: Final = 32
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix of a secret
LONGEST_URL: Final = 2_000
DISABLED_AFTER: Final = 5 * 86_400
"""Seconds of failure after which a webhook is disabled."""
_FIRST_RETRY: Final = 5
_LONGEST_RETRY: Final = 3_600


class InvalidWebhook(InvalidInput):
    """{quoted} cannot be a webhook: {reason}."""

    code = "invalid-webhook"
    request_field = "url"


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A receiver of changes. Times are seconds since 1970."""

    id: str
    url: str
    secret: bytes = field(repr=False)
    is_named_by_operator: bool = True
    """True if it was added on the machine itself: then it may be in a private network."""
    prefix: str | None = None
    """If set, only items with this prefix are delivered."""
    kinds: frozenset[ChangeKind] = frozenset(ChangeKind)
    created: int
    epoch: str
    position: int
    """Number of the last entry of the feed that was delivered, or did not have to be."""
    delivered: int | None = None
    """The time of the last delivery."""
    attempts: int = 0
    """Failed attempts since then."""
    due: int = 0
    """The time of the next attempt."""
    failing: int | None = None
    reason: str | None = None
    disabled: int | None = None
    """The time since which deliveries are disabled."""

    def wants(self, change: ItemChange) -> bool:
        return change.kind in self.kinds and (self.prefix is None or home_prefix(change.rep) == self.prefix)


def read_webhook_url(text: str) -> str:
    """Return the address in `text`; raise `InvalidWebhook` if no request can be sent there."""
    if not text.isascii() or not text.isprintable() or " " in text or len(text) > LONGEST_URL:
        raise InvalidWebhook(text[:80], 0, "an address is ASCII, without spaces and not too long")
    if "@" in authority_of(text):
        # Not repeated: this part may be a password.
        raise InvalidWebhook(authority_of(text).rpartition("@")[2], 0, "a user name has no place in an address")
    try:
        Origin.of_url(text)
    except InvalidOrigin as error:
        raise InvalidWebhook(text, 0, error.reason) from None
    if "#" in text:
        raise InvalidWebhook(text, text.index("#"), "it has no fragment")
    return text


def read_webhook_prefix(text: str | None) -> str | None:
    return None if text is None else parse_home_prefix(text)


def read_webhook_kinds(texts: tuple[str, ...]) -> frozenset[ChangeKind]:
    """Return the named kinds of changes; all if none is named."""
    known = {kind.value: kind for kind in ChangeKind}
    for text in texts:
        if text not in known:
            raise InvalidWebhook(text[:40], 0, "kinds of changes are {known}", known=", ".join(known))
    return frozenset(known[text] for text in texts) or frozenset(ChangeKind)


def retry_seconds(attempts: int) -> int:
    """Return the seconds to wait after that many failed attempts."""
    return int(min(_FIRST_RETRY * 2 ** min(attempts, 20), _LONGEST_RETRY))


def shown_secret(secret: bytes) -> str:
    """Return the text of the secret, which is shown once to the person who configures the receiver."""
    return SECRET_PREFIX + b64encode(secret).decode("ascii")


def shown_url(url: str) -> str:
    """Return the address without its query: some receivers have a secret there."""
    base, mark, _ = url.partition("?")
    return f"{base}?…" if mark else base


@dataclass(frozen=True, slots=True)
class Delivery:
    id: str
    body: bytes

    def signed_fields(self, secret: bytes, second: int) -> dict[str, str]:
        """Return the fields of the request."""
        text = f"{self.id}.{second}.".encode("ascii") + self.body
        signature = b64encode(hmac.new(secret, text, sha256).digest()).decode("ascii")
        return {
            "content-type": "application/json",
            "webhook-id": self.id,
            "webhook-timestamp": str(second),
            "webhook-signature": f"v1,{signature}",
        }


def change_delivery(archive: str, url: str, epoch: str, change: ItemChange, at: str) -> Delivery:
    """Return the delivery of one change.

    `archive` is the service of this Archive, `url` the address of the item's record, and `at` the time when the change
    became visible.
    """
    data = {
        "archive": archive,
        "epoch": epoch,
        "number": change.number,
        "label": change.label,
        "kind": change.kind.value,
        "at": change.at,
        "version": change.head,
        "url": url,
    }
    return _delivery(f"{epoch}-{change.number}", f"item.{change.kind.value}", at, data)


def restart_delivery(archive: str, url: str, epoch: str, end: int, at: str) -> Delivery:
    """Return the delivery of a restarted feed. A receiver that stores any of it must compare with all of it, at
    `url`."""
    data = {"archive": archive, "epoch": epoch, "number": end, "url": url}
    return _delivery(f"{epoch}-restarted", "feed.restarted", at, data)


def _delivery(identity: str, kind: str, at: str, data: dict[str, Any]) -> Delivery:
    return Delivery(f"msg_{identity}", msgspec.json.encode({"type": kind, "timestamp": at, "data": data}))
