"""The answer to a `urlRequest`: what an Archive knows of an item and of its relations (R §9.2, Tables 9.3 to 9.5).

An Archive that has no such item answers with no pairs at all; one that has deleted its Original says so and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final, TypeVar

from ibi.errors import InvalidMessage, InvalidRelation
from ibi.instant import Instant
from ibi.messages import values
from ibi.messages.key import UrlKey
from ibi.messages.label_forms import LabelForms
from ibi.messages.query import MissingPair, RepeatedPair
from ibi.pairs import Pairs, Value
from ibi.relation import Relation
from ibi.vocabulary import ContentType, State

# R Table 9.3: the prefixes that a relation qualifies, and the names that look as if one did.
_QUALIFIED: Final = frozenset({"contenttype", "ibi", "state", "timestamp", "url"})
_UNQUALIFIED: Final = frozenset({"ibi.archiveservice", "ibi.nextedition", "ibi.platformsoftware"})
_NO_NAMES: Final[Mapping[str, str]] = {}
MOST_ENTRIES: Final = 512
"""Entries of an answer that is read. Of an item in 24 languages, with metadata in the two forms that R Table 9.5 has,
all the relations of that table in which one language is named come to 331; an answer with thousands is no item's."""
_LONGEST_REMEMBERED: Final = 64
"""Characters of a name or a value that may come again; what is longer is not worth remembering."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UrlEntry:
    """What is known of the item that stands in one relation to the item asked for (R Algorithm 2, lines 22 to 32).

    It has a URL, or an IBI to ask for, or both; with a URL come what it yields, its state and, unless an Archive
    leaves it out, the time of its last update.
    """

    relation: Relation = Relation.ITSELF
    ibi: LabelForms | None = None
    url: str | None = None
    content_type: ContentType | None = None
    state: State | None = None
    timestamp: Instant | None = None

    def __post_init__(self) -> None:
        if self.url is None:
            self._check_without_url()
            return
        object.__setattr__(self, "url", values.read(self._name, self.url, values.url))
        if self.content_type is None or self.state is None:
            raise MissingPair(self._name, 0, "a URL is given without its contenttype and its state")
        if self.state is State.DELETED:
            raise InvalidMessage(self._name, 0, "what has been deleted has no URL")

    @property
    def _name(self) -> str:
        return f"url{self.relation.qualifier}"

    def _check_without_url(self) -> None:
        name = self._name
        if (self.content_type, self.state, self.timestamp) != (None, None, None):
            raise MissingPair(name, 0, "contenttype, state and timestamp are said of a URL, and there is none")
        if self.ibi is None:
            raise MissingPair(name, 0, "there is neither a URL nor an IBI")

    def _pairs(self) -> Iterator[tuple[str, Value]]:
        qualifier = self.relation.qualifier
        if self.ibi is not None:
            yield f"ibi{qualifier}", self.ibi.words
        for prefix, value in (
            ("contenttype", self.content_type),
            ("state", self.state),
            ("timestamp", self.timestamp),
            ("url", self.url),
        ):
            if value is not None:
                yield f"{prefix}{qualifier}", str(value)


@dataclass(frozen=True, slots=True)
class _ArchiveAnswer:
    """What every answer to a `urlRequest` says of the Archive (R Algorithm 2, lines 6 to 10)."""

    archive_address: str
    archive_service: LabelForms
    platform_software: LabelForms | None

    def __post_init__(self) -> None:
        values.read("archiveaddress", self.archive_address, values.host_and_port)

    def to_pairs(self) -> Pairs:
        return Pairs((*self._archive_pairs(), *self._item_pairs()))

    def encode(self) -> bytes:
        """The body of the answer."""
        return self.to_pairs().encode()

    def _archive_pairs(self) -> Iterator[tuple[str, Value]]:
        yield "archiveaddress", self.archive_address
        yield "ibi.archiveservice", self.archive_service.words
        yield "ibi.platformsoftware", () if self.platform_software is None else self.platform_software.words

    def _item_pairs(self) -> Iterator[tuple[str, Value]]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Deletion(_ArchiveAnswer):
    """The item was the Original here and has been deleted (R Algorithm 2, lines 11 to 15)."""

    ibi: LabelForms
    timestamp: Instant | None = None

    def _item_pairs(self) -> Iterator[tuple[str, Value]]:
        yield "ibi", self.ibi.words
        yield "state", State.DELETED.value
        if self.timestamp is not None:
            yield "timestamp", str(self.timestamp)


@dataclass(frozen=True, slots=True)
class UrlList(_ArchiveAnswer):
    """Where the item is, and what is related to it (R Algorithm 2, lines 16 to 33).

    `entries` are kept in the order of their qualifiers, whatever order they are given in, one for each relation; that
    of the item itself is always there and has an IBI. Without a URL there is no need of a `url_key`.
    """

    entries: tuple[UrlEntry, ...]
    next_edition: LabelForms | None = None
    url_key: UrlKey | None = None

    def __post_init__(self) -> None:
        _ArchiveAnswer.__post_init__(self)
        entries = tuple(sorted(self.entries, key=_qualifier)) if len(self.entries) != 1 else self.entries
        if len(entries) != 1 and len({entry.relation for entry in entries}) != len(entries):
            raise RepeatedPair(self.archive_address, 0, "two entries of one list stand in the same relation")
        if not entries or not entries[0].relation.is_itself or entries[0].ibi is None:
            raise MissingPair("ibi", 0, "the pair {name} is missing", name="ibi")
        object.__setattr__(self, "entries", entries)

    @property
    def ibi(self) -> LabelForms:
        """The forms of the item asked for."""
        ibi = self.entries[0].ibi
        assert ibi is not None  # no list is built without it
        return ibi

    def with_key(self, url_key: UrlKey) -> UrlList:
        """The same list with another key. What was checked when this one was built is not checked again."""
        made = object.__new__(UrlList)
        for name in _FIELDS:
            object.__setattr__(made, name, getattr(self, name))
        object.__setattr__(made, "url_key", url_key)
        return made

    def entry(self, relation: Relation = Relation.ITSELF) -> UrlEntry | None:
        """What is known of exactly that relation."""
        return next((entry for entry in self.entries if entry.relation == relation), None)

    def _item_pairs(self) -> Iterator[tuple[str, Value]]:
        if self.next_edition is not None:
            yield "ibi.nextedition", self.next_edition.words
        if self.url_key is not None:
            yield "urlkey", self.url_key.reveal()
        for entry in self.entries:
            yield from entry._pairs()


_FIELDS: Final = tuple(each.name for each in fields(UrlList) if each.name != "url_key")


def parse_url_list(pairs: Pairs) -> UrlList | Deletion | None:
    """Read the answer to a `urlRequest`; None if it is empty, because the Archive has no such item.

    Names that R §9.2 does not have are ignored; `InvalidMessage` says what is missing or malformed among those it has.
    """
    if not pairs:
        return None
    archive = (
        values.read_word(pairs, "archiveaddress", values.host_and_port),
        values.read_words(pairs, "ibi.archiveservice", LabelForms.from_words),
        values.read_words(pairs, "ibi.platformsoftware", _forms_or_none) if "ibi.platformsoftware" in pairs else None,
    )
    names = _names_by_relation(pairs)
    itself = names.get(Relation.ITSELF, _NO_NAMES)
    if _word(pairs, itself, "state", values.state) is State.DELETED:
        if "url" in itself:
            raise InvalidMessage("url", 0, "what has been deleted has no URL")
        ibi = values.read_words(pairs, "ibi", LabelForms.from_words)
        return Deletion(*archive, ibi, _word(pairs, itself, "timestamp", _timestamp))
    return UrlList(
        *archive,
        entries=tuple(_entries(pairs, names)),
        next_edition=values.read_words(pairs, "ibi.nextedition", LabelForms.from_words)
        if "ibi.nextedition" in pairs
        else None,
        url_key=values.read_word(pairs, "urlkey", UrlKey) if "urlkey" in pairs else None,
    )


def _forms_or_none(words: tuple[str, ...]) -> LabelForms | None:
    """R Table 9.3: `{}` if the software has no IBI."""
    return LabelForms.from_words(words) if words else None


def _timestamp(text: str) -> Instant:
    return (_remembered_timestamp if len(text) <= _LONGEST_REMEMBERED else Instant.parse)(text)


# Files deposited together have one time of change, and all Archives that are asked report the same files.
_remembered_timestamp = lru_cache(maxsize=1024)(Instant.parse)


def _word(pairs: Pairs, names: Mapping[str, str], prefix: str, reader: Callable[[str], T]) -> T | None:
    """The value of one of the pairs of a relation, whose full names by prefix are `names`."""
    name = names.get(prefix)
    return None if name is None else values.read_word(pairs, name, reader)


def _names_by_relation(pairs: Pairs) -> dict[Relation, dict[str, str]]:
    known: dict[Relation, dict[str, str]] = {}
    for name in pairs:
        found = (_remembered_parts if len(name) <= _LONGEST_REMEMBERED else _parts)(name)
        if found is None:
            continue
        prefix, relation = found
        # Qualifiers are read in any case, so that two names may say the same.
        if known.setdefault(relation, {}).setdefault(prefix, name) != name:
            raise RepeatedPair(name, 0, "the pair {name} is there twice", name=name)
        if len(known) > MOST_ENTRIES:
            raise InvalidMessage(name, 0, "it speaks of more than {most} relations", most=MOST_ENTRIES)
    return known


def _parts(name: str) -> tuple[str, Relation] | None:
    """The prefix of a name and the relation that qualifies it; None if it is no such name."""
    prefix, dot, qualifier = name.partition(".")
    if prefix not in _QUALIFIED or name in _UNQUALIFIED:
        return None
    try:
        return prefix, Relation.from_qualifier(dot + qualifier, registered=False)
    except InvalidRelation:
        return None  # something that this version of the protocol does not know


_remembered_parts = lru_cache(maxsize=4096)(_parts)


def _entries(pairs: Pairs, names: Mapping[Relation, Mapping[str, str]]) -> Iterator[UrlEntry]:
    """The entries that have something to say. What is said of a URL that is not there is read and dropped."""
    for relation, own in names.items():
        ibi = values.read_words(pairs, own["ibi"], LabelForms.from_words) if "ibi" in own else None
        url = _word(pairs, own, "url", str)
        content_type = _word(pairs, own, "contenttype", values.content_type)
        state = _word(pairs, own, "state", values.state)
        timestamp = _word(pairs, own, "timestamp", _timestamp)
        if url is not None:
            yield UrlEntry(relation, ibi, url, content_type, state, timestamp)
        elif ibi is not None:
            yield UrlEntry(relation, ibi)


def _qualifier(entry: UrlEntry) -> str:
    return entry.relation.qualifier
