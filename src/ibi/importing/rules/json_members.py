"""Members of JSON records of works: texts and objects, whatever a record holds in their place."""

from __future__ import annotations

from typing import Any, Final

Members = dict[str, Any]
_MOST_LISTED: Final = 20_000
IDENTIFIER_SCHEMES: Final = {
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


def read_texts(value: object) -> list[str]:
    """Return the text, or all texts of a list. Numbers become texts."""
    if isinstance(value, list):
        return [text for each in value[:_MOST_LISTED] if not isinstance(each, list) for text in read_texts(each)]
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(value)] if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**12 else []


def read_text(value: object) -> str:
    return next(iter(read_texts(value)), "")


def read_objects(value: object) -> list[Members]:
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed[:_MOST_LISTED] if isinstance(each, dict)]
