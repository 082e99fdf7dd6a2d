"""Subscriptions: what an Archive follows elsewhere (items, prefixes, searches or whole Archives, of which it keeps
Copies up to date), and the webhooks that it tells of its own changes.

A follow has a position in the feed of its source. What the feed tells is written down together with the position, so
that nothing is lost between the two; each item then waits until its Copy is durable.
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
"""Characters of a search that is followed."""


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
    """Which items of a source are followed."""

    kind: FollowKind
    text: str = ""
    """The label, the prefix or the words to search for."""

    @classmethod
    def of(cls, kind: FollowKind, text: str = "") -> FollowTarget:
        """Read what a person says; `InvalidInput` if it is nothing that can be followed."""
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
        """Of a single item."""
        return parse(self.text)

    def takes(self, name: RepositoryName) -> bool | None:
        """Whether an item of that name is followed; None if only the source knows."""
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
    """Where a source is."""

    url: str
    """`http(s)://host[:port]`"""
    is_named_by_operator: bool = True
    """Whether it was named on the machine itself, by who may write its files; such a source may be in a private
    network, which tokens of the API do not reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """One follow, and how far it has come in the feed of its source. Times are seconds since 1970."""

    id: str
    target: FollowTarget
    source: SourceAddress
    token: str | None = field(default=None, repr=False)
    """A token of the scope copy, for restricted items; a secret, never shown."""
    created: int
    epoch: str = ""
    """That of the feed; empty before the feed was heard first."""
    position: int = 0
    """Number of the last entry that was taken in."""
    end: int = 0
    """Number of the last entry that the source told of."""
    round: int = 0
    """How often the feed was read from its beginning."""
    until: int | None = None
    """While the present round compares what is known with the feed: the number at which it has seen everything."""
    heard: int | None = None
    """When the source last answered."""
    current: int | None = None
    """When the follow was last known to have nothing left to do."""
    failing: int | None = None
    """Since when the source does not answer, or not as an Archive does."""
    reason: str | None = None
    archive: str = ""
    """The label of the source's own item, by which it is found if it moves; empty before it has said it."""


class FollowedState(StrEnum):
    """What became of an item that is followed."""

    WAITING = "waiting"
    """No Copy is here yet."""
    COPY = "copy"
    DELETED = "deleted"
    """Deleted at its Original. A Copy that is here keeps its bytes."""
    PURGED = "purged"
    """Deleted there with all its versions."""
    MOVED = "moved"
    """The source gave the Original away; the item is followed where it is now, if that is known."""
    GONE = "gone"
    """The source does not have it any more."""
    DROPPED = "dropped"
    """The librarian of this Archive has dropped the Copy: it is not brought again."""
    OWN = "own"
    """This Archive has the Original itself."""


class FeedEntry(NamedTuple):
    """A change that a source tells of."""

    number: int
    label: str
    kind: ChangeKind
    at: str
    version: int


class SourcePage(NamedTuple):
    """Entries of a source's feed in their order, the number to go on after, and that of the last one there is."""

    epoch: str
    after: int
    end: int
    entries: tuple[FeedEntry, ...]
    archive: str = ""
    """The label of the source's own item, of which no Copy is of use; empty if it does not say."""


class WantedItem(NamedTuple):
    """An item of a follow that has something left to be done."""

    follow: str
    entry: FeedEntry
    """The last change that was told."""
    attempts: int
    """How often it was tried in vain."""
    state: FollowedState


class FollowCounts(NamedTuple):
    """How many items of a follow there are, by what became of them, and how many have something left to be done."""

    states: dict[FollowedState, int]
    waiting: int = 0
    """With something left to be done."""
    refused: int = 0
    """Of those, how many were tried in vain."""
    reason: str | None = None
    """Why the last of those was not brought."""


def entries_behind(follow: Follow, counts: FollowCounts) -> int:
    """How far a follow is behind its source: entries that are not taken in, and items that wait."""
    return max(0, follow.end - follow.position) + counts.waiting


# --- webhooks ---------------------------------------------------------------------------------------------------------

# Those who are told of each change of this Archive: an address, what it wants to know, and how far it has been told.
#
# A delivery is a request that Standard Webhooks describes (www.standardwebhooks.com): an id that stays the same when it
# is repeated, a time, and an HMAC-SHA256 of both and the body with a key that only the two know.

SECRET_BYTES: Final = 32
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what a secret begins with
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
    """Times are seconds since 1970."""

    id: str
    url: str
    secret: bytes = field(repr=False)
    is_named_by_operator: bool = True
    """Whether it was added on the machine itself: it may be in a private network then."""
    prefix: str | None = None
    """Only items with this prefix, if one is given."""
    kinds: frozenset[ChangeKind] = frozenset(ChangeKind)
    created: int
    epoch: str
    position: int
    """Number of the last entry of the feed that was delivered, or did not have to be."""
    delivered: int | None = None
    """When something was last delivered."""
    attempts: int = 0
    """Deliveries in vain since then."""
    due: int = 0
    """When the next one may be tried."""
    failing: int | None = None
    reason: str | None = None
    disabled: int | None = None
    """Since when it is not told any more."""

    def wants(self, change: ItemChange) -> bool:
        return change.kind in self.kinds and (self.prefix is None or home_prefix(change.rep) == self.prefix)


def read_webhook_url(text: str) -> str:
    """The address in `text`; `InvalidWebhook` if no request can be sent there."""
    if not text.isascii() or not text.isprintable() or " " in text or len(text) > LONGEST_URL:
        raise InvalidWebhook(text[:80], 0, "an address is ASCII, without spaces and not too long")
    if "@" in authority_of(text):
        # Not repeated: what stands there may be a password.
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
    """The kinds of changes that are named; all if none is."""
    known = {kind.value: kind for kind in ChangeKind}
    for text in texts:
        if text not in known:
            raise InvalidWebhook(text[:40], 0, "kinds of changes are {known}", known=", ".join(known))
    return frozenset(known[text] for text in texts) or frozenset(ChangeKind)


def retry_seconds(attempts: int) -> int:
    """How long to wait after so many deliveries in vain."""
    return int(min(_FIRST_RETRY * 2 ** min(attempts, 20), _LONGEST_RETRY))


def shown_secret(secret: bytes) -> str:
    """As it is told, once, to who has to check signatures."""
    return SECRET_PREFIX + b64encode(secret).decode("ascii")


def shown_url(url: str) -> str:
    """The address without its query: some receivers have a secret there."""
    base, mark, _ = url.partition("?")
    return f"{base}?…" if mark else base


# --- deliveries ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Delivery:
    id: str
    body: bytes

    def signed_fields(self, secret: bytes, second: int) -> dict[str, str]:
        """The fields of the request."""
        text = f"{self.id}.{second}.".encode("ascii") + self.body
        signature = b64encode(hmac.new(secret, text, sha256).digest()).decode("ascii")
        return {
            "content-type": "application/json",
            "webhook-id": self.id,
            "webhook-timestamp": str(second),
            "webhook-signature": f"v1,{signature}",
        }


def change_delivery(archive: str, url: str, epoch: str, change: ItemChange, at: str) -> Delivery:
    """What tells of one change: `archive` is the service of this one, `url` that of the item's record, `at` when the
    change could be seen first."""
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
    """What tells that the feed was begun again: who keeps anything of it compares with all of it, at `url`."""
    data = {"archive": archive, "epoch": epoch, "number": end, "url": url}
    return _delivery(f"{epoch}-restarted", "feed.restarted", at, data)


def _delivery(identity: str, kind: str, at: str, data: dict[str, Any]) -> Delivery:
    return Delivery(f"msg_{identity}", msgspec.json.encode({"type": kind, "timestamp": at, "data": data}))
