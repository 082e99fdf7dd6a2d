"""What the two forms of an IBI have in common."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from ibi.instant import Instant

Self = TypeVar("Self", bound="Label")


class Label:
    """A label of either form: immutable, hashable, ordered by (instant, form, prefix).

    Two labels are equal if they have the same form, the same prefix but for case, and the same instant. Different
    prefixes are different labels even where they name one host: `host`, `host.80` and `host@80` (E3).
    """

    __slots__ = ("_instant", "_key", "_spelling", "_text")

    form: ClassVar[str]

    # Seconds, digits of the fraction, form, prefix: enough to compare, order and write the label. Everything else is
    # derived on demand, which keeps parsing quick.
    _key: tuple[int, str, str, str]
    _spelling: str | None
    _instant: Instant | None
    _text: str | None

    def __init__(self) -> None:
        raise TypeError("a label is parsed or made from its parts")

    @classmethod
    def _of(cls: type[Self], seconds: int, fraction: str, prefix: str, spelling: str | None) -> Self:
        self = cls.__new__(cls)
        self._key = (seconds, fraction, cls.form, prefix)
        self._spelling = spelling
        self._instant = self._text = None
        return self

    @classmethod
    def parse(cls: type[Self], text: str) -> Self:
        """Read exactly one label, nothing before or after it; `InvalidLabel` otherwise."""
        raise TypeError("parse a RepositoryName or an Ibip, or call ibi.parse for either")

    @property
    def prefix(self) -> str:
        """Who named the item, in canonical case."""
        return self._key[3]

    @property
    def suffix(self) -> str:
        """When the item was named, as this form writes it."""
        raise TypeError("a label is a RepositoryName or an Ibip")

    @property
    def instant(self) -> Instant:
        if self._instant is None:
            self._instant = Instant(self._key[0], self._key[1])
        return self._instant

    @property
    def port(self) -> int:
        """The port of the identification subsystem; the one that goes unwritten if the prefix has none."""
        raise TypeError("a label is a RepositoryName or an Ibip")

    @property
    def is_global(self) -> bool:
        """Whether the prefix names one place on the whole Internet, so that no other minter can make this label."""
        raise TypeError("a label is a RepositoryName or an Ibip")

    @property
    def spelling(self) -> str:
        """The text as it was received. Others' stores may be case sensitive: pass this on, compare with `==`."""
        return str(self) if self._spelling is None else self._spelling

    def __str__(self) -> str:
        if self._text is None:
            self._text = f"{self._key[3]}/{self.suffix}"
        return self._text

    def __repr__(self) -> str:
        return f"{type(self).__name__}.parse({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).parse, (self.spelling,)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Label) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key < other._key if isinstance(other, Label) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self._key <= other._key if isinstance(other, Label) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self._key > other._key if isinstance(other, Label) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self._key >= other._key if isinstance(other, Label) else NotImplemented
