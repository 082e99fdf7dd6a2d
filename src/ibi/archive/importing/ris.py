"""RIS: lines of a tag and a value, from `TY  - JOUR` to `ER  - `. A line without a tag continues the one before."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from ibi.archive.importing.imported import (
    MOST_RECORDS,
    DescriptionBuilder,
    ImportedRecord,
    ImportFormat,
    UnreadableRecord,
)
from ibi.model.item_types import ReadFrom, find_type_of_format

_LINE: Final = re.compile(r"([A-Z][A-Z0-9]) {0,2}- ?(.*)", re.DOTALL)
# The first tag that is present counts; the others repeat it in other words.
_FIRST: Final = (
    (("TI", "T1", "CT"), "title"),
    (("T2", "JO", "JF", "BT", "JA", "J2"), "source"),
    (("PB",), "publisher"),
)
_AUTHORS: Final = (("AU", "creator"), ("A1", "creator"), ("A2", "contributor"), ("A3", "contributor"))
_EDITORS: Final = (("A4", "contributor"), ("ED", "contributor"), ("TA", "contributor"))
_WITHIN: Final = (("VL", "v. "), ("IS", "n. "))
_IGNORED: Final = frozenset({"ID", "ER", "Y2", "L1", "L2", "L3", "L4", "DB", "DP", "ST", "AN", "CN", "CY", "T3", "C1"})
# 2020/01/31/other information; programs also write 2020-01-31, 2020/// and a year alone.
_DATE: Final = re.compile(r"([0-9]{4})(?:[/-]([0-9]{1,2})(?:[/-]([0-9]{1,2}))?)?(?:/.*)?", re.DOTALL)

Tags = dict[str, list[str]]


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
    tags: Tags | None = None
    last: list[str] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip("\ufeff \t"))
        if match is None:
            if tags is not None and last and line.strip():
                last.append(line.strip())
            continue
        if tags is not None and last:
            tags[last[0]].append(" ".join(last[1:]))
        tag, value = match[1], match[2].strip()
        last = []
        if tag == "TY":
            if tags is not None:
                yield tags
            tags = defaultdict(list)
        if tag == "ER":
            if tags is not None:
                yield tags
            tags = None
        elif tags is not None:
            last = [tag, value]
    if tags is not None:
        if last:
            tags[last[0]].append(" ".join(last[1:]))
        yield tags  # the end of the file was cut


def _record(tags: Tags) -> ImportedRecord:
    builder = DescriptionBuilder(ImportFormat.RIS)
    for names, element in _FIRST:
        found = [(name, value) for name in names for value in tags.pop(name, ()) if value]
        for name, value in found[:1]:
            builder.text(name, element, value)
    for tag, element in (*_AUTHORS, *_EDITORS):
        for name in tags.pop(tag, ()):
            builder.agent(tag, element, name)
    _add_date(builder, tags)
    for tag in ("AB", "N2"):
        for value in tags.pop(tag, ()):
            builder.prose(tag, value)
    for value in tags.pop("KW", ()):
        for word in value.split(";"):
            builder.text("KW", "subject", word)
    builder.text("SP", "source", _within(tags))
    for value in tags.pop("DO", ()):
        builder.doi("DO", value)
    for value in tags.pop("SN", ()):
        builder.identifier("SN", value, "ISSN " if len(value.replace("-", "")) == 8 else "ISBN ")
    for value in tags.pop("UR", ()):
        builder.identifier("UR", value)
    for value in tags.pop("LA", ()):
        builder.language("LA", value)
    kind = "".join(tags.pop("TY", [])[:1]).upper()
    builder.kind("TY", find_type_of_format(ReadFrom.RIS, kind), "".join(tags.pop("M3", [])[:1]))
    builder.pass_over(*(tag for tag, values in tags.items() if tag not in _IGNORED and any(values)))
    return builder.build()


def _within(tags: Tags) -> str:
    """Return the place of the work in its journal or book."""
    parts = [f"{words}{tags.pop(tag)[0]}" for tag, words in _WITHIN if any(tags.get(tag, ()))]
    pages = "–".join(tags.pop(tag)[0] for tag in ("SP", "EP") if any(tags.get(tag, ())))
    return ", ".join([*parts, f"p. {pages}"] if pages else parts)


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
