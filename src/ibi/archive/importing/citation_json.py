"""Records of works in JSON: CSL-JSON of reference managers, and the records of Crossref and DataCite for a DOI.

Crossref's records are CSL-JSON with additions; DataCite has a schema of its own. A record may come alone, in a list, or
in the envelope of a server.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from ibi.archive.importing.imported import (
    MOST_RECORDS,
    DescriptionBuilder,
    ImportedRecord,
    ImportFormat,
    UnreadableRecord,
)
from ibi.model.errors import InvalidDocument
from ibi.model.item_types import ReadFrom, find_type_of_format
from ibi.model.json_fields import decode_document

Members = dict[str, Any]
_MOST_LISTED: Final = 20_000


def read_json(text: str) -> tuple[ImportedRecord, ...]:
    """Return the records of a document, at most `MOST_RECORDS`."""
    try:
        document = decode_document(text.encode())
    except (InvalidDocument, UnicodeEncodeError):
        raise UnreadableRecord(text[:80], 0, "it begins like JSON, and is none") from None
    works = list(islice(_works(document), MOST_RECORDS + 1))
    if len(works) > MOST_RECORDS:
        raise UnreadableRecord(text[:80], 0, "there are more than {most} entries", most=MOST_RECORDS)
    if not works:
        raise UnreadableRecord(text[:80], 0, "there is no record of a work in it")
    return tuple(_datacite(work) if _is_datacite(work) else _csl(work) for work in works)


def _works(document: object) -> Iterator[Members]:
    """Yield the works in the envelopes: a list, `message` of Crossref, `data` and `attributes` of DataCite."""
    if isinstance(document, list):
        for each in document:
            yield from _works(each) if isinstance(each, dict) else ()
    elif isinstance(document, dict):
        if isinstance(document.get("message"), dict):
            inner = document["message"]
            yield from _works(inner["items"]) if isinstance(inner.get("items"), list) else (inner,)
        elif isinstance(document.get("data"), dict | list):
            yield from _works(document["data"])
        elif isinstance(document.get("attributes"), dict):
            yield document["attributes"]
        else:
            yield document


def _is_datacite(work: Members) -> bool:
    return any(isinstance(work.get(name), list) for name in ("titles", "creators"))


def _texts(value: object) -> list[str]:
    """Return the text, or all texts of a list. Numbers become texts."""
    if isinstance(value, list):
        return [text for each in value[:_MOST_LISTED] if not isinstance(each, list) for text in _texts(each)]
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(value)] if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**12 else []


def _text(value: object) -> str:
    return next(iter(_texts(value)), "")


def _objects(value: object) -> list[Members]:
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed[:_MOST_LISTED] if isinstance(each, dict)]


_PEOPLE: Final = (("author", "creator"), ("editor", "contributor"), ("translator", "contributor"))
_DATES: Final = ("issued", "published", "published-print", "published-online", "created")
_RELATIONS: Final = {
    "is-supplement-to": "IsSupplementTo",
    "is-supplemented-by": "IsSupplementedBy",
    "is-preprint-of": "IsPreviousVersionOf",
    "has-preprint": "IsNewVersionOf",
    "is-part-of": "IsPartOf",
    "has-part": "HasPart",
    "is-version-of": "IsVersionOf",
    "has-version": "HasVersion",
    "is-translation-of": "IsTranslationOf",
    "has-translation": "HasTranslation",
    "is-review-of": "Reviews",
    "has-review": "IsReviewedBy",
    "is-derived-from": "IsDerivedFrom",
    "references": "References",
    "is-referenced-by": "IsReferencedBy",
    "is-based-on": "IsDerivedFrom",
    "is-identical-to": "IsIdenticalTo",
}
_WITHIN: Final = (("volume", "v. "), ("issue", "n. "), ("page", "p. "))
_CSL_READ: Final = frozenset(
    {
        *("title", "subtitle", "author", "editor", "translator", "type", "genre", "container-title", "publisher"),
        *("abstract", "keyword", "subject", "DOI", "ISBN", "ISSN", "URL", "language", "license", "funder", "relation"),
        *("volume", "issue", "page", *_DATES),
    }
)


def _csl(work: Members) -> ImportedRecord:
    is_crossref = isinstance(work.get("title"), list) or "reference-count" in work
    builder = DescriptionBuilder(ImportFormat.CROSSREF if is_crossref else ImportFormat.CSL)
    title, subtitle = _text(work.get("title")), _text(work.get("subtitle"))
    builder.text("title", "title", f"{title}: {subtitle}" if title and subtitle else title)
    for member, element in _PEOPLE:
        for person in _objects(work.get(member)):
            builder.agent(member, element, _csl_name(person), _text(person.get("ORCID")) or None, _affiliations(person))
    _add_csl_date(builder, work)
    for text in _texts(work.get("container-title"))[:1]:
        builder.text("container-title", "source", text)
    within = [f"{words}{_text(work.get(name))}" for name, words in _WITHIN if _text(work.get(name))]
    builder.text("page", "source", ", ".join(within))
    builder.text("publisher", "publisher", _text(work.get("publisher")))
    builder.prose("abstract", _text(work.get("abstract")))
    for text in _texts(work.get("subject")):
        builder.text("subject", "subject", text)
    for text in _text(work.get("keyword")).replace(";", ",").split(","):
        builder.text("keyword", "subject", text)
    _add_csl_identifiers(builder, work)
    for licence in _objects(work.get("license"))[:5]:
        builder.licence("license", _text(licence.get("URL")))
    _add_csl_links(builder, work)
    builder.kind("type", find_type_of_format(ReadFrom.CSL, _text(work.get("type"))), _text(work.get("genre")) or None)
    if not is_crossref:  # Crossref adds much about its own service
        builder.pass_over(*(name for name in work if name not in _CSL_READ and name not in ("id", "citation-key")))
    return builder.build()


def _csl_name(person: Members) -> str:
    literal = _text(person.get("literal")) or _text(person.get("name"))
    particle = _text(person.get("non-dropping-particle"))
    family = " ".join(filter(None, (particle, _text(person.get("family")), _text(person.get("suffix")))))
    given = " ".join(filter(None, (_text(person.get("given")), _text(person.get("dropping-particle")))))
    return literal or ", ".join(filter(None, (family, given)))


def _affiliations(person: Members) -> Iterator[tuple[str, str | None]]:
    for each in _objects(person.get("affiliation")):
        rors = [
            _text(name.get("id")) for name in _objects(each.get("id")) if _text(name.get("id-type")).upper() == "ROR"
        ]
        yield _text(each.get("name")), next(iter(rors), None)


def _add_csl_date(builder: DescriptionBuilder, work: Members) -> None:
    for member in _DATES:
        found = work.get(member)
        if not isinstance(found, dict):
            continue
        parts = found.get("date-parts")
        dates = [_written_date(each) for each in parts[:2]] if isinstance(parts, list) else []
        text = "/".join(filter(None, dates)) or _text(found.get("raw")) or _text(found.get("literal"))
        if text:
            builder.date(member, text)
            return


def _written_date(parts: object) -> str:
    numbers = _texts(parts) if isinstance(parts, list) else []
    if not all(number.isascii() and number.isdigit() and len(number) <= 4 for number in numbers):
        return "?"  # not a date, so that it is named among the members passed over
    year, *rest = numbers or [""]
    return "-".join([year.zfill(4), *(number.zfill(2) for number in rest[:2])]) if year else ""


def _add_csl_identifiers(builder: DescriptionBuilder, work: Members) -> None:
    if doi := _text(work.get("DOI")):
        builder.doi("DOI", doi)
    for member in ("ISBN", "ISSN"):
        for text in _texts(work.get(member))[:10]:
            builder.identifier(member, text, f"{member} ")
    url = _text(work.get("URL"))
    if url and "doi.org/" not in url:
        builder.identifier("URL", url)
    if language := _text(work.get("language")):
        builder.language("language", language)


def _add_csl_links(builder: DescriptionBuilder, work: Members) -> None:
    for funder in _objects(work.get("funder"))[:50]:
        rors = [_text(name.get("id")) for name in _objects(funder.get("id")) if _text(name.get("id-type")) == "ROR"]
        for award in _texts(funder.get("award"))[:20] or [""]:
            builder.funding("funder", _text(funder.get("name")), next(iter(rors), None), award)
    relations = work.get("relation")
    for name, others in relations.items() if isinstance(relations, dict) else ():
        for other in _objects(others)[:200]:
            scheme = _SCHEMES.get(_text(other.get("id-type")).lower(), "url")
            builder.related(f"relation {name}", _RELATIONS.get(name, str(name)), scheme, _text(other.get("id")))


_SCHEMES: Final = {
    name: scheme
    for scheme, names in {
        "doi": "doi",
        "hdl": "handle hdl",
        "ark": "ark",
        "url": "url uri purl w3id",
        "isbn": "isbn ean13",
        "issn": "issn eissn lissn",
        "arxiv": "arxiv",
        "pmid": "pmid",
        "pmcid": "pmcid",
        "urn": "urn",
        "igsn": "igsn",
        "bibcode": "bibcode",
    }.items()
    for name in names.split()
}
_DATACITE_DATES: Final = ("Issued", "Created", "Available", "Submitted", "Updated", "Collected")
_DATACITE_READ: Final = frozenset(
    {
        *("titles", "creators", "contributors", "publisher", "publicationYear", "dates", "types", "descriptions"),
        *("subjects", "rightsList", "relatedIdentifiers", "fundingReferences", "geoLocations", "language", "doi"),
        *("identifiers", "alternateIdentifiers", "container", "formats", "sizes", "version"),
    }
)
_OF_THEIRS: Final = frozenset("xml prefix suffix state created registered updated url schemaVersion source".split())


def _datacite(work: Members) -> ImportedRecord:
    builder = DescriptionBuilder(ImportFormat.DATACITE)
    for title in _objects(work.get("titles")):
        builder.text("titles", "title", _text(title.get("title")), _text(title.get("lang")) or None)
    for member, element in (("creators", "creator"), ("contributors", "contributor")):
        for person in _objects(work.get(member)):
            builder.agent(member, element, _datacite_name(person), _orcid(person), _places_of_work(person))
    publisher = work.get("publisher")
    builder.text("publisher", "publisher", _text(publisher.get("name") if isinstance(publisher, dict) else publisher))
    _add_datacite_dates(builder, work)
    for each in _objects(work.get("descriptions")):
        builder.prose("descriptions", _text(each.get("description")), _text(each.get("lang")) or None)
    for each in _objects(work.get("subjects")):
        builder.text("subjects", "subject", _text(each.get("subject")), _text(each.get("lang")) or None)
    for each in _objects(work.get("rightsList")):
        identifier, uri = _text(each.get("rightsIdentifier")), _text(each.get("rightsUri"))
        builder.licence("rightsList", identifier or uri or _text(each.get("rights")))
    for text in _texts(work.get("formats"))[:50]:
        builder.text("formats", "format", text)
    if doi := _text(work.get("doi")):
        builder.doi("doi", doi)
    if language := _text(work.get("language")):
        builder.language("language", language)
    types = work.get("types")
    if isinstance(types, dict):
        general = find_type_of_format(ReadFrom.DATACITE, _text(types.get("resourceTypeGeneral")))
        own = _text(types.get("resourceType")) or None
        builder.kind("types", general, own)
    _add_datacite_links(builder, work)
    builder.pass_over(
        *(name for name in work if name not in _DATACITE_READ and not name.endswith("Count") and name not in _OF_THEIRS)
    )
    return builder.build()


def _datacite_name(person: Members) -> str:
    family, given = _text(person.get("familyName")), _text(person.get("givenName"))
    return f"{family}, {given}" if family and given else _text(person.get("name")) or family or given


def _orcid(person: Members) -> str | None:
    for each in _objects(person.get("nameIdentifiers")):
        if _text(each.get("nameIdentifierScheme")).upper() == "ORCID":
            return _text(each.get("nameIdentifier"))
    return None


def _places_of_work(person: Members) -> Iterator[tuple[str, str | None]]:
    found = person.get("affiliation")
    for each in found[:100] if isinstance(found, list) else ():
        if isinstance(each, dict):
            is_ror = _text(each.get("affiliationIdentifierScheme")).upper() == "ROR"
            yield _text(each.get("name")), _text(each.get("affiliationIdentifier")) or None if is_ror else None
        else:
            yield _text(each), None


def _add_datacite_dates(builder: DescriptionBuilder, work: Members) -> None:
    dates = {_text(each.get("dateType")): _text(each.get("date")) for each in _objects(work.get("dates"))}
    chosen = next((dates[kind] for kind in _DATACITE_DATES if dates.get(kind)), "")
    builder.date("dates", chosen or _text(work.get("publicationYear")))


def _add_datacite_links(builder: DescriptionBuilder, work: Members) -> None:
    for each in _objects(work.get("relatedIdentifiers"))[:1000]:
        scheme = _SCHEMES.get(_text(each.get("relatedIdentifierType")).lower(), "url")
        value = _text(each.get("relatedIdentifier"))
        builder.related("relatedIdentifiers", _text(each.get("relationType")), scheme, value)
    for each in _objects(work.get("fundingReferences"))[:100]:
        is_ror = _text(each.get("funderIdentifierType")).upper() == "ROR"
        ror = _text(each.get("funderIdentifier")) or None if is_ror else None
        award, url = _text(each.get("awardNumber")), _text(each.get("awardUri"))
        builder.funding("fundingReferences", _text(each.get("funderName")), ror, award, url)
    for each in _objects(work.get("geoLocations"))[:100]:
        builder.place("geoLocations", _text(each.get("geoLocationPlace")) or None, _box(each))


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
    return _text(value).strip()
