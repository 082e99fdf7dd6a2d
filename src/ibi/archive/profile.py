"""What an Archive says to whom: which relations it offers, where its items are, and which readers may see them.

The answer to a resolver only chooses a URL. The server of the bytes checks again, by the address that fetches them:
what a resolver says of its clients is not proof.

URLs have the repository name as it is stored, and never change: a page may link to its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.identification import LabelForms
from ibi.messages.values import IpAddress
from ibi.model.item import Item
from ibi.model.visibility import Visibility
from ibi.pairs import percent_encoded
from ibi.ports.archive_state import UrlBuilder
from ibi.relation import LastEdition, Metadata, Relation, Step, Translation


@dataclass(slots=True)
class Reader:
    """A reader at some time, and what the answers given to them depend on.

    `addresses` are the user's and those of the proxies between. A reader is inside a network if one of them is: the
    user behind an institution's proxy has a private one.
    """

    addresses: tuple[IpAddress, ...]
    now: Instant
    depends_on_client: bool = field(default=False, init=False)
    """Whether a reader elsewhere would get another answer: then it may not be cached for others (E32)."""
    good_until: Instant | None = field(default=None, init=False)
    """When an embargo ends, and the answer with it."""

    def may_see(self, visibility: Visibility) -> bool:
        """Whether the bytes are for this reader now."""
        if visibility.is_public:
            return True
        if visibility.is_embargoed(self.now):
            assert visibility.embargo is not None  # it could not be embargoed else
            self.good_until = min(self.good_until or visibility.embargo, visibility.embargo)
            return False
        self.depends_on_client = self.depends_on_client or bool(visibility.networks)
        return visibility.is_open_to(self.addresses, self.now)


FORMATS: Final = ("oai_dc",)
"""The metadata formats that an Archive of ours writes."""


# R Table 9.5: relação = ([u [t]] | [t [u]]) [m [t]]
def every_relation(formats: Iterable[str] = FORMATS) -> frozenset[Relation]:
    """All relations of the table: translations stand for every language, metadata for any form and for `formats`."""
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

    `relations` is the set of R Algorithm 2: a translation without a language in it stands for all languages. The empty
    relation is in it, whatever else is.
    """

    address: str
    service: LabelForms
    urls: UrlBuilder
    platform_software: LabelForms | None = None
    relations: frozenset[Relation] = ALL_RELATIONS
    follow_editions: bool = True
    """Whether the last edition is given when all the later ones are here (R §9.2); if not, the resolver follows."""
    landing_page: bool = False
    """Whether a link without a path leads browsers to the page of an item, and programs to its file or service."""
    filtered: bool = True
    """Whether answers leave out what the resolver has no use for (R Algorithm 1, line 17: optional)."""
    copies_at: tuple[Label, ...] = ()
    """The services of the Archives that hold Copies of what is an Original here (E64)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", self.relations | {Relation.ITSELF})

    def offers(self, relation: Relation) -> bool:
        """Whether this Archive answers for `relation`, languages filled in or not."""
        return relation in self.relations or any(known.matches(relation) for known in self.relations)


# RFC 3986 §3.3: pchar, without & + = which mean something in the protocol's own queries (R Table 6.1)
_NOT_IN_PATH = re.compile(r"[^A-Za-z0-9\-._~/!$'()*,;:@]+")


def encoded_path(path: str) -> str:
    """A decoded path as it stands in a URL: UTF-8, percent-encoded once (E33)."""
    return _NOT_IN_PATH.sub(lambda strange: percent_encoded(strange[0]), path)


@dataclass(frozen=True, slots=True)
class ArchiveUrls:
    """The URLs of items below two bases without a slash at the end; both may be the same."""

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
        """Where readers are sent on: to the page of the item, or to its main file, as they are browsers or not."""
        return f"{self.public_url}/col/{item.rep.spelling}/doc/"

    def zip(self, item: Item) -> str:
        """Where all its files are in one."""
        return f"{self.content_url}/col/{item.rep.spelling}.zip"

    def file_list(self, item: Item) -> str:
        return f"{self.public_url}/col/{item.rep.spelling}/doc/?list"
