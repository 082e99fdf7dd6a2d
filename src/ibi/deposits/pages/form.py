"""The fields of the deposit form: convert a description to text for typing, and back.

A field that cannot be read leaves the draft's value unchanged; the other fields are saved. The unreadable text stays
with the draft, and every page shows it again beside its error. Values that the form has no field for, such as further
titles, stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Final, cast

from ibi.deposits.model import DraftRecord, Refused, RefusedValue
from ibi.deposits.pages.field_choices import check_embargo_day, check_embargo_reason, find_language
from ibi.importing.rules.imported import ImportedRecord
from ibi.importing.rules.reading import read_records
from ibi.items.model.description_values import (
    MOST_AFFILIATIONS,
    Affiliation,
    Funding,
    GeoPlace,
    RelatedIdentifier,
    RelationKind,
    Ror,
    check_count,
)
from ibi.items.model.file import check_file_name
from ibi.items.model.item import Description
from ibi.items.model.item_types import coar_type_of, find_coar_type, with_coar_type
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Orcid, Text, checked_date
from ibi.items.rules.licences import read_licence
from ibi.standard.document_errors import InvalidMetadata
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.networks import network
from ibi.web.reader import message

Typed = Mapping[str, str]
"""Texts in the fields of a form, by field name."""

_LINE: Final = re.compile(r"\S[^\n]*")
MOST_LINES: Final = 20_000
"""Largest number of creators or subjects. The longest list of authors so far had about fifteen thousand."""
MOST_NETWORKS: Final = 1000

REASONS: Final = (
    message("the main file is not among the files"),
    message("a name does not begin with a slash"),
    message("folders are told apart by a slash, not by a backslash"),
    message("it holds a character that is not seen"),
    message("it is no text: its bytes are not UTF-8"),
    message("no part of it may be empty, nor a dot or two alone"),
    message("it is longer than {most} bytes"),
    message("a part of it is longer than {most} bytes"),
    message("a part of it begins or ends with a blank, or ends with a dot"),
    message("{sign} is not possible on Windows"),
    message("{part} is a device on Windows"),
    message("{other} is the same name to many systems"),
    message("{other} has a folder of this name"),
    message("{other} is a file, and no folder can have its name"),
    message("{other} spells the same folder in another way"),
    message("it is the day on which readers get the files, as in 2027-01-31"),
    message("there are more than {most} lines"),
    message("it is not in the list"),
    message("a relation stands before an identifier, as in IsSupplementTo doi:10.1000/182"),
    message("there is no relation {relation}; there is, for instance, Cites, IsPartOf or IsSupplementTo"),
)
"""Reasons why a field or a file is refused."""


# One attempt for each run of digits, and few characters: a line may be two megabytes long.
_ROR_AT_END: Final = re.compile(r"(?:https?://)?ror\.org/([0-9A-Za-z]+)/?[)>]?$")
_SCHEMED: Final = re.compile(r"(?!https?:)([A-Za-z][A-Za-z0-9]{0,31}):\s*(\S+)")
_ORCID_AT_END: Final = re.compile(
    r"((?:https?://)?(?:www\.)?orcid\.org/\S+?|(?<![0-9])(?<![0-9]-)[0-9][0-9-]{8,}[0-9Xx])[)>]?$"
)
_LONGEST_END: Final = 100
"""Number of characters at the end of a text in which an identifier is searched."""
_BEFORE_END: Final = " ,;(<"


class RefusedBefore(IbiError):
    """{quoted} was refused earlier. Correct it, or save it again to see why."""

    code = "refused-before"
    kind = ErrorKind.MALFORMED


@dataclass(frozen=True, slots=True)
class FormContent:
    """The description of a draft, and the typed texts that could not be read."""

    description: Description = field(default_factory=Description)
    refused: Refused = field(default_factory=dict)

    @classmethod
    def of(cls, record: DraftRecord) -> FormContent:
        return cls(record.description, record.refused)

    def fill(self) -> dict[str, str]:
        """Return the text of each field. A text that could not be read hides the draft's value."""
        said = fill_fields(self.description)
        return said | {name: each.text for name, each in self.refused.items() if name in said}

    def read_again(self, now: Instant) -> dict[str, IbiError]:
        """Return the error of each text that could not be read.

        The draft keeps only the code of an error: its message belonged to another attempt, in the reader's language.
        """
        _, errors = read_fields(self.description, {name: each.text for name, each in self.refused.items()}, now)
        if (record := self.refused.get(RECORD)) is not None and (error := read_record(record.text)) is not None:
            errors[RECORD] = error
        return {
            name: errors.get(name) or RefusedBefore(quoted=repr(each.text[:100])) for name, each in self.refused.items()
        }

    def hold_access(self, before: FormContent, error: IbiError) -> FormContent:
        """Return the same content with the access settings of `before`. Refuse the typed settings with this error."""
        said, was = fill_fields(self.description), fill_fields(before.description)
        held = {name: refuse(said[name], error) for name in _ACCESS if said[name] != was[name]}
        description = replace(self.description, visibility=before.description.visibility)
        return FormContent(description, {**self.refused, **held})


_ACCESS: Final = ("embargo", "embargo_reason", "networks", "unlisted")
RECORD: Final = "record"
"""The field for a record of another system, which fills other fields."""


def read_record(text: str) -> IbiError | None:
    """Return the error of a pasted record, or None."""
    try:
        read_records(text)
    except IbiError as error:
        return error
    return None


def refuse(text: str, error: IbiError) -> RefusedValue:
    """Return the text in the form in which a draft keeps it."""
    return RefusedValue(text.replace("\r\n", "\n"), error.code)


def told_errors(errors: Mapping[str, IbiError]) -> dict[str, IbiError]:
    """Return the errors to show. An error of the reason is left out while the embargo has one: it may follow from
    that."""
    return {name: error for name, error in errors.items() if name != "embargo_reason" or "embargo" not in errors}


def fill_fields(description: Description) -> dict[str, str]:
    """Return the text of each field of an opened draft."""
    metadata, visibility = description.metadata, description.visibility
    return {
        "title": _first(metadata.title),
        "creators": "\n".join(map(_line_of, metadata.creator)),
        "contributors": "\n".join(map(_line_of, metadata.contributor)),
        "publisher": _first(metadata.publisher),
        "funding": "\n".join(map(_funding_line, metadata.funding)),
        "related": "\n".join(f"{each.relation} {each}" for each in metadata.related_identifiers),
        "places": "\n".join(map(_place_line, metadata.places)),
        "date": _first(metadata.date),
        "type": "" if (coar := coar_type_of(metadata)) is None else coar.code,
        "licence": str(metadata.licence or ""),
        "language": str(description.language or ""),
        "subjects": "\n".join(" ".join(subject.value.split()) for subject in metadata.subject),
        "summary": _first(metadata.description),
        "target": description.target or "",
        "embargo": _day_of(visibility.embargo),
        "embargo_reason": visibility.embargo_reason or "",
        "networks": "\n".join(map(str, visibility.networks)),
        "unlisted": "" if visibility.listing else "1",
    }


def _first(texts: tuple[Text, ...]) -> str:
    return texts[0].value if texts else ""


_BETWEEN: Final = " | "
"""Separates the parts of a line."""


def _line_of(agent: Agent) -> str:
    name = " ".join(agent.name.split())
    who = name if agent.orcid is None else f"{name} {agent.orcid}"
    return _BETWEEN.join((who, *(_with_ror(each.name, each.ror) for each in agent.affiliations)))


def _with_ror(name: str, ror: Ror | None) -> str:
    said = " ".join(name.split())
    return said if ror is None else f"{said} {ror.url}"


def _funding_line(funding: Funding) -> str:
    parts = [_with_ror(funding.name, funding.ror), funding.award or "", funding.url or ""]
    return _BETWEEN.join(parts).rstrip(" |")


def _place_line(place: GeoPlace) -> str:
    sides = () if place.box is None else place.box[:2] if place.is_point else place.box
    return _BETWEEN.join(filter(None, (place.name, ", ".join(sides))))


def _day_of(instant: Instant | None) -> str:
    return "" if instant is None else str(instant)[:10]


def read_fields(before: Description, typed: Typed, now: Instant) -> tuple[Description, dict[str, IbiError]]:
    """Return the description with every field that could be read, and the errors of the others.

    A missing field keeps the draft's value, and so does a field with the same text.
    """
    shown, errors = fill_fields(before), dict[str, IbiError]()
    description = before
    for name, read in _READERS.items():
        text = typed.get(name)
        if text is None:
            continue
        text = plain_text(text)
        if text == plain_text(shown[name]):
            continue
        try:
            read_so_far = read(description, text)
            if name == "embargo":
                check_embargo_day(read_so_far.visibility.embargo, now)
            description = read_so_far
        except IbiError as error:
            errors[name] = error
    return _check_reason(before, description, typed, errors), errors


def _check_reason(
    before: Description, description: Description, typed: Typed, errors: dict[str, IbiError]
) -> Description:
    """Check the reason against the embargo day in the form, whichever of the two was changed."""
    if not {"embargo", "embargo_reason"} & typed.keys():
        return description
    said = {**fill_fields(before), **typed}
    reason = said["embargo_reason"].strip()
    is_kept = reason == before.visibility.embargo_reason
    try:
        check_embargo_reason(reason, said["embargo"].strip())
        if description.visibility.embargo is None and not is_kept:  # the typed embargo cannot be read
            check_embargo_reason(reason, "")
    except IbiError as error:
        errors["embargo_reason"] = error
        return _replace_visibility(description, embargo_reason=before.visibility.embargo_reason)
    return description


def plain_text(text: str) -> str:
    """Return the typed text with plain line ends and without surrounding white space."""
    return text.replace("\r\n", "\n").strip()


def as_shown(description: Description, name: str, text: str) -> str:
    """Return the typed text as its field shows it after saving: `pt` for `português`."""
    try:
        return fill_fields(_READERS[name](description, plain_text(text)))[name]
    except IbiError:
        return text


def _replace_metadata(description: Description, /, **elements: object) -> Description:
    metadata: DescriptiveMetadata = replace(description.metadata, **elements)  # type: ignore[arg-type]
    return replace(description, metadata=metadata)


def _replace_visibility(description: Description, /, **changes: object) -> Description:
    return replace(description, visibility=replace(description.visibility, **changes))  # type: ignore[arg-type]


def _with_first(texts: tuple[Text, ...], text: str) -> tuple[Text, ...]:
    """Return the texts with a new first one. It keeps the language of the text that it replaces."""
    first = (Text(text, texts[0].language if texts else None),) if text else ()
    return (*first, *texts[1:])


def _read_title(description: Description, text: str) -> Description:
    return _replace_metadata(description, title=_with_first(description.metadata.title, " ".join(text.split())))


def _read_summary(description: Description, text: str) -> Description:
    return _replace_metadata(description, description=_with_first(description.metadata.description, text))


def _read_date(description: Description, text: str) -> Description:
    if text:
        checked_date(text)
    return _replace_metadata(description, date=_with_first(description.metadata.date, text))


def _lines(text: str, most: int = MOST_LINES) -> list[str]:
    # Stop after one line too many: a text of two million line ends has as many lines.
    found = [" ".join(each[0].split()) for each in islice(_LINE.finditer(text), most + 1)]
    _check_number(text, found, most)
    return found


def _check_number(text: str, lines: list[str], most: int) -> None:
    if len(lines) > most:
        raise InvalidMetadata(text, 0, "there are more than {most} lines", most=most)


def _read_creators(description: Description, text: str) -> Description:
    return _replace_metadata(description, creator=_agents(description.metadata.creator, text))


def _read_contributors(description: Description, text: str) -> Description:
    return _replace_metadata(description, contributor=_agents(description.metadata.contributor, text))


def _agents(before: tuple[Agent, ...], text: str) -> tuple[Agent, ...]:
    """Read one agent for each line. An agent with an unchanged line keeps its values that a line cannot hold."""
    known = {_line_of(agent): agent for agent in before}
    lines: list[str] = []
    for line in _lines(text):
        lines += [line] if line in known else _people_in(line)
        _check_number(text, lines, MOST_LINES)
    return tuple(known.get(line) or _agent(line) for line in lines)


def _people_in(line: str) -> list[str]:
    """Split a line at semicolons into one line for each person.

    An ORCID iD alone belongs to the name before it. The text after a bar belongs to the last name, because institutions
    may have semicolons of their own.
    """
    names, bar, rest = line.partition("|")
    found: list[list[str]] = []
    for each in filter(None, map(str.strip, names.split(";", MOST_LINES))):
        name, orcid = _split_end(_ORCID_AT_END, each)
        if found and orcid is not None and not name:
            found[-1].append(each)
        else:
            found.append([each])
    if not found:
        return [line]
    found[-1] += [f"{bar}{rest}"] if bar else []
    return [" ".join(each) for each in found]


def _split_end(pattern: re.Pattern[str], text: str) -> tuple[str, str | None]:
    """Split off the identifier at the end of the text. Return the text before it and the identifier, or None."""
    found = pattern.search(text, max(len(text) - _LONGEST_END, 0))
    return (text, None) if found is None else (text[: found.start()].rstrip(_BEFORE_END), found[1])


def _agent(line: str) -> Agent:
    """Parse `Silva, Ana 0000-0002-1825-0097 | INPE https://ror.org/04xbn6x09`."""
    check_count(range(line.count("|")), MOST_AFFILIATIONS, "affiliations")
    who, *places = _parts(line)
    affiliations = tuple(Affiliation(*_named_by_ror(place)) for place in places if place)
    name, orcid = _split_end(_ORCID_AT_END, who)
    if orcid is None or not name:
        return Agent(who, affiliations=affiliations)
    return Agent(name, Orcid(orcid), affiliations=affiliations)


def _parts(line: str) -> list[str]:
    return [part.strip() for part in line.split("|")]


def _named_by_ror(text: str) -> tuple[str, Ror | None]:
    name, ror = _split_end(_ROR_AT_END, text)
    return (text, None) if ror is None or not name else (name, Ror(ror))


def _read_publisher(description: Description, text: str) -> Description:
    return _replace_metadata(description, publisher=_with_first(description.metadata.publisher, " ".join(text.split())))


def _read_funding(description: Description, text: str) -> Description:
    return _replace_metadata(description, funding=tuple(map(_funding, _lines(text))))


def _funding(line: str) -> Funding:
    """Parse `FAPESP https://ror.org/02ddkpn78 | 2020/01234-5 | https://…`."""
    name, award, url = (*_parts(line), "", "")[:3]
    return Funding(*_named_by_ror(name), award or None, url or None)


def _read_related(description: Description, text: str) -> Description:
    return _replace_metadata(description, related_identifiers=tuple(map(_parse_related, _lines(text))))


def _parse_related(line: str) -> RelatedIdentifier:
    """Parse `IsSupplementTo doi:10.1000/182`."""
    word, _, name = line.partition(" ")
    if not name:
        reason = "a relation stands before an identifier, as in IsSupplementTo doi:10.1000/182"
        raise InvalidMetadata(line, 0, reason, field="related")
    kind = _RELATIONS.get(word.casefold())
    if kind is None:
        reason = "there is no relation {relation}; there is, for instance, Cites, IsPartOf or IsSupplementTo"
        raise InvalidMetadata(line, 0, reason, field="related", relation=word[:40])
    schemed = _SCHEMED.fullmatch(name)
    if schemed is None:
        return RelatedIdentifier.parse(kind, "url" if name.startswith(("http://", "https://")) else "ibi", name)
    return RelatedIdentifier.parse(kind, schemed[1].lower(), schemed[2])


_RELATIONS: Final = {kind.value.casefold(): kind for kind in RelationKind}


def _read_places(description: Description, text: str) -> Description:
    return _replace_metadata(description, places=tuple(map(_place, _lines(text))))


def _place(line: str) -> GeoPlace:
    """Parse `São José dos Campos | -45.9, -23.2`: west and south, and for a box also east and north."""
    name, sides = (*_parts(line), "")[:2]
    box = tuple(side.strip() for side in sides.split(",")) if sides else ()
    if len(box) == 2:
        box = (*box, *box)
    return GeoPlace(name or None, cast("tuple[str, str, str, str] | None", box or None))  # `GeoPlace` checks the count


def _read_subjects(description: Description, text: str) -> Description:
    known = {" ".join(subject.value.split()): subject for subject in description.metadata.subject}
    return _replace_metadata(description, subject=tuple(known.get(line) or Text(line) for line in _lines(text)))


def _read_type(description: Description, text: str) -> Description:
    chosen = find_coar_type(text) if text else None
    if text and chosen is None:
        raise InvalidMetadata(text, 0, "it is not in the list", field="type")
    return replace(description, metadata=with_coar_type(description.metadata, chosen))


def _read_licence(description: Description, text: str) -> Description:
    return _replace_metadata(description, licence=read_licence(text) if text else None)


def _read_language(description: Description, text: str) -> Description:
    return replace(description, language=find_language(text) if text else None)


def _read_target(description: Description, text: str) -> Description:
    return replace(description, target=check_file_name(text) if text else None)


def _read_embargo(description: Description, text: str) -> Description:
    if not text:
        return _replace_visibility(description, embargo=None)
    if len(text) != 10:
        raise InvalidMetadata(
            text, 0, "it is the day on which readers get the files, as in 2027-01-31", field="embargo"
        )
    return _replace_visibility(description, embargo=Instant.parse(f"{checked_date(text)}T00:00:00Z"))


def _read_reason(description: Description, text: str) -> Description:
    return _replace_visibility(description, embargo_reason=text or None)


def _read_networks(description: Description, text: str) -> Description:
    lines = _lines(text.replace(",", "\n"), MOST_NETWORKS)
    return _replace_visibility(description, networks=tuple(dict.fromkeys(map(network, lines))))


def _read_unlisted(description: Description, text: str) -> Description:
    return _replace_visibility(description, listing=not text)


_READERS: Final[Mapping[str, Callable[[Description, str], Description]]] = {
    "title": _read_title,
    "creators": _read_creators,
    "contributors": _read_contributors,
    "publisher": _read_publisher,
    "funding": _read_funding,
    "related": _read_related,
    "places": _read_places,
    "date": _read_date,
    "type": _read_type,
    "licence": _read_licence,
    "language": _read_language,
    "subjects": _read_subjects,
    "summary": _read_summary,
    "target": _read_target,
    "embargo": _read_embargo,
    "embargo_reason": _read_reason,
    "networks": _read_networks,
    "unlisted": _read_unlisted,
}


def fill_from(description: Description, record: ImportedRecord) -> Description:
    """Return the description with its empty elements filled from a record. Typed values stay."""
    found = {
        each.name: getattr(record.metadata, each.name)
        for each in fields(DescriptiveMetadata)
        if not getattr(description.metadata, each.name)
    }
    return replace(_replace_metadata(description, **found), language=description.language or record.language)
