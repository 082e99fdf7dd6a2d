"""Checks the chains of items that moved.

Each link has to follow from the one before, with the right keys. The released content has to be in the object, and the
state of the item has to agree with its chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ibi.items.model.content import KeptObject
from ibi.items.model.item import Item
from ibi.items.rules.provenance import (
    NO_CHAIN,
    Chain,
    InvalidProvenance,
    IsKeyOf,
    ProvenanceLink,
    Release,
    check_chain,
    decode_link,
    link_paths,
    manifest_digest,
)
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import name_of
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.label import Label
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State
from ibi.transfers.rules.standing import KnownArchives
from ibi.transfers.service.item_chains import has_yielded


@dataclass(frozen=True, slots=True)
class CheckedProvenance:
    """The chain of one item, with its problems; none if it is sound."""

    item: Item
    chain: Chain
    problems: tuple[str, ...] = ()
    unproven: tuple[int, ...] = ()
    """Numbers of the links that are signed with keys of unknown owners, or with keys that the resolver's register does
    not have for their Archives."""

    @property
    def way(self) -> tuple[str, ...]:
        """The services through which the Original went."""
        first = self.chain.first_release
        return () if first is None else (first.giver.spelling, *(to.spelling for to in self.chain.successors))


def provenance_document(found: CheckedProvenance) -> dict[str, Any]:
    """Return the result as JSON."""
    return {
        "item": found.item.rep.spelling,
        "state": found.item.state.value,
        "archives": list(found.way),
        "links": [
            {
                "number": link.said.number,
                "kind": "release" if isinstance(link.said, Release) else "countersignature",
                "signer": str(link.signer),
            }
            for link in found.chain.links
        ],
        "problems": list(found.problems),
        "unproven": list(found.unproven),
    }


class ProvenanceCheck:
    """Checks the chains of one Archive. Calls block."""

    def __init__(
        self,
        repository: ItemRepository,
        service: LabelForms | None,
        keys: tuple[PublicKey, ...],
        is_key_of: IsKeyOf | None = None,
        *,
        resolver_keys: tuple[PublicKey, ...] = (),
        register: KnownArchives | None = None,
    ) -> None:
        """`keys` are those of this Archive, and `resolver_keys` those of its resolver, both with former ones. The
        `register` of the resolver has the keys of others, and those that this Archive has lost. `is_key_of` knows the
        keys of others for certain. Without either, a signature of others is proven by a later signature of this
        Archive, or by a proven release."""
        self._repository, self._service, self._keys = repository, service, keys
        self._is_key_of, self._resolver_keys, self._register = is_key_of, resolver_keys, register

    def check_all(self, labels: Iterable[Label] = ()) -> Iterator[CheckedProvenance]:
        """Yield the result for these items, or for all that have moved."""
        wanted = [self._repository.find(label) for label in labels]
        for item in wanted or self._repository.catalog.items():
            found = self.check(item)
            if wanted or found.chain.links or found.problems:
                yield found

    def check(self, item: Item) -> CheckedProvenance:
        name = name_of(item)
        try:
            kept = self._repository.content.read(name)
            unknown: set[PublicKey] = set()
            chain = check_chain(self._texts(name, kept), lambda who, key: self._knows(who, key, unknown), item.labels)
        except IbiError as error:
            return CheckedProvenance(item, NO_CHAIN, (str(error),))
        register = self._register
        if register is None:
            unproven = tuple(self._unproven_by_keys(chain, unknown))
        else:
            unproven = tuple(link.said.number for link in chain.links if not self._is_registered(link, register))
        return CheckedProvenance(item, chain, tuple(self._problems(item, chain, kept)), unproven)

    def _unproven_by_keys(self, chain: Chain, unknown: set[PublicKey]) -> Iterator[int]:
        """Yield the links from the first unknown key on. This Archive checked its own links when it signed them, and so
        the links before those."""
        own = max((link.said.number for link in chain.links if link.signer in self._keys), default=0)
        after = [link for link in chain.links if link.said.number > own]
        first = next((link.said.number for link in after if link.signer in unknown), None)
        if first is not None:
            yield from (link.said.number for link in after if link.said.number >= first)

    def _is_registered(self, link: ProvenanceLink, register: KnownArchives) -> bool:
        """Return whether the register has the key for its Archive, or the key is this Archive's own. The first giver
        also has to be the home of the item."""
        who, said = link.speaker, link.said
        first = said if isinstance(said, Release) and said.number == 1 else None
        if first is not None and not self._is_here(first.giver) and not register.is_home(first.giver, first.labels):
            return False
        if self._is_here(who) and link.signer in self._keys:
            return True
        return register.is_key_of(who, link.signer) or (
            who == resolver_service() and link.signer in self._resolver_keys
        )

    def _texts(self, name: str, kept: KeptObject) -> Iterator[str]:
        for path in link_paths(kept.head.files):
            with self._repository.open_record(name, path, kept.head.number) as record:
                body = record.read_all()
            try:
                yield decode_link(body)
            except InvalidInput as error:
                raise InvalidProvenance(path, 0, "{cause}", cause=error.reason.format(**error.details)) from error

    def _knows(self, who: Label, key: PublicKey, unknown: set[PublicKey]) -> bool:
        if self._service is not None and who in self._service.labels:
            return key in self._keys or (self._register is not None and self._register.is_key_of(who, key))
        if who == resolver_service() and key in self._resolver_keys:
            return True
        if self._is_key_of is not None:
            return self._is_key_of(who, key)
        unknown.add(key)
        return True

    def _problems(self, item: Item, chain: Chain, kept: KeptObject) -> Iterator[str]:
        if not chain.links:
            if item.transferred_to is not None and not has_yielded(item, kept):
                yield f"it says that it was given to {item.transferred_to}, and has no release"
            return
        if not has_yielded(item, kept):
            yield from self._state_problems(item, chain)
        manifests = {manifest_digest(version.files) for version in kept.versions}
        for link in chain.links:
            said = link.said
            is_ours = (isinstance(said, Release) and self._is_here(said.giver)) or self._is_here(chain.successors[-1])
            if isinstance(said, Release) and is_ours and said.manifest not in manifests:
                yield f"link {said.number}: what was released is in no version of the object"

    def _state_problems(self, item: Item, chain: Chain) -> Iterator[str]:
        holder = chain.successors[-1]
        if self._is_here(holder):
            if not chain.is_under_way and item.state is State.COPY:
                yield "by its chain the Original is here, and it is a Copy"
        elif item.state is State.ORIGINAL:
            yield f"by its chain the Original is at {holder}, and it is an Original here"
        elif item.transferred_to is not None and item.transferred_to != holder and len(chain.successors) == 1:
            yield f"by its chain it was given to {holder}, and its record says to {item.transferred_to}"

    def _is_here(self, service: Label) -> bool:
        return self._service is not None and service in self._service.labels
