"""Labels, which are globally unique: a repository name, an IBIp, or a label from before both."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, TypeVar

from ibi.standard.errors import InvalidLabel
from ibi.standard.instant import LAST_SECOND, Instant, day_number, days_in_month
from ibi.standard.label.diagnosis import explain, explain_ibip, explain_repository_name
from ibi.standard.label.generate import (
    mount_prefix_of_ibip,
    mount_prefix_of_repository_name,
    mount_suffix_of_ibip,
    mount_suffix_of_repository_name,
)
from ibi.standard.label.grammar import (
    FIRST_DATE,
    IBIP_FORM,
    LEGACY_FORM,
    MAX_HOST,
    MAX_LENGTH,
    REPOSITORY_PREFIX,
    REPOSITORY_SUFFIX,
    decode_fraction,
    decode_ibip,
    decode_prefix,
)
from ibi.standard.label.reach import address_is_global, host_is_global

Self = TypeVar("Self", bound="Label")


class Label:
    """A label of either form: immutable, hashable, ordered by (instant, form, prefix).

    Two labels are equal if they have the same form, the same prefix except for case, and the same instant. Different
    prefixes are different labels even if they name one host: `host`, `host.80` and `host@80` (E3).
    """

    __slots__ = ("_instant", "_key", "_spelling", "_text")

    form: ClassVar[str]
    is_dated: ClassVar[bool] = True
    """True if the label encodes a minter and a date."""

    # Seconds, digits of the fraction, form, prefix: enough to compare, order and write the label. Everything else is
    # derived on demand, which keeps parsing fast.
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
        """Parse exactly one label, nothing before or after it; raise `InvalidLabel` otherwise."""
        raise TypeError("parse a RepositoryName or an Ibip, or call ibi.parse for either")

    @property
    def prefix(self) -> str:
        """The minter of the label, in canonical case."""
        return self._key[3]

    @property
    def suffix(self) -> str:
        """The date of the label, in the notation of this form."""
        raise TypeError("a label is a RepositoryName or an Ibip")

    @property
    def instant(self) -> Instant:
        if self._instant is None:
            self._instant = Instant(self._key[0], self._key[1])
        return self._instant

    @property
    def port(self) -> int:
        """The port of the identification subsystem; the default port if the prefix has none."""
        raise TypeError("a label is a RepositoryName or an Ibip")

    @property
    def is_global(self) -> bool:
        """True if the prefix names one place on the whole Internet, so that no other minter can make this label."""
        raise TypeError("a label is a RepositoryName or an Ibip")

    @property
    def spelling(self) -> str:
        """The text as it was received. Other stores may be case sensitive: pass this on, compare with `==`."""
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


class Ibip(Label):
    """The form of an IBI that is made from an IP address: short and opaque."""

    __slots__ = ()
    form = "ibip"

    @classmethod
    def parse(cls, text: str) -> Ibip:
        """Parse an IBIp in any case; the spelling is kept, `str` returns upper case."""
        label = read_ibip(text)
        if label is None:
            raise explain_ibip(text)
        return label

    @classmethod
    def from_parts(cls, ip: str, port: int, instant: Instant) -> Ibip:
        """Return the IBIp minted at `instant` by the subsystem at `ip` and `port` (G Algorithms 5 to 7)."""
        prefix = mount_prefix_of_ibip(ip, port)
        mount_suffix_of_ibip(instant)  # refuses dates before the first
        return cls._of(instant.seconds, instant.fraction, prefix, None)

    @property
    def suffix(self) -> str:
        return mount_suffix_of_ibip(self.instant)

    @property
    def ip(self) -> str:
        """The address as its minter spelled it (E7)."""
        return self._address()[0]

    @property
    def port(self) -> int:
        return self._address()[1]

    @property
    def is_global(self) -> bool:
        return address_is_global(self.ip)

    def _address(self) -> tuple[str, int]:
        decoded = decode_prefix(self.prefix)
        assert decoded is not None, self.prefix  # a label exists only with a prefix that decodes
        return decoded


def read_ibip(text: str) -> Ibip | None:
    """Return `text` as an IBIp, or None."""
    match = IBIP_FORM.fullmatch(text)
    if match is None:
        return None
    prefix, suffix, coded_fraction = match.groups()
    prefix = prefix.upper()
    if decode_prefix(prefix) is None or (suffix[0] == "2" and suffix != "2"):
        return None
    seconds = FIRST_DATE + decode_ibip(suffix)
    if seconds > LAST_SECOND:
        return None
    fraction = decode_fraction(coded_fraction) if coded_fraction else ""
    return None if fraction is None else Ibip._of(seconds, fraction, prefix, text)


class LegacyLabel(Label):
    """A label of before 2008, such as `83LX3pFwXQZ5Jpy/Bkjzd` (E72): opaque and case sensitive.

    It encodes neither minter nor date, so that there is no `instant`, `port` or `is_global`. None is minted. A text
    that fits G is no such label.
    """

    __slots__ = ()
    form = "legacy"
    is_dated = False

    @classmethod
    def parse(cls, text: str) -> LegacyLabel:
        """Parse a label of before 2008; its case is kept."""
        label = read_legacy(text)
        if label is None:
            reason = "a label of before 2008 looks like 83LX3pFwXQZ5Jpy/Bkjzd, with both cases in one part"
            raise InvalidLabel(text, 0, reason)
        return label

    @property
    def instant(self) -> Instant:
        raise TypeError("a label of before 2008 does not say when")

    def __str__(self) -> str:
        return self._key[3]


def read_legacy(text: str) -> LegacyLabel | None:
    """Return `text` as a label of before 2008, or None."""
    if LEGACY_FORM.fullmatch(text) is None or read_ibip(text) is not None:
        return None
    return LegacyLabel._of(0, "", text, text)


DEFAULT_PORT = 80


class RepositoryName(Label):
    """The form of an IBI that is made from a host name; also four directories that hold the item."""

    __slots__ = ()
    form = "rep"

    @classmethod
    def parse(cls, text: str) -> RepositoryName:
        """Parse a repository name in any case; the spelling is kept, `str` returns lower case."""
        label = read_repository_name(text)
        if label is None:
            raise explain_repository_name(text)
        return label

    @classmethod
    def from_parts(cls, host: str, port: int, instant: Instant) -> RepositoryName:
        """Return the name minted at `instant` by the subsystem at `host` and `port` (G Algorithms 1 to 3)."""
        prefix = canonical_prefix(mount_prefix_of_repository_name(host, port))
        if prefix is None:
            raise InvalidLabel(host, 0, "a label of this host would read as an IBIp")
        return cls._of(instant.seconds, instant.fraction, prefix, None)

    @property
    def suffix(self) -> str:
        return mount_suffix_of_repository_name(self.instant)

    @property
    def host(self) -> str:
        """The host of the subsystem: first word and subdomain, joined again."""
        subdomain, word = self.prefix.split("/")
        return f"{word.replace('@', '.').split('.')[0]}.{subdomain}"

    @property
    def port(self) -> int:
        word = self.prefix.split("/")[1].replace("@", ".")
        return int(word.split(".")[1]) if "." in word else DEFAULT_PORT

    @property
    def is_global(self) -> bool:
        return host_is_global(self.host)


def read_repository_name(text: str) -> RepositoryName | None:
    """Return `text` as a repository name, or None. Only prefixes are cached: they recur, dates do not."""
    cut = text.find("/", text.find("/") + 1)
    match = REPOSITORY_SUFFIX.fullmatch(text, cut + 1)
    if match is None:
        return None
    month, day, hour, minute, second, fraction = match.groups()
    seconds = _seconds(month, int(day), int(hour), int(minute), int(second) if second else 0)
    # A text that is too long is never looked up: hostile texts must not fill the cache of prefixes.
    prefix = canonical_prefix(text[:cut]) if cut <= MAX_LENGTH else None
    if prefix is None or seconds is None:
        return None
    return RepositoryName._of(seconds, fraction.rstrip("0") if fraction else "", prefix, text)


def _seconds(month: str, day: int, hour: int, minute: int, second: int) -> int | None:
    """Return the POSIX seconds of a date, or None if the calendar or the clock has no such date (E8)."""
    start, days = _month(month)
    if not 1 <= day <= days or hour > 23 or minute > 59 or second > 59:
        return None
    return start + day * 86_400 + hour * 3600 + minute * 60 + second


@lru_cache(maxsize=4096)
def _month(text: str) -> tuple[int, int]:
    """Return the POSIX seconds of the day before the first of `yyyy/mm`, and the number of its days.

    An invalid month has 0 days.
    """
    year, month = int(text[:4]), int(text[5:])
    if year < 1000 or not 1 <= month <= 12:
        return 0, 0
    return (day_number(year, month, 1) - 1) * 86_400, days_in_month(year, month)


@lru_cache(maxsize=16_384)
def canonical_prefix(text: str) -> str | None:
    """Return the prefix in lower case without the subdomain's last dot; None if it breaks the grammar, E4 or E17."""
    match = REPOSITORY_PREFIX.fullmatch(text)
    if match is None:
        return None
    subdomain, word, separator, port = match.groups(default="")
    if len(subdomain) + 1 + len(word) > MAX_HOST or (port and int(port) > 65_535):
        return None
    # E17: two segments that are a valid IBIp are one, and the text after them is a path.
    if "." not in subdomain and read_ibip(f"{subdomain}/{word}") is not None:
        return None
    return f"{subdomain}/{word}{separator}{port}".lower()


def parse(text: str) -> RepositoryName | Ibip:
    """Parse exactly one label of either form; raise `InvalidLabel` with the reason for anything else."""
    # A repository name always has dots in its date, an IBIp never has one.
    label = read_repository_name(text) if "." in text else read_ibip(text)
    if label is None:
        raise explain(text)
    return label


def parse_any(text: str) -> Label:
    """Parse exactly one label, of either form or of before 2008 (E72); for labels to resolve, request or explain."""
    try:
        return parse(text)
    except InvalidLabel:
        label = read_legacy(text)
        if label is None:
            raise
        return label
