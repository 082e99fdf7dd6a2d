"""Texts as the words that a search compares: without case and diacritics, in any script.

One reading for what is kept and for what is asked, here rather than in a database: the characters that this Python
knows are newer than those an SQLite knows, it can tell scripts apart, and every adapter finds the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from unicodedata import category, combining, normalize

LONGEST: Final = 40
"""Characters of a word that count; what is longer is no word that people type."""
BOUNDARY: Final = "·"
"""Stands between two values, so that no phrase reaches from one into the next. It is punctuation: no word has it."""

# Letters that are a stroke or a ligature away from a plain one, and that Unicode does not take apart.
_PLAIN: Final = {
    ord(letter): plain
    for letter, plain in zip("øłđðħıŧæœþ", ("o", "l", "d", "d", "h", "i", "t", "ae", "oe", "th"), strict=True)
}
_ASCII: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
# Scripts written without spaces: each character is a word, and a run of them a phrase.
_UNSPACED: Final = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x2E80, 0x3008),  # radicals and iteration marks of Chinese
    range(0x3040, 0x3100),  # kana
    range(0x31F0, 0x3200),
    range(0x3400, 0xA000),  # ideographs
    range(0xF900, 0xFB00),
    range(0x20000, 0x40000),
)
_MOST_REMEMBERED: Final = 20_000


class _Table(dict[int, "int | str | None"]):
    """A table for `str.translate` that works itself out, and stops growing when strangers feed it."""

    def __missing__(self, code: int) -> int | str | None:
        become = self.of(code)
        if len(self) < _MOST_REMEMBERED:
            self[code] = become
        return become

    def of(self, code: int) -> int | str | None:
        raise NotImplementedError


class _Bare(_Table):
    """Of decomposed text: without what is not seen, and without diacritics. Vowel signs, which make the word, have
    other combining classes than accents, points and tone marks, and stay."""

    def of(self, code: int) -> int | str | None:
        rank = combining(chr(code))
        if 10 <= rank <= 36 or rank >= 200 or category(chr(code)) == "Cf" or 0xFE00 <= code <= 0xFE0F:
            return None
        return _PLAIN.get(code, code)


class _Spaced(_Table):
    """Everything that is part of no word is a space."""

    def of(self, code: int) -> int | str | None:
        kind = category(chr(code))
        if kind == "So" or (kind[0] in "LNM" and any(code in script for script in _UNSPACED)):
            return f" {chr(code)} "
        return code if kind[0] in "LNM" else " "


_bare, _spaced = _Bare(), _Spaced()


def words(text: str) -> list[str]:
    """The words of a text, in order. None if it has neither letters nor digits nor symbols."""
    if text.isascii():
        return [word[:LONGEST] for word in text.lower().translate(_ASCII).split()]
    # Case folding may leave what can be taken apart further, and stripping what can be put together again.
    folded = normalize("NFKD", normalize("NFKD", text).casefold()).translate(_bare)
    return [word[:LONGEST] for word in normalize("NFC", folded).translate(_spaced).split()]


def join_words(texts: Iterable[str], most: int) -> str:
    """The words of several values, up to `most`, with spaces between the words and a boundary between the values."""
    found: list[str] = []
    for text in texts:
        if found:
            found.append(BOUNDARY)
        found += words(text)
        if len(found) >= most:
            break
    return " ".join(found[:most])
