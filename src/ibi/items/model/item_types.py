"""The types of items: those of COAR and DCMI, each with its names in the formats that `ibi` writes and reads.

A description stores the type in words: the English COAR label is a value of `type`, and the DCMI type is the
`resource_type`. So records of every version and platform can have it. Descriptions written by hand before the list
existed are understood if they use the same words, in any of the three languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

from ibi.items.model.metadata import DescriptiveMetadata, ResourceType, Text
from ibi.standard.package_data import read_table

COAR_PREFIX: Final = "http://purl.org/coar/resource_type/"
_LONGEST: Final = 200
_NONE: Final = "-"


class WorkKind(StrEnum):
    """The kinds of works that citations distinguish. The value is the type of CSL."""

    ARTICLE = "article-journal"
    BOOK = "book"
    CHAPTER = "chapter"
    CONFERENCE = "paper-conference"
    THESIS = "thesis"
    REPORT = "report"
    DATASET = "dataset"
    SOFTWARE = "software"
    IMAGE = "graphic"
    FILM = "motion_picture"
    SOUND = "song"
    PAGE = "webpage"
    OTHER = "document"


class TypeNames(NamedTuple):
    """The names of a type in the formats for reference managers, indexes and search engines."""

    csl: WorkKind
    schema_org: str
    bibtex: str
    """The type of its entry. A part of a work whose source is unknown becomes `misc` instead."""
    ris: str


UNTYPED: Final = TypeNames(WorkKind.OTHER, "CreativeWork", "misc", "GEN")
"""The names for an item whose description tells no type."""


class ReadFrom(StrEnum):
    """A format whose types are read."""

    BIBTEX = "bibtex"
    RIS = "ris"
    CSL = "csl"
    """The type of Crossref as well."""
    DATACITE = "datacite"


@dataclass(frozen=True, slots=True)
class ItemType:
    """A type of items. The labels are in English, Portuguese and Spanish.

    DCMI types that COAR lacks have neither a code nor labels.
    """

    code: str
    en: str
    pt: str
    es: str
    kind: ResourceType
    """The DCMI type to which it belongs."""
    depth: int
    """Its depth in its group: 0 for the first of a group, which includes those that follow it."""
    names: TypeNames
    reads: tuple[str, ...] = ()
    """For each value of `ReadFrom`, the names that stand for this type, with spaces between them."""

    @property
    def uri(self) -> str:
        return f"{COAR_PREFIX}{self.code}"

    def label(self, language: str) -> str:
        """Return the label in the language of a page, such as `pt-BR`; in English if there is none."""
        match language[:2].lower():
            case "pt":
                return self.pt
            case "es":
                return self.es
        return self.en


@cache
def item_types() -> tuple[ItemType, ...]:
    """Return all types: those of COAR, and the DCMI types that COAR lacks."""
    found = []
    for row in read_table("ibi.items.model", "item_types.tsv"):
        kind, depth, code, en, pt, es, csl, schema_org, bibtex, ris, *reads = (
            "" if cell == _NONE else cell for cell in row
        )
        names = TypeNames(WorkKind(csl), schema_org, bibtex, ris)
        found.append(ItemType(code, en, pt, es, ResourceType(kind), int(depth), names, tuple(reads)))
    return tuple(found)


@cache
def coar_types() -> tuple[ItemType, ...]:
    """Return the COAR types in the order of a list to choose from: each group with those that it includes below it."""
    return tuple(each for each in item_types() if each.code)


def _keys(each: ItemType) -> Iterator[str]:
    yield from (each.code, each.uri, each.uri.replace("http:", "https:"), each.en, each.pt, each.es)


@cache
def _types_by_word() -> Mapping[str, ItemType]:
    # The first type with a word keeps it: `carta` is a letter in both languages.
    return {key.casefold(): each for each in reversed(coar_types()) for key in _keys(each)}


@cache
def _kinds() -> frozenset[ResourceType]:
    return frozenset(each.kind for each in coar_types())


@cache
def _types_read_from(source: ReadFrom) -> Mapping[str, ItemType]:
    column = list(ReadFrom).index(source)
    return {name: each for each in item_types() for name in each.reads[column].split()}


def find_type_of_format(source: ReadFrom, name: str) -> ItemType | None:
    """Return the type that a record of this format means by `name`."""
    return _types_read_from(source).get(name)


def find_coar_type(text: str) -> ItemType | None:
    """Return the type with this URI, code, or label in English, Portuguese or Spanish, in any case."""
    if len(text) > _LONGEST:
        return None
    return _types_by_word().get(" ".join(text.split()).rstrip("/").casefold())


def coar_type_of(metadata: DescriptiveMetadata) -> ItemType | None:
    """Return the first COAR type among the types of a description; or else the group of its DCMI type."""
    found = next(filter(None, (find_coar_type(text.value) for text in metadata.type)), None)
    if found is not None or metadata.resource_type is None:
        return found
    return _group_of_kind(metadata.resource_type) if metadata.resource_type in _kinds() else None


@cache
def _group_of_kind(kind: ResourceType) -> ItemType:
    return next(each for each in item_types() if each.kind is kind and each.depth == 0)


# Words of types that are no labels of COAR, in the languages most frequent here. The first word that a type contains
# decides.
_CODES_BY_WORD: Final = (
    ("thesis", "c_46ec"),
    ("tese", "c_46ec"),
    ("tesis", "c_46ec"),
    ("thèse", "c_46ec"),
    ("disserta", "c_46ec"),
    ("chapter", "c_3248"),
    ("capítulo", "c_3248"),
    ("conference", "c_c94f"),
    ("proceedings", "c_c94f"),
    ("congresso", "c_c94f"),
    ("evento", "c_c94f"),
    ("report", "c_93fc"),
    ("relatório", "c_93fc"),
    ("informe", "c_93fc"),
    ("article", "c_6501"),
    ("artigo", "c_6501"),
    ("artículo", "c_6501"),
    ("periódico", "c_6501"),
    ("book", "c_2f33"),
    ("livro", "c_2f33"),
    ("libro", "c_2f33"),
)


def type_names_of(metadata: DescriptiveMetadata) -> TypeNames:
    """Return the names of the type of a description, in other formats.

    The candidates are the COAR types, or the types by a known word, in `type`; then the DCMI type.

    1. Citations distinguish a candidate from other documents: the first such candidate decides.
    2. They distinguish none: the first candidate decides.
    3. No candidate: the item is untyped.
    """
    found = [each for text in metadata.type if (each := _find_type_in_words(text.value)) is not None]
    if metadata.resource_type is not None:
        found.append(_group_of_kind(metadata.resource_type))
    candidates = [each.names for each in found]
    return next((names for names in candidates if names.csl is not WorkKind.OTHER), (*candidates, UNTYPED)[0])


def _find_type_in_words(text: str) -> ItemType | None:
    lowered = text.lower()
    by_word = next((code for word, code in _CODES_BY_WORD if word in lowered), "")
    return find_coar_type(text) or _types_by_word().get(by_word)


def with_coar_type(metadata: DescriptiveMetadata, chosen: ItemType | None) -> DescriptiveMetadata:
    """Return the description with this COAR type and no other.

    Other type words stay. Without a type, DCMI types that COAR lacks stay as well. A type that DCMI has a word for,
    such as a dataset, is stored only as the DCMI type.
    """
    others = tuple(text for text in metadata.type if find_coar_type(text.value) is None)
    if chosen is None:
        kind = metadata.resource_type
        return replace(metadata, type=others, resource_type=None if kind in _kinds() else kind)
    is_kind = chosen.en.replace(" ", "").casefold() == chosen.kind.value.casefold()
    own = () if is_kind else (Text(chosen.en),)
    return replace(metadata, type=(*own, *others), resource_type=chosen.kind)
