"""Descriptions from CSL-JSON of reference managers. The records of Crossref are CSL-JSON with additions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.importing.rules.imported import DescriptionBuilder, ImportedRecord, ImportFormat
from ibi.importing.rules.json_members import IDENTIFIER_SCHEMES, Members, read_objects, read_text, read_texts
from ibi.items.model.item_types import ReadFrom, find_type_of_format

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
_READ: Final = frozenset(
    {
        *("title", "subtitle", "author", "editor", "translator", "type", "genre", "container-title", "publisher"),
        *("abstract", "keyword", "subject", "DOI", "ISBN", "ISSN", "URL", "language", "license", "funder", "relation"),
        *("volume", "issue", "page", "id", "citation-key", *_DATES),
    }
)


def read_csl(work: Members) -> ImportedRecord:
    """Return the record that CSL-JSON describes."""
    is_crossref = isinstance(work.get("title"), list) or "reference-count" in work
    builder = DescriptionBuilder(ImportFormat.CROSSREF if is_crossref else ImportFormat.CSL)
    _add_title(builder, work)
    _add_people(builder, work)
    _add_date(builder, work)
    _add_source(builder, work)
    builder.text("publisher", "publisher", read_text(work.get("publisher")))
    builder.prose("abstract", read_text(work.get("abstract")))
    _add_keywords(builder, work)
    _add_identifiers(builder, work)
    _add_licences(builder, work)
    _add_funding(builder, work)
    _add_relations(builder, work)
    builder.kind(
        "type", find_type_of_format(ReadFrom.CSL, read_text(work.get("type"))), read_text(work.get("genre")) or None
    )
    if not is_crossref:  # Crossref adds much about its own service
        builder.pass_over(*(name for name in work if name not in _READ))
    return builder.build()


def _add_title(builder: DescriptionBuilder, work: Members) -> None:
    title, subtitle = read_text(work.get("title")), read_text(work.get("subtitle"))
    builder.text("title", "title", f"{title}: {subtitle}" if title and subtitle else title)


def _add_people(builder: DescriptionBuilder, work: Members) -> None:
    for member, element in _PEOPLE:
        for person in read_objects(work.get(member)):
            orcid = read_text(person.get("ORCID")) or None
            builder.agent(member, element, _name(person), orcid, _affiliations(person))


def _name(person: Members) -> str:
    literal = read_text(person.get("literal")) or read_text(person.get("name"))
    particle = read_text(person.get("non-dropping-particle"))
    family = " ".join(filter(None, (particle, read_text(person.get("family")), read_text(person.get("suffix")))))
    given = " ".join(filter(None, (read_text(person.get("given")), read_text(person.get("dropping-particle")))))
    return literal or ", ".join(filter(None, (family, given)))


def _affiliations(person: Members) -> Iterator[tuple[str, str | None]]:
    for each in read_objects(person.get("affiliation")):
        rors = [
            read_text(name.get("id"))
            for name in read_objects(each.get("id"))
            if read_text(name.get("id-type")).upper() == "ROR"
        ]
        yield read_text(each.get("name")), next(iter(rors), None)


def _add_date(builder: DescriptionBuilder, work: Members) -> None:
    for member in _DATES:
        found = work.get(member)
        if not isinstance(found, dict):
            continue
        parts = found.get("date-parts")
        dates = [_written_date(each) for each in parts[:2]] if isinstance(parts, list) else []
        text = "/".join(filter(None, dates)) or read_text(found.get("raw")) or read_text(found.get("literal"))
        if text:
            builder.date(member, text)
            return


def _written_date(parts: object) -> str:
    numbers = read_texts(parts) if isinstance(parts, list) else []
    if not all(number.isascii() and number.isdigit() and len(number) <= 4 for number in numbers):
        return "?"  # not a date, so that it is named among the members passed over
    year, *rest = numbers or [""]
    return "-".join([year.zfill(4), *(number.zfill(2) for number in rest[:2])]) if year else ""


def _add_source(builder: DescriptionBuilder, work: Members) -> None:
    """Add the journal or book that contains the work, and the place of the work in it."""
    for text in read_texts(work.get("container-title"))[:1]:
        builder.text("container-title", "source", text)
    within = [f"{words}{read_text(work.get(name))}" for name, words in _WITHIN if read_text(work.get(name))]
    builder.text("page", "source", ", ".join(within))


def _add_keywords(builder: DescriptionBuilder, work: Members) -> None:
    for text in read_texts(work.get("subject")):
        builder.text("subject", "subject", text)
    for text in read_text(work.get("keyword")).replace(";", ",").split(","):
        builder.text("keyword", "subject", text)


def _add_identifiers(builder: DescriptionBuilder, work: Members) -> None:
    if doi := read_text(work.get("DOI")):
        builder.doi("DOI", doi)
    for member in ("ISBN", "ISSN"):
        for text in read_texts(work.get(member))[:10]:
            builder.identifier(member, text, f"{member} ")
    url = read_text(work.get("URL"))
    if url and "doi.org/" not in url:
        builder.identifier("URL", url)
    if language := read_text(work.get("language")):
        builder.language("language", language)


def _add_licences(builder: DescriptionBuilder, work: Members) -> None:
    for licence in read_objects(work.get("license"))[:5]:
        builder.licence("license", read_text(licence.get("URL")))


def _add_funding(builder: DescriptionBuilder, work: Members) -> None:
    for funder in read_objects(work.get("funder"))[:50]:
        rors = [
            read_text(name.get("id"))
            for name in read_objects(funder.get("id"))
            if read_text(name.get("id-type")) == "ROR"
        ]
        for award in read_texts(funder.get("award"))[:20] or [""]:
            builder.funding("funder", read_text(funder.get("name")), next(iter(rors), None), award)


def _add_relations(builder: DescriptionBuilder, work: Members) -> None:
    relations = work.get("relation")
    for name, others in relations.items() if isinstance(relations, dict) else ():
        for other in read_objects(others)[:200]:
            scheme = IDENTIFIER_SCHEMES.get(read_text(other.get("id-type")).lower(), "url")
            builder.related(f"relation {name}", _RELATIONS.get(name, str(name)), scheme, read_text(other.get("id")))
