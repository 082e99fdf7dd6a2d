"""RIS: lines of a tag and a value, from `TY  - JOUR` to `ER  - `. A line without a tag continues the one before."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from ibi.importing.rules.imported import (
    MOST_RECORDS,
    DescriptionBuilder,
    ImportedRecord,
    ImportFormat,
    UnreadableRecord,
)
from ibi.items.model.item_types import ReadFrom, find_type_of_format

_LINE: Final = re.compile(r"([A-Z][A-Z0-9]) {0,2}- ?(.*)", re.DOTALL)
_WITHIN: Final = (("VL", "v. "), ("IS", "n. "))
_IGNORED: Final = frozenset({"ID", "ER", "Y2", "L1", "L2", "L3", "L4", "DB", "DP", "ST", "AN", "CN", "CY", "T3", "C1"})
# 2020/01/31/other information; programs also write 2020-01-31, 2020/// and a year alone.
_DATE: Final = re.compile(r"([0-9]{4})(?:[/-]([0-9]{1,2})(?:[/-]([0-9]{1,2}))?)?(?:/.*)?", re.DOTALL)

Tags = dict[str, list[str]]
_Step: TypeAlias = Callable[[DescriptionBuilder, Tags], None]


def looks_like_ris(text: str) -> bool:
    """Return whether the first non-empty line begins a record."""
    first = text.lstrip("\ufeff \t\r\n")[:8]
    return re.match(r"TY {0,2}-", first) is not None


def read_ris(text: str) -> tuple[ImportedRecord, ...]:
    """Return the records of a RIS file, at most `MOST_RECORDS`."""
    found: list[ImportedRecord] = []
    for tags in _records(text):
        if len(found) == MOST_RECORDS:
            raise UnreadableRecord("TY", 0, "there are more than {most} entries", most=MOST_RECORDS)
        found.append(_record(tags))
    if not found:
        raise UnreadableRecord(text[:80], 0, "no line begins a record, as TY  - JOUR does")
    return tuple(found)


def _records(text: str) -> Iterator[Tags]:
    """Yield the tags of each record. A record without its end counts: the end of the file was cut."""
    tags: Tags | None = None
    for tag, value in _read_lines(text):
        if tags is not None and tag in ("TY", "ER"):
            yield tags
            tags = None
        if tag == "TY":
            tags = defaultdict(list)
        if tags is not None:
            tags[tag].append(value)
    if tags is not None:
        yield tags


def _read_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each tag with its value, which following lines without a tag continue."""
    tag, parts = "", [""]
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip("\ufeff \t"))
        if match is None:
            parts += [line.strip()] if line.strip() else []
            continue
        yield tag, " ".join(parts)
        tag, parts = match[1], [match[2].strip()]
    yield tag, " ".join(parts)


def _record(tags: Tags) -> ImportedRecord:
    builder = DescriptionBuilder(ImportFormat.RIS)
    for add in _STEPS:
        add(builder, tags)
    builder.pass_over(*(tag for tag, values in tags.items() if tag not in _IGNORED and any(values)))
    return builder.build()


def _first(element: str, *tags_in_order: str) -> _Step:
    """Return the step that adds the first of these tags that is present. The others repeat it in other words."""

    def add(builder: DescriptionBuilder, tags: Tags) -> None:
        found = [(tag, value) for tag in tags_in_order for value in tags.pop(tag, ()) if value]
        for tag, value in found[:1]:
            builder.text(tag, element, value)

    return add


def _each(tag: str, add_value: Callable[[DescriptionBuilder, str, str], None]) -> _Step:
    """Return the step that adds each value of a tag."""

    def add(builder: DescriptionBuilder, tags: Tags) -> None:
        for value in tags.pop(tag, ()):
            add_value(builder, tag, value)

    return add


def _add_creator(builder: DescriptionBuilder, tag: str, name: str) -> None:
    builder.agent(tag, "creator", name)


def _add_contributor(builder: DescriptionBuilder, tag: str, name: str) -> None:
    builder.agent(tag, "contributor", name)


def _add_keywords(builder: DescriptionBuilder, tag: str, words: str) -> None:
    for word in words.split(";"):
        builder.text(tag, "subject", word)


def _add_serial_number(builder: DescriptionBuilder, tag: str, number: str) -> None:
    builder.identifier(tag, number, "ISSN " if len(number.replace("-", "")) == 8 else "ISBN ")


def _add_place(builder: DescriptionBuilder, tags: Tags) -> None:
    """Add the place of the work in its journal or book."""
    parts = [f"{words}{tags.pop(tag)[0]}" for tag, words in _WITHIN if any(tags.get(tag, ()))]
    pages = "–".join(tags.pop(tag)[0] for tag in ("SP", "EP") if any(tags.get(tag, ())))
    builder.text("SP", "source", ", ".join([*parts, f"p. {pages}"] if pages else parts))


def _add_date(builder: DescriptionBuilder, tags: Tags) -> None:
    """Add the most exact of its dates: a year often stands beside a day."""
    written = [(tag, value) for tag in ("DA", "PY", "Y1") for value in tags.pop(tag, ()) if value]
    dates = []
    for tag, value in written:
        match = _DATE.fullmatch(value)
        if match is None:
            builder.pass_over(tag)
            continue
        dates.append((tag, "-".join(part.zfill(2) for part in match.groups() if part)))
    for tag, date in sorted(dates, key=lambda each: -len(each[1]))[:1]:
        builder.date(tag, date)


def _add_kind(builder: DescriptionBuilder, tags: Tags) -> None:
    kind = "".join(tags.pop("TY", [])[:1]).upper()
    builder.kind("TY", find_type_of_format(ReadFrom.RIS, kind), "".join(tags.pop("M3", [])[:1]))


# What the tags of a record add to its description, in this order.
_STEPS: Final[tuple[_Step, ...]] = (
    _first("title", "TI", "T1", "CT"),
    _first("source", "T2", "JO", "JF", "BT", "JA", "J2"),
    _first("publisher", "PB"),
    *(_each(tag, _add_creator) for tag in ("AU", "A1")),
    *(_each(tag, _add_contributor) for tag in ("A2", "A3", "A4", "ED", "TA")),
    _add_date,
    _each("AB", DescriptionBuilder.prose),
    _each("N2", DescriptionBuilder.prose),
    _each("KW", _add_keywords),
    _add_place,
    _each("DO", DescriptionBuilder.doi),
    _each("SN", _add_serial_number),
    _each("UR", DescriptionBuilder.identifier),
    _each("LA", DescriptionBuilder.language),
    _add_kind,
)
