"""The use of an item month by month: a plot, and the same as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from babel.dates import format_date
from babel.numbers import format_decimal
from babel.support import NullTranslations
from markupsafe import Markup

from ibi.instant import Instant, civil, day_number
from ibi.model.usage import Usage, UsageDay
from ibi.web.pages.drawing import drawing, element
from ibi.web.pages.translation import locale_of, translations

MONTHS: Final = 12
_WIDTH, _HEIGHT, _BASE, _TOP, _LEFT = 300, 130, 104, 16, 6


@dataclass(frozen=True, slots=True)
class MonthlyUse:
    """The use of one month by people, without robots."""

    year: int
    month: int
    usage: Usage

    @property
    def instant(self) -> Instant:
        return Instant(day_number(self.year, self.month, 1) * 86_400)


def first_day(now: Instant) -> int:
    """The number of the first day in the plot."""
    year, month = _months(now)[0]
    return day_number(year, month, 1)


def monthly_use(days: Iterable[tuple[UsageDay, Usage]], now: Instant) -> tuple[MonthlyUse, ...]:
    """The use of the last twelve months, this one included, also of those without use."""
    counts = dict.fromkeys(_months(now), Usage())
    for day, usage in days:
        month = civil(day.day)[:2]
        if month in counts:
            counts[month] += usage
    return tuple(MonthlyUse(year, month, usage) for (year, month), usage in counts.items())


def _months(now: Instant) -> list[tuple[int, int]]:
    year, month, _ = civil(now.seconds // 86_400)
    last = year * 12 + month - 1
    return [(index // 12, index % 12 + 1) for index in range(last - MONTHS + 1, last + 1)]


def usage_plot(months: Sequence[MonthlyUse], language: str) -> Markup:
    """Bars of downloads and resolutions side by side."""
    words: NullTranslations = translations(language)
    locale = locale_of(language)
    most = max((max(each.usage.downloads, each.usage.resolutions) for each in months), default=0)
    step = (_WIDTH - _LEFT) / len(months)
    content = [element("line", x1=_LEFT, x2=_WIDTH, y1=_BASE, y2=_BASE, class_="axis")]
    for index, each in enumerate(months):
        x, name = _LEFT + index * step, str(format_date(_date(each), "MMM", locale=locale))
        content.append(_bar(x + 2, step / 2 - 3, each.usage.downloads, most, "downloads"))
        content.append(_bar(x + step / 2, step / 2 - 3, each.usage.resolutions, most, "resolutions"))
        if index % 2 == len(months) % 2:
            content.append(element("text", name[:4].strip("."), x=x + step / 2, y=_BASE + 16, text_anchor="middle"))
    content.append(element("text", format_decimal(most, locale=locale), x=_LEFT, y=_TOP - 5))
    content.append(element("line", x1=_LEFT, x2=_WIDTH, y1=_TOP, y2=_TOP, class_="grid"))
    return drawing(
        "usage",
        _WIDTH,
        _HEIGHT,
        words.gettext("Use in the last twelve months"),
        _description(months, words),
        *content,
        class_="usage-plot",
    )


def _bar(x: float, width: float, number: int, most: int, kind: str) -> Markup:
    height = 0.0 if not most else number / most * (_BASE - _TOP)
    return element("rect", x=x, y=_BASE - height, width=width, height=height, class_=kind)


def _description(months: Sequence[MonthlyUse], words: NullTranslations) -> str:
    downloads = sum(each.usage.downloads for each in months)
    resolutions = sum(each.usage.resolutions for each in months)
    sentence = words.gettext("{downloads} downloads and {resolutions} resolutions by people; the table has each month.")
    return sentence.format(downloads=downloads, resolutions=resolutions)


def _date(each: MonthlyUse) -> date:
    return date(each.year, each.month, 1)
