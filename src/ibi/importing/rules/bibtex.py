"""Descriptions from the entries of BibTeX and BibLaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ibi.importing.rules.bibtex_entries import MONTHS, BibEntry, read_entries
from ibi.importing.rules.imported import (
    MOST_RECORDS,
    DescriptionBuilder,
    ImportedRecord,
    ImportFormat,
    UnreadableRecord,
)
from ibi.importing.rules.tex import plain_text, without_tex
from ibi.items.model.item_types import ReadFrom, find_type_of_format

_TEXTS: Final = {
    "publisher": "publisher",
    "school": "publisher",
    "institution": "publisher",
    "organization": "publisher",
    "howpublished": "publisher",
    "journal": "source",
    "journaltitle": "source",
    "booktitle": "source",
    "series": "source",
    "location": "coverage",
}
_WITHIN: Final = (("volume", "v. "), ("number", "n. "), ("issue", "n. "), ("pages", "p. "), ("chapter", "cap. "))
_AND: Final = re.compile(r" and |[{}]", re.IGNORECASE)
Fields = dict[str, str]
_IGNORED: Final = frozenset("timestamp owner keywords-plus date-added date-modified bdsk-url-1 file".split())


def read_bibtex(text: str) -> tuple[ImportedRecord, ...]:
    """Return the records of a BibTeX file, at most `MOST_RECORDS`."""
    found: list[ImportedRecord] = []
    for entry in read_entries(text):
        if len(found) == MOST_RECORDS:
            raise UnreadableRecord(entry.kind, 0, "there are more than {most} entries", most=MOST_RECORDS)
        found.append(_record(entry))
    if not found:
        raise UnreadableRecord(text[:80], 0, "there is no entry such as @article{{…}} in it")
    return tuple(found)


def _record(entry: BibEntry) -> ImportedRecord:
    builder, fields = DescriptionBuilder(ImportFormat.BIBTEX), dict(entry.fields)
    _add_titles(builder, fields)
    _add_people(builder, fields)
    _add_date(builder, fields)
    _add_texts(builder, fields)
    _add_place(builder, fields)
    _add_abstract(builder, fields)
    _add_keywords(builder, fields)
    _add_identifiers(builder, fields)
    _add_languages(builder, fields)
    _add_licences(builder, fields)
    builder.kind("type", find_type_of_format(ReadFrom.BIBTEX, entry.kind), plain_text(fields.pop("type", "")))
    builder.pass_over(*(name for name in fields if name not in _IGNORED and fields[name].strip()))
    return builder.build()


def _add_titles(builder: DescriptionBuilder, fields: Fields) -> None:
    title, subtitle = plain_text(fields.pop("title", "")), plain_text(fields.pop("subtitle", ""))
    builder.text("title", "title", f"{title}: {subtitle}" if title and subtitle else title or subtitle)


def _add_people(builder: DescriptionBuilder, fields: Fields) -> None:
    for name, element in (("author", "creator"), ("editor", "contributor"), ("translator", "contributor")):
        for person in _people(fields.pop(name, "")):
            builder.agent(name, element, person)


def _people(names: str) -> Iterator[str]:
    """Yield the names joined by `and`. A name in braces is of an institution, and may contain `and`."""
    names, start, depth = " ".join(names.split()), 0, 0
    for found in _AND.finditer(names):
        if found[0] in "{}":
            depth += 1 if found[0] == "{" else -1
        elif depth <= 0:
            yield from _person(names[start : found.start()])
            start = found.end()
    yield from _person(names[start:])


def _person(tex: str) -> Iterator[str]:
    name = plain_text(tex).strip()
    if not name or name.lower() == "others":
        return
    parts = [part.strip() for part in name.split(",")]
    # Knuth, Jr., Donald: the degree of kinship belongs to the family name.
    yield f"{parts[0]} {parts[1]}, {parts[2]}" if len(parts) == 3 and not tex.strip().startswith("{") else name


def _add_date(builder: DescriptionBuilder, fields: Fields) -> None:
    date, year = without_tex(fields.pop("date", "")), without_tex(fields.pop("year", ""))
    month, day = without_tex(fields.pop("month", "")).lower(), without_tex(fields.pop("day", ""))
    if date or not year:
        builder.date("date", date)
        return
    number = MONTHS.get(month[:3]) or (int(month) if month.isascii() and month.isdigit() and len(month) < 3 else None)
    if number is not None:
        year += f"-{number:02}"
        if day.isascii() and day.isdigit() and len(day) < 3:
            year += f"-{int(day):02}"
    builder.date("year", year)


def _add_texts(builder: DescriptionBuilder, fields: Fields) -> None:
    for name, element in _TEXTS.items():
        builder.text(name, element, plain_text(fields.pop(name, "")))


def _add_place(builder: DescriptionBuilder, fields: Fields) -> None:
    within = [f"{words}{plain_text(fields.pop(name))}" for name, words in _WITHIN if fields.get(name)]
    builder.text("pages", "source", ", ".join(within))


def _add_abstract(builder: DescriptionBuilder, fields: Fields) -> None:
    builder.prose("abstract", plain_text(fields.pop("abstract", "")))


def _add_keywords(builder: DescriptionBuilder, fields: Fields) -> None:
    for word in re.split(r"[;,]", plain_text(fields.pop("keywords", "") or fields.pop("keyword", ""))):
        builder.text("keywords", "subject", word)


def _add_identifiers(builder: DescriptionBuilder, fields: Fields) -> None:
    if doi := without_tex(fields.pop("doi", "")):
        builder.doi("doi", doi)
    for name, prefix in (("isbn", "ISBN "), ("issn", "ISSN "), ("url", "")):
        builder.identifier(name, without_tex(fields.pop(name, "")), prefix)
    archive = without_tex(fields.pop("archiveprefix", "") or fields.pop("eprinttype", "")) or "arXiv"
    builder.identifier("eprint", without_tex(fields.pop("eprint", "")), f"{archive}:")


def _add_languages(builder: DescriptionBuilder, fields: Fields) -> None:
    for name in ("language", "langid"):
        if fields.get(name):
            builder.language(name, plain_text(fields.pop(name)))


def _add_licences(builder: DescriptionBuilder, fields: Fields) -> None:
    for name in ("copyright", "license", "licence", "rights"):
        if fields.get(name):
            builder.licence(name, without_tex(fields.pop(name)))
