"""A reference in the style of the American Psychological Association, 7th edition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.citation.rules.names import Name
from ibi.citation.rules.work import Run, Work, citation, end_sentence
from ibi.items.model.item_types import WorkKind

_MOST_AUTHORS: Final = 20
"""With more authors, the first nineteen and the last are named (§9.8)."""
# §9.21: a work that is not a text is described in brackets.
_DESCRIPTIONS: Final = {
    WorkKind.DATASET: "Data set",
    WorkKind.SOFTWARE: "Computer software",
    WorkKind.IMAGE: "Image",
    WorkKind.FILM: "Video",
    WorkKind.SOUND: "Audio",
}
_PART_OF: Final = {WorkKind.CHAPTER, WorkKind.CONFERENCE}


def apa(work: Work) -> tuple[Run, ...]:
    """Return author, date, title and source. Without an author the title comes first (§9.12)."""
    authors, date = end_sentence(Run(_authors(work.authors))), (Run(f"({_date(work)})."),)
    beginning = (authors, date, _title(work)) if authors else (_title(work), date)
    return citation((*beginning, *_source(work), (Run(work.url),)))


def _authors(names: tuple[Name, ...]) -> str:
    shown = [_name(name) for name in names]
    if len(shown) > _MOST_AUTHORS:
        return f"{', '.join(shown[: _MOST_AUTHORS - 1])}, … {shown[-1]}"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])}, & {shown[-1]}" if shown else ""


def _name(name: Name) -> str:
    return f"{name.family}, {name.initials}" if name.initials else name.family


def _date(work: Work) -> str:
    return str(work.dated.year)


def _title(work: Work) -> tuple[Run, ...]:
    """Return the title, in italics if the work stands by itself (§9.19)."""
    is_part = work.source is not None and (work.kind is WorkKind.ARTICLE or work.kind in _PART_OF)
    note = _note(work)
    return end_sentence(Run(work.title, italic=not is_part), Run(f" [{note}]" if note else ""))


def _note(work: Work) -> str:
    if work.kind is WorkKind.THESIS:
        return ", ".join(filter(None, (work.genre or "Thesis", work.publisher)))
    return _DESCRIPTIONS.get(work.kind, "")


def _source(work: Work) -> Iterator[tuple[Run, ...]]:
    if work.source is not None and work.kind is WorkKind.ARTICLE:
        yield end_sentence(Run(work.source, italic=True), *_place(work))
        return
    if work.source is not None and work.kind in _PART_OF:
        yield end_sentence(Run("In "), Run(work.source, italic=True), Run(_place_in_book(work)))
    # §9.29: the publisher is left out if the same name appears as author.
    named = {name.straight.casefold() for name in work.authors} | {name.inverted.casefold() for name in work.authors}
    if work.publisher is not None and work.kind is not WorkKind.THESIS and work.publisher.casefold() not in named:
        yield end_sentence(Run(work.publisher))


def _place(work: Work) -> Iterator[Run]:
    """Yield the volume in italics, the issue in parentheses, and the pages (§9.25)."""
    place = work.place
    if place.volume:
        yield from (Run(", "), Run(place.volume, italic=True))
    if place.issue:
        yield Run(f"({place.issue})" if place.volume else f", ({place.issue})")
    if place.pages:
        yield Run(f", {place.pages}")


def _place_in_book(work: Work) -> str:
    """Return the volume and pages in parentheses, for the title of the whole (§9.28)."""
    place = work.place
    pages = f"{'pp.' if place.first_and_last_page[1] else 'p.'} {place.pages}" if place.pages else ""
    told = ", ".join(filter(None, (f"Vol. {place.volume}" if place.volume else "", pages)))
    return f" ({told})" if told else ""
