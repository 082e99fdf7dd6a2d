"""`/admin/usage`: the use of items by month, item, class of referrer and Archive, as drawings, tables and CSV downloads
in the style of COUNTER.

Robots are counted separately, and a second click within half a minute does not count (`ibi.usage.rules.counting`).
Nothing is stored about readers except the class of their referrer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ibi.items.model.item import Item
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.rules.rights import SiteAct
from ibi.standard.instant import day_number
from ibi.standard.label import RepositoryName
from ibi.standard.safe_text import csv_row
from ibi.usage.model import ReferrerClass, Usage, UsageDay, UsageOrigin, day_of, month_of
from ibi.usage.ports import UsageLog
from ibi.web.admin_shell import ADMIN, AdminShell
from ibi.web.drawings import MonthlyUse, drawing, element, usage_plot
from ibi.web.reader import PRIVATE, Visitor, message, page_language, translations
from ibi.web.sites import ArchiveSite
from ibi.web.words import shown_title

USAGE: Final = f"{ADMIN}/usage"
MONTHS: Final = 12
SHOWN: Final = 50
"""Number of items on the page."""
_MOST_ARCHIVES: Final = 20
_FIRST_MONTH: Final = 2008 * 12
"""Labels have dates from this month on."""

REFERRERS: Final = {
    ReferrerClass.DIRECT: message("direct or unknown"),
    ReferrerClass.HERE: message("this site"),
    ReferrerClass.RESOLVER: message("persistent link"),
    ReferrerClass.SEARCH: message("search engine"),
    ReferrerClass.SCHOLARLY: message("scholarly service"),
    ReferrerClass.SOCIAL: message("social network"),
    ReferrerClass.WEB: message("another site"),
    ReferrerClass.UNKNOWN: message("not recorded at the time"),
}


class UsagePage:
    def __init__(self, shell: AdminShell, site: ArchiveSite, usage: UsageLog) -> None:
        self._shell, self._site, self._usage = shell, site, usage

    def routes(self) -> list[Route]:
        guard = self._shell.guard
        return [
            Route(USAGE, guard(SiteAct.READ_USAGE, self.show)),
            Route(f"{USAGE}/items.csv", guard(SiteAct.READ_USAGE, self.items_table)),
            Route(f"{USAGE}/origins.csv", guard(SiteAct.READ_USAGE, self.origins_table)),
        ]

    async def show(self, request: Request, visitor: Visitor) -> Response:
        last = self._last_month(request)
        facts = await asyncio.to_thread(self._gather, last, page_language(request.scope))
        return self._shell.render(request, visitor, "admin_usage.html", **facts, referrers=REFERRERS)

    def _last_month(self, request: Request) -> int:
        """Return the requested month, written as `2026-11`, or else the present one."""
        now = month_of(day_of(self._site.now))
        year, _, month = request.query_params.get("month", "").partition("-")
        if len(year) != 4 or len(month) != 2 or not (year + month).isascii() or not (year + month).isdigit():
            return now
        wanted = int(year) * 12 + int(month) - 1
        return wanted if 1 <= int(month) <= 12 and _FIRST_MONTH <= wanted <= now else now

    def _gather(self, last: int, language: str) -> dict[str, Any]:
        origins = self._usage.origins(last - MONTHS + 1, last)
        by_month = _sum_by(origins, lambda each: each.month)
        months = [_monthly(each, by_month.get(each, Usage())) for each in range(last - MONTHS + 1, last + 1)]
        by_class = _largest(_sum_by(origins, lambda each: each.referrer))
        by_archive = _largest(_sum_by(origins, lambda each: each.archive))
        used = self._usage.most_used(last, SHOWN)
        now, words = month_of(day_of(self._site.now)), translations(language)
        return {
            "months": months,
            "total": sum((each.usage for each in months), Usage()),
            "plot": usage_plot(months, language),
            "by_class": by_class,
            "class_plot": _bars(
                "classes",
                words.gettext("Sources of visits"),
                [(words.gettext(REFERRERS[each]), usage) for each, usage in by_class],
            ),
            "by_archive": by_archive[:_MOST_ARCHIVES],
            "archive_plot": _bars("archives", words.gettext("Usage by Archive"), by_archive[:_MOST_ARCHIVES]),
            "items": [(rep, usage, self._title(rep)) for rep, usage in used],
            "month": _monthly(last, Usage()).instant,
            "month_text": _text(last),
            "earlier": _text(last - 1) if last > _FIRST_MONTH else None,
            "later": _text(last + 1) if last < now else None,
        }

    def _title(self, rep: RepositoryName) -> str | None:
        item = self._find(rep)
        return None if item is None else shown_title(item)

    def _find(self, rep: RepositoryName) -> Item | None:
        try:
            return self._site.catalog.find(rep)
        except ContentDamaged:
            return None

    async def items_table(self, request: Request, visitor: Visitor) -> Response:
        """Write a row for each item and metric, with the months in columns, as in reports of COUNTER."""
        last = self._last_month(request)
        months = range(last - MONTHS + 1, last + 1)
        return _download(f"usage-items-{_text(last)}.csv", self._item_rows(months))

    def _item_rows(self, months: range) -> Iterator[str]:
        named = ("Item", "Title", "Metric_Type", "Reporting_Period_Total", *map(_text, months))
        yield csv_row(*named)
        first, last = _first_day(months[0]), _first_day(months[-1] + 1) - 1
        rows: list[str] = []
        for rep, days in groupby(self._usage.walk(first, last), key=lambda each: each[0].rep):
            rows += self._rows_of(rep, days, months)
            if len(rows) >= 200:
                yield "".join(rows)
                rows = []
        yield "".join(rows)

    def _rows_of(self, rep: RepositoryName, days: Iterable[tuple[UsageDay, Usage]], months: range) -> Iterator[str]:
        sums: dict[int, Usage] = {}
        for day, usage in days:
            month = month_of(day.day)
            sums[month] = sums.get(month, Usage()) + usage
        title = self._title(rep)
        for metric, number in METRICS.items():
            numbers = [number(sums.get(month, Usage())) for month in months]
            if any(numbers):
                yield csv_row(str(rep), title, metric, sum(numbers), *numbers)

    async def origins_table(self, request: Request, visitor: Visitor) -> Response:
        last = self._last_month(request)
        origins = await asyncio.to_thread(self._usage.origins, last - MONTHS + 1, last)
        return _download(f"usage-origins-{_text(last)}.csv", _origin_rows(origins))


METRICS: Final[dict[str, Callable[[Usage], int]]] = {
    "Total_Item_Investigations": lambda usage: usage.resolutions + usage.downloads,
    "Total_Item_Requests": lambda usage: usage.downloads,
    "Robot_Resolutions": lambda usage: usage.robot_resolutions,
    "Robot_Downloads": lambda usage: usage.robot_downloads,
}
"""The metrics of the table: those of COUNTER for people, and those of robots, which COUNTER leaves out."""


def _origin_rows(origins: Iterable[tuple[UsageOrigin, Usage]]) -> Iterator[str]:
    yield csv_row("Month", "Archive", "Referrer_Class", *METRICS)
    for origin, usage in origins:
        numbers = (number(usage) for number in METRICS.values())
        yield csv_row(_text(origin.month), origin.archive, origin.referrer.value, *numbers)


def _download(name: str, rows: Iterator[str]) -> Response:
    headers = {
        **PRIVATE,
        "content-disposition": f'attachment; filename="{name}"',
        "x-content-type-options": "nosniff",
    }
    return StreamingResponse(rows, 200, headers, "text/csv; charset=utf-8")


def _sum_by(origins: Iterable[tuple[UsageOrigin, Usage]], key: Callable[[UsageOrigin], Any]) -> dict[Any, Usage]:
    sums: dict[Any, Usage] = {}
    for origin, usage in origins:
        sums[key(origin)] = sums.get(key(origin), Usage()) + usage
    return sums


def _largest(sums: dict[Any, Usage]) -> list[tuple[Any, Usage]]:
    return sorted(sums.items(), key=lambda each: (-each[1].downloads - each[1].resolutions, str(each[0])))


def _monthly(month: int, usage: Usage) -> MonthlyUse:
    return MonthlyUse(month // 12, month % 12 + 1, usage)


def _first_day(month: int) -> int:
    return day_number(month // 12, month % 12 + 1, 1)


def _text(month: int) -> str:
    return f"{month // 12:04}-{month % 12 + 1:02}"


_WIDTH, _ROW, _NAMES = 420, 26, 190


def _bars(identity: str, title: str, rows: Sequence[tuple[str, Usage]]) -> Markup | None:
    """Draw bars beside their names, one a row: downloads and then resolutions. Return None if there is nothing to
    draw."""
    most = max((usage.downloads + usage.resolutions for _, usage in rows), default=0)
    if not most:
        return None
    scale, content = (_WIDTH - _NAMES - 50) / most, []
    for index, (name, usage) in enumerate(rows):
        y, downloads = index * _ROW + 4, usage.downloads * scale
        short = name if len(name) <= 34 else f"{name[:33]}…"
        content += [
            element("text", short, x=_NAMES - 8, y=y + 13, text_anchor="end"),
            element("rect", x=_NAMES, y=y, width=downloads, height=16, class_="downloads"),
            element(
                "rect", x=_NAMES + downloads, y=y, width=usage.resolutions * scale, height=16, class_="resolutions"
            ),
            element(
                "text",
                usage.downloads + usage.resolutions,
                x=_NAMES + downloads + usage.resolutions * scale + 6,
                y=y + 13,
            ),
        ]
    described = "; ".join(f"{name}: {usage.downloads + usage.resolutions}" for name, usage in rows)
    return drawing(identity, _WIDTH, len(rows) * _ROW + 4, title, described, *content, class_="usage-plot usage-bars")
