"""An item as a search sees it: the words of its description, and what it is counted by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final
from unicodedata import normalize

from ibi.archive.counting import issue_date
from ibi.archive.search.words import join_words
from ibi.instant import civil
from ibi.languages import InvalidLanguageTag, LanguageTag
from ibi.model.item import Item
from ibi.model.metadata import Agent, Text
from ibi.model.search import Facet
from ibi.vocabulary import State

FIELDS: Final = ("title", "names", "subject", "rest")
"""The fields of words, in the order of their weight."""
_MOST_WORDS: Final = 5_000
"""Of one field: a description may be as long as a chapter."""
_LONGEST_VALUE: Final = 200
_SORTED_BY: Final = 48
"""Characters of a title."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`title`, `names`, `subject` and `rest` are words with spaces between them."""

    title: str
    names: str
    subject: str
    rest: str
    facets: tuple[tuple[Facet, str], ...]
    """Each pair once; a creator after the other, and of the others one value at most."""
    title_key: str
    """What titles are ordered by."""

    @property
    def fields(self) -> tuple[str, str, str, str]:
        return self.title, self.names, self.subject, self.rest


def entry_of(item: Item) -> Entry | None:
    """None for what was deleted. Restricted items are found as all others are: their description is public."""
    if item.state is State.DELETED:
        return None
    metadata = item.metadata
    title = join_words(_values(metadata.title), _MOST_WORDS)
    return Entry(
        title,
        join_words(_values(metadata.creator + metadata.contributor), _MOST_WORDS),
        join_words(_values(metadata.subject), _MOST_WORDS),
        join_words(
            chain(
                _values(metadata.publisher),
                _values(metadata.identifier),
                _values(metadata.source),
                _values(metadata.coverage),
                _values(metadata.description),
            ),
            _MOST_WORDS,
        ),
        tuple(dict.fromkeys(_facets(item))),
        (title or join_words((str(item.rep),), _MOST_WORDS))[:_SORTED_BY],
    )


def facet_value(text: str) -> str:
    """A value as it is counted and asked for: on one line, composed, and not endless."""
    return " ".join(normalize("NFC", text).split())[:_LONGEST_VALUE].rstrip()


def _values(values: tuple[Text, ...] | tuple[Agent, ...]) -> Iterator[str]:
    return map(str, values)


def _facets(item: Item) -> Iterator[tuple[Facet, str]]:
    yield Facet.YEAR, _year(item)
    kind = item.metadata.resource_type or next(_values(item.metadata.type), None)
    if kind is not None:
        yield Facet.TYPE, facet_value(str(kind))
    language = _language(item)
    if language is not None:
        yield Facet.LANGUAGE, language
    yield Facet.PREFIX, item.rep.prefix
    yield from ((Facet.CREATOR, facet_value(creator.name)) for creator in item.metadata.creator)


def _year(item: Item) -> str:
    """Of its publication if that is told, or else of its label."""
    date = issue_date(item.metadata)
    return f"{date.year if date is not None else civil(item.rep.instant.seconds // 86_400)[0]:04}"


def _language(item: Item) -> str | None:
    """Without the country: readers of Portuguese read that of any country."""
    if item.language is not None:
        return item.language.language
    for text in _values(item.metadata.language):
        try:
            return LanguageTag.parse(text.strip(), registered=True).language
        except InvalidLanguageTag:
            continue
    return None
