"""Descriptions from the JSON of DataCite, which has a schema of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.importing.rules.imported import DescriptionBuilder, ImportedRecord, ImportFormat
from ibi.importing.rules.json_members import IDENTIFIER_SCHEMES, Members, read_objects, read_text, read_texts
from ibi.items.model.item_types import ReadFrom, find_type_of_format

_DATES: Final = ("Issued", "Created", "Available", "Submitted", "Updated", "Collected")
_READ: Final = frozenset(
    {
        *("titles", "creators", "contributors", "publisher", "publicationYear", "dates", "types", "descriptions"),
        *("subjects", "rightsList", "relatedIdentifiers", "fundingReferences", "geoLocations", "language", "doi"),
        *("identifiers", "alternateIdentifiers", "container", "formats", "sizes", "version"),
        *("xml", "prefix", "suffix", "state", "created", "registered", "updated", "url", "schemaVersion", "source"),
    }
)


def read_datacite(work: Members) -> ImportedRecord:
    """Return the record that DataCite JSON describes."""
    builder = DescriptionBuilder(ImportFormat.DATACITE)
    for each in read_objects(work.get("titles")):
        builder.text("titles", "title", read_text(each.get("title")), _language(each))
    _add_people(builder, work)
    _add_publisher(builder, work)
    _add_date(builder, work)
    for each in read_objects(work.get("descriptions")):
        builder.prose("descriptions", read_text(each.get("description")), _language(each))
    for each in read_objects(work.get("subjects")):
        builder.text("subjects", "subject", read_text(each.get("subject")), _language(each))
    _add_licences(builder, work)
    for text in read_texts(work.get("formats"))[:50]:
        builder.text("formats", "format", text)
    if doi := read_text(work.get("doi")):
        builder.doi("doi", doi)
    if language := read_text(work.get("language")):
        builder.language("language", language)
    _add_kind(builder, work)
    _add_related(builder, work)
    _add_funding(builder, work)
    _add_places(builder, work)
    builder.pass_over(*(name for name in work if name not in _READ and not name.endswith("Count")))
    return builder.build()


def _language(each: Members) -> str | None:
    return read_text(each.get("lang")) or None


def _add_people(builder: DescriptionBuilder, work: Members) -> None:
    for member, element in (("creators", "creator"), ("contributors", "contributor")):
        for person in read_objects(work.get(member)):
            builder.agent(member, element, _name(person), _orcid(person), _affiliations(person))


def _name(person: Members) -> str:
    family, given = read_text(person.get("familyName")), read_text(person.get("givenName"))
    return f"{family}, {given}" if family and given else read_text(person.get("name")) or family or given


def _orcid(person: Members) -> str | None:
    for each in read_objects(person.get("nameIdentifiers")):
        if read_text(each.get("nameIdentifierScheme")).upper() == "ORCID":
            return read_text(each.get("nameIdentifier"))
    return None


def _affiliations(person: Members) -> Iterator[tuple[str, str | None]]:
    found = person.get("affiliation")
    for each in found[:100] if isinstance(found, list) else ():
        if isinstance(each, dict):
            is_ror = read_text(each.get("affiliationIdentifierScheme")).upper() == "ROR"
            yield read_text(each.get("name")), read_text(each.get("affiliationIdentifier")) or None if is_ror else None
        else:
            yield read_text(each), None


def _add_publisher(builder: DescriptionBuilder, work: Members) -> None:
    publisher = work.get("publisher")
    name = publisher.get("name") if isinstance(publisher, dict) else publisher
    builder.text("publisher", "publisher", read_text(name))


def _add_date(builder: DescriptionBuilder, work: Members) -> None:
    dates = {read_text(each.get("dateType")): read_text(each.get("date")) for each in read_objects(work.get("dates"))}
    chosen = next((dates[kind] for kind in _DATES if dates.get(kind)), "")
    builder.date("dates", chosen or read_text(work.get("publicationYear")))


def _add_licences(builder: DescriptionBuilder, work: Members) -> None:
    for each in read_objects(work.get("rightsList")):
        identifier, uri = read_text(each.get("rightsIdentifier")), read_text(each.get("rightsUri"))
        builder.licence("rightsList", identifier or uri or read_text(each.get("rights")))


def _add_kind(builder: DescriptionBuilder, work: Members) -> None:
    types = work.get("types")
    if isinstance(types, dict):
        general = find_type_of_format(ReadFrom.DATACITE, read_text(types.get("resourceTypeGeneral")))
        own = read_text(types.get("resourceType")) or None
        builder.kind("types", general, own)


def _add_related(builder: DescriptionBuilder, work: Members) -> None:
    for each in read_objects(work.get("relatedIdentifiers"))[:1000]:
        scheme = IDENTIFIER_SCHEMES.get(read_text(each.get("relatedIdentifierType")).lower(), "url")
        value = read_text(each.get("relatedIdentifier"))
        builder.related("relatedIdentifiers", read_text(each.get("relationType")), scheme, value)


def _add_funding(builder: DescriptionBuilder, work: Members) -> None:
    for each in read_objects(work.get("fundingReferences"))[:100]:
        is_ror = read_text(each.get("funderIdentifierType")).upper() == "ROR"
        ror = read_text(each.get("funderIdentifier")) or None if is_ror else None
        award, url = read_text(each.get("awardNumber")), read_text(each.get("awardUri"))
        builder.funding("fundingReferences", read_text(each.get("funderName")), ror, award, url)


def _add_places(builder: DescriptionBuilder, work: Members) -> None:
    for each in read_objects(work.get("geoLocations"))[:100]:
        builder.place("geoLocations", read_text(each.get("geoLocationPlace")) or None, _box(each))


def _box(place: Members) -> tuple[str, str, str, str] | None:
    box, point = place.get("geoLocationBox"), place.get("geoLocationPoint")
    if isinstance(box, dict):
        sides = ("westBoundLongitude", "southBoundLatitude", "eastBoundLongitude", "northBoundLatitude")
        west, south, east, north = (_degrees(box.get(side)) for side in sides)
        return west, south, east, north
    if isinstance(point, dict):
        longitude, latitude = _degrees(point.get("pointLongitude")), _degrees(point.get("pointLatitude"))
        return longitude, latitude, longitude, latitude
    return None


def _degrees(value: object) -> str:
    """Return the value as a decimal number. Other values become a text that `place` refuses."""
    if isinstance(value, float):
        return f"{value:.10f}".rstrip("0").rstrip(".") if abs(value) <= 180 else "?"
    return read_text(value).strip()
