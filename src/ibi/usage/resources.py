"""How often items were resolved and their files fetched."""

from __future__ import annotations

from typing import Annotated

from ibi.standard.resource import Answer, Count, Links, Page, bounds
from ibi.usage import model as model


class UsageCounts(Answer, frozen=True):
    """Counts of people, and of robots."""

    resolutions: Count
    downloads: Count
    robot_resolutions: Count
    robot_downloads: Count

    def usage(self) -> model.Usage:
        return model.Usage(self.resolutions, self.downloads, self.robot_resolutions, self.robot_downloads)


class DayUsage(UsageCounts, frozen=True):
    date: Annotated[str, bounds(format="date")]

    @classmethod
    def of(cls, date: str, usage: model.Usage) -> DayUsage:
        return cls(usage.resolutions, usage.downloads, usage.robot_resolutions, usage.robot_downloads, date)


class RecordUsage(Answer, frozen=True):
    days: list[DayUsage]
    links: Links


class ItemUsage(UsageCounts, frozen=True):
    rep: str

    @classmethod
    def of(cls, rep: str, usage: model.Usage) -> ItemUsage:
        return cls(usage.resolutions, usage.downloads, usage.robot_resolutions, usage.robot_downloads, rep)


class UsageTotals(Page, frozen=True):
    items: list[ItemUsage]
