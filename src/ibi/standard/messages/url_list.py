"""The answer to a `urlRequest`: an item and its relations, as an Archive knows them (R §9.2, Tables 9.3 to 9.5).

An Archive without such an item answers with no pairs at all. An Archive that has deleted its Original says only that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from ibi.standard.errors import InvalidInput, InvalidMessage, InvalidRelation
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages import values
from ibi.standard.messages.identification import LabelForms, UrlKey
from ibi.standard.messages.values import MissingPair, RepeatedPair
from ibi.standard.pairs import Pairs, Value
from ibi.standard.relation import Relation
from ibi.standard.vocabulary import ContentType, State

# R Table 9.3: the prefixes that a relation qualifies, and the names that look as if one did.
_QUALIFIED: Final = frozenset({"contenttype", "ibi", "state", "timestamp", "url"})
_UNQUALIFIED: Final = frozenset({"ibi.archiveservice", "ibi.nextedition", "ibi.platformsoftware"})
_NEEDED: Final = _QUALIFIED - {"timestamp"}
_NO_NAMES: Final[Mapping[str, str]] = {}
MOST_ENTRIES: Final = 512
"""Most entries of an answer that are read.

An item in 24 languages, with metadata in the two forms that R Table 9.5 has, has 331 relations of that table in which
one language is named. An answer with thousands is no item's.
"""
_LONGEST_REMEMBERED: Final = 64
"""Characters of a name or a value that may come again; longer ones are not worth caching."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UrlEntry:
    """The item in one relation to the item asked for (R Algorithm 2, lines 22 to 32).

    It has a URL, or an IBI to ask for, or both. A URL comes with its content type, its state and, unless an Archive
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


class LeftOut(NamedTuple):
    """A pair of an answer that could not be read, or only `in_part`, and the reason."""

    name: str
    why: str
    in_part: bool = False

    def is_needed_for(self, relation: Relation) -> bool:
        """Return whether it could have led to a `relation` (E47): by a URL, or by the IBI of an item on the way."""
        if self.in_part:
            return False
        if self.name == "ibi.nextedition":
            return relation.begins_with_last_edition
        prefix, own = _parts(self.name) or ("", Relation.ITSELF)
        if prefix == "ibi" and not own.is_itself:
            return Relation(relation.steps[: len(own.steps)]).matches(own)
        return prefix in _NEEDED and relation.matches(own)


@dataclass(frozen=True, slots=True)
class _ArchiveAnswer:
    """The part about the Archive in every answer to a `urlRequest` (R Algorithm 2, lines 6 to 10).

    A received answer may lack any of it (E47): the resolver knows which Archive it asked.
    """

    archive_address: str | None
    archive_service: LabelForms | None
    platform_software: LabelForms | None

    def __post_init__(self) -> None:
        if self.archive_address is not None:
            values.read("archiveaddress", self.archive_address, values.host_and_port)

    def to_pairs(self) -> Pairs:
        return Pairs((*self._archive_pairs(), *self._item_pairs()))

    def encode(self) -> bytes:
        """Return the body of the answer."""
        return self.to_pairs().encode()

    def _archive_pairs(self) -> Iterator[tuple[str, Value]]:
        if self.archive_address is not None:
            yield "archiveaddress", self.archive_address
        if self.archive_service is not None:
            yield "ibi.archiveservice", self.archive_service.words
        yield "ibi.platformsoftware", () if self.platform_software is None else self.platform_software.words

    def _item_pairs(self) -> Iterator[tuple[str, Value]]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Deletion(_ArchiveAnswer):
    """The item was the Original here and has been deleted (R Algorithm 2, lines 11 to 15)."""

    ibi: LabelForms
    timestamp: Instant | None = None
    left_out: tuple[LeftOut, ...] = field(default=(), compare=False)

    def _item_pairs(self) -> Iterator[tuple[str, Value]]:
        yield "ibi", self.ibi.words
        yield "state", State.DELETED.value
        if self.timestamp is not None:
            yield "timestamp", str(self.timestamp)


@dataclass(frozen=True, slots=True)
class UrlList(_ArchiveAnswer):
    """The location of an item, and its related items (R Algorithm 2, lines 16 to 33).

    `entries` are kept in the order of their qualifiers, whatever order they are given in, one for each relation. The
    entry of the item itself is always there and has an IBI. Without a URL, no `url_key` is needed.
    """

    entries: tuple[UrlEntry, ...]
    next_edition: LabelForms | None = None
    url_key: UrlKey | None = None
    left_out: tuple[LeftOut, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        _ArchiveAnswer.__post_init__(self)
        entries = tuple(sorted(self.entries, key=_qualifier)) if len(self.entries) != 1 else self.entries
        if len(entries) != 1 and len({entry.relation for entry in entries}) != len(entries):
            raise RepeatedPair(self.archive_address or "", 0, "two entries of one list stand in the same relation")
        if not entries or not entries[0].relation.is_itself or entries[0].ibi is None:
            raise MissingPair("ibi", 0, "the pair {name} is missing", name="ibi")
        object.__setattr__(self, "entries", entries)

    @property
    def ibi(self) -> LabelForms:
        """The forms of the item asked for."""
        ibi = self.entries[0].ibi
        assert ibi is not None  # no list is created without it
        return ibi

    def with_key(self, url_key: UrlKey) -> UrlList:
        """Return the same list with another key. Values that were validated before are not validated again."""
        made = object.__new__(UrlList)
        for name in _FIELDS:
            object.__setattr__(made, name, getattr(self, name))
        object.__setattr__(made, "url_key", url_key)
        return made

    def entry(self, relation: Relation = Relation.ITSELF) -> UrlEntry | None:
        """Return the entry of exactly that relation."""
        return next((entry for entry in self.entries if entry.relation == relation), None)

    def lacks(self, relation: Relation) -> bool:
        """Return whether a pair was left out that could have led to a `relation`."""
        return any(left_out.is_needed_for(relation) for left_out in self.left_out)

    def _item_pairs(self) -> Iterator[tuple[str, Value]]:
        if self.next_edition is not None:
            yield "ibi.nextedition", self.next_edition.words
        if self.url_key is not None:
            yield "urlkey", self.url_key.reveal()
        for entry in self.entries:
            yield from entry._pairs()


_FIELDS: Final = tuple(each.name for each in fields(UrlList) if each.name != "url_key")


def parse_url_list(pairs: Pairs, asked: Label | None = None) -> UrlList | Deletion | None:
    """Parse the answer to a `urlRequest`; return None if it is empty, because the Archive has no such item.

    Names that R §9.2 does not have are ignored. Pairs that cannot be read are left out, and named in `left_out` of the
    answer (E47): the resolver knows which of them are needed. Raise `InvalidMessage` if no readable part leads
    anywhere. With the label that was `asked` for, the item's own `ibi` must be there, but need not be readable.
    """
    return _AnswerReader(pairs, asked).read() if pairs else None


class _AnswerReader:
    """Reads the readable parts of an answer, and records the rest."""

    def __init__(self, pairs: Pairs, asked: Label | None) -> None:
        self._pairs, self._asked = pairs, asked
        self._left_out: list[LeftOut] = []

    def read(self) -> UrlList | Deletion:
        archive = (
            self._word("archiveaddress", values.host_and_port),
            self._forms("ibi.archiveservice"),
            self._platform_software(),
        )
        names = self._names_by_relation()
        itself = names.pop(Relation.ITSELF, _NO_NAMES)
        ibi = self._forms("ibi", self._asked)
        if "state" in itself and self._word("state", values.state, note=False) is State.DELETED:
            if "url" in itself:
                raise InvalidMessage("url", 0, "what has been deleted has no URL")
            timestamp = self._word("timestamp", _timestamp)
            return Deletion(*archive, self._item(ibi), timestamp, left_out=tuple(self._left_out))
        entries = [self._entry(relation, own) for relation, own in names.items()]
        entry = self._entry(Relation.ITSELF, itself, ibi)
        related = [each for each in entries if each is not None]
        next_edition = self._forms("ibi.nextedition")
        if entry is None and not related and next_edition is None:
            self._refuse_item()
        return UrlList(
            *archive,
            entries=(self._name_entry(entry), *related),
            next_edition=next_edition,
            url_key=self._word("urlkey", UrlKey),
            left_out=tuple(self._left_out),
        )

    def _item(self, ibi: LabelForms | None) -> LabelForms:
        """Return the forms of the item: as given or, if those cannot be read, the label that was asked for."""
        if ibi is not None:
            return ibi
        return self._refuse_item() if self._asked is None or "ibi" not in self._pairs else LabelForms.of(self._asked)

    def _name_entry(self, entry: UrlEntry | None) -> UrlEntry:
        """Return the entry of the item itself, with the forms of the item."""
        if entry is None:
            return UrlEntry(Relation.ITSELF, self._item(None))
        return entry if entry.ibi is not None else replace(entry, ibi=self._item(None))

    def _refuse_item(self) -> LabelForms:
        """Raise the error for the item's own `ibi`, which is missing or cannot be read."""
        return values.read_words(self._pairs, "ibi", LabelForms.from_words)

    def _platform_software(self) -> LabelForms | None:
        """Return the forms of the software; None for `{}`, which R Table 9.3 has for software without an IBI."""
        return self._forms("ibi.platformsoftware") if self._pairs.get("ibi.platformsoftware") else None

    def _word(self, name: str, reader: Callable[[str], T], *, note: bool = True) -> T | None:
        """Return the value of a pair; None if it is not there, or cannot be read."""
        if name not in self._pairs:
            return None
        try:
            return values.read_word(self._pairs, name, reader)
        except InvalidMessage as error:
            if note:
                self._leave_out(name, error)
            return None

    def _forms(self, name: str, preferred: Label | None = None) -> LabelForms | None:
        """Return the forms of an IBI in a pair, without those that do not fit (E49)."""
        if name not in self._pairs:
            return None
        try:
            return values.read_words(self._pairs, name, LabelForms.from_words)
        except InvalidMessage as error:
            value = self._pairs[name]
            try:
                found = LabelForms.from_fitting_words((value,) if isinstance(value, str) else value, preferred)
            except InvalidMessage:
                found = None
            if found is None or found.legacy is None:
                self._leave_out(name, error, in_part=found is not None)
            return found

    def _leave_out(self, name: str, error: InvalidInput, *, in_part: bool = False) -> None:
        self._left_out.append(LeftOut(name, error.reason.format(**error.details), in_part))

    def _names_by_relation(self) -> dict[Relation, dict[str, str]]:
        known: dict[Relation, dict[str, str]] = {}
        for name in self._pairs:
            found = (_remembered_parts if len(name) <= _LONGEST_REMEMBERED else _parts)(name)
            if found is None:
                continue
            prefix, relation = found
            # Qualifiers are read in any case, so that two names may say the same: the last one counts (E47).
            known.setdefault(relation, {})[prefix] = name
            if len(known) > MOST_ENTRIES:
                raise InvalidMessage(name, 0, "it speaks of more than {most} relations", most=MOST_ENTRIES)
        return known

    def _entry(self, relation: Relation, own: Mapping[str, str], ibi: LabelForms | None = None) -> UrlEntry | None:
        """Return the entry of one relation, if it has any content. `own` are its names by prefix.

        A URL without a readable type or state is left out. So is a type, state or time of a URL that is not there.
        """
        if not relation.is_itself and own.get("ibi"):
            ibi = self._forms(own["ibi"])
        content_type = self._own_word(own, "contenttype", values.content_type)
        state = self._own_word(own, "state", values.state)
        timestamp = self._own_word(own, "timestamp", _timestamp)
        url = self._url(own)
        if url is not None:
            try:
                return UrlEntry(relation, ibi, url, content_type, state, timestamp)
            except InvalidMessage as error:
                self._leave_out(own["url"], error)
        elif "url" not in own and (content_type, state, timestamp) != (None, None, None):
            # R Algorithm 2, lines 25 to 31: these describe only a URL, so that one has been lost.
            name = f"url{relation.qualifier}"
            self._leave_out(name, InvalidMessage(name, 0, "its contenttype or state is there, and it is not"))
        return None if ibi is None else UrlEntry(relation, ibi)

    def _own_word(self, own: Mapping[str, str], prefix: str, reader: Callable[[str], T]) -> T | None:
        name = own.get(prefix)
        return self._word(name, reader) if name else None

    def _url(self, own: Mapping[str, str]) -> str | None:
        """Return the URL. A URL with blanks is several words, as Tcl writes it. Several URLs are left out."""
        value = self._pairs[own["url"]] if own.get("url") else None
        if not isinstance(value, tuple):
            return value
        if any("://" in word for word in value[1:]):
            self._leave_out(own["url"], InvalidMessage(own["url"], 0, "it is more than one URL"))
            return None
        return "%20".join(value)


def _timestamp(text: str) -> Instant:
    return (_remembered_timestamp if len(text) <= _LONGEST_REMEMBERED else Instant.parse)(text)


# Files deposited together have one time of change, and all Archives that are asked report the same files.
_remembered_timestamp = lru_cache(maxsize=1024)(Instant.parse)


def _parts(name: str) -> tuple[str, Relation] | None:
    """Return the prefix of a name and the relation that qualifies it; None if it is no such name."""
    prefix, dot, qualifier = name.partition(".")
    if prefix not in _QUALIFIED or name in _UNQUALIFIED:
        return None
    try:
        return prefix, Relation.from_qualifier(dot + qualifier, registered=False)
    except InvalidRelation:
        return None  # something that this version of the protocol does not know


_remembered_parts = lru_cache(maxsize=4096)(_parts)


def _qualifier(entry: UrlEntry) -> str:
    return entry.relation.qualifier
