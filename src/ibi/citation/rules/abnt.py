"""A citation by ABNT NBR 6023:2018, with the persistent URL and the day of access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.citation.rules.names import Name
from ibi.citation.rules.work import Day, Run, Work, citation, end_sentence
from ibi.items.model.item_types import WorkKind

_MONTHS: Final = "jan. fev. mar. abr. maio jun. jul. ago. set. out. nov. dez.".split()
_MOST_AUTHORS: Final = 3
"""With four or more authors, the first may stand for all (NBR 6023 §8.1.1.2)."""
_PART_OF: Final = {WorkKind.CHAPTER, WorkKind.CONFERENCE}


def abnt(work: Work, accessed: Day) -> tuple[Run, ...]:
    """Return the known elements in the order of the standard. Required elements that the description lacks are in
    brackets."""
    return citation((_responsibility(work), *_body(work), (Run(f"Disponível em: {work.url}."),), (_access(accessed),)))


def _responsibility(work: Work) -> tuple[Run, ...]:
    shown = "; ".join(map(_name, work.authors[: _MOST_AUTHORS if len(work.authors) <= _MOST_AUTHORS else 1]))
    if len(work.authors) > _MOST_AUTHORS:
        return Run(f"{shown} "), Run("et al", italic=True), Run(".")
    return end_sentence(Run(shown))


def _name(name: Name) -> str:
    return f"{name.family.upper()}, {name.given}" if name.given else name.family.upper()


def _body(work: Work) -> Iterator[tuple[Run, ...]]:
    if work.kind is WorkKind.ARTICLE and work.source is not None:
        yield _title(work, stands_out=False)
        yield end_sentence(
            Run(work.source, italic=True), Run("".join(f", {part}" for part in (*_place(work), _year(work))))
        )
    elif work.kind in _PART_OF and work.source is not None:
        yield _title(work, stands_out=False)
        yield end_sentence(Run("In: "), Run(work.source, italic=True))
        yield _imprint(work)
        yield end_sentence(Run(", ".join(_place(work))))
    elif work.kind is WorkKind.THESIS:
        yield _title(work, stands_out=True)
        yield (Run(f"{_year(work)}."),)
        yield end_sentence(
            Run(f"{work.genre or 'Tese'} – {work.publisher}, {_year(work)}" if work.publisher else work.genre or "Tese")
        )
    else:
        yield _title(work, stands_out=True)
        yield _imprint(work)


def _place(work: Work) -> Iterator[str]:
    place = work.place
    told = (("v.", place.volume), ("n.", place.issue), ("cap.", place.chapter), ("p.", place.pages.replace("–", "-")))
    return (f"{word} {value}" for word, value in told if value)


def _title(work: Work, *, stands_out: bool) -> tuple[Run, ...]:
    """Return the title. Without an author, its first word is in capitals."""
    if work.authors:
        return end_sentence(Run(work.title, italic=stands_out))
    first, space, rest = work.title.partition(" ")
    return end_sentence(Run(f"{first.upper()}{space}{rest}"))


def _imprint(work: Work) -> tuple[Run, ...]:
    """Return place, publisher and year. Dublin Core has no place: depositors write one before the publisher."""
    year = _year(work)
    if work.publisher is None:
        return Run("["), Run("S. l.: s. n.", italic=True), Run(f"], {year}.")
    if ":" in work.publisher:
        return end_sentence(Run(f"{work.publisher}, {year}"))
    return end_sentence(Run("["), Run("S. l.", italic=True), Run(f"]: {work.publisher}, {year}"))


def _year(work: Work) -> str:
    """Return the year. Without one, return the year of the label as a probable year (NBR 6023 §8.6.1.3)."""
    return f"[{work.named_in}?]" if work.issued is None else str(work.issued.year)


def _access(day: Day) -> Run:
    return Run(f"Acesso em: {day.day} {_MONTHS[day.month - 1]} {day.year}.")
