"""TeX in the values of BibTeX, as the text that it prints."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

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


def without_tex(tex: str) -> str:
    """Return a DOI or an address without TeX. In it, ~ and -- are literal."""
    return tex.replace("{", "").replace("}", "").replace("\\", "").strip()
