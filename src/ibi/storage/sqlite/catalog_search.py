"""Searches of the catalogue, on the connection of one thread.

A common word has hundreds of thousands of matches. FTS5 gives them newest first and one by one, so that to stop after
twenty thousand costs no more than those: everything here is asked of that many newest matches, bounded by the number of
the oldest of them. The ranking of FTS5 itself (bm25) reads all matches of each word, and is not used. What lies beyond
is read page by page, each from the number of an item on: that costs as little at the end of a list as at its beginning.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import Enum
from functools import cached_property
from itertools import islice
from time import time
from typing import Any, Final

from ibi.archive.search import (
    count_facets,
    day_word,
    entry_of,
    facet_counts,
    meets,
    untitled_key,
)
from ibi.archive.search_terms import read_terms
from ibi.archive.spelling import correct, is_near, one_edit
from ibi.model.item import Item
from ibi.model.search import ENOUGH, SAMPLED, Facet, FacetCounts, ListPlace, Order, SearchPage, SearchQuery
from ibi.storage.sqlite.catalog_rows import (
    ROWIDS_PER_TICK,
    Record,
    find_record,
    first_rowid,
    label_key,
    repository_name,
)
from ibi.storage.sqlite.connection import Connection, snapshot
from ibi.storage.sqlite.search_rows import (
    AFTER_LETTERS,
    BETWEEN_FILES,
    BETWEEN_SINGLES,
    BETWEEN_VALUES,
    LEAST_LETTERS,
    SEVERAL_FACETS,
    SINGLE_FACETS,
    SoughtWords,
    quote,
)

_CACHE: Final = "PRAGMA cache_size = -16384"
"""In KB. What is counted lies on a few thousand pages."""
_FIRST: Final = -1 << 63
LAST_ROW: Final = (1 << 63) - 1
_SLICE: Final = 4_096
_MOST_WORDS: Final = 200
"""Words that begin with some letters and are looked for one by one."""
_MOST_NEAR: Final = 1_000
_MOST_WEIGHED: Final = 12
_AMONG: Final = "SELECT word FROM vocabulary WHERE word IN (SELECT value FROM json_each(?))"
_NEAR: Final = "SELECT word FROM vocabulary WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ? LIMIT ?"
_BEGINNING: Final = "SELECT word FROM vocabulary WHERE word >= ? AND word < ? LIMIT ?"

# Without a match, everything is wanted. CROSS JOIN: the matches first, whatever SQLite thinks of their number.
_ALL = "FROM listed WHERE listed.number BETWEEN :lowest AND :highest"
_MATCHES = "FROM search WHERE search MATCH :match AND search.rowid >= :lowest AND search.rowid <= :highest"
_LISTED_MATCHES = _MATCHES.replace("search WHERE", "search CROSS JOIN listed ON listed.number = search.rowid WHERE")
_NUMBERS = {
    False: f"SELECT listed.number AS number {_ALL} ORDER BY listed.number",
    True: f"SELECT search.rowid AS number {_MATCHES} ORDER BY search.rowid",
}
_PAGE = "LIMIT :limit OFFSET :offset"
_NEWEST = {has_match: f"{numbers} DESC {_PAGE}" for has_match, numbers in _NUMBERS.items()}
_OLDEST = {has_match: f"{numbers} {_PAGE}" for has_match, numbers in _NUMBERS.items()}
_BY_TITLE = {
    # The index of titles has them in this order, all of them.
    False: f"SELECT number FROM listed ORDER BY title, number {_PAGE}",  # noqa: S608
    True: f"SELECT listed.number {_LISTED_MATCHES} ORDER BY listed.title, listed.number {_PAGE}",
}
# One after the other, each along the index: one condition on both would read every item of the same title.
_SAME_TITLE = "SELECT number FROM listed WHERE title = :title AND number > :number ORDER BY number LIMIT :limit"
_TITLES_AFTER = "SELECT number FROM listed WHERE title > :title ORDER BY title, number LIMIT :limit"
# In a list of few matches, to find the titles that begin with some words FTS5 would have to read all of them.
_TITLES_FROM = """
    SELECT listed.number, listed.title, items.rep FROM (
        SELECT number FROM listed WHERE title >= :first AND title < :last ORDER BY number DESC LIMIT :limit
    ) AS found JOIN listed USING (number) JOIN items USING (number) ORDER BY listed.number DESC
"""
_SPARE: Final = 100
_COUNT = {has_match: f"SELECT count(*), min(number) FROM ({newest})" for has_match, newest in _NEWEST.items()}  # noqa: S608
_IN_LINES = "SELECT group_concat(value, char(10)) FROM (SELECT listed.{column} AS value {rows} DESC LIMIT :limit)"
_LINES = {
    column: {
        False: _IN_LINES.format(column=column, rows=f"{_ALL} ORDER BY number"),
        True: _IN_LINES.format(column=column, rows=f"{_LISTED_MATCHES} ORDER BY search.rowid"),
    }
    for column in ("facets", "creators", "subjects")
}
_NUMBER_OF: Final = "SELECT number FROM items WHERE rep = ?"
_NAME_OF: Final = "SELECT rep FROM items WHERE number = ?"
_TITLE_OF: Final = "SELECT title FROM listed WHERE number = ?"


class _Matches:
    """The newest matches of an expression of FTS5, or of everything listed."""

    def __init__(self, connection: Connection, match: str | None, most: int) -> None:
        self._execute = connection.execute
        self._match, self._most = match, most
        self.are_all = match is None
        """Whether this is everything listed."""

    @cached_property
    def _number_and_lowest(self) -> tuple[int, int]:
        """How many there are, up to one too many, and the number of the oldest."""
        number, lowest = self._ask(_COUNT, limit=self._most + 1)[0]
        return number, _FIRST if lowest is None else lowest

    @property
    def number(self) -> int:
        return min(self._number_and_lowest[0], self._most)

    @property
    def is_more(self) -> bool:
        return self._number_and_lowest[0] > self._most

    @property
    def _lowest(self) -> int:
        return self._number_and_lowest[1] + self.is_more  # the one too many is left out

    def newest(self, offset: int, limit: int, *, within: str | None = None) -> list[int]:
        """`within`: an expression that finds some of these matches."""
        return self._numbers(_NEWEST, offset, limit, lowest=self._lowest, match=within or self._match)

    def oldest_ranked(self) -> int:
        return self.newest(self.number - 1, 1)[0]

    def oldest(self, offset: int, limit: int) -> list[int]:
        """The oldest of all there are, beyond the newest ones."""
        return self._numbers(_OLDEST, offset, min(limit, self._most - offset))

    def by_title(self, offset: int, limit: int) -> list[int]:
        """Of everything the first of all there are; of matches the newest ones, in the order of their titles."""
        return self._numbers(_BY_TITLE, offset, min(limit, self._most - offset), lowest=self._lowest)

    def older_than(self, number: int, limit: int) -> list[int]:
        return self._numbers(_NEWEST, 0, limit, highest=number - 1)

    def newer_than(self, number: int, limit: int) -> list[int]:
        return self._numbers(_OLDEST, 0, limit, lowest=number + 1)

    def titles_after(self, title: str, number: int, limit: int) -> list[int]:
        """Of everything listed."""
        given = {"title": title, "number": number, "limit": limit}
        numbers = [each for (each,) in self._execute(_SAME_TITLE, given).fetchall()]
        rest = {"title": title, "limit": limit - len(numbers)}
        return [*numbers, *(each for (each,) in self._execute(_TITLES_AFTER, rest).fetchall())]

    def titles_from(self, first: str, last: str, limit: int) -> list[int]:
        """The newest whose titles are `first`, or come after it and before `last`. An item without a title is ordered
        by its name, of which it has no words."""
        rows = self._execute(_TITLES_FROM, {"first": first, "last": last, "limit": limit + _SPARE}).fetchall()
        titled = (number for number, title, key in rows if title != untitled_key(repository_name(key)))
        return list(islice(titled, limit))

    def facets(self) -> tuple[str | None, ...]:
        """All values, a line each: those of which an item has one, and of the newest those of which it has several."""
        several = min(self._most, SAMPLED)
        limits = {"facets": self._most, "creators": several, "subjects": several}
        return tuple(self._ask(_LINES[column], limit=limit)[0][0] for column, limit in limits.items())

    def _numbers(self, statements: dict[bool, str], offset: int, limit: int, **others: Any) -> list[int]:
        return [number for (number,) in self._ask(statements, offset=offset, limit=max(limit, 0), **others)]

    def _ask(self, statements: dict[bool, str], **values: Any) -> list[Any]:
        given = {"match": self._match, "lowest": _FIRST, "highest": LAST_ROW, "offset": 0, **values}
        return self._execute(statements[given["match"] is not None], given).fetchall()


class SqliteSearch:
    """The port `Search` for one thread."""

    def __init__(self, connection: Connection, item_of: Callable[[Record], Item]) -> None:
        """`item_of` gives the item of a record, from memory if it can."""
        self._connection, self._item_of = connection, item_of
        connection.execute(_CACHE)

    def search(self, query: SearchQuery) -> SearchPage:
        sought = self._read(query)
        with snapshot(self._connection):
            named = self._items_by_label(sought, query)
            if named is not None:
                page = named[query.offset : query.offset + query.size]
                return SearchPage(tuple(item.without_files() for item in page), len(named))
            if sought.terms.is_hopeless:
                return SearchPage()
            sought, found = self._find_matches(sought, query)
            numbers, following = self._page(found, sought, query)
            return SearchPage(tuple(self._items(numbers)), found.number, found.is_more, following)

    def facets(self, query: SearchQuery) -> FacetCounts:
        sought = self._read(query)
        with snapshot(self._connection):
            named = self._items_by_label(sought, query)
            if named is not None:
                return count_facets(map(entry_of, named), sought.today)
            if sought.terms.is_hopeless:
                return FacetCounts()
            _, found = self._find_matches(sought, query)
            facets = found.facets()
        return _count_facets(facets, sought.today)

    def suggest(self, query: SearchQuery) -> str | None:
        with snapshot(self._connection):
            text = correct(query.text, self._nearest_word)
        if text is None or not self.search(replace(query, text=text, page=1, size=1, after=None)).total:
            return None
        return text

    def _nearest_word(self, word: str, *, is_beginning: bool) -> str | None:
        """A word of the catalogue that is nearly the same; the word itself if it is one."""
        if self._is_known(word, is_beginning=is_beginning):
            return word
        found = self._among(one_edit(word))
        if not found:
            given = word[:3], word[:3] + AFTER_LETTERS, len(word) - 2, len(word) + 2, _MOST_NEAR
            found = [near for (near,) in self._connection.execute(_NEAR, given).fetchall() if is_near(word, near)]
        frequent = [(self._frequency(near), near) for near in found[:_MOST_WEIGHED]]
        return max(frequent, default=(0, None))[1]

    def _is_known(self, word: str, *, is_beginning: bool) -> bool:
        last = word + AFTER_LETTERS if is_beginning else word + "\0"
        return self._connection.execute(_BEGINNING, (word, last, 1)).fetchone() is not None

    def _among(self, words: Iterable[str]) -> list[str]:
        return [word for (word,) in self._connection.execute(_AMONG, (json.dumps(sorted(words)),)).fetchall()]

    def _frequency(self, word: str) -> int:
        return _Matches(self._connection, quote(word), ENOUGH).number

    def _read(self, query: SearchQuery) -> SoughtWords:
        return SoughtWords(read_terms(query.text), query.filters, day_word(int(time())), self._words_beginning)

    def _words_beginning(self, beginning: str) -> tuple[str, ...] | None:
        """The words that begin so; None if they are too many, or too short to be listed."""
        if len(beginning) < LEAST_LETTERS or beginning.isdigit():
            return None
        given = beginning, beginning + AFTER_LETTERS, _MOST_WORDS + 1
        found = tuple(word for (word,) in self._connection.execute(_BEGINNING, given).fetchall())
        return found if len(found) <= _MOST_WORDS else None

    def _items_by_label(self, sought: SoughtWords, query: SearchQuery) -> list[Item] | None:
        """The items that the text names by label; None if there is no such item here."""
        records = (find_record(self._connection, label) for label in sought.terms.labels)
        found = {item.rep: item for item in (self._item_of(record) for record in records if record is not None)}
        if not found:
            return None
        return [item for item in found.values() if meets(entry_of(item), query.filters, sought.today)]

    def _find_matches(self, sought: SoughtWords, query: SearchQuery) -> tuple[SoughtWords, _Matches]:
        """The matches, and what they match: if the last word as it stands finds more than enough, longer ones are not
        looked for. All words that begin with some letters take FTS5 longer than one."""
        if sought.terms.is_beginning:
            whole = sought.whole_words()
            found = _Matches(self._connection, whole.expression(), query.most)
            if found.is_more or found.number > ENOUGH:
                return whole, found
        return sought, _Matches(self._connection, sought.expression(), query.most)

    def _page(self, found: _Matches, sought: SoughtWords, query: SearchQuery) -> tuple[list[int], ListPlace | None]:
        """The numbers of a page, and where the next one begins."""
        order = _effective_order(found, sought, query)
        if query.after is not None:
            numbers = self._page_after(found, order, query.after, query.size + 1)
            is_more, numbers = len(numbers) > query.size, numbers[: query.size]
            return numbers, self._place(numbers[-1], order) if is_more else None
        numbers = _numbered_page(found, order, sought, query)
        end = query.offset + len(numbers)
        if order in _RANKED:
            # What was not ranked is older than all that was.
            is_end = found.is_more and end >= found.number
            return numbers, self._place(found.oldest_ranked(), order) if is_end else None
        is_more = bool(numbers) and (found.is_more or end < found.number)
        return numbers, self._place(numbers[-1], order) if is_more else None

    def _page_after(self, found: _Matches, order: _Order, place: ListPlace, limit: int) -> list[int]:
        row = self._connection.execute(_NUMBER_OF, (label_key(place.name),)).fetchone()
        # One that is gone meanwhile leaves its numbers: an item may be seen twice then, and none is missed.
        first = first_rowid(place.name)
        if order is Order.OLDEST:
            return found.newer_than(first - 1 if row is None else row[0], limit)
        if order is Order.TITLE:
            title = place.title.encode(errors="replace").decode()  # a stranger's text may hold what is no character
            return found.titles_after(title, first - 1 if row is None else row[0], limit)
        return found.older_than(first + ROWIDS_PER_TICK if row is None else row[0], limit)

    def _place(self, number: int, order: _Order) -> ListPlace:
        (key,) = self._connection.execute(_NAME_OF, (number,)).fetchone()
        if order is not Order.TITLE:
            return ListPlace(repository_name(key))
        (title,) = self._connection.execute(_TITLE_OF, (number,)).fetchone()
        return ListPlace(repository_name(key), title)

    def _items(self, numbers: list[int]) -> Iterator[Item]:
        places = ",".join("?" * len(numbers))
        rows = self._connection.execute(f"SELECT number, item, local FROM items WHERE number IN ({places})", numbers)  # noqa: S608
        records = {number: (item, local) for number, item, local in rows.fetchall()}
        return (self._item_of(records[number]).without_files() for number in numbers)


# --- the order of a page ---------------------------------------------------------------------------------------------


class _Ranking(Enum):
    """Orders of the newest matches, behind which the others come newest first."""

    RELEVANCE = "relevance"
    TITLE = "title"


_Order = Order | _Ranking
_RANKED: Final = frozenset(_Ranking)


def _effective_order(found: _Matches, sought: SoughtWords, query: SearchQuery) -> _Order:
    if query.order is Order.TITLE and not found.are_all:
        return _Ranking.TITLE
    if query.order is Order.RELEVANCE:
        return _Ranking.RELEVANCE if sought.terms.has_words else Order.NEWEST
    return query.order


def _numbered_page(found: _Matches, order: _Order, sought: SoughtWords, query: SearchQuery) -> list[int]:
    if order is Order.OLDEST:
        return found.oldest(query.offset, query.size)
    if order in {Order.TITLE, _Ranking.TITLE}:
        return found.by_title(query.offset, query.size)
    if order is Order.NEWEST:
        return found.newest(query.offset, query.size)
    return _most_relevant(found, sought, query)


def _most_relevant(found: _Matches, sought: SoughtWords, query: SearchQuery) -> list[int]:
    """Each tier holds the ones before it: its newest are enough to go on to the end of the page."""
    end = query.offset + query.size
    first, *tiers = sought.tiers()
    begins = None if found.is_more else sought.title_begins()
    numbers = dict.fromkeys(found.newest(0, end, within=first) if begins is None else found.titles_from(*begins, end))
    for match in tiers:
        if len(numbers) >= end:
            break
        numbers.update(dict.fromkeys(found.newest(0, end, within=match)))
    return list(islice(numbers, query.offset, end))


# --- facets ----------------------------------------------------------------------------------------------------------


def _count_facets(facets: tuple[str | None, ...], today: str) -> FacetCounts:
    combined, *several = facets
    counts: dict[Facet, dict[str, int]] = {facet: {} for facet in SINGLE_FACETS}
    for values, number in _count_lines(combined).items():
        for facet, value in zip(SINGLE_FACETS, values.split(BETWEEN_SINGLES), strict=True):
            for each in value.split(BETWEEN_FILES) if value else ():
                counts[facet][each] = counts[facet].get(each, 0) + number
    counts |= zip(SEVERAL_FACETS, map(_count_lines, several), strict=True)
    return facet_counts(counts, today)


def _count_lines(text: str | None) -> Counter[str]:
    values = text.split(BETWEEN_VALUES) if text else []
    counts: Counter[str] = Counter()
    for start in range(0, len(values), _SLICE):  # between two slices others get their turn
        counts.update(values[start : start + _SLICE])
    return counts
