"""Readers of BibTeX and RIS, as small as they can be and as strict: what they do not expect, they refuse."""

from __future__ import annotations

import re

__all__ = ["read_bibtex", "read_ris", "unescaped"]

_MACRO = re.compile(r"[a-z]+")


def read_bibtex(text: str) -> tuple[str, str, dict[str, str]]:
    """Type, key and fields of the one entry that `text` is; a value is what stands between its outer braces."""
    match = re.fullmatch(r"@(\w+)\{([^\s,{}%#\"'\\~]+),\n(.*)\}\n", text, re.DOTALL)
    assert match is not None, text
    kind, key, rest = match.groups()
    fields: dict[str, str] = {}
    while rest:
        beginning = re.match(r"  (\w+) = ", rest)
        assert beginning is not None, rest
        name, rest = beginning[1], rest[beginning.end() :]
        assert name not in fields, name
        macro = _MACRO.match(rest)
        end = macro.end() if macro else _closing(rest) + 1
        fields[name] = rest[:end] if macro else rest[1 : end - 1]
        assert rest[end : end + 2] == ",\n", rest
        rest = rest[end + 2 :]
    return kind, key, fields


def _closing(text: str) -> int:
    """Where the brace closes with which the text begins; BibTeX knows no escaped braces."""
    assert text[0] == "{"
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return index
    raise AssertionError(text)


def unescaped(text: str) -> str:
    """What TeX would print of a field."""
    named = {"textbackslash": "\\", "textbraceleft": "{", "textbraceright": "}", "textasciitilde": "~"}
    named["textasciicircum"] = "^"
    shown = re.sub(
        r"\\(?:([a-z]+)\{\}|([$&#_%]))", lambda match: named[match[1]] if match[1] else f"\0{match[2]}", text
    )
    return shown.replace("\0", "")


def read_ris(text: str) -> list[tuple[str, str]]:
    assert text.endswith("\r\n")
    lines = text[:-2].split("\r\n")
    assert text.splitlines() == lines  # nothing else ends a line, for any reader
    pairs = []
    for line in lines:
        match = re.fullmatch(r"([A-Z][A-Z0-9])  - (.*)", line)
        assert match is not None, line
        pairs.append((match[1], match[2]))
    assert pairs[0][0] == "TY"
    assert [tag for tag, _ in pairs].count("TY") == [tag for tag, _ in pairs].count("ER") == 1
    assert pairs[-1] == ("ER", "")
    return pairs
