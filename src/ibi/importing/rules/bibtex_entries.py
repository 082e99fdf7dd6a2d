"""BibTeX and BibLaTeX, read strictly as to braces and quotes, and in time linear in the text.

Text between entries is a comment, as in BibTeX. `@string` is understood, but its expansion is limited, so that a few
lines cannot grow into gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ibi.importing.rules.imported import MOST_IMPORTED, UnreadableRecord

_SPACE: Final = re.compile(r"\s*")
_WORD: Final = re.compile(r"[^\s{}()\",=#%@\\]+")
_KEY: Final = re.compile(r"[^\s{}\",=]*")
_BRACE: Final = re.compile(r"[{}]")
_QUOTE: Final = re.compile(r'[{}"]')
_LONGEST_MACRO: Final = 10_000
_MOST_FIELDS: Final = 1_000
MONTHS: Final = {
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
        self._macros = {name: name for name in MONTHS}

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
