"""The registrations of Archives with a resolver: registered once, and included while they are switched on (R §7)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.standard.errors import ErrorKind, InvalidInput, InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix, parse_home_prefix
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.membership import MOST_HOSTS
from ibi.standard.messages.values import IpAddress, host_and_port, mail_address, platform_version, read
from ibi.standard.networks import IpNetwork
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import ArchiveProtocol

ANSWERS: Final = (
    "it answered at {address} when it was last asked. Its Originals are there, and may change: stop its server for good"
    " first, or have it give them to another Archive (`ibi transfer --all`)"
)
"""The reason why an Archive does not count as lost."""


class RemovedArchive(NamedTuple):
    """The record of a resolver that its administrator removed an Archive: so the list did not lose it."""

    service: LabelForms
    at: int
    """POSIX seconds."""


class NotLost(InvalidInput):
    """{quoted} is not taken for lost: {reason}."""

    code = "not-lost"
    kind = ErrorKind.CONFLICT
    request_field = "lost"


MOST_NETWORKS: Final = 64
"""Most networks in which one registration allows connections to its Archive."""

MOST_REMOVED: Final = 1_000
"""Most removed Archives in a register; the latest are listed."""
MOST_FORMER_KEYS: Final = 16
"""Most former keys of one Archive that are stored."""

MOST_PREFIXES: Final = 64
"""Most prefixes that one registration may give its Archive as a home, besides those of its own label."""


class FailedContact(NamedTuple):
    """The last failure to reach an Archive, or refusal of its own request, and its time.

    `reason` is the name of a kind of failure (`ibi.membership.rules.membership` has the words), and never text from
    strangers.
    """

    reason: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Inclusion:
    """The data of an Archive from its inclusion (R Table 7.2), without its key."""

    address: str
    ip: IpAddress
    protocol: ArchiveProtocol
    platform_version: str
    admin_mail: str
    since: Instant
    """The time of the inclusion with exactly this data; a repeated request changes nothing."""
    confirmed: bool = False
    """True if it answered the last call back; it is included either way (R §7.2)."""
    answered: Instant | None = None
    """The time of its last recorded answer to a call back; None if it never answered at this address."""

    @property
    def is_recovered(self) -> bool:
        """True if only the address is known, from the signed register: version and e-mail are empty."""
        return not (self.platform_version or self.admin_mail)

    @property
    def place(self) -> tuple[str, str]:
        """The place at which it is called back."""
        return self.protocol.scheme, self.address.lower()

    def __post_init__(self) -> None:
        read("address", self.address, host_and_port)
        if not self.is_recovered:
            read("platform version", self.platform_version, platform_version)
            read("administrator", self.admin_mail, mail_address)


@dataclass(frozen=True, slots=True)
class Registration:
    """One Archive: its identity, and the data that authenticates it. The key itself is not stored here."""

    service: LabelForms
    """The label of the Archive's service, in the form or forms that were registered."""
    key_hash: str = field(repr=False)
    """Argon2id of the registration key, with its salt and its costs, and a mark that rejects most wrong keys.

    Empty while it is not known: the registration was recovered from the signed register, which does not have it.
    """
    registered: Instant
    admin_mail: str | None = None
    hosts: frozenset[str] = frozenset()
    """Hosts to which its URLs may lead besides its own address (E31): `host` or `host:port`."""
    networks: tuple[IpNetwork, ...] = ()
    """Non-global networks in which connections to it are allowed all the same."""
    inclusion: Inclusion | None = None
    """None while it is switched off (R §7.2: its registration is kept)."""
    prefixes: frozenset[str] = frozenset()
    """Prefixes, as `ibi.standard.label.search` writes them, of which it is the home besides those of its own label."""
    shared: bool = False
    """True if it may be the home of a prefix that another registration has, too."""
    vouched: bool = False
    """True if the administrator of the resolver vouches for its claims while the home of an item is silent."""
    successor: LabelForms | None = None
    """The Archive that the administrator named to speak for this one, which has ended."""
    pending: Inclusion | None = None
    """An inclusion at another address, which has not confirmed yet: the one before it still counts (E60)."""
    waiting: Label | None = None
    """The form of its label that is missing in `service`: the Archive claims it, and nothing proves it yet (E59)."""
    failed: FailedContact | None = None
    """The last failure since it was last reached (E73)."""
    feed: str | None = None
    """The path on its server where it publishes its changes, if it gave one at its inclusion (E80)."""
    key: PublicKey | None = None
    """The key with which it signs (E81), from the registration or from its first signed inclusion.

    It stays when the Archive is excluded.
    """
    former_keys: tuple[PublicKey, ...] = ()
    """Its former keys, the latest first."""
    signed_at: int = 0
    """The time of the signature on its last accepted request, in milliseconds since 1970: none is accepted twice."""
    lost: Instant | None = None
    """The time at which the administrator declared it permanently lost.

    Its `successor` may take over Originals of which it has Copies (E97). An Archive that is included again is not lost.
    """
    last_inclusion: Inclusion | None = None
    """The inclusion before it was switched off: it is called there once more before it counts as lost."""

    @property
    def awaits_key(self) -> bool:
        """True if its registration key is not known."""
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
        """Return the registration with another key, or none; the previous key becomes a former one."""
        if key == self.key:
            return self
        former = self.former_keys if self.key is None else (self.key, *self.former_keys)
        kept = tuple(each for each in dict.fromkeys(former) if each != key)[:MOST_FORMER_KEYS]
        return replace(self, key=key, former_keys=kept)

    def as_lost(self, now: Instant) -> Registration:
        """Return the registration of a lost Archive, which is not asked any more (E97).

        Raise `NotLost` if it has no successor, or answered when it was last asked.
        """
        name = str(self.labels[0])
        if self.successor is None:
            reason = "name the Archive that takes over its Originals as its successor, too (--successor SERVICE_IBI)"
            raise NotLost(name, 0, reason)
        if self.inclusion is not None and self.failed is None:
            raise NotLost(name, 0, ANSWERS, address=self.inclusion.address)
        lost = self.lost or Instant(now.seconds)
        return replace(self.switched_off(), lost=lost)

    def switched_off(self) -> Registration:
        """Return the registration without an inclusion: it is not asked any more."""
        last = self.inclusion or self.last_inclusion
        return replace(self, inclusion=None, pending=None, failed=None, last_inclusion=last)

    def _lacks(self, label: Label) -> bool:
        return all(label.form != each.form and label.instant == each.instant for each in self.labels)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The known forms of its label."""
        return self.service.labels

    @property
    def home_prefixes(self) -> frozenset[str]:
        """All prefixes of which it is the home: those of its label, in each known form, and those given to it."""
        return self.prefixes.union(map(home_prefix, self.labels))


def _order(network: IpNetwork) -> tuple[int, str]:
    return network.version, str(network)


# Archives are named by the labels of their services; times are POSIX seconds.


class ClaimKind(StrEnum):
    """The kind of a claim that contradicts the item's home."""

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
    """The decision of the resolver's administrator about the holder of the Original of an item (E93)."""

    label: Label
    holder: Label
    parties: frozenset[Label]
    """The Archives with claims that it settles. An Archive that claims the item later opens another dispute."""
    at: int
    by: str
    """The person who decided, for people."""


class Settlement(StrEnum):
    """The way in which a dispute ended."""

    ADMINISTRATOR = "administrator"
    TRANSFER = "transfer"
    """The holder gave the Original to the claimant."""
    PROOF = "proof"
    """Signed releases say that another Archive has the Original."""


class Dispute(NamedTuple):
    """A second claim to the Original of an item, or to have deleted it. The known holder stays until it is settled."""

    claim: FalseClaim
    holder: Label
    """The Archive that is believed to hold the Original now."""
    told: int | None = None
    """The time at which the administrators of both Archives were last informed."""
    ruling: Ruling | None = None
    proven: int | None = None
    """The time at which signed releases were found to contradict the claim."""

    @property
    def settled_by(self) -> Settlement | None:
        """The settlement; None while the dispute is open."""
        if self.ruling is not None and self.claim.claimant in self.ruling.parties:
            return Settlement.ADMINISTRATOR
        if self.claim.claimant == self.holder:
            return Settlement.TRANSFER
        return None if self.proven is None else Settlement.PROOF


DISPUTED: Final = (ClaimKind.ORIGINAL, ClaimKind.DELETED)
"""Claims that only one Archive can make: R 5.2 has one Original, and only a former Original can be Deleted."""


class Succession(NamedTuple):
    """The chain of service labels through which a home gave an Original on."""

    chain: tuple[Label, ...] = ()
    is_signed: bool = False
    """True if it comes from signed releases (E88), so that an unsigned answer of a home does not change it.

    A signed empty chain says that the home has the Original again.
    """


NO_SUCCESSION: Final = Succession()


class KnownDeletion(NamedTuple):
    """A deletion reported by the Archive that decided about the item: believed while that Archive is silent."""

    by: Label
    """The service of that Archive."""
    when: int | None = None
    """The time of the deletion; None if only the Archive's feed reported it."""


class LabelBeliefs(NamedTuple):
    """All beliefs about one label, with their times: for people, not for a resolution."""

    successors: tuple[Label, ...] = ()
    """The chain through which the home gave the Original on."""
    named_at: int | None = None
    """The time of the last change of the chain."""
    holder: Label | None = None
    """The last holder of the Original of an item without a home, however long ago."""
    held_at: int | None = None
    claims: tuple[FalseClaim, ...] = ()
    """Claims that the deciding Archives contradict; the most recently seen first."""
    ruling: Ruling | None = None
    """The decision of the administrator in a dispute over it."""


class NamedCopies(NamedTuple):
    """The Archives that a home named as holders of Copies of its items, and the time."""

    holders: frozenset[CopyHolder] = frozenset()
    at: int | None = None
    statement: str | None = None
    """The signed statement (`ibi.standard.messages.holders`), byte for byte, for others to check; None if it was not
    signed."""
    signed_at: int = 0
    """The time of that signature, in milliseconds since 1970."""

    @property
    def is_signed(self) -> bool:
        return self.signed_at > 0

    @property
    def services(self) -> frozenset[Label]:
        return frozenset(holder.service for holder in self.holders)


NO_COPIES: Final = NamedCopies()
