"""The description built from a record of another system, and the members of the record that do not fit.

Readers add values piece by piece. A piece that a description cannot hold, such as an ORCID iD with a wrong check digit,
is left out and named. The rest is not lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from html import unescape
from typing import Any, Final

from ibi.citation.rules.names import one_line
from ibi.items.model.description_values import (
    MOST_AFFILIATIONS,
    Affiliation,
    Funding,
    GeoPlace,
    RelatedIdentifier,
    RelationKind,
    Ror,
)
from ibi.items.model.item_types import ItemType, find_coar_type, with_coar_type
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Orcid, Text, checked_date
from ibi.items.rules.licences import find_licence, read_licence
from ibi.standard.errors import InvalidInput
from ibi.standard.languages import LanguageTag

MOST_IMPORTED: Final = 250_000
"""Characters read at once."""
MOST_RECORDS: Final = 100
MOST_PIECES: Final = 20_000
"""Values of one record."""


class ImportFormat(StrEnum):
    """The format of a record. The value is the name that people know."""

    BIBTEX = "BibTeX"
    RIS = "RIS"
    CSL = "CSL-JSON"
    CROSSREF = "Crossref"
    DATACITE = "DataCite"


class UnreadableRecord(InvalidInput):
    """{quoted} cannot be read as a description: {reason}."""

    code = "unreadable-record"
    request_field = "record"


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """A record as a description of this system."""

    format: ImportFormat
    metadata: DescriptiveMetadata
    language: LanguageTag | None = None
    passed_over: tuple[str, ...] = ()
    """Members of the record that are not in the description: there is no place for them, or they are wrong."""


_TAG: Final = re.compile(r"<[^<>]{0,300}>")
# Names of languages as reference managers write them. BCP 47 tags need no table.
_LANGUAGES: Final = {
    name: tag
    for tag, names in {
        "en": "english american british usenglish ukenglish inglês inglés",
        "pt": "portuguese português portugues portugués",
        "pt-BR": "brazilian brazil brazilian-portuguese",
        "es": "spanish español espanol espanhol castilian",
        "fr": "french français francais francês francés",
        "de": "german ngerman deutsch alemão alemán",
        "it": "italian italiano",
        "nl": "dutch nederlands",
        "ru": "russian русский",
        "ja": "japanese 日本語",
        "zh": "chinese 中文",
    }.items()
    for name in names.split()
}


def strip_markup(text: str) -> str:
    """Return a text without the tags of HTML or JATS, with its entities as characters."""
    return unescape(_TAG.sub(" ", text)) if "<" in text or "&" in text else text


def read_language(text: str) -> LanguageTag:
    """Return a language by its tag, or by its name in one of a few languages."""
    word = text.strip().replace("_", "-")
    return LanguageTag.parse(_LANGUAGES.get(word.lower(), word), registered=True)


class DescriptionBuilder:
    """Collects the pieces of one record."""

    def __init__(self, format_: ImportFormat) -> None:
        self._format, self._pieces = format_, 0
        self._values: dict[str, list[Any]] = {}
        self._licence: Any = None
        self._type: ItemType | None = None
        self._language: LanguageTag | None = None
        self._passed_over: dict[str, None] = {}

    def pass_over(self, *members: str) -> None:
        self._passed_over.update(dict.fromkeys(one_line(member[:60]) for member in members))

    def take(self, member: str, element: str, make: Callable[[], Any]) -> None:
        """Add the value of `make` to an element. If it raises `InvalidInput`, pass over the member."""
        self._pieces += 1
        if self._pieces > MOST_PIECES:
            raise UnreadableRecord(member, 0, "it has more than {most} values", most=MOST_PIECES)
        try:
            value = make()
        except InvalidInput:
            self.pass_over(member)
            return
        values = self._values.setdefault(element, [])
        if value not in values[-100:]:  # a repeated value, such as a DOI and its link
            values.append(value)

    def text(self, member: str, element: str, text: str, language: str | None = None) -> None:
        """Add a value of an element, on one line. An empty one is ignored."""
        said = one_line(strip_markup(text))
        if said:
            self.take(member, element, lambda: Text(said, _tag_or_none(language)))

    def prose(self, member: str, text: str, language: str | None = None) -> None:
        """Add an abstract. Its paragraphs stay."""
        lines = [one_line(line) for line in strip_markup(text).splitlines()]
        said = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
        if said:
            self.take(member, "description", lambda: Text(said, _tag_or_none(language)))

    def agent(
        self,
        member: str,
        element: str,
        name: str,
        orcid: str | None = None,
        affiliations: Iterable[tuple[str, str | None]] = (),
    ) -> None:
        """Add a person or an institution. `affiliations` are names, each with its ROR identifier if it has one."""
        said = one_line(strip_markup(name)).strip(" ,;")
        if said:
            found = tuple(dict.fromkeys(filter(None, (self._affiliation(*each) for each in affiliations))))
            iD = self._convert_value(f"{member} ORCID", Orcid, orcid)
            self.take(member, element, lambda: Agent(said, iD, None, found[:MOST_AFFILIATIONS]))

    def _affiliation(self, name: str, ror: str | None) -> Affiliation | None:
        said = one_line(strip_markup(name))
        return None if not said else Affiliation(said[:1000], self._convert_value("affiliation ROR", Ror, ror))

    def _convert_value(self, member: str, kind: Callable[[str], Any], text: str | None) -> Any:
        if text is None:
            return None
        try:
            return kind(text)
        except InvalidInput:
            self.pass_over(member)
            return None

    def date(self, member: str, text: str) -> None:
        said = text.strip()
        if said:
            self.take(member, "date", lambda: Text(checked_date(said)))

    def identifier(self, member: str, text: str, prefix: str = "") -> None:
        """Add an identifier of the work elsewhere, such as an ISBN. It gets the `prefix` unless it contains it."""
        said = one_line(text)
        if said:
            begins = prefix.strip().lower() in said.lower()
            self.text(member, "identifier", said if begins or not prefix else f"{prefix}{said}")

    def doi(self, member: str, text: str) -> None:
        """Add a DOI, bare or as a link."""
        said = text.strip()
        self.take(
            member,
            "identifier",
            lambda: Text(f"https://doi.org/{RelatedIdentifier.parse(RelationKind.IS_IDENTICAL_TO, 'doi', said).value}"),
        )

    def licence(self, member: str, text: str) -> None:
        """Add the terms of use: a licence, or else words about rights. The first known licence counts."""
        said = one_line(text)
        if self._licence is None and (find_licence(said) is not None or said.startswith(("http://", "https://"))):
            self._licence = self._convert_value(member, read_licence, said)
        elif find_licence(said) is None:
            self.text(member, "rights", said)

    def kind(self, member: str, found: ItemType | None, own: str | None = None) -> None:
        """Add the type of the work. `own` are the record's words for it."""
        self._type = self._type or found
        if own is not None and own.strip() and len(own) < 200:
            known = find_coar_type(own)
            if known is None:
                self.text(member, "type", own)
            else:
                self._type = known

    def language(self, member: str, text: str) -> None:
        found = self._convert_value(member, read_language, text)
        self._language = self._language or found

    def related(self, member: str, relation: str, scheme: str, value: str) -> None:
        self.take(
            member,
            "related_identifiers",
            lambda: RelatedIdentifier.parse(_relation(relation), scheme, one_line(value)),
        )

    def funding(self, member: str, name: str, ror: str | None, award: str | None, url: str | None = None) -> None:
        said = one_line(strip_markup(name))
        number = one_line(award or "") or None
        if said:
            iD = self._convert_value(f"{member} ROR", Ror, ror)
            self.take(member, "funding", lambda: Funding(said, iD, number, url or None))

    def place(self, member: str, name: str | None, box: tuple[str, str, str, str] | None = None) -> None:
        self.take(member, "places", lambda: GeoPlace(one_line(name or "") or None, box))

    def build(self) -> ImportedRecord:
        """Return the record. Raise `UnreadableRecord` if it has no title, creator, identifier or description."""
        if not self._values.keys() & {"title", "creator", "identifier", "description"}:
            raise UnreadableRecord("", 0, "it has neither a title nor authors")
        bounded = {name: tuple(values) for name, values in self._values.items()}
        kind = None if self._type is None else self._type.kind
        try:
            metadata = DescriptiveMetadata(**bounded, licence=self._licence, resource_type=kind)
        except InvalidInput as error:
            raise UnreadableRecord("", 0, error.reason, **error.details) from error
        if self._type is not None and self._type.code:
            metadata = with_coar_type(metadata, self._type)
        return ImportedRecord(self._format, metadata.with_kind(), self._language, tuple(self._passed_over))


def _relation(text: str) -> RelationKind:
    try:
        return RelationKind(text)
    except ValueError:
        raise UnreadableRecord(text, 0, "there is no such relation") from None


def _tag_or_none(language: str | None) -> LanguageTag | None:
    if language is None:
        return None
    try:
        return read_language(language)
    except InvalidInput:
        return None
