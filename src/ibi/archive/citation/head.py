"""What a page says of an item to machines: the tags that scholarly indexes read, and schema.org."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ibi.archive.citation.identifiers import IdentifierScheme
from ibi.archive.citation.names import Name
from ibi.archive.citation.work import Work, WorkKind
from ibi.model.metadata import Licence, Orcid

_SOURCES: Final = {
    WorkKind.ARTICLE: "citation_journal_title",
    WorkKind.CHAPTER: "citation_inbook_title",
    WorkKind.CONFERENCE: "citation_conference_title",
}
_PUBLISHERS: Final = {
    WorkKind.THESIS: "citation_dissertation_institution",
    WorkKind.REPORT: "citation_technical_report_institution",
}
_TYPES: Final = {
    WorkKind.ARTICLE: "ScholarlyArticle",
    WorkKind.BOOK: "Book",
    WorkKind.CHAPTER: "Chapter",
    WorkKind.CONFERENCE: "ScholarlyArticle",
    WorkKind.THESIS: "Thesis",
    WorkKind.REPORT: "Report",
    WorkKind.DATASET: "Dataset",
    WorkKind.SOFTWARE: "SoftwareApplication",
    WorkKind.IMAGE: "ImageObject",
    WorkKind.FILM: "VideoObject",
    WorkKind.SOUND: "AudioObject",
    WorkKind.PAGE: "WebPage",
    WorkKind.OTHER: "CreativeWork",
}


def highwire(work: Work, *, pdf_url: str | None = None) -> tuple[tuple[str, str], ...]:
    """Names and contents of `<meta>` elements, in order. `pdf_url`: where the text is public as PDF, if it is."""
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
        yield _PUBLISHERS.get(work.kind, "citation_publisher"), work.publisher
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
    """The item in the words of schema.org."""
    description: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": _TYPES[work.kind],
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
    """JSON that may stand in a `<script>` of a page as it is: nothing in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
