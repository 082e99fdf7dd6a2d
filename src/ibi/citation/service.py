"""Citations in named styles: ABNT and APA from this package, and others of the Citation Style Language.

The styles are files of citationstyles.org (CC BY-SA 3.0) in `csl/`, read by `citeproc-py`. It needs some milliseconds
and a lock, so that pages make a citation in a thread. The results are cached.
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

from ibi.citation.rules.abnt import abnt
from ibi.citation.rules.apa import apa
from ibi.citation.rules.exchange_formats import csl_json
from ibi.citation.rules.work import Day, Run, Work, end_sentence, plain
from ibi.standard.instant import Instant
from ibi.standard.lru_cache import LruCache

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
"""The styles: the name in an address, and the name for readers."""
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
"""Styles of this package. They express more than CSL can: the name of an institution, or a date from the label."""
OWN_STYLES: Final = tuple(_OWN)
_LOCALES: Final = {"pt-BR": "pt-BR", "es": "es-ES"}
_MOST_AUTHORS: Final = 50
"""Largest number of authors given to a style. Some styles name all of them."""

_ITALIC, _PLAIN = "\x02", "\x03"
"""Marks for the beginning and the end of italics in the output of citeproc. No text of an item has control
characters."""
_NUMBER: Final = re.compile(r"^(?:\[1\]|\(1\)|1\.)\s*")
"""The number of the first entry of a list."""

_DATE: Final = re.compile(r"\b(\d{4})([A-Z][a-z]{2})(\d{1,2})?\b")
"""`2026Nov16`, which citeproc writes without the spaces of the style."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The name of a style, and the citation in it."""

    style: str
    runs: tuple[Run, ...]


def default_style(language: str) -> str:
    return "abnt" if language == "pt-BR" else "apa"


_made: Final[LruCache[tuple[Work, str, str, Day], tuple[Run, ...]]] = LruCache(1_000)
_making: Final = Lock()
"""citeproc keeps state in its styles, and `_made` is not safe for several threads."""
_failures: Final[set[tuple[str, type[Exception]]]] = set()
_LOG: Final = structlog.get_logger("ibi.citations")


def cite(work: Work, style: str, language: str, on: Instant) -> Citation:
    """Return the citation in one of `STYLES`. `language` is the reader's; `on` is the date of access. This call blocks.

    If citeproc fails, the work is cited in this package's style for that language, under that style's name. An error is
    never raised.
    """
    day = Day.of(on)
    if style in _OWN:
        return Citation(STYLES[style], _OWN[style](work, day))
    with _making:
        key = work, style, language, day
        found = _made.find(key)
        if found is None:
            try:
                found = _write(work, style, language, day)
            except Exception as error:  # noqa: BLE001 - a failed citation must not break the page
                _log_failure(work, style, error)
                return cite(work, default_style(language), language, on)
            _made.keep(key, found)
    return Citation(STYLES[style], found)


def _log_failure(work: Work, style: str, error: Exception) -> None:
    """Log a failure of citeproc, once for each style and kind of error."""
    if (style, type(error)) not in _failures:
        _failures.add((style, type(error)))
        _LOG.error("citation failed", style=style, item=work.label, exc_info=error)


def _write(work: Work, style: str, language: str, day: Day) -> tuple[Run, ...]:
    from citeproc import Citation as Cited
    from citeproc import CitationItem, CitationStylesBibliography
    from citeproc.source.json import CiteProcJSON

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parts of a style that citeproc does not know
        record = _record(work, day)
        contributors = record.pop("contributor", ())
        source = CiteProcJSON([record])
        if contributors:  # citeproc would read a list of names as one text
            source["item"]["contributor"] = source.parse_names(contributors)
        bibliography = CitationStylesBibliography(_style(style, language), source, _FORMATTER)
        bibliography.register(Cited([CitationItem("item")]))
        written = str(bibliography.bibliography()[0])
    text = _DATE.sub(_spread_date, _NUMBER.sub("", " ".join(written.split())))
    runs = _runs(text if work.authors or work.publisher else _without_second(work.title, text))
    # A citation must have the link, and some styles leave it out for some types.
    return runs if work.url in plain(runs) else (*end_sentence(*runs), Run(f" {work.url}"))


def _record(work: Work, day: Day) -> dict[str, Any]:
    """Return the item for citeproc. The DOI is left out: styles would write it in place of the persistent URL."""
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
    """Remove the second title. A work without an author has its title first, and citeproc repeats it in its usual
    place."""
    first = text.lower().find(title.lower())
    if first < 0:
        return text
    end = first + len(title)
    again = re.compile(f'[{_ITALIC}“«"]?{re.escape(title)}[{_PLAIN}]?[”»"]?[.,]*\\s*', re.IGNORECASE)
    return text[:end] + again.sub("", text[end:], count=1)


@lru_cache(maxsize=len(_FILES) * (len(_LOCALES) + 1))
def _style(style: str, language: str) -> CitationStylesStyle:
    from citeproc import CitationStylesStyle

    with (files("ibi.citation") / "csl" / f"{_FILES[style]}.csl").open("rb") as file:
        read = CitationStylesStyle(file, locale=_LOCALES.get(language), validate=False)
    if any(element.get("initialize") == "false" for element in read.root.iter()):
        read.root.attrib.pop("initialize-with", None)  # citeproc would still reduce the names to initials
    return read


def _runs(written: str) -> tuple[Run, ...]:
    """Return the texts between the marks. A mark inside italics ends them, as in a title within a title."""
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
"""The formatter for citeproc: texts and marks, without HTML."""
