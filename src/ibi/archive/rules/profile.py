"""An Archive's profile: the relations that it offers, the URLs of its items, and the readers who may see them.

The answer to a resolver only selects a URL. The server of the bytes checks again, by the address of the client: a
resolver's statement about its clients is no proof. URLs contain the repository name as stored, and never change, so
pages may link to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ibi.archive.ports import UrlBuilder
from ibi.items.model.item import Item
from ibi.items.model.visibility import Visibility
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.values import IpAddress
from ibi.standard.pairs import percent_encoded
from ibi.standard.relation import LastEdition, Metadata, Relation, Step, Translation


@dataclass(slots=True)
class Reader:
    """A reader at a point in time, and the facts that the answers depend on.

    `addresses` are the user's and those of the proxies between. A reader is inside a network if one of them is: behind
    an institution's proxy, the user has a private address.
    """

    addresses: tuple[IpAddress, ...]
    now: Instant
    depends_on_client: bool = field(default=False, init=False)
    """True if a reader elsewhere would get another answer. Then it may not be cached for others (E32)."""
    good_until: Instant | None = field(default=None, init=False)
    """The end of an embargo, at which the answer expires."""

    def may_see(self, visibility: Visibility) -> bool:
        """Return whether this reader may get the bytes now."""
        if visibility.is_public:
            return True
        if visibility.is_embargoed(self.now):
            assert visibility.embargo is not None  # only an item with an embargo is embargoed
            self.good_until = min(self.good_until or visibility.embargo, visibility.embargo)
            return False
        self.depends_on_client = self.depends_on_client or bool(visibility.networks)
        return visibility.is_open_to(self.addresses, self.now)


FORMATS: Final = ("oai_dc",)
"""The metadata formats that this software writes."""


# R Table 9.5: relação = ([u [t]] | [t [u]]) [m [t]]
def every_relation(formats: Iterable[str] = FORMATS) -> frozenset[Relation]:
    """Return all relations of the table. A translation stands for every language, metadata for any form and for
    `formats`."""
    u, t = LastEdition(), Translation()
    heads: tuple[tuple[Step, ...], ...] = ((), (u,), (u, t), (t,), (t, u))
    return frozenset(Relation((*head, *tail)) for head in heads for tail in _tails(tuple(formats)))


def _tails(formats: tuple[str, ...]) -> Iterator[tuple[Step, ...]]:
    yield ()
    for metadata in (Metadata(), *map(Metadata, formats)):
        yield (metadata,)
        yield metadata, Translation()


ALL_RELATIONS: Final = every_relation()


@dataclass(frozen=True, slots=True)
class ArchiveProfile:
    """One Archive as others see it.

    `relations` is the set of R Algorithm 2: a translation without a language stands for all languages. It always
    contains the empty relation.
    """

    address: str
    service: LabelForms
    urls: UrlBuilder
    platform_software: LabelForms | None = None
    relations: frozenset[Relation] = ALL_RELATIONS
    follow_editions: bool = True
    """True if the Archive gives the last edition when all later ones are here (R §9.2). Otherwise the resolver
    follows."""
    landing_page: bool = False
    """True if a link without a path leads browsers to the page of an item, and programs to its file or service."""
    filtered: bool = True
    """True if answers omit entries that the resolver cannot use (R Algorithm 1, line 17: optional)."""
    copies_at: tuple[Label, ...] = ()
    """The services of the Archives that hold Copies of the Originals here (E64)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", self.relations | {Relation.ITSELF})

    def offers(self, relation: Relation) -> bool:
        """Return whether this Archive answers for `relation`, with or without a language."""
        return relation in self.relations or any(known.matches(relation) for known in self.relations)


# RFC 3986 §3.3: pchar, without & + = which mean something in the protocol's own queries (R Table 6.1)
_NOT_IN_PATH = re.compile(r"[^A-Za-z0-9\-._~/!$'()*,;:@]+")


def encoded_path(path: str) -> str:
    """Return a decoded path as it appears in a URL: UTF-8, percent-encoded once (E33)."""
    return _NOT_IN_PATH.sub(lambda strange: percent_encoded(strange[0]), path)


@dataclass(frozen=True, slots=True)
class ArchiveUrls:
    """The URLs of items below two bases without a final slash. Both may be the same."""

    public_url: str
    content_url: str

    def file(self, item: Item, path: str) -> str:
        return f"{self.content_url}/col/{item.rep.spelling}/doc/{encoded_path(path)}"

    def metadata(self, item: Item, own: Item | None, metadata_format: str | None) -> str:
        if metadata_format is not None:
            return f"{self.public_url}/col/{item.rep.spelling}/metadata?format={metadata_format}"
        if own is not None and own.target is not None:
            return self.file(own, own.target)
        return (own and own.target_url) or f"{self.public_url}/col/{item.rep.spelling}/metadata"

    def target(self, item: Item) -> str:
        """Return the address that sends browsers to the page of the item, and programs to its main file."""
        return f"{self.public_url}/col/{item.rep.spelling}/doc/"

    def zip(self, item: Item) -> str:
        """Return the address of a ZIP file with all its files."""
        return f"{self.content_url}/col/{item.rep.spelling}.zip"

    def file_list(self, item: Item) -> str:
        return f"{self.public_url}/col/{item.rep.spelling}/doc/?list"
