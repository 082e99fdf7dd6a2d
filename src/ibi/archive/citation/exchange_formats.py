"""Metadata in the page of an item for machines: the tags that scholarly indexes read, and schema.org."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final
from unicodedata import normalize

from ibi.archive.citation.names import Name
from ibi.archive.citation.work import Day, IdentifierScheme, Work
from ibi.model.item_types import WorkKind, find_coar_type
from ibi.model.metadata import Licence, Orcid

_SOURCES: Final = {
    WorkKind.ARTICLE: "citation_journal_title",
    WorkKind.CHAPTER: "citation_inbook_title",
    WorkKind.CONFERENCE: "citation_conference_title",
}
_PUBLISHER_TAGS: Final = {
    WorkKind.THESIS: "citation_dissertation_institution",
    WorkKind.REPORT: "citation_technical_report_institution",
}


def highwire(work: Work, *, pdf_url: str | None = None) -> tuple[tuple[str, str], ...]:
    """Return names and contents of `<meta>` elements, in order. `pdf_url` is the address of a public PDF, if any."""
    return tuple(_highwire(work, pdf_url))


def _highwire(work: Work, pdf_url: str | None) -> Iterator[tuple[str, str]]:
    yield "citation_title", work.title
    for author, orcid in zip(work.authors, work.orcids, strict=True):
        yield "citation_author", author.inverted
        if orcid is not None:
            yield "citation_author_orcid", orcid.url
    if work.issued is not None:
        yield "citation_publication_date", str(work.issued).replace("-", "/")
    if work.source is not None and work.kind in _SOURCES:
        yield _SOURCES[work.kind], work.source
    first, last = work.place.first_and_last_page
    told = (("volume", work.place.volume), ("issue", work.place.issue), ("firstpage", first), ("lastpage", last))
    yield from ((f"citation_{name}", value) for name, value in told if value)
    if work.publisher is not None:
        yield _PUBLISHER_TAGS.get(work.kind, "citation_publisher"), work.publisher
    if work.language is not None:
        yield "citation_language", work.language
    yield from (("citation_keywords", keyword) for keyword in work.keywords)
    doi = work.identifier(IdentifierScheme.DOI)
    if doi is not None:
        yield "citation_doi", doi
    yield "citation_public_url", work.url
    if pdf_url is not None:
        yield "citation_pdf_url", pdf_url


def json_ld(work: Work, licence: Licence | None = None) -> dict[str, Any]:
    """Return the item in the vocabulary of schema.org."""
    description: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": work.type.schema_org,
        "@id": work.url,
        "url": work.url,
        "identifier": _identifiers(work),
        "sameAs": [each.url for each in work.identifiers],
        "name": work.title,
        "author": [_agent(*pair) for pair in zip(work.authors, work.orcids, strict=True)],
        "contributor": [_agent(name, None) for name in work.contributors],
        "datePublished": None if work.issued is None else str(work.issued),
        "publisher": None if work.publisher is None else {"@type": "Organization", "name": work.publisher},
        "inLanguage": work.language,
        "description": work.abstract,
        "keywords": list(work.keywords),
        "license": None if licence is None else licence.url,
    }
    return {name: value for name, value in description.items() if value}


def _identifiers(work: Work) -> dict[str, str] | list[dict[str, str]]:
    own = {"@type": "PropertyValue", "propertyID": "IBI", "value": work.label}
    others = [
        {"@type": "PropertyValue", "propertyID": str(each.scheme), "value": each.value, "url": each.url}
        for each in work.identifiers
    ]
    return [own, *others] if others else own


def _agent(name: Name, orcid: Orcid | None) -> dict[str, str]:
    known = {} if orcid is None else {"@id": orcid.url}
    if not name.is_person:
        return {"@type": "Organization", "name": name.family, **known}
    parts = {"familyName": name.family, "givenName": name.given} if name.given else {}
    return {"@type": "Person", "name": name.straight, **parts, **known}


def script_text(value: dict[str, Any]) -> str:
    """Return JSON that is safe within a `<script>` of a page: it cannot end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# --- exchange formats -------------------------------------------------------------------------------------------------


_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
# Braces are written by name: BibTeX counts every brace, even after a backslash.
_SPECIALS: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: f"\\{character}" for character in "$&#_%"},
    }
)
_URL_SPECIALS: Final = str.maketrans({"\\": "%5C", "{": "%7B", "}": "%7D", " ": "%20"})
_MASTER: Final = re.compile("mestr|master|maestr|dissertaç", re.IGNORECASE)
# These types need the work that they are part of.
_SOURCE_FIELDS: Final = {"article": "journal", "incollection": "booktitle", "inproceedings": "booktitle"}
_PUBLISHERS: Final = {"techreport": "institution", "phdthesis": "school", "mastersthesis": "school"}


def bibtex(work: Work) -> str:
    """Return the entry, with a line end.

    The key contains the label, so it is unique everywhere. The type is one of BibTeX's own: programs treat unknown
    types as `misc`, or refuse them.
    """
    kind = _type(work)
    lines = "".join(f"  {name} = {value},\n" for name, value in _fields(work, kind))
    return f"@{kind}{{{_key(work)},\n{lines}}}\n"


def _type(work: Work) -> str:
    kind = work.type.bibtex
    if work.kind is WorkKind.THESIS and find_coar_type(work.genre or "") is None:
        return "mastersthesis" if _MASTER.search(work.genre or "") else kind
    return "misc" if kind in _SOURCE_FIELDS and work.source is None else kind


def _key(work: Work) -> str:
    """Return the key, such as `Banon2009-8JMKD3MGP8W-34PGRBS`: a name for people, and the label to make it unique. All
    programs accept letters, digits and hyphens in a key."""
    family = work.authors[0].family if work.authors else ""
    letters = "".join(re.findall("[A-Za-z]+", normalize("NFKD", family)))[:20]
    return f"{letters}{work.dated.year}-{re.sub('[^A-Za-z0-9]+', '-', work.label)}"


def _fields(work: Work, kind: str) -> Iterator[tuple[str, str]]:
    if work.authors:
        yield "author", _text(" and ".join(map(_bibtex_name, work.authors)), is_escaped=True)
    # The inner braces keep the capitals in styles that write titles in small letters.
    yield "title", f"{{{_text(work.title)}}}"
    yield "year", f"{{{work.dated.year:04}}}"
    if work.dated.month is not None:
        yield "month", _MONTHS[work.dated.month - 1]
    if kind in _SOURCE_FIELDS:
        yield _SOURCE_FIELDS[kind], _text(work.source or "")
    place = work.place
    pages = place.pages.replace("–", "--")
    for name, value in (
        ("volume", place.volume),
        ("number", place.issue),
        ("pages", pages),
        ("chapter", place.chapter),
    ):
        if value:
            yield name, _text(value)
    if work.publisher is not None:
        yield _PUBLISHERS.get(kind, "publisher"), _text(work.publisher)
    if work.genre is not None and kind in {"misc", *_PUBLISHERS}:
        yield "type", _text(work.genre)
    if work.language is not None:
        yield "language", _text(work.language)
    if work.abstract is not None:
        yield "abstract", _text(work.abstract)
    if work.keywords:
        yield "keywords", _text(", ".join(work.keywords))
    doi = work.identifier(IdentifierScheme.DOI)
    if doi is not None:
        yield "doi", f"{{{doi.translate(_URL_SPECIALS)}}}"
    yield "url", f"{{{work.url.translate(_URL_SPECIALS)}}}"
    yield "note", _text("; ".join((f"IBI: {work.label}", *_named_elsewhere(work))))


def _named_elsewhere(work: Work) -> Iterator[str]:
    """Yield the identifiers for which a format has no field of its own."""
    doi = work.identifier(IdentifierScheme.DOI)
    return (f"{each.scheme}: {each.value}" for each in work.identifiers if each.value != doi)


def _bibtex_name(name: Name) -> str:
    """Return the name for BibTeX. Braces protect institutions, and names that contain its separators."""
    if not name.given:
        return f"{{{_escape(name.family)}}}"
    return f"{_part(name.family)}, {_part(name.given)}"


def _part(text: str) -> str:
    escaped = _escape(text)
    return f"{{{escaped}}}" if "," in text or "and" in text.lower().split() else escaped


def _text(text: str, *, is_escaped: bool = False) -> str:
    return f"{{{text if is_escaped else _escape(text)}}}"


def _escape(text: str) -> str:
    return text.translate(_SPECIALS)


def ris(work: Work, accessed: Day | None = None) -> str:
    """Return the record. Each line has a tag, two spaces, a hyphen, a space and a value, and ends with CR LF."""
    return "".join(f"{tag}  - {value}\r\n" for tag, value in _lines(work, accessed))


def _lines(work: Work, accessed: Day | None) -> Iterator[tuple[str, str]]:
    yield "TY", work.type.ris
    yield "ID", work.label
    yield "TI", work.title
    yield from (("AU", author.inverted) for author in work.authors)
    yield from (("A2", contributor.inverted) for contributor in work.contributors)
    dated = work.dated
    yield "PY", f"{dated.year:04}"
    if dated.month is not None:
        parts = (f"{part:02}" if part is not None else "" for part in dated[1:])
        yield "DA", "/".join((f"{dated.year:04}", *parts, ""))
    if work.source is not None:
        yield "T2", work.source
    first, last = work.place.first_and_last_page
    told = (("VL", work.place.volume), ("IS", work.place.issue), ("SP", first), ("EP", last))
    yield from ((tag, value) for tag, value in told if value)
    if work.publisher is not None:
        yield "PB", work.publisher
    if work.genre is not None:
        yield "M3", work.genre
    if work.language is not None:
        yield "LA", work.language
    yield from (("KW", keyword) for keyword in work.keywords)
    if work.abstract is not None:
        yield "AB", work.abstract
    doi = work.identifier(IdentifierScheme.DOI)
    if doi is not None:
        yield "DO", doi
    yield "UR", work.url
    yield from (("UR", each.url) for each in work.identifiers if each.value != doi)
    if accessed is not None:
        yield "Y2", f"{accessed.year:04}/{accessed.month:02}/{accessed.day:02}/"
    yield "ER", ""


def csl_json(work: Work, accessed: Day | None = None) -> dict[str, Any]:
    """Return an item of the CSL data schema. A CSL file is a list of items."""
    item: dict[str, Any] = {
        "id": work.label,
        "type": str(work.kind),
        "title": work.title,
        "author": [_csl_name(name) for name in work.authors],
        "contributor": [_csl_name(name) for name in work.contributors],
        "container-title": work.source,
        "volume": work.place.volume,
        "issue": work.place.issue,
        "page": work.place.pages,
        "chapter-number": work.place.chapter,
        "publisher": work.publisher,
        "genre": work.genre if work.kind in {WorkKind.THESIS, WorkKind.REPORT, WorkKind.OTHER} else None,
        "language": work.language,
        "abstract": work.abstract,
        "keyword": ", ".join(work.keywords),
        "URL": work.url,
        "DOI": work.identifier(IdentifierScheme.DOI),
        "note": "\n".join(_named_elsewhere(work)),
        "issued": {"date-parts": [[part for part in work.dated if part is not None]]},
    }
    if accessed is not None:
        item["accessed"] = {"date-parts": [[accessed.year, accessed.month, accessed.day]]}
    return {name: value for name, value in item.items() if value}


def _csl_name(name: Name) -> dict[str, str]:
    """Return the name for CSL. Particles such as `da` are separate: styles that write initials must not abbreviate
    them."""
    if not name.given:
        return {"literal": name.family}
    given, particles = name.given_and_particles
    return {"family": name.family, "given": given, **({"dropping-particle": particles} if particles else {})}
