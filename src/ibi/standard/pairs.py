"""Lists of pairs, the body of every answer of the protocol (R Table 6.2).

A `Pairs` holds its words in their transmitted form. Forbidden characters are percent-encoded when the `Pairs` is built.
So equal lists are written identically, a written list reads back unchanged, and no value can pass as another pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple, NoReturn

from ibi.standard.errors import InvalidPairs
from ibi.standard.safe_text import shorten, show_octets

Value = str | tuple[str, ...]
"""A word, or the words in braces."""

LIMIT: Final = 1 << 18
"""Most bytes that `Pairs.decode` reads by default; R Example 9.2 has about three thousand."""
MOST: Final = 4096
"""Most pairs of a list that `Pairs.decode` reads: each costs a few microseconds, however short it is."""

_ESCAPES = tuple(f"%{byte:02X}" for byte in range(256))

# R Table 6.2: caractere = %x21-7A | %x7C | %x7E; ASCII without { and }
_UNSAFE = re.compile(r"[^!-z|~]+")

# R Table 6.2: lista-de-pares = par *(espaço par)
#              par = nome 1*SP valor
#              valor = palavra | ("{" lista "}")
#              lista = palavra 1*(SP palavra)            E12: none or one, too
#              espaço = SP | CRLF                        and LF; any run of them, wherever one may stand
# CR counts as a blank here and is checked separately: it must come before LF. The last branch takes all the rest, so
# that an incomplete list is read only once, and the quantifiers do not backtrack: time grows with length alone.
_PAIR = re.compile(
    r"""(?P<name>[!-z|~]++) [\x20\r\n]++
        (?: (?P<word>[!-z|~]++) | \{ (?P<words>[\x20\r\n!-z|~]*+) \} )
        (?: [\x20\r\n]++ | \Z )
      | (?P<rest>[\s\S]++)""",
    re.VERBOSE,
)


class Pairs(Mapping[str, Value]):
    """An immutable list of pairs: a mapping from names to values in which order does not matter.

    Raise `InvalidPairs` for a repeated name, an empty name or word, and text that is not Unicode (a lone surrogate).
    """

    __slots__ = ("_values",)
    _values: dict[str, Value]

    def __init__(self, pairs: Iterable[tuple[str, Value]] = ()) -> None:
        values: dict[str, Value] = {}
        for given, value in pairs:
            name = encoded_word(given)
            if name in values:
                _refuse_repeated(name)
            values[name] = encoded_word(value) if isinstance(value, str) else tuple(map(encoded_word, value))
        object.__setattr__(self, "_values", values)

    @classmethod
    def decode(cls, body: bytes, *, limit: int = LIMIT) -> Pairs:
        """Parse the list in `body`. No bytes, or only blanks, are the empty list."""
        if len(body) > limit:
            raise InvalidPairs(
                "…", limit, "it has {length} bytes and at most {limit} are read", length=len(body), limit=limit
            )
        text = _ascii(body).strip(" \r\n")
        if body.count(b"\r") != body.count(b"\r\n"):
            _refuse_lone_cr(body)
        found = _match_pairs(text)
        if found and found[-1][3]:
            _refuse_rest(text, len(text) - len(found[-1][3]))
        # Only a value in braces leaves `word` empty.
        values = {name: word or tuple(words.split()) for name, word, words, _ in found}
        if len(values) != len(found):
            _refuse_repeated(_first_repeated(name for name, *_ in found))
        pairs = cls.__new__(cls)
        object.__setattr__(pairs, "_values", values)
        return pairs

    def encode(self) -> bytes:
        """Encode one pair a line, sorted by name; CRLF between the lines and none at the end."""
        return "\r\n".join(self._pair_texts()).encode("ascii")

    def encode_on_one_line(self) -> bytes:
        """Encode on one line, sorted by name: the notation of the standard for its constant answers."""
        return " ".join(self._pair_texts()).encode("ascii")

    def _pair_texts(self) -> list[str]:
        return [
            f"{name} {{{' '.join(value)}}}" if isinstance(value, tuple) else f"{name} {value}"
            for name, value in sorted(self._values.items())
        ]

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Pairs):
            return self._values == other._values
        return NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Pairs({list(self._values.items())!r})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a list of pairs cannot change: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a list of pairs cannot change: {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return Pairs, (tuple(self._values.items()),)


# The lists of R are those of Tcl (`array get`), which quotes more than R Table 6.2 prints. Everything with a blank, a
# bracket or a dollar sign is in braces, also inside others, and lone braces follow a backslash.
_BLANKS = " \t\r\n\v\f"
_NOT_BLANK = re.compile(r"[^ \t\r\n\v\f]")
_NOT_BLANKS = re.compile(r"[^ \t\r\n\v\f]++")
_BARE = re.compile(r"(?:[^\\ \t\r\n\v\f]++|\\[\s\S])*+")
_QUOTED = re.compile(r'"((?:[^\\"]++|\\[\s\S])*+)"')
_BRACE = re.compile(r"\\[\s\S]|[{}]")
_BACKSLASHED = re.compile(r"\\(?:\n[ \t]*|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([\s\S]))")
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MOST_LEFT_OUT: Final = 32
_SHOWN: Final = 64


class LenientPairs(NamedTuple):
    """The readable part of a list that another system wrote, and the beginnings of the rest."""

    pairs: Pairs
    left_out: tuple[str, ...] = ()


def decode_leniently(body: bytes, *, limit: int = LIMIT) -> LenientPairs:
    """Read as much of a list as possible (E47). Raise `InvalidPairs` if that is nothing.

    The list is read as R Table 6.2 defines it, else as a list of Tcl, else line by line without the lines that are
    neither. If a name occurs twice, the last value counts, as in `array set` of Tcl. Octets beyond ASCII become their
    own `%XX`.
    """
    try:
        return LenientPairs(Pairs.decode(body, limit=limit))
    except InvalidPairs as error:
        if len(body) > limit or body.count(b"\n") > MOST:
            raise
        whole = _decode_text(body)
        elements = split_tcl_list(whole)
        if elements is not None and len(elements) % 2 == 0:
            lines, left_out = [elements], list[str]()
        else:
            lines, left_out = _read_lines(whole)
        found = _join_lines(lines, left_out)
        if not found.pairs:
            raise error
        return found


def _decode_text(body: bytes) -> str:
    return body.decode("utf-8", "surrogateescape")


def _read_lines(text: str) -> tuple[list[list[str]], list[str]]:
    """Return the elements of each line that is a list of pairs, and the other lines."""
    lines, left_out = [], []
    for line in text.replace("\r", "\n").split("\n"):
        elements = split_tcl_list(line)
        if elements is None or len(elements) % 2:
            left_out.append(line.strip(_BLANKS))
        else:
            lines.append(elements)
    return lines, left_out


def _join_lines(lines: Iterable[list[str]], left_out: list[str]) -> LenientPairs:
    values: dict[str, Value] = {}
    for elements in lines:
        for given, value in zip(elements[::2], elements[1::2], strict=True):
            if given:
                name = encoded_word(given)
                values.pop(name, None)  # the last one is also last in order
                values[name] = _read_value(value)
    return LenientPairs(
        Pairs(values.items()), tuple(shorten(show_octets(each), _SHOWN) for each in left_out[:_MOST_LEFT_OUT])
    )


def _read_value(text: str) -> Value:
    words = split_tcl_list(text)
    words = _NOT_BLANKS.findall(text) if words is None or len(words) < 2 else words
    return words[0] if len(words) == 1 else tuple(filter(None, words))


def split_tcl_list(text: str) -> list[str] | None:
    """Return the elements of a Tcl list; None if the text is none. Raise `InvalidPairs` if there are too many."""
    elements = []
    position = 0
    while (beginning := _NOT_BLANK.search(text, position)) is not None:
        found = _read_element(text, beginning.start())
        if found is None or (found[1] < len(text) and text[found[1]] not in _BLANKS):
            return None
        element, position = found
        elements.append(element)
        if len(elements) > 2 * MOST:
            raise InvalidPairs("…", 0, "it has more than {most} pairs", most=MOST)
    return elements


def _read_element(text: str, start: int) -> tuple[str, int] | None:
    """Return the element that begins at `start`, and the offset after it; None if its braces or quotes do not close."""
    if text[start] == "{":
        end = _closing_brace(text, start)
        return None if end is None else (text[start + 1 : end], end + 1)
    match = (_QUOTED if text[start] == '"' else _BARE).match(text, start)
    return None if match is None else (_BACKSLASHED.sub(_unescape, match[match.lastindex or 0]), match.end())


def _closing_brace(text: str, start: int) -> int | None:
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            return brace.start()
    return None


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code is not None:
        character = chr(int(code, 16))
        return "\ufffd" if "\ud800" <= character <= "\udfff" else character
    return " " if match[3] is None else _ESCAPED.get(match[3], match[3])


def encoded_word(text: str) -> str:
    """Return `text` as a word of R Table 6.2. A percent sign stays as it is: such a text has been encoded already."""
    if not text:
        raise InvalidPairs(text, 0, "a word needs at least one character")
    if _UNSAFE.search(text) is None:
        return text
    try:
        return _UNSAFE.sub(lambda unsafe: percent_encoded(unsafe[0]), text)
    except UnicodeEncodeError as error:
        raise InvalidPairs(text, 0, "a word cannot hold half a surrogate pair") from error


def percent_encoded(text: str) -> str:
    """Return every byte of the UTF-8 of `text` as `%XX`.

    An octet that is not UTF-8, which Python holds as half a surrogate pair (PEP 383), is its own `%XX` (E33). Any other
    lone surrogate raises `UnicodeEncodeError`.
    """
    return "".join(map(_ESCAPES.__getitem__, text.encode("utf-8", "surrogateescape")))


def _ascii(body: bytes) -> str:
    try:
        return body.decode("ascii")
    except UnicodeDecodeError as error:
        text = body.decode("latin-1")
        raise InvalidPairs(
            text, error.start, "the byte {byte} is not ASCII", byte=f"{body[error.start]:02X}"
        ) from error


def _match_pairs(text: str) -> list[tuple[str, ...]]:
    """Return the groups of all pairs; raise `InvalidPairs` if there are too many."""
    # `MOST` pairs have nearly twice as many blanks: the pairs of a list with fewer need not be counted.
    if text.count(" ") + text.count("\n") < 2 * MOST:
        return _PAIR.findall(text)
    found = [match.groups("") for match in islice(_PAIR.finditer(text), MOST + 1)]
    if len(found) > MOST:
        raise InvalidPairs("…", 0, "it has more than {most} pairs", most=MOST)
    return found


def _refuse_lone_cr(body: bytes) -> NoReturn:
    offset = body.replace(b"\r\n", b"  ").index(b"\r")
    raise InvalidPairs(body.decode("ascii"), offset, "a carriage return without a line feed")


def _refuse_rest(text: str, start: int) -> NoReturn:
    """Raise the error for the pair that begins at `start`, in which `text` stops being a list of pairs."""
    control = re.compile(r"[^\x20\r\n!-~]").search(text, start)
    if control is not None:
        raise InvalidPairs(text, control.start(), "{character} may not stand there", character=repr(control[0]))
    if text[start] in "{}":
        raise InvalidPairs(text, start, "braces where a name should be")
    if not re.compile(r"[!-z|~]++[\x20\r\n]").match(text, start):
        raise InvalidPairs(text, start, "a name without a value")
    raise InvalidPairs(text, start, "braces that do not enclose the words of a value")


def _refuse_repeated(name: str) -> NoReturn:
    raise InvalidPairs(name, 0, "the name {name} is there twice", name=name)


def _first_repeated(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            break
        seen.add(name)
    return name
