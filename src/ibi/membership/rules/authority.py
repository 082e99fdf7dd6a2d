"""Archives as a resolution knows them, and the Archives that decide about a label (E65, E66).

The home of a label is the Archive registered for its prefix. It wins over memory and seniority. When the home gave an
Original away, its successor decides. The home names the successor in a header of its answers (`IBI-Transferred-To`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, NamedTuple, Protocol

from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.values import host_and_port
from ibi.standard.networks import IpNetwork
from ibi.standard.origin import host_of
from ibi.standard.vocabulary import ArchiveProtocol


@dataclass(frozen=True, slots=True)
class ArchiveRef:
    """The address at which an Archive is asked and acknowledged, and the hosts on which its URLs may be (E31).

    `hosts` are those it declared beyond the host of its `address`: `host`, which means every port, or `host:port`.
    `networks` are the non-global networks in which its registration allows connections to it. `registered` is the time
    of registration, in seconds: of several Archives that claim one Original, the one registered first is believed. It
    does not take part in comparisons.
    """

    service: LabelForms
    address: str
    protocol: ArchiveProtocol = ArchiveProtocol.HTTP
    hosts: frozenset[str] = frozenset()
    networks: tuple[IpNetwork, ...] = ()
    registered: int = 0
    prefixes: frozenset[str] = frozenset()
    """Prefixes of which it is the home besides those of its own label (`ibi.standard.label.search`)."""
    vouched: bool = False
    """True if its claims are followed while the home of an item is silent."""
    feed: str | None = None
    """The path on its server where it publishes its changes; None if it does not."""
    home_prefixes: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """All prefixes of which it is the home: one for each form of its label, and those given to it."""
    _host: str = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        host_and_port(self.address)
        object.__setattr__(self, "_host", host_of(self.address.lower()))
        object.__setattr__(self, "hosts", frozenset(host_and_port(host).lower() for host in self.hosts))
        object.__setattr__(self, "home_prefixes", (*map(home_prefix, self.service.labels), *self.prefixes))
        object.__setattr__(self, "_hash", hash(self._values))

    def __eq__(self, other: object) -> bool:
        """Compare by identity and hash first: most compared pairs are the same object, or differ in their hash."""
        if self is other:
            return True
        if not isinstance(other, ArchiveRef):
            return NotImplemented
        return self._hash == other._hash and self._values == other._values

    def __hash__(self) -> int:
        """Return the precomputed hash: every resolution looks up every Archive several times."""
        return self._hash

    def declares(self, authority: str) -> bool:
        """Return whether URLs of this Archive may name `authority`, the `host[:port]` of a URL.

        This does not use `Origin`: it runs for every entry of every answer, and messages leave little to normalise
        (E45). A declared port is compared as it is spelled, also 80.
        """
        authority = authority.lower()
        host = host_of(authority)
        return host == self._host or not self.hosts.isdisjoint({authority, host})

    @property
    def _values(self) -> tuple[object, ...]:
        return self.service, self.address, self.protocol, self.hosts, self.networks, self.prefixes, self.vouched

    def __str__(self) -> str:
        return self.address


MAX_CHAIN: Final = 16
"""Most times that one Original may be given on before the resolver stops following."""


class Home(NamedTuple):
    """An Archive registered for a prefix. `archive` is None while it is switched off (R §7.2)."""

    service: LabelForms
    archive: ArchiveRef | None
    successor: LabelForms | None = None
    """The Archive that the administrator of the resolver named to speak for this one, which has ended."""
    copies: frozenset[CopyHolder] = frozenset()
    """The Archives that it named as holders of Copies of its items, as far as the register tells."""


class Homes:
    """The registered Archives by their prefixes. Archives may share a prefix; the first registered comes first."""

    def __init__(self, homes: Iterable[tuple[Home, Iterable[str]]] = ()) -> None:
        """Index the homes. Each comes with its prefixes, as `home_prefix` writes them."""
        self._by_prefix: dict[str, tuple[Home, ...]] = {}
        self.count = 0
        """The number of homes."""
        for home, prefixes in homes:
            self.count += 1
            for prefix in dict.fromkeys(prefixes):
                self._by_prefix[prefix] = (*self._by_prefix.get(prefix, ()), home)

    @classmethod
    def of_archives(cls, archives: Iterable[ArchiveRef]) -> Homes:
        """Return the homes for a resolver that knows only the included Archives."""
        ordered = sorted(archives, key=lambda each: each.registered)
        return cls((Home(archive.service, archive), archive.home_prefixes) for archive in ordered)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Homes) and self._by_prefix == other._by_prefix)

    def __hash__(self) -> int:
        return hash(frozenset(self._by_prefix))

    def of(self, label: Label) -> tuple[Home, ...]:
        return self._by_prefix.get(home_prefix(label), ())

    def changed_since(self, before: Homes) -> Iterator[str]:
        """Yield the prefixes that have other homes than in `before`."""
        if before is not self:
            for prefix in self._by_prefix.keys() | before._by_prefix.keys():
                if self._by_prefix.get(prefix) != before._by_prefix.get(prefix):
                    yield prefix


def is_home(archive: ArchiveRef, label: Label) -> bool:
    """Return whether an Archive is registered for the prefix of the label."""
    return home_prefix(label) in archive.home_prefixes


class LabelAuthority(NamedTuple):
    """The Archives that decide about one label.

    `homes` are the Archives of its prefix that can be asked. `away` are the services of those that are switched off.
    `successors` is the chain of Archives through which the home gave the Original on; the last one holds it.
    """

    homes: tuple[ArchiveRef, ...] = ()
    away: tuple[LabelForms, ...] = ()
    successors: tuple[Label, ...] = ()
    trusted: frozenset[ArchiveRef] = frozenset()
    """The Archives that are followed while those that decide are silent."""
    holder: ArchiveRef | None = None
    """The known holder of the Original, if the label has no home."""
    absent_holder: LabelForms | None = None
    """The service of the known holder, if the label has no home and that Archive is switched off."""
    copy_holders: frozenset[ArchiveRef] = frozenset()
    """The `trusted` Archives that a home named as holders of Copies of its items (E64)."""
    is_signed: bool = False
    """True if the `successors` come from signed releases: then only the last of them can name another (E88)."""

    @property
    def exists(self) -> bool:
        """True if the label has a home, so that claims of others need proof."""
        return bool(self.homes or self.away)


NO_AUTHORITY: Final = LabelAuthority()


class StandIn(StrEnum):
    """The reason to follow an Archive while the Archives that decide about the label were silent (E67)."""

    COPY = "the home is silent, and named it as a holder of Copies"
    VOUCHED = "the home is silent, and the administrator of the resolver vouches for it"
    APPOINTED = "the home is silent, and the administrator of the resolver named it in its place"


class Routing(Protocol):
    """Knowledge that exists before an Archive is asked."""

    def likely(self, label: Label, now: float) -> Sequence[ArchiveRef]:
        """Return the Archives to ask first, best first; none if nothing is known. The result may be wrong."""

    def authority(self, label: Label) -> LabelAuthority:
        """Return the Archives that decide about the label."""

    def archive(self, service: Label) -> ArchiveRef | None:
        """Return the included Archive with this label for its service."""


class _NoRouting:
    def likely(self, label: Label, now: float) -> Sequence[ArchiveRef]:
        return ()

    def authority(self, label: Label) -> LabelAuthority:
        return NO_AUTHORITY

    def archive(self, service: Label) -> ArchiveRef | None:
        return None


NO_ROUTING: Routing = _NoRouting()
"""The routing that knows nothing: all Archives are asked at once."""


class Word(Enum):
    """The answer to a question from the Archives that decide about a label."""

    NO_HOME = "the label has no home"
    AWAITED = "the home has not answered yet"
    GIVEN = "the home has the item"
    DELETED = "the home deleted the item"
    NOT_HERE = "the home has no Original"
    SILENT = "the home cannot be asked"


def chain_after(
    chain: tuple[Label, ...], homes: Iterable[LabelForms], by: LabelForms, to: Label, *, is_signed: bool = False
) -> tuple[Label, ...] | None:
    """Return the chain of successors after the Archive `by` names `to` as the new holder.

    Return None if `by` has no right to name one. That is so if it is neither a home nor a member of the chain. It is
    also so if the chain `is_signed` and says that another Archive has the Original.
    """
    homes = tuple(homes)
    if is_signed and chain and chain[-1] not in by.labels:
        return None
    if by in homes:
        before: tuple[Label, ...] = ()
    else:
        place = next((index for index, label in enumerate(chain) if label in by.labels), None)
        if place is None:
            return None
        before = chain[: place + 1]
    if any(to in home.labels for home in homes):
        return ()  # it came back
    after = chain[len(before) : len(before) + 1]
    if after == (to,):
        return chain  # known: its successors stay
    return (*before, to)[-MAX_CHAIN:] if to not in before else before[: before.index(to) + 1]
