"""The search for labels in a text, and the prefix under which a label has its home.

`host`, `host.80` and `host@80` make three different labels (E3), yet one host and port minted all of them: for finding
the home they are one prefix. R Example 10.2 needs this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from ibi.standard.errors import InvalidLabel
from ibi.standard.label.grammar import IBIP_FORM, LEGACY_FORM, REPOSITORY_FORM
from ibi.standard.label.label import (
    DEFAULT_PORT,
    Ibip,
    Label,
    LegacyLabel,
    RepositoryName,
    canonical_prefix,
    read_ibip,
    read_legacy,
    read_repository_name,
)

_WORD_GOES_ON = re.compile(r"[A-Za-z0-9-]")
"""Tested after the two segments of an IBIp: if the word continues, they may be the host of a repository name."""


class FoundLabel(NamedTuple):
    """A label and its place: `text[start:end]` is its spelling."""

    label: Label
    start: int
    end: int


def match_label(text: str, start: int = 0) -> tuple[RepositoryName | Ibip, int] | None:
    """Return the longest label that begins exactly at `start`, and the offset after it; None if there is none.

    The text after it is not checked: a modifier, a path, a tag. If the first two segments are an IBIp, it is one (E17).
    """
    found = _match_ibip(text, start)
    if found is not None and not _WORD_GOES_ON.match(text, found[1]):
        return found
    return _match_repository_name(text, start) or found


def match_legacy(text: str, start: int = 0) -> tuple[LegacyLabel, int] | None:
    """Return the label of before 2008 that begins exactly at `start`, and the offset after it (E72).

    Try this only if there is no label of the present standard.
    """
    match = LEGACY_FORM.match(text, start)
    label = read_legacy(match[0]) if match else None
    return (label, match.end()) if match and label else None


def match_any(text: str, start: int = 0) -> tuple[Label, int] | None:
    """Return the label that begins exactly at `start`, and the offset after it.

    A label of the present standard comes before one of before 2008.
    """
    return match_label(text, start) or match_legacy(text, start)


def _match_ibip(text: str, start: int) -> tuple[Ibip, int] | None:
    match = IBIP_FORM.match(text, start)
    label = read_ibip(match[0]) if match else None
    return (label, match.end()) if match and label else None


def _match_repository_name(text: str, start: int) -> tuple[RepositoryName, int] | None:
    match = REPOSITORY_FORM.match(text, start)
    label = read_repository_name(match[0]) if match else None
    return (label, match.end()) if match and label else None


# A label may begin where no word is in progress, and must not continue into a longer word: `…17.46.pdf` is a file's
# name, `…17.46.` the end of a sentence, `…17.46-TDI` a label with its tag (E21). Every run of such characters is tried
# only from its beginning, so that the search stays linear.
_BEGINNING = re.compile(r"(?<![\w.@%-])[A-Za-z0-9]")
_LONGER_WORD = re.compile(r"\w|[.@]\w")

# E72: many addresses and phrases have two runs of letters too. So a label of before 2008 is looked for only in links to
# the resolver of the standard and behind `ibi:` and `upn:…:`. In other links, or behind a prefix that may be any
# directory, it must look like a generated one: long, and with digits in its first run.
_PLACES = r"(?:ibi|rep|col|goto-|attachment\.cgi|displaydoccontent\.cgi)/"
_SCHEMES = r"(?:ibi:[ \t]*+(?:(?:<<|[<\u2039\u00ab(])[ \t]*+)?|upn:[A-Za-z0-9._-]{1,64}:/?)"
_BEFORE_LEGACY = re.compile(
    rf"(?:https?://)?(?:www\.)?urlib\.net(?::[0-9]{{1,5}})?/(?:{_PLACES}|{_SCHEMES})?"
    rf"|{_SCHEMES}"
    rf"|(?P<anywhere>{_PLACES}|https?://[A-Za-z0-9.-]{{1,253}}(?::[0-9]{{1,5}})?/)",
    re.ASCII | re.IGNORECASE,
)
_MADE = re.compile("(?=[A-Za-z]{0,127}[0-9])[A-Za-z0-9]{10,128}/")
# E21: brackets around a label, which must then look like a generated one too
_OPENINGS: Final = ("<", "\u2039", "\u00ab", "(")
_CLOSING = re.compile("[ \t]*[>\u203a\u00bb)]")


def find_labels(text: str) -> Iterator[FoundLabel]:
    """Yield every label in running text and in persistent URLs of any host, in order, without overlaps.

    Labels of before 2008 count only in links, in brackets, and behind `ibi:` (E72).
    """
    position = 0
    while (beginning := _BEGINNING.search(text, position)) is not None:
        start = beginning.start()
        found: tuple[Label, int] | None = match_label(text, start)
        if found is None and (prefix := _BEFORE_LEGACY.match(text, start)) is not None:
            start = prefix.end()
            found = _match_linked(text, start, is_made=prefix["anywhere"] is not None)
        elif found is None and text[max(0, start - 3) : start].rstrip(" \t").endswith(_OPENINGS):
            found = _match_linked(text, start, is_made=True)
            found = found if found is not None and _CLOSING.match(text, found[1]) else None
        if found and not _LONGER_WORD.match(text, found[1]):
            yield FoundLabel(found[0], start, found[1])
            position = found[1]
        else:
            position = beginning.end()


def _match_linked(text: str, start: int, *, is_made: bool) -> tuple[LegacyLabel, int] | None:
    """Return the label of before 2008 that begins there, unless one of the present standard does."""
    if match_label(text, start) is not None or (is_made and _MADE.match(text, start) is None):
        return None
    return match_legacy(text, start)


def home_prefix(label: Label) -> str:
    """Return the prefix in lower case, with the port in its generated spelling.

    Only the prefix of a repository name has a `/`. A label of before 2008 has an empty one: no Archive can be
    registered for it.
    """
    if not label.is_dated:
        return ""
    return _of_repository_name(label.prefix) if isinstance(label, RepositoryName) else label.prefix.lower()


@lru_cache(maxsize=16_384)
def _of_repository_name(prefix: str) -> str:
    subdomain, _, word = prefix.partition("/")
    name, _, port = word.replace("@", ".").partition(".")
    return f"{subdomain}/{name}" if not port or int(port) == DEFAULT_PORT else f"{subdomain}/{name}.{port}"


def parse_home_prefix(text: str) -> str:
    """Return the prefix in a person's input, of either form, as `home_prefix` writes it.

    Raise `InvalidLabel` if it is none.
    """
    if "/" in text:
        prefix = canonical_prefix(text)
        if prefix is None:
            raise InvalidLabel(text, 0, "no prefix of a repository name, such as sid.inpe.br/mtc-m18")
        return _of_repository_name(prefix)
    if read_ibip(f"{text}/2") is None:
        raise InvalidLabel(text, 0, "no prefix of an IBIp, such as 8JMKD3MGP8W")
    return text.lower()
