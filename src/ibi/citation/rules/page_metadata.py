"""Metadata in the page of an item for machines: the tags that scholarly indexes read, and schema.org."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ibi.citation.rules.names import Name
from ibi.citation.rules.work import IdentifierScheme, Work
from ibi.items.model.item_types import WorkKind
from ibi.items.model.metadata import Licence, Orcid

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
    return tuple((name, content) for name, content in _read_tags(work, pdf_url) if content is not None)


def _read_tags(work: Work, pdf_url: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield every tag in order, with None for what the work lacks."""
    yield "citation_title", work.title
    for author, orcid in zip(work.authors, work.orcids, strict=True):
        yield "citation_author", author.inverted
        yield "citation_author_orcid", None if orcid is None else orcid.url
    yield "citation_publication_date", None if work.issued is None else str(work.issued).replace("-", "/")
    if work.kind in _SOURCES:
        yield _SOURCES[work.kind], work.source
    first, last = work.place.first_and_last_page
    yield "citation_volume", work.place.volume or None
    yield "citation_issue", work.place.issue or None
    yield "citation_firstpage", first or None
    yield "citation_lastpage", last or None
    yield _PUBLISHER_TAGS.get(work.kind, "citation_publisher"), work.publisher
    yield "citation_language", work.language
    yield from (("citation_keywords", keyword) for keyword in work.keywords)
    yield "citation_doi", work.identifier(IdentifierScheme.DOI)
    yield "citation_public_url", work.url
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
