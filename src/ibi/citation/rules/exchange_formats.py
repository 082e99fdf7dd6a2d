"""The formats in which programs exchange citations: BibTeX, RIS and CSL-JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from unicodedata import normalize

from ibi.citation.rules.names import Name
from ibi.citation.rules.work import Day, IdentifierScheme, Work
from ibi.items.model.item_types import WorkKind, find_coar_type
from ibi.items.model.metadata import IssueDate

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
_TYPED: Final = frozenset({"misc", *_PUBLISHERS})


def bibtex(work: Work) -> str:
    """Return the entry, with a line end.

    The key contains the label, so it is unique everywhere. The type is one of BibTeX's own: programs treat unknown
    types as `misc`, or refuse them.
    """
    kind = _type(work)
    lines = "".join(f"  {name} = {value},\n" for name, value in _list_fields(work, kind) if value is not None)
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


def _list_fields(work: Work, kind: str) -> Iterator[tuple[str, str | None]]:
    """Yield every field in order, with its value as BibTeX writes it, or None for what the work lacks."""
    dated, place = work.dated, work.place
    # Names are escaped one by one: the `and` between them is BibTeX's own.
    yield "author", _brace(" and ".join(map(_bibtex_name, work.authors)) or None)
    # The inner braces keep the capitals in styles that write titles in small letters.
    yield "title", f"{{{_text(work.title)}}}"
    yield "year", f"{{{dated.year:04}}}"
    yield "month", None if dated.month is None else _MONTHS[dated.month - 1]
    if kind in _SOURCE_FIELDS:
        yield _SOURCE_FIELDS[kind], _text(work.source)
    yield "volume", _text(place.volume or None)
    yield "number", _text(place.issue or None)
    yield "pages", _text(place.pages.replace("–", "--") or None)
    yield "chapter", _text(place.chapter or None)
    yield _PUBLISHERS.get(kind, "publisher"), _text(work.publisher)
    if kind in _TYPED:
        yield "type", _text(work.genre)
    yield "language", _text(work.language)
    yield "abstract", _text(work.abstract)
    yield "keywords", _text(", ".join(work.keywords) or None)
    yield "doi", _address(work.identifier(IdentifierScheme.DOI))
    yield "url", _address(work.url)
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


def _text(text: str | None) -> str | None:
    return _brace(None if text is None else _escape(text))


def _address(text: str | None) -> str | None:
    return _brace(None if text is None else text.translate(_URL_SPECIALS))


def _brace(written: str | None) -> str | None:
    return None if written is None else f"{{{written}}}"


def _escape(text: str) -> str:
    return text.translate(_SPECIALS)


def ris(work: Work, accessed: Day | None = None) -> str:
    """Return the record. Each line has a tag, two spaces, a hyphen, a space and a value, and ends with CR LF."""
    return "".join(f"{tag}  - {value}\r\n" for tag, value in _list_tags(work, accessed) if value is not None)


def _list_tags(work: Work, accessed: Day | None) -> Iterator[tuple[str, str | None]]:
    """Yield every tag in order, with None for what the work lacks."""
    yield "TY", work.type.ris
    yield "ID", work.label
    yield "TI", work.title
    yield from (("AU", author.inverted) for author in work.authors)
    yield from (("A2", contributor.inverted) for contributor in work.contributors)
    yield "PY", f"{work.dated.year:04}"
    yield "DA", _ris_date(work.dated)
    yield "T2", work.source
    first, last = work.place.first_and_last_page
    yield "VL", work.place.volume or None
    yield "IS", work.place.issue or None
    yield "SP", first or None
    yield "EP", last or None
    yield "PB", work.publisher
    yield "M3", work.genre
    yield "LA", work.language
    yield from (("KW", keyword) for keyword in work.keywords)
    yield "AB", work.abstract
    doi = work.identifier(IdentifierScheme.DOI)
    yield "DO", doi
    yield "UR", work.url
    yield from (("UR", each.url) for each in work.identifiers if each.value != doi)
    yield "Y2", None if accessed is None else f"{accessed.year:04}/{accessed.month:02}/{accessed.day:02}/"
    yield "ER", ""


def _ris_date(dated: IssueDate) -> str | None:
    """Return the date as `2009/07//` or `2009/07/02/`. None if only its year is known, which `PY` has."""
    if dated.month is None:
        return None
    return f"{dated.year:04}/{dated.month:02}/" + ("/" if dated.day is None else f"{dated.day:02}/")


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
