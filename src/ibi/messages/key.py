"""Keys: the digits by which a resolver knows an Archive, and an Archive its own answers (R Table 7.1)."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from ibi.errors import InvalidMessage

MAX_KEY: Final = 256
"""R Table 7.1 sets no end to the digits; no key needs more, and what is stored must be bounded."""

# R Table 7.1: chave = número ["-" número]
#              número = 10*DÍGITO
_KEY = re.compile(r"[0-9]{10,}+(?:-[0-9]{10,})?")

_MASK = "…"


class _Key:
    """A secret: `str` and `repr` mask it, errors do not quote it, comparing takes the same time wherever two differ."""

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        if len(text) > MAX_KEY:
            raise InvalidMessage(_MASK, MAX_KEY, "a key has at most {most} characters", most=MAX_KEY)
        if not _KEY.fullmatch(text):
            raise InvalidMessage(_MASK, 0, "a key is ten or more digits, or two such numbers with a hyphen between")
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        """The digits themselves, for a message or a store."""
        return self._text

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        from hmac import compare_digest

        return compare_digest(self._text, other._text)

    def __hash__(self) -> int:
        return hash((type(self), self._text))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_MASK!r})"

    def __str__(self) -> str:
        return _MASK

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a key cannot change: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a key cannot change: {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._text,)


class RegistrationKey(_Key):
    """What an administrator chose when registering an Archive; who knows it can include and exclude that Archive."""

    __slots__ = ()


class UrlKey(_Key):
    """What an Archive gives with its URLs and wants back in the acknowledgment."""

    __slots__ = ()
