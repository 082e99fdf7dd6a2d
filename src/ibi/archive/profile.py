"""What an Archive says of itself in every answer, and which relations it answers for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.ports.urls import UrlBuilder
from ibi.relation import LastEdition, Metadata, Relation, Step, Translation

__all__ = ["ALL_RELATIONS", "FORMATS", "ArchiveProfile", "every_relation"]

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
    filtered: bool = True
    """Whether answers leave out what the resolver has no use for (R Algorithm 1, line 17: optional)."""
    copies_at: tuple[Label, ...] = ()
    """The services of the Archives that hold Copies of what is an Original here (E64)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", self.relations | {Relation.ITSELF})

    def offers(self, relation: Relation) -> bool:
        """Whether this Archive answers for `relation`, languages filled in or not."""
        return relation in self.relations or any(known.matches(relation) for known in self.relations)
