"""The headers of a FITS file (FITS Standard 4.0)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ibi.items.rules.file_summaries.reading import ReadAt

# §3.1 blocks of 2880 bytes, §4.1 cards of 80 characters, §4.4.1 the keywords that size the data.

_BLOCK, _CARD = 2880, 80
_MOST_BLOCKS: Final = 40
_QUOTED: Final = re.compile("'((?:''|[^'])*+)'")
MOST_UNITS: Final = 12
MOST_CARDS: Final = 200
FITS: Final = b"SIMPLE  ="


@dataclass(frozen=True, slots=True)
class FitsUnit:
    """A header with the shape of its data. `cards` are keyword, value and comment."""

    name: str
    shape: tuple[int, ...]
    cards: tuple[tuple[str, str, str], ...]


def read_fits(size: int, read: ReadAt) -> tuple[FitsUnit, ...] | None:
    """Return the headers of the first units of a FITS file."""
    if read(0, len(FITS)) != FITS:
        return None
    units: list[FitsUnit] = []
    offset = 0
    while offset < size and len(units) < MOST_UNITS:
        found = _fits_header(offset, read)
        if found is None:
            break
        cards, length = found
        values = {keyword: value for keyword, value, _ in cards}
        name = values.get("EXTNAME") or values.get("XTENSION") or ("PRIMARY" if not units else "")
        shape, data = _fits_data(values)
        units.append(FitsUnit(name, shape, tuple(cards[:MOST_CARDS])))
        offset += length + -(-data // _BLOCK) * _BLOCK
    return tuple(units) or None


def _fits_header(offset: int, read: ReadAt) -> tuple[list[tuple[str, str, str]], int] | None:
    """Return the cards up to END, and the bytes of the header. None if END is not within the limit."""
    cards: list[tuple[str, str, str]] = []
    for number in range(_MOST_BLOCKS):
        block = read(offset + number * _BLOCK, _BLOCK)
        if len(block) < _BLOCK:
            return None
        for start in range(0, _BLOCK, _CARD):
            card = block[start : start + _CARD].decode("ascii", "replace")
            keyword = card[:8].rstrip()
            if keyword == "END":
                return cards, (number + 1) * _BLOCK
            if keyword and card[8:10] == "= ":
                cards.append((keyword, *_fits_value(card[10:])))
            elif keyword in {"COMMENT", "HISTORY"} and card[8:].strip():
                cards.append((keyword, card[8:].strip(), ""))
    return None


def _fits_value(text: str) -> tuple[str, str]:
    """Return the value of a card and the comment after the slash. In a text, quotes are doubled."""
    stripped = text.strip()
    if not stripped.startswith("'"):
        value, _, comment = stripped.partition("/")
        return value.strip(), comment.strip()
    quoted = _QUOTED.match(stripped)
    if quoted is None:
        return stripped[1:].strip(), ""
    return quoted[1].replace("''", "'").rstrip(), stripped[quoted.end() :].partition("/")[2].strip()


def _fits_data(values: dict[str, str]) -> tuple[tuple[int, ...], int]:
    """Return the shape of the data, and its bytes."""
    axes = min(_whole_number(values.get("NAXIS"), 0), 999)
    shape = tuple(_whole_number(values.get(f"NAXIS{number + 1}"), 0) for number in range(axes))
    if not shape:
        return (), 0
    counted = 1
    for axis in shape[1:] if shape[0] == 0 and values.get("GROUPS") == "T" else shape:
        counted *= axis
    bits = abs(_whole_number(values.get("BITPIX"), 8, signed=True))
    number, more = _whole_number(values.get("GCOUNT"), 1), _whole_number(values.get("PCOUNT"), 0)
    return shape, bits // 8 * number * (more + counted)


def _whole_number(text: str | None, otherwise: int, *, signed: bool = False) -> int:
    text = (text or "").strip()
    digits = text[1:] if signed and text.startswith("-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else otherwise
