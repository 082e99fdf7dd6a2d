"""Citations in the styles that people ask for by name: our own ABNT and APA, and others of the Citation Style Language.

The styles are files of citationstyles.org (CC BY-SA 3.0) in `csl/`; `citeproc-py` reads them. It takes some
milliseconds and a lock, so that pages ask for a citation in a thread; what was made is remembered.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import structlog

from ibi.archive.citation.abnt import abnt
from ibi.archive.citation.apa import apa
from ibi.archive.citation.exchange_formats import csl_json
from ibi.archive.citation.work import Day, Run, Work, end_sentence, plain
from ibi.instant import Instant
from ibi.lru_cache import LruCache

if TYPE_CHECKING:
    from citeproc import CitationStylesStyle

STYLES: Final[Mapping[str, str]] = {
    "abnt": "ABNT",
    "apa": "APA",
    "chicago": "Chicago",
    "harvard": "Harvard",
    "ieee": "IEEE",
    "iso690": "ISO 690",
    "mla": "MLA",
    "vancouver": "Vancouver",
}
"""The styles by the name in an address, and as they are called."""
_FILES: Final = {
    "chicago": "chicago-author-date",
    "harvard": "harvard-cite-them-right",
    "ieee": "ieee",
    "iso690": "iso690-author-date-en",
    "mla": "modern-language-association",
    "vancouver": "nlm-citation-sequence",
}
_OWN: Final[Mapping[str, Callable[[Work, Day], tuple[Run, ...]]]] = {
    "abnt": abnt,
    "apa": lambda work, _: apa(work),
}
"""Those of which ours say more than CSL can: an institution as it calls itself, a date that the label tells."""
OWN_STYLES: Final = tuple(_OWN)
_LOCALES: Final = {"pt-BR": "pt-BR", "es": "es-ES"}
_MOST_AUTHORS: Final = 50
"""What a style may have to write: some name all of them."""

_ITALIC, _PLAIN = "\x02", "\x03"
"""Stand for the beginning and the end of italics in what citeproc writes: no text of an item has controls."""
_NUMBER: Final = re.compile(r"^(?:\[1\]|\(1\)|1\.)\s*")
"""The number of the first entry of a list."""

_DATE: Final = re.compile(r"\b(\d{4})([A-Z][a-z]{2})(\d{1,2})?\b")
"""`2026Nov16`, which citeproc writes without the spaces that the style has."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The name of a style, and the citation in it."""

    style: str
    runs: tuple[Run, ...]


def default_style(language: str) -> str:
    return "abnt" if language == "pt-BR" else "apa"


_made: Final[LruCache[tuple[Work, str, str, Day], tuple[Run, ...]]] = LruCache(1_000)
_making: Final = Lock()
"""citeproc keeps state in its styles, and `_made` is for one thread."""
_failures: Final[set[tuple[str, type[Exception]]]] = set()
_LOG: Final = structlog.get_logger("ibi.citations")


def cite(work: Work, style: str, language: str, on: Instant) -> Citation:
    """The citation in one of `STYLES`; `language` is that of its reader, `on` when they look. Blocks.

    A work that citeproc fails at is cited in our own style of that language, by its name: never an error."""
    day = Day.of(on)
    if style in _OWN:
        return Citation(STYLES[style], _OWN[style](work, day))
    with _making:
        key = work, style, language, day
        found = _made.find(key)
        if found is None:
            try:
                found = _write(work, style, language, day)
            except Exception as error:  # noqa: BLE001 - the page of an item is more than its citation
                _log_failure(work, style, error)
                return cite(work, default_style(language), language, on)
            _made.keep(key, found)
    return Citation(STYLES[style], found)


def _log_failure(work: Work, style: str, error: Exception) -> None:
    """Log what citeproc failed at: once for each style and kind of error."""
    if (style, type(error)) not in _failures:
        _failures.add((style, type(error)))
        _LOG.error("citation failed", style=style, item=work.label, exc_info=error)


def _write(work: Work, style: str, language: str, day: Day) -> tuple[Run, ...]:
    from citeproc import Citation as Cited
    from citeproc import CitationItem, CitationStylesBibliography
    from citeproc.source.json import CiteProcJSON

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a style has and citeproc does not know
        record = _record(work, day)
        contributors = record.pop("contributor", ())
        source = CiteProcJSON([record])
        if contributors:  # styles have them as names, and citeproc would read them as a text
            source["item"]["contributor"] = source.parse_names(contributors)
        bibliography = CitationStylesBibliography(_style(style, language), source, _FORMATTER)
        bibliography.register(Cited([CitationItem("item")]))
        written = str(bibliography.bibliography()[0])
    text = _DATE.sub(_spread_date, _NUMBER.sub("", " ".join(written.split())))
    runs = _runs(text if work.authors or work.publisher else _without_second(work.title, text))
    # The link is what an item is cited for, and some styles leave it out of some kinds.
    return runs if work.url in plain(runs) else (*end_sentence(*runs), Run(f" {work.url}"))


def _record(work: Work, day: Day) -> dict[str, Any]:
    """The item for citeproc. Styles write a DOI in the place of an address, and the address is what holds here."""
    said = csl_json(work, day)
    wanted = {name: value for name, value in said.items() if name not in {"DOI", "abstract", "keyword", "note"}}
    named = {name: value[:_MOST_AUTHORS] for name, value in wanted.items() if name in {"author", "contributor"}}
    if not work.authors and work.publisher is not None:
        named["author"] = [{"literal": work.publisher}]
        wanted.pop("publisher", None)
    return {**wanted, **named, "id": "item"}


def _spread_date(found: re.Match[str]) -> str:
    return " ".join(filter(None, found.groups()))


def _without_second(title: str, text: str) -> str:
    """Of a work without an author the title comes first; citeproc writes it in its own place as well."""
    first = text.lower().find(title.lower())
    if first < 0:
        return text
    end = first + len(title)
    again = re.compile(f'[{_ITALIC}“«"]?{re.escape(title)}[{_PLAIN}]?[”»"]?[.,]*\\s*', re.IGNORECASE)
    return text[:end] + again.sub("", text[end:], count=1)


@lru_cache(maxsize=len(_FILES) * (len(_LOCALES) + 1))
def _style(style: str, language: str) -> CitationStylesStyle:
    from citeproc import CitationStylesStyle

    with (files("ibi.web.pages") / "csl" / f"{_FILES[style]}.csl").open("rb") as file:
        read = CitationStylesStyle(file, locale=_LOCALES.get(language), validate=False)
    if any(element.get("initialize") == "false" for element in read.root.iter()):
        read.root.attrib.pop("initialize-with", None)  # citeproc would make initials of the names all the same
    return read


def _runs(written: str) -> tuple[Run, ...]:
    """Texts between the marks; a mark inside italics ends them, as in a title within a title."""
    found, italic = [], False
    for part in re.split(f"([{_ITALIC}{_PLAIN}])", written):
        if part in {_ITALIC, _PLAIN}:
            italic = part == _ITALIC
        elif part:
            found.append(Run(part, italic))
    return tuple(found)


def _mark_italic(text: str) -> str:
    return f"{_ITALIC}{text}{_PLAIN}"


_FORMATTER: Final = SimpleNamespace(
    preformat=str,
    Italic=_mark_italic,
    Oblique=_mark_italic,
    **dict.fromkeys(("Bold", "Light", "Underline", "Superscript", "Subscript", "SmallCaps"), str),
)
"""What citeproc writes with: text and marks, and no HTML."""
