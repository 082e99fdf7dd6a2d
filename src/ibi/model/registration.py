"""What a resolver keeps: Archives, registered once and included while they are switched on (R §7); and what it believes
of items beyond one resolution."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.errors import ErrorKind, InvalidInput, InvalidMessage
from ibi.instant import Instant
from ibi.label import Label
from ibi.label.search import home_prefix, parse_home_prefix
from ibi.messages.holders import CopyHolder
from ibi.messages.identification import LabelForms
from ibi.messages.membership import MOST_HOSTS
from ibi.messages.values import IpAddress, host_and_port, mail_address, platform_version, read
from ibi.model.visibility import IpNetwork
from ibi.signing import PublicKey
from ibi.vocabulary import ArchiveProtocol

ANSWERS: Final = (
    "it answered at {address} when it was last asked. Its Originals are there, and may change: stop its server for good"
    " first, or have it give them to another Archive (`ibi transfer --all`)"
)
"""Why an Archive is not lost."""


class RemovedArchive(NamedTuple):
    """The word of a resolver that its administrator removed an Archive: the list is not one that lost it."""

    service: LabelForms
    at: int
    """POSIX seconds."""


class NotLost(InvalidInput):
    """{quoted} is not taken for lost: {reason}."""

    code = "not-lost"
    kind = ErrorKind.CONFLICT
    request_field = "lost"


MOST_NETWORKS: Final = 64
"""Networks in which one registration may allow its Archive to be dialled."""

MOST_REMOVED: Final = 1_000
"""Archives that a register says were removed; the latest are told."""
MOST_FORMER_KEYS: Final = 16
"""Keys of one Archive that are remembered beside the one with which it signs now."""

MOST_PREFIXES: Final = 64
"""Prefixes of which one registration may make its Archive the home, besides those of its own label."""


class FailedContact(NamedTuple):
    """When and why an Archive was last not reached, or its own request refused. `reason` is the name of a kind of
    failure (`ibi.resolver.membership` has the words): nothing that a stranger has written."""

    reason: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Inclusion:
    """What an Archive said of itself when it was switched on (R Table 7.2), but for its key."""

    address: str
    ip: IpAddress
    protocol: ArchiveProtocol
    platform_version: str
    admin_mail: str
    since: Instant
    """When it was included with just this; asking again for the same changes nothing."""
    confirmed: bool = False
    """Whether it answered when it was last called back; it is included either way (R §7.2)."""
    answered: Instant | None = None
    """When it last answered a call back, as far as that is on record; None if it never did at this address."""

    @property
    def is_recovered(self) -> bool:
        """Whether only the address is known, from the signed register: version and mail are empty."""
        return not (self.platform_version or self.admin_mail)

    @property
    def place(self) -> tuple[str, str]:
        """Where it is called back."""
        return self.protocol.scheme, self.address.lower()

    def __post_init__(self) -> None:
        read("address", self.address, host_and_port)
        if not self.is_recovered:
            read("platform version", self.platform_version, platform_version)
            read("administrator", self.admin_mail, mail_address)


@dataclass(frozen=True, slots=True)
class Registration:
    """One Archive: who it is, and how it is recognised. The key itself is nowhere here."""

    service: LabelForms
    """The label of the Archive's service, in the form or forms that were registered."""
    key_hash: str = field(repr=False)
    """Argon2id of the registration key, with its salt and its costs, and a mark that tells most wrong keys. Empty while
    it is not known: the registration was recovered from the signed register, which does not have it."""
    registered: Instant
    admin_mail: str | None = None
    hosts: frozenset[str] = frozenset()
    """Where its URLs may lead besides its own address (E31): `host` or `host:port`."""
    networks: tuple[IpNetwork, ...] = ()
    """Networks, not of the whole Internet, in which it may be dialled all the same."""
    inclusion: Inclusion | None = None
    """None while it is switched off (R §7.2: its registration is kept)."""
    prefixes: frozenset[str] = frozenset()
    """Prefixes, as `ibi.label.search` writes them, of which it is the home besides those of its own label."""
    shared: bool = False
    """Whether it may be the home of a prefix that another registration has, too."""
    vouched: bool = False
    """Whether the administrator of the resolver vouches for what it claims while the home of an item is silent."""
    successor: LabelForms | None = None
    """The Archive that the administrator named to speak for this one, which is gone."""
    pending: Inclusion | None = None
    """An inclusion at another address, which has not confirmed yet: the one before it still counts (E60)."""
    waiting: Label | None = None
    """The form of its label that is missing in `service`, as the Archive claims it and nothing proves it yet (E59)."""
    failed: FailedContact | None = None
    """The last failure since it was last reached (E73)."""
    feed: str | None = None
    """The path on its server at which it tells of its changes, if it said so when it was included (E80)."""
    key: PublicKey | None = None
    """With which it signs (E81): given when it was registered, or by its first signed inclusion. It stays when the
    Archive is excluded."""
    former_keys: tuple[PublicKey, ...] = ()
    """With which it signed before, the latest first."""
    signed_at: int = 0
    """When its last request was signed that was taken, in milliseconds since 1970: none is taken twice."""
    lost: Instant | None = None
    """When the administrator said that it is lost, and will not come back: its `successor` may take over Originals of
    which it has Copies (E97). One that is included again is not lost."""
    last_inclusion: Inclusion | None = None
    """The one before it was switched off: where it is called once more before it is taken for lost."""

    @property
    def awaits_key(self) -> bool:
        """Whether its registration key is not known."""
        return not self.key_hash

    def __post_init__(self) -> None:
        if self.admin_mail is not None:
            read("administrator", self.admin_mail, mail_address)
        if len(self.hosts) > MOST_HOSTS:
            raise InvalidMessage("hosts", 0, "at most {most} hosts can be declared", most=MOST_HOSTS)
        if len(self.networks) > MOST_NETWORKS:
            raise InvalidMessage("networks", 0, "at most {most} networks can be allowed", most=MOST_NETWORKS)
        object.__setattr__(self, "hosts", frozenset(read("host", host, host_and_port).lower() for host in self.hosts))
        object.__setattr__(self, "networks", tuple(sorted(set(self.networks), key=_order)))
        self._check_homes()
        if self.pending is not None and (self.inclusion is None or self.inclusion.place == self.pending.place):
            raise InvalidMessage(self.pending.address, 0, "only another address than the one included is pending")
        if self.waiting is not None and not self._lacks(self.waiting):
            raise InvalidMessage(str(self.waiting), 0, "it cannot be the other form of this Archive's label")

    def _check_homes(self) -> None:
        if len(self.prefixes) > MOST_PREFIXES:
            raise InvalidMessage("prefixes", 0, "at most {most} prefixes can be given", most=MOST_PREFIXES)
        if self.prefixes:
            object.__setattr__(self, "prefixes", frozenset(map(parse_home_prefix, self.prefixes)))
        if self.successor is not None and not set(self.successor.labels).isdisjoint(self.labels):
            raise InvalidMessage(str(self.successor.labels[0]), 0, "an Archive is not its own successor")

    def with_key(self, key: PublicKey | None) -> Registration:
        """With another key, or none; the one before is remembered as a former one."""
        if key == self.key:
            return self
        former = self.former_keys if self.key is None else (self.key, *self.former_keys)
        kept = tuple(each for each in dict.fromkeys(former) if each != key)[:MOST_FORMER_KEYS]
        return replace(self, key=key, former_keys=kept)

    def as_lost(self, now: Instant) -> Registration:
        """As one that is lost, and not asked any more (E97); `NotLost` if it has no successor, or answered when it was
        last asked."""
        name = str(self.labels[0])
        if self.successor is None:
            reason = "name the Archive that takes over its Originals as its successor, too (--successor SERVICE_IBI)"
            raise NotLost(name, 0, reason)
        if self.inclusion is not None and self.failed is None:
            raise NotLost(name, 0, ANSWERS, address=self.inclusion.address)
        lost = self.lost or Instant(now.seconds)
        return replace(self.switched_off(), lost=lost)

    def switched_off(self) -> Registration:
        """Without an inclusion: not asked any more."""
        last = self.inclusion or self.last_inclusion
        return replace(self, inclusion=None, pending=None, failed=None, last_inclusion=last)

    def _lacks(self, label: Label) -> bool:
        return all(label.form != each.form and label.instant == each.instant for each in self.labels)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The forms of its label that are known."""
        return self.service.labels

    @property
    def home_prefixes(self) -> frozenset[str]:
        """All prefixes of which it is the home: those of its label, in each form that is known, and those it was
        given."""
        return self.prefixes.union(map(home_prefix, self.labels))


def _order(network: IpNetwork) -> tuple[int, str]:
    return network.version, str(network)


# --- beliefs ----------------------------------------------------------------------------------------------------------

# What a resolver believes of items beyond one resolution, what it does not believe, and what is in dispute.
#
# Archives are named by the labels of their services; times are POSIX seconds.


class ClaimKind(StrEnum):
    """What an Archive claimed of an item against the word of the item's home."""

    ORIGINAL = "Original"
    DELETED = "Deleted"
    NEXT_EDITION = "next edition"


class FalseClaim(NamedTuple):
    """A claim that the home of a label contradicts, or the successor that the home named.

    `claimant` and `home` are service labels. Times are POSIX seconds.
    """

    label: Label
    claimant: Label
    home: Label
    kind: ClaimKind
    first_seen: int
    last_seen: int
    times: int = 1


class Ruling(NamedTuple):
    """The word of the resolver's administrator on who holds the Original of an item (E93)."""

    label: Label
    holder: Label
    parties: frozenset[Label]
    """The Archives whose claims it settles. One that claims the item later opens another dispute."""
    at: int
    by: str
    """Who gave it, for people."""


class Settlement(StrEnum):
    """How a dispute ended."""

    ADMINISTRATOR = "administrator"
    TRANSFER = "transfer"
    """The holder gave the Original to who claimed it."""
    PROOF = "proof"
    """Signed releases say that another Archive has the Original."""


class Dispute(NamedTuple):
    """A second claim to the Original of an item, or to have deleted it. The known holder stays until it is settled."""

    claim: FalseClaim
    holder: Label
    """Who is believed to hold the Original now."""
    told: int | None = None
    """When the administrators of both Archives were last told."""
    ruling: Ruling | None = None
    proven: int | None = None
    """When signed releases were found to contradict the claim."""

    @property
    def settled_by(self) -> Settlement | None:
        """None while it is open."""
        if self.ruling is not None and self.claim.claimant in self.ruling.parties:
            return Settlement.ADMINISTRATOR
        if self.claim.claimant == self.holder:
            return Settlement.TRANSFER
        return None if self.proven is None else Settlement.PROOF


DISPUTED: Final = (ClaimKind.ORIGINAL, ClaimKind.DELETED)
"""Claims that only one Archive can make: R 5.2 has one Original, and Deleted is said of what was the Original here."""


class Succession(NamedTuple):
    """The chain of service labels through which a home gave an Original on."""

    chain: tuple[Label, ...] = ()
    is_signed: bool = False
    """Whether it comes from signed releases (E88), so that an answer of a home, which is not signed, does not change
    it. A chain that is signed and empty says that the home has the Original again."""


NO_SUCCESSION: Final = Succession()


class KnownDeletion(NamedTuple):
    """That an item was deleted, as the Archive said that decided about it: believed while that one is silent."""

    by: Label
    """The service of that Archive."""
    when: int | None = None
    """When it was deleted; None if only its feed has told of it."""


class LabelBeliefs(NamedTuple):
    """All that is believed of one label, with the times since when: for people, not for a resolution."""

    successors: tuple[Label, ...] = ()
    """The chain through which the home gave the Original on."""
    named_at: int | None = None
    """When the chain was last named otherwise than before."""
    holder: Label | None = None
    """Who held the Original of an item without a home, however long ago."""
    held_at: int | None = None
    claims: tuple[FalseClaim, ...] = ()
    """What others claim, and those who decide contradict; seen last first."""
    ruling: Ruling | None = None
    """What the administrator said of a dispute over it."""


class NamedCopies(NamedTuple):
    """Whom a home named as holders of Copies of its items, and when."""

    holders: frozenset[CopyHolder] = frozenset()
    at: int | None = None
    statement: str | None = None
    """What it signed (`ibi.messages.holders`), byte for byte, for others to check; None if it only said so."""
    signed_at: int = 0
    """When it signed that, in milliseconds since 1970."""

    @property
    def is_signed(self) -> bool:
        return self.signed_at > 0

    @property
    def services(self) -> frozenset[Label]:
        return frozenset(holder.service for holder in self.holders)


NO_COPIES: Final = NamedCopies()
