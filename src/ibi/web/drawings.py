"""Drawings in SVG: the use of an item by month, and the course of a resolution.

`trace_figure` draws a resolution and describes it in words. A resolution may ask hundreds of Archives. The few that
mattered have a lane each; all others share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from babel.dates import format_date
from babel.numbers import format_decimal
from babel.support import NullTranslations
from markupsafe import Markup, escape

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Outcome, Redirect
from ibi.resolver.rules.trace import Hop, Report, Trace, Verdict
from ibi.standard.instant import Instant, civil, day_number
from ibi.usage.model import Usage, UsageDay
from ibi.web.reader import locale_of, translations
from ibi.web.words import FAILURES, TRACE_REASONS, outcome_words, verdict_words


def element(name: str, *content: object, **attributes: object) -> Markup:
    """Write an element. `name` and the names of attributes must be literals. `class_` is class, and `_` in a name is a
    hyphen."""
    shown = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = join_markup(map(escape, content))
    written = f"<{name}{shown}>{inside}</{name}>" if content else f"<{name}{shown}/>"
    return Markup(written)  # noqa: S704 - values and content are escaped above


def drawing(
    identity: str, width: float, height: float, title: str, description: str, *content: Markup, class_: str
) -> Markup:
    """Return a picture with a title and a description for screen readers. `identity` is unique on the page."""
    names = (
        element("title", title, id=f"{identity}-title"),
        element("desc", description, id=f"{identity}-description"),
    )
    return element(
        "svg",
        *names,
        *content,
        class_=class_,
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{identity}-title {identity}-description",
    )


def join_markup(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _value(value: object) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


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
    """Return the number of the first day in the plot."""
    year, month = _months(now)[0]
    return day_number(year, month, 1)


def monthly_use(days: Iterable[tuple[UsageDay, Usage]], now: Instant) -> tuple[MonthlyUse, ...]:
    """Return the use of the last twelve months, the present one included. Months without use are included too."""
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
    """Draw bars of downloads and resolutions side by side."""
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
        words.gettext("Usage in the last twelve months"),
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


MOST_LANES: Final = 5
MOST_MESSAGES: Final = 120
_READER, _RESOLVER, _FIRST_ARCHIVE = 0, 1, 2
_ROW, _HEAD, _MARGIN, _LETTER = 40, 50, 80, 6.2
_LEAST, _MOST, _WIDE = 152, 300, 900
"""Bounds on the distance of lanes, and the width that they share."""

# The Archives with a lane of their own: first those that decided, last those without an answer.
_IMPORTANCE: Final = tuple(Verdict)
_BAD: Final = frozenset({Verdict.FAILED, Verdict.SILENT, Verdict.DISBELIEVED, Verdict.DELETED})


@dataclass(frozen=True, slots=True)
class _Message:
    """An arrow from one lane to another. `at` is in seconds since the beginning, or None if it was not measured."""

    source: int
    target: int
    words: str
    kind: str
    at: float | None = None


def trace_figure(trace: Trace, outcome: Outcome | None, translations: NullTranslations) -> Markup:
    """Return the diagram as a `<figure>`. Without an outcome it ends with the trace."""
    return _Diagram(trace, outcome, translations).figure()


class _Diagram:
    def __init__(self, trace: Trace, outcome: Outcome | None, translations: NullTranslations) -> None:
        self._trace, self._outcome = trace, outcome
        self._gettext, self._ngettext = translations.gettext, translations.ngettext
        reports = [report for hop in trace.hops for report in hop.reports]
        self._began = min((report.asked_at for report in reports), default=0.0)
        self._lanes = _lanes(reports)
        self._others = len({report.archive for report in reports}) - len(self._lanes)
        self._messages = tuple(self._all_messages())

    def figure(self) -> Markup:
        _ = self._gettext
        scroll = element(
            "div",
            self._picture(),
            class_="scroll",
            tabindex=0,
            role="region",
            aria_label=_("The resolution as a diagram"),
        )
        words = element("details", element("summary", _("Text description")), self._steps(), open="")
        return element("figure", scroll, words, class_="sequence")

    def _names(self) -> tuple[str, ...]:
        _, ngettext = self._gettext, self._ngettext
        archives = tuple(str(archive) for archive in self._lanes)
        rest = ngettext("{number} other Archive", "{number} other Archives", self._others)
        others = (rest.format(number=self._others),) if self._others else ()
        return (_("Reader"), _("Resolver"), *archives, *others)

    def _lane(self, archive: ArchiveRef) -> int:
        return self._lanes.get(archive, _FIRST_ARCHIVE + len(self._lanes))

    def _all_messages(self) -> Iterator[_Message]:
        _, hops = self._gettext, self._trace.hops
        if hops:
            yield _Message(_READER, _RESOLVER, _request_words(hops[0]), "ask")
        timed = sorted((each for hop in hops for each in self._of_hop(hop)), key=lambda each: each.at or 0.0)
        yield from timed[:MOST_MESSAGES]
        if self._outcome is None:
            return
        chosen = self._outcome if isinstance(self._outcome, Redirect) else None
        yield _Message(_RESOLVER, _READER, _(outcome_words(self._outcome)), "answer" if chosen else "bad")
        if chosen is not None:
            yield _Message(_READER, self._lane(chosen.archive), chosen.url, "ask")

    def _of_hop(self, hop: Hop) -> Iterator[_Message]:
        others = []
        for report in hop.reports:
            if report.archive in self._lanes:
                yield from self._of_report(hop, report)
            else:
                others.append(report)
        if others:
            yield from self._of_others(hop, others)

    def _of_report(self, hop: Hop, report: Report) -> Iterator[_Message]:
        lane = self._lanes[report.archive]
        yield _Message(_RESOLVER, lane, self._question(hop), "ask", self._since(report.asked_at))
        kind = "bad" if report.verdict in _BAD else "good" if report.verdict is Verdict.CHOSEN else "answer"
        yield _Message(lane, _RESOLVER, self._reply_words(report), kind, self._since(_end(report)))

    def _of_others(self, hop: Hop, reports: Sequence[Report]) -> Iterator[_Message]:
        lane = _FIRST_ARCHIVE + len(self._lanes)
        asked = self._since(min(report.asked_at for report in reports))
        yield _Message(_RESOLVER, lane, self._question(hop), "ask", asked)
        said = Counter(map(self._reply_words, reports))
        words = "; ".join(f"{number} × {each}" for each, number in said.most_common(3))
        kind = "bad" if all(report.verdict in _BAD for report in reports) else "answer"
        yield _Message(lane, _RESOLVER, words, kind, self._since(max(map(_end, reports))))

    def _question(self, hop: Hop) -> str:
        words = _request_words(hop)
        return words if hop.number == 0 else f"{words} ({self._gettext(TRACE_REASONS[hop.reason])})"

    def _reply_words(self, report: Report) -> str:
        return self._gettext(verdict_words(report) if report.failure is None else FAILURES[report.failure])

    def _since(self, at: float) -> float:
        return at - self._began

    def _picture(self) -> Markup:
        _, names = self._gettext, self._names()
        step = min(_MOST, max(_LEAST, _WIDE // (len(names) - 1)))
        width = 2 * _MARGIN + (len(names) - 1) * step
        height = _HEAD + (len(self._messages) + 1) * _ROW
        lanes = join_markup(_draw_lane(_x(index, step), name, height) for index, name in enumerate(names))
        arrows = join_markup(_draw_message(row, each, step, width) for row, each in enumerate(self._messages))
        title = _("Resolution of the link")
        return drawing("trace", width, height, title, self._description(), lanes, arrows, class_="sequence-picture")

    def _description(self) -> str:
        ngettext, number = self._ngettext, len(self._messages)
        words = ngettext("{number} message between {lanes}.", "{number} messages between {lanes}.", number)
        return words.format(number=number, lanes=", ".join(self._names()))

    def _steps(self) -> Markup:
        names = self._names()
        return element("ol", *(self._step(names, each) for each in self._messages), class_="sequence-steps")

    def _step(self, names: Sequence[str], each: _Message) -> Markup:
        ends = element("b", element("bdi", names[each.source]), " → ", element("bdi", names[each.target]))
        words = element("bdi", each.words)
        when = () if each.at is None else (" ", element("span", _milliseconds(each.at), class_="soft small"))
        return element("li", ends, ": ", words, *when, class_=each.kind)


def _lanes(reports: Iterable[Report]) -> Mapping[ArchiveRef, int]:
    """Return the Archives that have a lane of their own. The first of them is next to the resolver."""
    best: dict[ArchiveRef, int] = {}
    for report in reports:
        rank = _IMPORTANCE.index(report.verdict)
        best[report.archive] = min(rank, best.get(report.archive, rank))
    ranked = sorted(best, key=lambda archive: best[archive])  # sorting keeps the order in which they were asked
    own = ranked if len(ranked) <= MOST_LANES else ranked[: MOST_LANES - 1]
    return {archive: _FIRST_ARCHIVE + index for index, archive in enumerate(own)}


def _end(report: Report) -> float:
    """Return when a report is drawn: an answer at its arrival, silence at the end."""
    if report.answered_at is not None:
        return report.answered_at
    return float("inf") if report.verdict is Verdict.SILENT else report.asked_at


def _request_words(hop: Hop) -> str:
    return f"{hop.label.spelling}{hop.relation.modifier}"


def _milliseconds(seconds: float) -> str:
    return "" if seconds == float("inf") else f"{max(seconds, 0) * 1000:.0f} ms"


def _x(lane: int, step: int) -> int:
    return _MARGIN + lane * step


def _shorten(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _draw_lane(x: int, name: str, height: float) -> Markup:
    half = _LEAST / 2 - 8
    box = element("rect", x=x - half, y=8, width=2 * half, height=32, rx=6, class_="lane-head")
    words = element(
        "text",
        element("title", name),
        _shorten(name, 20),
        x=x,
        y=29,
        text_anchor="middle",
        class_="lane-name",
    )
    line = element("line", x1=x, y1=40, x2=x, y2=height - 10, class_="lane-line")
    return join_markup((line, box, words))


def _draw_message(row: int, each: _Message, step: int, width: int) -> Markup:
    y = _HEAD + (row + 0.75) * _ROW
    start, end = _x(each.source, step), _x(each.target, step)
    direction = 1 if end > start else -1
    tip = end - 3 * direction
    arrow = element("line", x1=start, y1=y, x2=tip - 7 * direction, y2=y, class_="arrow")
    points = f"{tip},{y:.1f} {tip - 9 * direction},{y - 4.5:.1f} {tip - 9 * direction},{y + 4.5:.1f}"
    head = element("polygon", points=points, class_="arrow-head")
    # Words begin at the sender's lane and may extend beyond the arrow: nothing else is in their row.
    near, anchor = (start + 10 * direction, "start" if direction > 0 else "end")
    room = int((width - near if direction > 0 else near) / _LETTER)
    words = element(
        "text",
        element("title", each.words),
        _shorten(each.words, room),
        x=near,
        y=y - 7,
        text_anchor=anchor,
        class_="arrow-words",
    )
    return element("g", arrow, head, words, class_=f"message {each.kind}")
