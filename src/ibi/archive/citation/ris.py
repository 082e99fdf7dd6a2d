"""A citation in the RIS format, which reference managers read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.archive.citation.work import Day, Work, WorkKind

_TYPES: Final = {
    WorkKind.ARTICLE: "JOUR",
    WorkKind.BOOK: "BOOK",
    WorkKind.CHAPTER: "CHAP",
    WorkKind.CONFERENCE: "CPAPER",
    WorkKind.THESIS: "THES",
    WorkKind.REPORT: "RPRT",
    WorkKind.DATASET: "DATA",
    WorkKind.SOFTWARE: "COMP",
    WorkKind.IMAGE: "FIGURE",
    WorkKind.FILM: "VIDEO",
    WorkKind.SOUND: "SOUND",
    WorkKind.PAGE: "ELEC",
    WorkKind.OTHER: "GEN",
}


def ris(work: Work, accessed: Day | None = None) -> str:
    """The record: a tag, two spaces, a hyphen, a space, a value on one line; lines end as the format has it."""
    return "".join(f"{tag}  - {value}\r\n" for tag, value in _lines(work, accessed))


def _lines(work: Work, accessed: Day | None) -> Iterator[tuple[str, str]]:
    yield "TY", _TYPES[work.kind]
    yield "ID", work.label
    yield "TI", work.title
    yield from (("AU", author.inverted) for author in work.authors)
    yield from (("A2", contributor.inverted) for contributor in work.contributors)
    if work.issued is not None:
        yield "PY", f"{work.issued.year:04}"
        if work.issued.month is not None:
            parts = (f"{part:02}" if part is not None else "" for part in work.issued[1:])
            yield "DA", "/".join((f"{work.issued.year:04}", *parts, ""))
    if work.source is not None:
        yield "T2", work.source
    if work.publisher is not None:
        yield "PB", work.publisher
    if work.genre is not None:
        yield "M3", work.genre
    if work.language is not None:
        yield "LA", work.language
    yield from (("KW", keyword) for keyword in work.keywords)
    if work.abstract is not None:
        yield "AB", work.abstract
    yield "UR", work.url
    if accessed is not None:
        yield "Y2", f"{accessed.year:04}/{accessed.month:02}/{accessed.day:02}/"
    yield "ER", ""
