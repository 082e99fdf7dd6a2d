"""The published register of a resolver: a signed statement of the kind `register` (E94).

Archives keep it, and resolve links with it for their own readers while the resolver is away. It has the facts that
trust needs: which Archives are registered, since when and for which prefixes, on which hosts their URLs may be, and
which Archives they named for their Copies. Registration keys and e-mail addresses are not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from ibi.membership.model.registration import (
    MOST_FORMER_KEYS,
    MOST_NETWORKS,
    MOST_PREFIXES,
    MOST_REMOVED,
    Registration,
    RemovedArchive,
)
from ibi.membership.rules.authority import ArchiveRef, Home, Homes
from ibi.membership.rules.membership import archive_ref
from ibi.standard.errors import InvalidInput
from ibi.standard.label import parse
from ibi.standard.label.search import home_prefix, parse_home_prefix
from ibi.standard.messages.holders import MOST_PREFIXES as MOST_COPY_PREFIXES
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.membership import MOST_HOSTS
from ibi.standard.messages.signatures import MOST_CHANGES
from ibi.standard.networks import network
from ibi.standard.signing import InvalidStatement, PublicKey, SigningKey, read_statement, sign_statement
from ibi.standard.vocabulary import ArchiveProtocol

KIND: Final = "register"
MOST_ARCHIVES: Final = 10_000
MOST_COPIES: Final = 256
"""Most Archives that one home may name as holders of its Copies."""

_Short = Annotated[str, msgspec.Meta(max_length=512)]
_Holder = Annotated[str, msgspec.Meta(max_length=512 * (MOST_COPY_PREFIXES + 1))]
"""A label, and the prefixes of items of which it holds Copies, if not of all."""
_Texts = Annotated[list[_Short], msgspec.Meta(max_length=MOST_PREFIXES + 2)]


class _Entry(msgspec.Struct, omit_defaults=True):
    """One Archive. Members that a later version added are ignored."""

    service: Annotated[list[_Short], msgspec.Meta(min_length=1, max_length=2)]
    registered: int
    address: _Short | None = None
    protocol: _Short = ArchiveProtocol.HTTP.value
    hosts: Annotated[list[_Short], msgspec.Meta(max_length=MOST_HOSTS)] = []
    networks: Annotated[list[_Short], msgspec.Meta(max_length=MOST_NETWORKS)] = []
    prefixes: _Texts = []
    vouched: bool = False
    successor: Annotated[list[_Short], msgspec.Meta(min_length=1, max_length=2)] | None = None
    feed: _Short | None = None
    copies: Annotated[list[_Holder], msgspec.Meta(max_length=MOST_COPIES)] = []
    key: _Short | None = None
    former_keys: Annotated[list[_Short], msgspec.Meta(max_length=MOST_FORMER_KEYS)] = []
    awaits_key: bool = False


class _Removed(msgspec.Struct):
    service: Annotated[list[_Short], msgspec.Meta(min_length=1, max_length=2)]
    at: int


class _Register(msgspec.Struct):
    resolver: _Short
    issued: int
    archives: Annotated[list[Any], msgspec.Meta(max_length=MOST_ARCHIVES)]
    removed: Annotated[list[Any], msgspec.Meta(max_length=MOST_REMOVED)] = []
    changes: Annotated[list[str], msgspec.Meta(max_length=MOST_CHANGES)] = []


@dataclass(frozen=True, slots=True)
class ListedArchive:
    """An Archive of the list: its identity and address, its prefixes as a home, its public key, and its former keys."""

    home: Home
    prefixes: frozenset[str]
    registered: int = 0
    key: PublicKey | None = None
    former_keys: tuple[PublicKey, ...] = ()
    awaits_key: bool = False
    """True if it must bring its registration key again because the resolver lost it."""

    @classmethod
    def of_registration(cls, registration: Registration, copies: Iterable[CopyHolder] = ()) -> ListedArchive:
        home = Home(registration.service, archive_ref(registration), registration.successor, frozenset(copies))
        keys = registration.key, registration.former_keys
        awaits_key = registration.awaits_key
        return cls(home, registration.home_prefixes, registration.registered.seconds, *keys, awaits_key)

    @classmethod
    def of_own(
        cls, own: ArchiveRef, copies: Iterable[CopyHolder] = (), keys: tuple[PublicKey, ...] = ()
    ) -> ListedArchive:
        """Return the entry for the resolver's own Archive, which counts as registered before all others.

        `keys` are its present key and those before it.
        """
        home, key = Home(own.service, own, None, frozenset(copies)), keys[0] if keys else None
        return cls(home, frozenset(own.home_prefixes), key=key, former_keys=keys[1 : MOST_FORMER_KEYS + 1])

    def to_entry(self) -> _Entry:
        home, archive, successor = self.home, self.home.archive, self.home.successor
        return _Entry(
            service=_spellings(home.service),
            registered=self.registered,
            address=None if archive is None else archive.address,
            protocol=ArchiveProtocol.HTTP.value if archive is None else archive.protocol.value,
            hosts=[] if archive is None else sorted(archive.hosts),
            networks=[] if archive is None else list(map(str, archive.networks)),
            prefixes=sorted(self.prefixes),
            vouched=archive is not None and archive.vouched,
            successor=None if successor is None else _spellings(successor),
            feed=None if archive is None else archive.feed,
            copies=sorted(map(str, home.copies))[:MOST_COPIES],
            key=None if self.key is None else str(self.key),
            former_keys=[str(each) for each in self.former_keys],
            awaits_key=self.awaits_key,
        )


@dataclass(frozen=True)
class SignedRegister:
    """A register that its resolver has signed. `text` is the statement as received, and is kept."""

    text: str
    signer: PublicKey
    resolver: str
    issued: int
    """POSIX seconds; a later register has a later time."""
    archives: tuple[ListedArchive, ...]
    changes: tuple[str, ...] = ()
    """The statements by which former keys of the resolver named their successors."""
    removed: tuple[RemovedArchive, ...] = ()

    @cached_property
    def etag(self) -> str:
        return etag_of(self.text)

    def find(self, service: LabelForms) -> ListedArchive | None:
        """Return the entry of an Archive, by any form of its label."""
        wanted = set(service.labels)
        return next((each for each in self.archives if not wanted.isdisjoint(each.home.service.labels)), None)

    def lost_since(self, before: SignedRegister) -> tuple[ListedArchive, ...]:
        """Return the registered Archives of an earlier list that this one lacks without recording a removal.

        The resolver lost them, perhaps by restoring a backup.
        """
        return tuple(each for each in before.archives if each.registered and not self._accounts_for(each))

    def _accounts_for(self, listed: ListedArchive) -> bool:
        service = listed.home.service
        if self.find(service) is not None:
            return True
        labels = set(service.labels)
        return any(each.at >= listed.registered and not labels.isdisjoint(each.service.labels) for each in self.removed)

    def refs(self) -> tuple[ArchiveRef, ...]:
        """Return the Archives that can be asked."""
        return tuple(each.home.archive for each in self.archives if each.home.archive is not None)

    def homes(self) -> Homes:
        return Homes((each.home, each.prefixes) for each in self.archives)


def etag_of(text: str) -> str:
    """Return the entity tag of a statement: both sides compute it from their copy."""
    return f'"{sha256(text.encode()).hexdigest()[:40]}"'


def register_entries(archives: Iterable[ListedArchive]) -> list[dict[str, object]]:
    """Return the list without its date and signature: equal for equal registers."""
    entries: list[dict[str, object]] = msgspec.to_builtins([each.to_entry() for each in archives])
    return entries[:MOST_ARCHIVES]


def sign_register(
    entries: list[dict[str, object]],
    resolver: str,
    issued: int,
    key: SigningKey,
    changes: Iterable[str] = (),
    removed: Iterable[RemovedArchive] = (),
) -> str:
    """Return the signed statement.

    `changes` are the statements by which former keys of the resolver named their successors (E83). `removed` are the
    Archives that its administrator took off the list.
    """
    claims: dict[str, object] = {"resolver": resolver, "issued": issued, "archives": entries}
    if told := list(changes)[-MOST_CHANGES:]:
        claims["changes"] = told
    if gone := [{"service": _spellings(each.service), "at": each.at} for each in removed][-MOST_REMOVED:]:
        claims["removed"] = gone
    return sign_statement(KIND, claims, key)


def read_register(text: str) -> SignedRegister:
    """Return the register; raise `InvalidStatement` if it is none.

    The caller must decide whether `signer` is the key of a trusted resolver. An Archive that cannot be parsed, perhaps
    from a later version, is left out.
    """
    statement = read_statement(text, KIND)
    try:
        found = msgspec.convert(statement.claims, _Register)
    except msgspec.ValidationError as error:
        raise InvalidStatement(text[:40], 0, "it is no register") from error
    archives, changes = tuple(_read_entries(found.archives)), tuple(found.changes)
    removed = tuple(_read_removed(found.removed))
    return SignedRegister(text, statement.signer, found.resolver, found.issued, archives, changes, removed)


def _read_entries(entries: Iterable[object]) -> Iterator[ListedArchive]:
    for entry in entries:
        try:
            yield _read_entry(msgspec.convert(entry, _Entry))
        except (msgspec.ValidationError, InvalidInput, ValueError):
            continue


def _read_removed(entries: Iterable[object]) -> Iterator[RemovedArchive]:
    for entry in entries:
        try:
            removed = msgspec.convert(entry, _Removed)
            yield RemovedArchive(_forms(removed.service), removed.at)
        except (msgspec.ValidationError, InvalidInput, ValueError):
            continue


def _read_entry(entry: _Entry) -> ListedArchive:
    service = _forms(entry.service)
    archive = None if entry.address is None else _ref(entry, service, entry.address)
    home = Home(
        service,
        archive,
        None if entry.successor is None else _forms(entry.successor),
        frozenset(map(CopyHolder.parse, entry.copies)),
    )
    key = None if entry.key is None else PublicKey.parse(entry.key)
    former = tuple(map(PublicKey.parse, entry.former_keys))
    prefixes = frozenset(map(parse_home_prefix, entry.prefixes))
    return ListedArchive(home, prefixes, entry.registered, key, former, entry.awaits_key)


def _ref(entry: _Entry, service: LabelForms, address: str) -> ArchiveRef:
    return ArchiveRef(
        service,
        address,
        ArchiveProtocol(entry.protocol),
        frozenset(entry.hosts),
        tuple(map(network, entry.networks)),
        entry.registered,
        frozenset(map(parse_home_prefix, entry.prefixes)).difference(map(home_prefix, service.labels)),
        entry.vouched,
        entry.feed if entry.feed is not None and entry.feed.startswith("/") else None,
    )


def _forms(labels: Iterable[str]) -> LabelForms:
    return LabelForms.of(*map(parse, labels))


def _spellings(service: LabelForms) -> list[str]:
    return [label.spelling for label in service.labels]


class OfferedRegister(NamedTuple):
    """The reply of an Archive that was asked for the register that it keeps."""

    source: str
    """The URL of the Archive."""
    statement: str | None
    failure: str | None = None
    """The reason why there is no statement."""
    keeper: PublicKey | None = None
    """The key of the Archive, which it proved for this statement; None if it proved none."""
    former: str | None = None
    """The fullest earlier register that it kept because a later one lacked some Archives; None if it sent none."""
