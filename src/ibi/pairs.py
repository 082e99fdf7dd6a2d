"""Lists of pairs, the body of every answer of the protocol (R Table 6.2).

A `Pairs` holds its words as they travel. Whatever a word may not hold is percent-encoded when the `Pairs` is built, so
that two that are equal are written equal, what is written reads back as it was, and no value can pass itself off as
another pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NoReturn

from ibi.errors import InvalidPairs

Value = str | tuple[str, ...]
"""A word, or the words in braces."""

LIMIT: Final = 1 << 18
"""Bytes of a list of pairs that `Pairs.decode` reads unless told otherwise; R Example 9.2 has about three thousand."""
MOST: Final = 4096
"""Pairs of a list that `Pairs.decode` reads: each costs a few microseconds, however short it is."""

_ESCAPES = tuple(f"%{byte:02X}" for byte in range(256))

# R Table 6.2: caractere = %x21-7A | %x7C | %x7E; ASCII without { and }
_UNSAFE = re.compile(r"[^!-z|~]+")

# R Table 6.2: lista-de-pares = par *(espaço par)
#              par = nome 1*SP valor
#              valor = palavra | ("{" lista "}")
#              lista = palavra 1*(SP palavra)            E12: none or one, too
#              espaço = SP | CRLF                        and LF; any run of them, wherever one may stand
# CR counts as a blank here and is checked apart: it must stand before LF. The last branch takes all the rest, so that
# a list that breaks off is read only once, and the quantifiers give nothing back: time grows with length alone.
_PAIR = re.compile(
    r"""(?P<name>[!-z|~]++) [\x20\r\n]++
        (?: (?P<word>[!-z|~]++) | \{ (?P<words>[\x20\r\n!-z|~]*+) \} )
        (?: [\x20\r\n]++ | \Z )
      | (?P<rest>[\s\S]++)""",
    re.VERBOSE,
)


class Pairs(Mapping[str, Value]):
    """An immutable list of pairs: a mapping from names to values in which order does not matter.

    Raises `InvalidPairs` for a repeated name, an empty name or word, and text that is not Unicode (a lone surrogate).
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
        """The list that `body` spells. No bytes, or blanks alone, are the empty list."""
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
        """One pair a line, sorted by name; CRLF between the lines and none at the end."""
        return "\r\n".join(self._pair_texts()).encode("ascii")

    def encode_on_one_line(self) -> bytes:
        """Sorted by name, blanks between the pairs: how the standard prints its constant answers."""
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


def encoded_word(text: str) -> str:
    """`text` as a word of R Table 6.2. A percent sign stays as it is: such a text has been encoded already."""
    if not text:
        raise InvalidPairs(text, 0, "a word needs at least one character")
    if _UNSAFE.search(text) is None:
        return text
    try:
        return _UNSAFE.sub(lambda unsafe: percent_encoded(unsafe[0]), text)
    except UnicodeEncodeError as error:
        raise InvalidPairs(text, 0, "a word cannot hold half a surrogate pair") from error


def percent_encoded(text: str) -> str:
    """Every byte of the UTF-8 of `text` as `%XX`; raises `UnicodeEncodeError` for a lone surrogate."""
    return "".join(map(_ESCAPES.__getitem__, text.encode()))


def _ascii(body: bytes) -> str:
    try:
        return body.decode("ascii")
    except UnicodeDecodeError as error:
        text = body.decode("latin-1")
        raise InvalidPairs(
            text, error.start, "the byte {byte} is not ASCII", byte=f"{body[error.start]:02X}"
        ) from error


def _match_pairs(text: str) -> list[tuple[str, ...]]:
    """The groups of all pairs, unless there are too many."""
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
    """`text` stops being a list of pairs somewhere in the pair that begins at `start`."""
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
