"""Lists of pairs, read strictly.

This module shares no code with `ibi.standard.pairs`, which reads lists from real servers. Here every deviation is a
fault. Reading goes on after a fault where possible, so that one mistake does not hide another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

#     lista-de-pares = par *(espaço par)          par = nome 1*SP valor          espaço = SP | CRLF
#     valor = palavra | ("{" lista "}")           lista = palavra 1*(SP palavra)
#     palavra = 1*caractere                       caractere = %x21-7A | %x7C | %x7E

_PRINTED_WORD: Final = re.compile(rb"[\x21-\x7a\x7c\x7e]+")
_ANY_WORD: Final = re.compile(rb"[^ \t\r\n{}][^ \t\r\n]*")
"""Text in the place of a word, up to the next blank: reading goes on behind it."""
_BLANKS: Final = re.compile(rb" +")
_SEPARATORS: Final = re.compile(rb"[ \t\r\n]*")
_LIST: Final = re.compile(rb"\{([^{}]*)\}")
_PLATFORM: Final = "ibi.platformsoftware"
"""The one name with a value that may be `{}` (R Table 9.3)."""
_MOST_PAIRS: Final = 5_000


class FaultKind(Enum):
    GRAMMAR = "grammar"
    SEPARATOR = "separator"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class PairFault:
    """A fault and its byte offset."""

    kind: FaultKind
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"byte {self.offset}: {self.reason}"


@dataclass(frozen=True, slots=True)
class PairList:
    """The pairs that could be read, the first of each name, and all faults."""

    values: dict[str, tuple[str, ...]]
    """The words of the value by name. A value without braces has one word."""
    faults: tuple[PairFault, ...]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def word(self, name: str) -> str | None:
        """Return the value of that name as text; None if there is none."""
        words = self.values.get(name)
        return None if words is None else " ".join(words)

    def faults_of(self, kind: FaultKind) -> list[PairFault]:
        return [fault for fault in self.faults if fault.kind is kind]

    def without(self, *names: str) -> dict[str, tuple[str, ...]]:
        return {name: words for name, words in self.values.items() if name not in names}


@lru_cache(maxsize=512)
def read_pairs(body: bytes) -> PairList:
    """Return the pairs of a body. An empty body is a valid empty list. The result is cached, because many checks read
    one answer."""
    return _PairReader(body).read()


class _PairReader:
    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0
        self._values: dict[str, tuple[str, ...]] = {}
        self._faults: list[PairFault] = []

    def read(self) -> PairList:
        leading = _SEPARATORS.match(self._body)
        if leading is not None and leading.end():
            self._separate()
        while self._at < len(self._body) and len(self._values) < _MOST_PAIRS:
            if not self._pair():
                break
            self._separate()
        return PairList(self._values, tuple(self._faults))

    def _fault(self, kind: FaultKind, reason: str, offset: int | None = None) -> bool:
        self._faults.append(PairFault(kind, self._at if offset is None else offset, reason))
        return False

    def _pair(self) -> bool:
        """Read one pair. Return False if nothing after it can be read."""
        begin = self._at
        word = self._word()
        if word is None:
            return self._fault(FaultKind.GRAMMAR, "a name was expected")
        blanks = _BLANKS.match(self._body, self._at)
        if blanks is None:
            return self._fault(FaultKind.GRAMMAR, "a blank and a value were expected after a name")
        self._at = blanks.end()
        name = word
        words = self._value(name)
        if words is None:
            return False
        if name in self._values:
            self._fault(FaultKind.REPEATED, f"the name {name} comes a second time", begin)
        self._values.setdefault(name, words)
        return True

    def _value(self, name: str) -> tuple[str, ...] | None:
        word = self._word()
        if word is not None:
            return (word,)
        braced = _LIST.match(self._body, self._at)
        if braced is None:
            self._fault(FaultKind.GRAMMAR, "a value was expected: a word, or words in braces")
            return None
        words = self._words(name, braced[1])
        self._at = braced.end()
        return words

    def _word(self) -> str | None:
        """Return the word at this place, whatever its characters are; None if there is none."""
        word = _ANY_WORD.match(self._body, self._at)
        if word is None:
            return None
        printed = _PRINTED_WORD.match(word[0])
        read = 0 if printed is None else printed.end()
        if read < len(word[0]):
            self._fault(FaultKind.GRAMMAR, "a word is visible ASCII without braces", self._at + read)
        self._at = word.end()
        return word[0].decode("latin-1")

    def _words(self, name: str, inside: bytes) -> tuple[str, ...]:
        parts = inside.split(b" ")
        if not inside:
            if name != _PLATFORM:
                self._fault(FaultKind.GRAMMAR, "braces with nothing in them")
            return ()
        if not all(_PRINTED_WORD.fullmatch(part) for part in parts):
            self._fault(FaultKind.GRAMMAR, "words in braces are visible ASCII, with one blank between two of them")
        elif len(parts) == 1:
            self._fault(FaultKind.GRAMMAR, "one word needs no braces: a list has two words or more")
        return tuple(part.decode("latin-1") for part in parts if part)

    def _separate(self) -> None:
        """Skip the separator. Between two pairs stands one blank or one CRLF; around the list nothing."""
        found = _SEPARATORS.match(self._body, self._at)
        assert found is not None
        end, is_last = found.end(), found.end() == len(self._body)
        if is_last and found[0]:
            self._fault(FaultKind.SEPARATOR, "something stands after the last pair")
        elif self._at == 0 and found[0]:
            self._fault(FaultKind.SEPARATOR, "something stands before the first pair")
        elif not is_last and found[0] not in (b" ", b"\r\n"):
            self._fault(FaultKind.SEPARATOR, f"{found[0]!r} stands between two pairs, not one blank or one CRLF")
        self._at = end
