"""Subscriptions of an Archive to items, prefixes, searches or whole Archives: it keeps Copies up to date.

A follow has a position in the feed of its source. Entries of the feed are stored together with the position, so that
nothing is lost between the two. Each item then waits until its Copy is durable.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from ibi.errors import InvalidInput
from ibi.label import Label, RepositoryName, parse
from ibi.label.search import home_prefix, parse_home_prefix
from ibi.model.change import ChangeKind, ItemChange
from ibi.origin import InvalidOrigin, Origin, authority_of

LONGEST_SEARCH: Final = 1_000
"""Most characters of a followed search."""


class FollowKind(StrEnum):
    ITEM = "item"
    PREFIX = "prefix"
    SEARCH = "search"
    ALL = "all"
    MOVED = "moved"
    """Items that were followed elsewhere, and moved to this source. They are added as they move."""


class InvalidFollow(InvalidInput):
    """{quoted} cannot be followed: {reason}."""

    code = "invalid-follow"
    request_field = "search"


@dataclass(frozen=True, slots=True)
class FollowTarget:
    """The items of a source that are followed."""

    kind: FollowKind
    text: str = ""
    """The label, the prefix or the words to search for."""

    @classmethod
    def of(cls, kind: FollowKind, text: str = "") -> FollowTarget:
        """Parse the input of a person; raise `InvalidInput` if it cannot be followed."""
        if kind in (FollowKind.ALL, FollowKind.MOVED):
            if text:
                raise InvalidFollow(text, 0, "a whole Archive is followed without further words")
            return cls(kind)
        if kind is FollowKind.ITEM:
            return cls(kind, str(parse(text)))
        if kind is FollowKind.PREFIX:
            return cls(kind, parse_home_prefix(text))
        words = " ".join(text.split())
        if not words or len(words) > LONGEST_SEARCH or not words.isprintable():
            raise InvalidFollow(text[:80], 0, "a search has between 1 and {most} characters", most=LONGEST_SEARCH)
        return cls(kind, words)

    @property
    def label(self) -> Label:
        """The label of a single item."""
        return parse(self.text)

    def takes(self, name: RepositoryName) -> bool | None:
        """Return whether an item of that name is followed; None if only the source knows."""
        if self.kind is FollowKind.ALL:
            return True
        if self.kind is FollowKind.PREFIX:
            return home_prefix(name) == self.text
        if self.kind is FollowKind.ITEM and isinstance(self.label, RepositoryName):
            return self.label == name
        return None

    def __str__(self) -> str:
        return f"{self.kind.value} {self.text}".strip()


class SourceAddress(NamedTuple):
    """The address of a source."""

    url: str
    """`http(s)://host[:port]`"""
    is_named_by_operator: bool = True
    """True if it was named on the machine itself, by a user who may write its files.

    Such a source may be in a private network, which tokens of the API do not reach.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """One follow, and its progress in the feed of its source. Times are seconds since 1970."""

    id: str
    target: FollowTarget
    source: SourceAddress
    token: str | None = field(default=None, repr=False)
    """A token with the scope copy, for restricted items; a secret, never shown."""
    created: int
    epoch: str = ""
    """The epoch of the feed; empty before the first answer."""
    position: int = 0
    """Number of the last entry that was processed."""
    end: int = 0
    """Number of the last entry that the source reported."""
    round: int = 0
    """How often the feed was read from its beginning."""
    until: int | None = None
    """While the present round compares the known items with the feed: the number at which it has seen everything."""
    heard: int | None = None
    """The time of the source's last answer."""
    current: int | None = None
    """The time at which the follow last had no pending work."""
    failing: int | None = None
    """The time since which the source does not answer, or not as an Archive does."""
    reason: str | None = None
    archive: str = ""
    """The label of the source's own item, by which it is found if it moves; empty until the source has sent it."""


class FollowedState(StrEnum):
    """The state of a followed item."""

    WAITING = "waiting"
    """There is no Copy here yet."""
    COPY = "copy"
    DELETED = "deleted"
    """Its Original was deleted. A Copy that is here keeps its bytes."""
    PURGED = "purged"
    """Deleted there with all its versions."""
    MOVED = "moved"
    """The source gave the Original away; the item is followed at its new place, if that is known."""
    GONE = "gone"
    """The source does not have it any more."""
    DROPPED = "dropped"
    """The librarian of this Archive has dropped the Copy: it is not copied again."""
    OWN = "own"
    """This Archive has the Original itself."""


class FeedEntry(NamedTuple):
    """A change that a source reports."""

    number: int
    label: str
    kind: ChangeKind
    at: str
    version: int


class SourcePage(NamedTuple):
    """Entries of a source's feed in order, the number for the next page, and the number of the last entry."""

    epoch: str
    after: int
    end: int
    entries: tuple[FeedEntry, ...]
    archive: str = ""
    """The label of the source's own item, of which a Copy is useless; empty if the source does not send it."""


class WantedItem(NamedTuple):
    """An item of a follow with pending work."""

    follow: str
    entry: FeedEntry
    """The last reported change."""
    attempts: int
    """Number of failed attempts."""
    state: FollowedState


class FollowCounts(NamedTuple):
    """The items of a follow by state, and the number of items with pending work."""

    states: dict[FollowedState, int]
    waiting: int = 0
    """Items with pending work."""
    refused: int = 0
    """Waiting items with failed attempts."""
    reason: str | None = None
    """The reason of the last failed attempt."""


def entries_behind(follow: Follow, counts: FollowCounts) -> int:
    """Return how far a follow is behind its source: unprocessed entries, and items that wait."""
    return max(0, follow.end - follow.position) + counts.waiting


# --- webhooks ---------------------------------------------------------------------------------------------------------

# A delivery is a request as in Standard Webhooks (www.standardwebhooks.com). It has an id that stays the same when it
# is repeated, a time, and an HMAC-SHA256 of both and the body with a key that only the two sides know.

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
