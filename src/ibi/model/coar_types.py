"""COAR Resource Types: the types of items in exchange between repositories.

A description stores the type in words: the English label is a value of `type`, and the DCMI type is the
`resource_type`. So records of every version and platform can have it. Descriptions written by hand before the list
existed are understood if they use the same words, in any of the three languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from ibi.model.metadata import DescriptiveMetadata, ResourceType, Text
from ibi.package_data import read_table

COAR_PREFIX: Final = "http://purl.org/coar/resource_type/"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class CoarType:
    """A concept of the vocabulary. The labels are in English, Portuguese and Spanish."""

    code: str
    en: str
    pt: str
    es: str
    kind: ResourceType
    """The DCMI type to which it belongs."""
    depth: int = 0
    """Its depth in its group: 0 for the first of a group, which includes those that follow it."""

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
def coar_types() -> tuple[CoarType, ...]:
    """Return the types in the order of a list to choose from: each group with those that it includes below it."""
    return tuple(
        CoarType(code, en, pt, es, ResourceType(kind), int(depth))
        for kind, depth, code, en, pt, es in read_table("ibi.model", "coar_types.tsv")
    )


def _keys(each: CoarType) -> Iterator[str]:
    yield from (each.code, each.uri, each.uri.replace("http:", "https:"), each.en, each.pt, each.es)


@cache
def _types_by_word() -> Mapping[str, CoarType]:
    # The first type with a word keeps it: `carta` is a letter in both languages.
    return {key.casefold(): each for each in reversed(coar_types()) for key in _keys(each)}


@cache
def _kinds() -> frozenset[ResourceType]:
    return frozenset(each.kind for each in coar_types())


def find_coar_type(text: str) -> CoarType | None:
    """Return the type with this URI, code, or label in English, Portuguese or Spanish, in any case."""
    if len(text) > _LONGEST:
        return None
    return _types_by_word().get(" ".join(text.split()).rstrip("/").casefold())


def coar_type_of(metadata: DescriptiveMetadata) -> CoarType | None:
    """Return the first COAR type among the types of a description; or else the group of its DCMI type."""
    found = next(filter(None, (find_coar_type(text.value) for text in metadata.type)), None)
    if found is not None or metadata.resource_type is None:
        return found
    return next((each for each in coar_types() if each.kind is metadata.resource_type and each.depth == 0), None)


def with_coar_type(metadata: DescriptiveMetadata, chosen: CoarType | None) -> DescriptiveMetadata:
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
