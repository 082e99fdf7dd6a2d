"""The repository name, from host and time: `sid.inpe.br/mtc-m18.8080/2009/02.16.17.46.05.5` (G §6)."""

from __future__ import annotations

from functools import lru_cache

from ibi.errors import InvalidLabel
from ibi.instant import Instant, day_number, days_in_month
from ibi.label.diagnosis import explain_repository_name
from ibi.label.generate import mount_prefix_of_repository_name, mount_suffix_of_repository_name
from ibi.label.grammar import MAX_HOST, MAX_LENGTH, REPOSITORY_PREFIX, REPOSITORY_SUFFIX
from ibi.label.ibip import read_ibip
from ibi.label.label import Label
from ibi.label.reach import host_is_global

DEFAULT_PORT = 80


class RepositoryName(Label):
    """The form of an IBI that is made from a host name; also four directories that hold the item."""

    __slots__ = ()
    form = "rep"

    @classmethod
    def parse(cls, text: str) -> RepositoryName:
        """Read a repository name, any case; the spelling is kept, `str` gives lower case."""
        label = read_repository_name(text)
        if label is None:
            raise explain_repository_name(text)
        return label

    @classmethod
    def from_parts(cls, host: str, port: int, instant: Instant) -> RepositoryName:
        """G Algorithms 1 to 3: the name given at `instant` by the subsystem at `host` and `port`."""
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
    """The repository name that `text` is, or None. Prefixes recur, dates do not: the one is remembered."""
    cut = text.find("/", text.find("/") + 1)
    match = REPOSITORY_SUFFIX.fullmatch(text, cut + 1)
    if match is None:
        return None
    month, day, hour, minute, second, fraction = match.groups()
    seconds = _seconds(month, int(day), int(hour), int(minute), int(second) if second else 0)
    # A text that is too long is never looked up: the cache of prefixes must not fill with hostile texts.
    prefix = canonical_prefix(text[:cut]) if cut <= MAX_LENGTH else None
    if prefix is None or seconds is None:
        return None
    return RepositoryName._of(seconds, fraction.rstrip("0") if fraction else "", prefix, text)


def _seconds(month: str, day: int, hour: int, minute: int, second: int) -> int | None:
    """E8: POSIX seconds of a date, or None if the calendar or the clock has no such date."""
    start, days = _month(month)
    if not 1 <= day <= days or hour > 23 or minute > 59 or second > 59:
        return None
    return start + day * 86_400 + hour * 3600 + minute * 60 + second


@lru_cache(maxsize=4096)
def _month(text: str) -> tuple[int, int]:
    """POSIX seconds of the day before the first of `yyyy/mm`, and the number of its days; 0 days if there is no such
    month."""
    year, month = int(text[:4]), int(text[5:])
    if year < 1000 or not 1 <= month <= 12:
        return 0, 0
    return (day_number(year, month, 1) - 1) * 86_400, days_in_month(year, month)


@lru_cache(maxsize=16_384)
def canonical_prefix(text: str) -> str | None:
    """The prefix in lower case without the subdomain's last dot; None if it breaks the grammar, E4 or E17."""
    match = REPOSITORY_PREFIX.fullmatch(text)
    if match is None:
        return None
    subdomain, word, separator, port = match.groups(default="")
    if len(subdomain) + 1 + len(word) > MAX_HOST or (port and int(port) > 65_535):
        return None
    # E17: two segments that are a valid IBIp are one, and what follows them is a path.
    if "." not in subdomain and read_ibip(f"{subdomain}/{word}") is not None:
        return None
    return f"{subdomain}/{word}{separator}{port}".lower()
