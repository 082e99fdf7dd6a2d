"""Counts of the use of an item: by day, and by origin and month."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, NamedTuple

from ibi.standard.instant import Instant, civil
from ibi.standard.label import RepositoryName


class UsageKind(Enum):
    """The counted event: the value is the field of `Usage`."""

    RESOLUTION = "resolutions"
    DOWNLOAD = "downloads"
    ROBOT_RESOLUTION = "robot_resolutions"
    ROBOT_DOWNLOAD = "robot_downloads"


@dataclass(frozen=True, slots=True)
class UsageDay:
    """One item on one day, the key of counts: days are in UTC, numbered from 1970-01-01."""

    rep: RepositoryName
    day: int

    @property
    def date(self) -> str:
        year, month, day = civil(self.day)
        return f"{year}-{month:02}-{day:02}"


@dataclass(frozen=True, slots=True)
class Usage:
    """Separate counts of people and of robots: robots fetch more than people do, and do not read it."""

    resolutions: int = 0
    downloads: int = 0
    robot_resolutions: int = 0
    robot_downloads: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.resolutions + other.resolutions,
            self.downloads + other.downloads,
            self.robot_resolutions + other.robot_resolutions,
            self.robot_downloads + other.robot_downloads,
        )

    @staticmethod
    def one(kind: UsageKind) -> Usage:
        return _ONE[kind]


_ONE: Final = {kind: Usage(**{kind.value: 1}) for kind in UsageKind}


def day_of(instant: Instant) -> int:
    return instant.seconds // 86_400


def month_of(day: int) -> int:
    """Return the month of a day, counted from the year 0: the difference of two months is their distance."""
    year, month, _ = civil(day)
    return year * 12 + month - 1


class ReferrerClass(StrEnum):
    """The kind of site from which a reader came. The site itself is not stored."""

    DIRECT = "direct"
    """A bookmark, an e-mail, a document, or a browser that does not say."""
    HERE = "here"
    """A page of this site."""
    RESOLVER = "resolver"
    """A persistent link, reported by the resolver."""
    SEARCH = "search"
    SCHOLARLY = "scholarly"
    """An index, a repository or a network of researchers."""
    SOCIAL = "social"
    WEB = "web"
    """Any other site."""
    UNKNOWN = "unknown"
    """Counted before this was recorded."""


class UsageOrigin(NamedTuple):
    """The key of a month's counts by origin: without item, day or reader."""

    month: int
    """As `month_of` counts them."""
    archive: str
    """The Archive that made the labels of the items: the prefix of their repository names."""
    referrer: ReferrerClass
