"""BibTeX and BibLaTeX, read strictly as to braces and quotes, and in time linear in the text.

Text between entries is a comment, as in BibTeX. `@string` is understood, but its expansion is limited, so that a few
lines cannot grow into gigabytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ibi.archive.importing.imported import (
    MOST_IMPORTED,
    MOST_RECORDS,
    DescriptionBuilder,
    ImportedRecord,
    ImportFormat,
    UnreadableRecord,
)
from ibi.model.item_types import ReadFrom, find_type_of_format

_SPACE: Final = re.compile(r"\s*")
_WORD: Final = re.compile(r"[^\s{}()\",=#%@\\]+")
_KEY: Final = re.compile(r"[^\s{}\",=]*")
_BRACE: Final = re.compile(r"[{}]")
_QUOTE: Final = re.compile(r'[{}"]')
_LONGEST_MACRO: Final = 10_000
_MOST_FIELDS: Final = 1_000
_MONTHS: Final = {
    name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}


@dataclass(frozen=True, slots=True)
class BibEntry:
    """One entry. Field names are in lower case; values are unchanged, without their outer braces."""

    kind: str
    fields: dict[str, str]


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._written = text, 0, 0
        self._macros = {name: name for name in _MONTHS}

    def entries(self) -> Iterator[BibEntry]:
        while (at := self._text.find("@", self._at)) >= 0:
            self._at = at + 1
            word = _WORD.match(self._text, self._at)
            if word is None:
                continue
            self._at = word.end()
            self._skip_space()
            if self._peek() not in ("{", "("):
                continue  # an e-mail address in a comment
            entry = self._entry(word[0].lower())
            if entry is not None:
                yield entry

    def _entry(self, kind: str) -> BibEntry | None:
        opening = self._peek()
        if kind in ("comment", "preamble"):
            if opening == "{":
                self._read_braced()
            return None
        self._at += 1
        self._skip_space()
        closing = "}" if opening == "{" else ")"
        if kind != "string":
            key = _KEY.match(self._text, self._at)
            assert key is not None  # it may be empty
            self._at = key.end()
            self._skip_space()
            if self._peek() == ",":
                self._at += 1
        fields = self._fields(closing)
        if kind == "string":
            self._macros |= {name: value[:_LONGEST_MACRO] for name, value in fields.items()}
            return None
        return BibEntry(kind, fields)

    def _fields(self, closing: str) -> dict[str, str]:
        fields: dict[str, str] = {}
        while True:
            self._skip_space()
            sign = self._peek()
            if sign == closing:
                self._at += 1
                return fields
            if sign == ",":
                self._at += 1
                continue
            name = _WORD.match(self._text, self._at)
            if name is None:
                raise self._refusal("a field looks like title = {{On naming things}} (line {line})")
            self._at = name.end()
            self._skip_space()
            if self._peek() != "=":
                raise self._refusal("after the name of a field comes = (line {line})")
            self._at += 1
            if len(fields) == _MOST_FIELDS:
                raise self._refusal("an entry has too many fields (line {line})")
            fields.setdefault(name[0].lower(), self._value())

    def _value(self) -> str:
        parts: list[str] = []
        while True:
            self._skip_space()
            parts.append(self._part())
            self._written += len(parts[-1])
            if self._written > 2 * MOST_IMPORTED:
                raise self._refusal("with its abbreviations written out it is too long (line {line})")
            self._skip_space()
            if self._peek() != "#":
                return "".join(parts)
            self._at += 1

    def _part(self) -> str:
        sign = self._peek()
        if sign == "{":
            return self._read_braced()
        if sign == '"':
            return self._read_quoted()
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._refusal("a value stands in braces or quotation marks (line {line})")
        self._at = word.end()
        return self._macros.get(word[0].lower(), word[0])

    def _read_braced(self) -> str:
        """Return the text between this brace and its closing one."""
        start, depth = self._at, 0
        for brace in _BRACE.finditer(self._text, start):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                self._at = brace.end()
                return self._text[start + 1 : brace.start()]
        raise self._refusal("a brace is not closed (line {line})")

    def _read_quoted(self) -> str:
        start, depth = self._at, 0
        for sign in _QUOTE.finditer(self._text, start + 1):
            if sign[0] == '"':
                if depth == 0:
                    self._at = sign.end()
                    return self._text[start + 1 : sign.start()]
                continue
            depth += 1 if sign[0] == "{" else -1
        raise self._refusal("a quotation mark is not closed (line {line})")

    def _skip_space(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None  # it may be empty
        self._at = space.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _refusal(self, reason: str) -> UnreadableRecord:
        line = self._text.count("\n", 0, self._at) + 1
        return UnreadableRecord(self._text[self._at : self._at + 80], self._at, reason, line=line)


def read_entries(text: str) -> Iterator[BibEntry]:
    """Return the entries of a file. `UnreadableRecord` names the first line that cannot be read."""
    return _Reader(text).entries()


# --- TeX --------------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(r"\\([A-Za-z]+)[ \t\n]*|\\(.)|([{}])|([^\\{}]+)|\\", re.DOTALL)
_ACCENTS: Final = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    '"': "\u0308",
    "=": "\u0304",
    ".": "\u0307",
    "c": "\u0327",
    "v": "\u030c",
    "u": "\u0306",
    "H": "\u030b",
    "k": "\u0328",
    "r": "\u030a",
    "d": "\u0323",
}
_SYMBOLS: Final = {
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "aa": "å",
    "AA": "Å",
    "i": "i",
    "j": "j",
    "dh": "ð",
    "DH": "Ð",
    "th": "þ",
    "TH": "Þ",
    "dj": "đ",
    "DJ": "Đ",
    "textendash": "–",
    "textemdash": "—",
    "ldots": "…",
    "dots": "…",
    "textquoteright": "’",
    "textquoteleft": "‘",
    "textquotedblleft": "“",
    "textquotedblright": "”",
    "textordmasculine": "º",
    "textordfeminine": "ª",
    "textregistered": "®",
    "texttrademark": "™",
    "textdegree": "°",
    "copyright": "©",
    "S": "§",
    "P": "¶",
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textunderscore": "_",
    "LaTeX": "LaTeX",
    "TeX": "TeX",
}
_PUNCTUATION: Final = (("~", " "), ("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))


def plain_text(tex: str) -> str:
    """Return a value without TeX: accents as letters, commands such as `\\emph` without their names. It never fails."""
    if "\\" not in tex and "{" not in tex:
        return _tidy_punctuation(tex)
    parts: list[str] = []
    accent = ""
    for token in _TOKEN.finditer(tex):
        name, sign, brace, run = token.groups()
        if (name or sign) in _ACCENTS:
            accent = _ACCENTS[name or sign]
            continue
        if brace is not None:
            continue
        if name is not None:
            piece = _SYMBOLS.get(name, "")
        else:
            piece = _tidy_punctuation(run) if run is not None else _read_escape(sign)
        if accent and piece.lstrip():
            piece = piece.lstrip()
            piece, accent = piece[0] + accent + piece[1:], ""
        parts.append(piece)
    return unicodedata.normalize("NFC", "".join(parts))


def _tidy_punctuation(text: str) -> str:
    for written, meant in _PUNCTUATION:
        text = text.replace(written, meant)
    return text


def _read_escape(sign: str | None) -> str:
    """Return the text of an escape: `\\&` is &, and `\\\\` ends a line."""
    return " " if sign in (None, "\\", " ", "\n", ",", "/", "-") else sign or ""


def _bare(tex: str) -> str:
    """Return a DOI or an address without TeX. In it, ~ and -- are literal."""
    return tex.replace("{", "").replace("}", "").replace("\\", "").strip()


# --- descriptions -----------------------------------------------------------------------------------------------------

_TEXTS: Final = {
    "publisher": "publisher",
    "school": "publisher",
    "institution": "publisher",
    "organization": "publisher",
    "howpublished": "publisher",
    "journal": "source",
    "journaltitle": "source",
    "booktitle": "source",
    "series": "source",
    "location": "coverage",
}
_WITHIN: Final = (("volume", "v. "), ("number", "n. "), ("issue", "n. "), ("pages", "p. "), ("chapter", "cap. "))
_AND: Final = re.compile(r" and |[{}]", re.IGNORECASE)
_IGNORED: Final = frozenset("timestamp owner keywords-plus date-added date-modified bdsk-url-1 file".split())


def read_bibtex(text: str) -> tuple[ImportedRecord, ...]:
    """Return the records of a BibTeX file, at most `MOST_RECORDS`."""
    found: list[ImportedRecord] = []
    for entry in read_entries(text):
        if len(found) == MOST_RECORDS:
            raise UnreadableRecord(entry.kind, 0, "there are more than {most} entries", most=MOST_RECORDS)
        found.append(_record(entry))
    if not found:
        raise UnreadableRecord(text[:80], 0, "there is no entry such as @article{{…}} in it")
    return tuple(found)


def _record(entry: BibEntry) -> ImportedRecord:
    builder, fields = DescriptionBuilder(ImportFormat.BIBTEX), dict(entry.fields)
    _add_titles(builder, fields)
    for name, element in (("author", "creator"), ("editor", "contributor"), ("translator", "contributor")):
        for person in _people(fields.pop(name, "")):
            builder.agent(name, element, person)
    _add_date(builder, fields)
    for name, element in _TEXTS.items():
        builder.text(name, element, plain_text(fields.pop(name, "")))
    within = [f"{words}{plain_text(fields.pop(name))}" for name, words in _WITHIN if fields.get(name)]
    builder.text("pages", "source", ", ".join(within))
    builder.prose("abstract", plain_text(fields.pop("abstract", "")))
    for word in re.split(r"[;,]", plain_text(fields.pop("keywords", "") or fields.pop("keyword", ""))):
        builder.text("keywords", "subject", word)
    _add_identifiers(builder, fields)
    for name in ("language", "langid"):
        if fields.get(name):
            builder.language(name, plain_text(fields.pop(name)))
    for name in ("copyright", "license", "licence", "rights"):
        if fields.get(name):
            builder.licence(name, _bare(fields.pop(name)))
    builder.kind("type", find_type_of_format(ReadFrom.BIBTEX, entry.kind), plain_text(fields.pop("type", "")))
    builder.pass_over(*(name for name in fields if name not in _IGNORED and fields[name].strip()))
    return builder.build()


def _add_titles(builder: DescriptionBuilder, fields: dict[str, str]) -> None:
    title, subtitle = plain_text(fields.pop("title", "")), plain_text(fields.pop("subtitle", ""))
    builder.text("title", "title", f"{title}: {subtitle}" if title and subtitle else title or subtitle)


def _people(names: str) -> Iterator[str]:
    """Yield the names joined by `and`. A name in braces is of an institution, and may contain `and`."""
    names, start, depth = " ".join(names.split()), 0, 0
    for found in _AND.finditer(names):
        if found[0] in "{}":
            depth += 1 if found[0] == "{" else -1
        elif depth <= 0:
            yield from _person(names[start : found.start()])
            start = found.end()
    yield from _person(names[start:])


def _person(tex: str) -> Iterator[str]:
    name = plain_text(tex).strip()
    if not name or name.lower() == "others":
        return
    parts = [part.strip() for part in name.split(",")]
    # Knuth, Jr., Donald: the degree of kinship belongs to the family name.
    yield f"{parts[0]} {parts[1]}, {parts[2]}" if len(parts) == 3 and not tex.strip().startswith("{") else name


def _add_date(builder: DescriptionBuilder, fields: dict[str, str]) -> None:
    date, year = _bare(fields.pop("date", "")), _bare(fields.pop("year", ""))
    month, day = _bare(fields.pop("month", "")).lower(), _bare(fields.pop("day", ""))
    if date or not year:
        builder.date("date", date)
        return
    number = _MONTHS.get(month[:3]) or (int(month) if month.isascii() and month.isdigit() and len(month) < 3 else None)
    if number is not None:
        year += f"-{number:02}"
        if day.isascii() and day.isdigit() and len(day) < 3:
            year += f"-{int(day):02}"
    builder.date("year", year)


def _add_identifiers(builder: DescriptionBuilder, fields: dict[str, str]) -> None:
    if doi := _bare(fields.pop("doi", "")):
        builder.doi("doi", doi)
    for name, prefix in (("isbn", "ISBN "), ("issn", "ISSN "), ("url", "")):
        builder.identifier(name, _bare(fields.pop(name, "")), prefix)
    archive = _bare(fields.pop("archiveprefix", "") or fields.pop("eprinttype", "")) or "arXiv"
    builder.identifier("eprint", _bare(fields.pop("eprint", "")), f"{archive}:")
