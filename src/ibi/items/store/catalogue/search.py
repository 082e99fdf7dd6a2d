"""Searches of the catalogue, on the connection of one thread.

A common word has hundreds of thousands of matches. FTS5 returns them newest first and one by one, so it costs little to
stop after twenty thousand. All ranking and counting works on that many newest matches, bounded by the number of the
oldest of them. The ranking of FTS5 itself (bm25) reads all matches of each word, and is not used. Older matches are
read page by page, each page from an item's number on, which is as fast at the end of a list as at its beginning.
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

from ibi.items.model.item import Item
from ibi.items.model.search import ENOUGH, SAMPLED, Facet, FacetCounts, ListPlace, Order, SearchPage, SearchQuery
from ibi.items.rules.search import count_facets, day_word, entry_of, facet_counts, meets, untitled_key
from ibi.items.rules.search_terms import read_terms
from ibi.items.rules.spelling import correct, is_near, one_edit
from ibi.items.store.catalogue.rows import ROWIDS_PER_TICK, Record, find_record, first_rowid
from ibi.items.store.catalogue.search_expressions import AFTER_LETTERS, SoughtWords, quote
from ibi.items.store.catalogue.search_rows import (
    BETWEEN_FILES,
    BETWEEN_SINGLES,
    BETWEEN_VALUES,
    LEAST_LETTERS,
    SEVERAL_FACETS,
    SINGLE_FACETS,
)
from ibi.storage.columns import label_key, repository_name
from ibi.storage.connection import Connection, snapshot

_CACHE: Final = "PRAGMA cache_size = -16384"
"""In KB. The values for counting lie on a few thousand pages."""
_FIRST: Final = -1 << 63
LAST_ROW: Final = (1 << 63) - 1
_SLICE: Final = 4_096
_MOST_WORDS: Final = 200
"""Maximum words that a prefix expands to."""
_MOST_NEAR: Final = 1_000
_MOST_WEIGHED: Final = 12
_AMONG: Final = "SELECT word FROM vocabulary WHERE word IN (SELECT value FROM json_each(?))"
_NEAR: Final = "SELECT word FROM vocabulary WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ? LIMIT ?"
_BEGINNING: Final = "SELECT word FROM vocabulary WHERE word >= ? AND word < ? LIMIT ?"

# Without a match expression, all rows count. CROSS JOIN makes SQLite read the matches first, whatever it estimates.
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
    # The index of titles has all rows in this order.
    False: f"SELECT number FROM listed ORDER BY title, number {_PAGE}",  # noqa: S608
    True: f"SELECT listed.number {_LISTED_MATCHES} ORDER BY listed.title, listed.number {_PAGE}",
}
# Two statements, each along the index: one condition for both would read every item of the same title.
_SAME_TITLE = "SELECT number FROM listed WHERE title = :title AND number > :number ORDER BY number LIMIT :limit"
_TITLES_AFTER = "SELECT number FROM listed WHERE title > :title ORDER BY title, number LIMIT :limit"
# Through FTS5, a prefix of titles would cost a read of all matches, even of few.
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
    """The newest matches of an FTS5 expression, or of everything listed."""

    def __init__(self, connection: Connection, match: str | None, most: int) -> None:
        self._execute = connection.execute
        self._match, self._most = match, most
        self.are_all = match is None
        """True if this is everything listed."""

    @cached_property
    def _number_and_lowest(self) -> tuple[int, int]:
        """The number of matches, up to one above the limit, and the number of the oldest."""
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
        return self._number_and_lowest[1] + self.is_more  # the one above the limit is left out

    def newest(self, offset: int, limit: int, *, within: str | None = None) -> list[int]:
        """Return the newest matches, or those of them that also match the expression `within`."""
        return self._numbers(_NEWEST, offset, limit, lowest=self._lowest, match=within or self._match)

    def oldest_ranked(self) -> int:
        return self.newest(self.number - 1, 1)[0]

    def oldest(self, offset: int, limit: int) -> list[int]:
        """Return the oldest of all matches, beyond the newest ones too."""
        return self._numbers(_OLDEST, offset, min(limit, self._most - offset))

    def by_title(self, offset: int, limit: int) -> list[int]:
        """Return matches by title. Without an expression these are the first of all; otherwise only the newest are
        sorted."""
        return self._numbers(_BY_TITLE, offset, min(limit, self._most - offset), lowest=self._lowest)

    def older_than(self, number: int, limit: int) -> list[int]:
        return self._numbers(_NEWEST, 0, limit, highest=number - 1)

    def newer_than(self, number: int, limit: int) -> list[int]:
        return self._numbers(_OLDEST, 0, limit, lowest=number + 1)

    def titles_after(self, title: str, number: int, limit: int) -> list[int]:
        """Return the next rows by title, of everything listed."""
        given = {"title": title, "number": number, "limit": limit}
        numbers = [each for (each,) in self._execute(_SAME_TITLE, given).fetchall()]
        rest = {"title": title, "limit": limit - len(numbers)}
        return [*numbers, *(each for (each,) in self._execute(_TITLES_AFTER, rest).fetchall())]

    def titles_from(self, first: str, last: str, limit: int) -> list[int]:
        """Return the newest items with titles from `first` to before `last`. Items without a title are left out: they
        are sorted by their name, but its words do not match."""
        rows = self._execute(_TITLES_FROM, {"first": first, "last": last, "limit": limit + _SPARE}).fetchall()
        titled = (number for number, title, key in rows if title != untitled_key(repository_name(key)))
        return list(islice(titled, limit))

    def facets(self) -> tuple[str | None, ...]:
        """Return all facet values, a line for each item. Facets with several values per item are read from a sample of
        the newest."""
        several = min(self._most, SAMPLED)
        limits = {"facets": self._most, "creators": several, "subjects": several}
        return tuple(self._ask(_LINES[column], limit=limit)[0][0] for column, limit in limits.items())

    def _numbers(self, statements: dict[bool, str], offset: int, limit: int, **others: Any) -> list[int]:
        return [number for (number,) in self._ask(statements, offset=offset, limit=max(limit, 0), **others)]

    def _ask(self, statements: dict[bool, str], **values: Any) -> list[Any]:
        given = {"match": self._match, "lowest": _FIRST, "highest": LAST_ROW, "offset": 0, **values}
        return self._execute(statements[given["match"] is not None], given).fetchall()


class SqliteSearch:
    """Implements the port `Search` for one thread."""

    def __init__(self, connection: Connection, item_of: Callable[[Record], Item]) -> None:
        """`item_of` returns the item of a record, from a cache if possible."""
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
        """Return the word if the catalogue has it, or else the most frequent similar word; None if there is none."""
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
        """Return the words with this prefix; None if there are too many, or the prefix is too short."""
        if len(beginning) < LEAST_LETTERS or beginning.isdigit():
            return None
        given = beginning, beginning + AFTER_LETTERS, _MOST_WORDS + 1
        found = tuple(word for (word,) in self._connection.execute(_BEGINNING, given).fetchall())
        return found if len(found) <= _MOST_WORDS else None

    def _items_by_label(self, sought: SoughtWords, query: SearchQuery) -> list[Item] | None:
        """Return the items that the text names by label; None if there are none."""
        records = (find_record(self._connection, label) for label in sought.terms.labels)
        found = {item.rep: item for item in (self._item_of(record) for record in records if record is not None)}
        if not found:
            return None
        return [item for item in found.values() if meets(entry_of(item), query.filters, sought.today)]

    def _find_matches(self, sought: SoughtWords, query: SearchQuery) -> tuple[SoughtWords, _Matches]:
        """Return the search that was used, and its matches. If the last word as a whole word finds enough, longer words
        are not searched, because FTS5 takes longer for a prefix than for a word."""
        if sought.terms.is_beginning:
            whole = sought.whole_words()
            found = _Matches(self._connection, whole.expression(), query.most)
            if found.is_more or found.number > ENOUGH:
                return whole, found
        return sought, _Matches(self._connection, sought.expression(), query.most)

    def _page(self, found: _Matches, sought: SoughtWords, query: SearchQuery) -> tuple[list[int], ListPlace | None]:
        """Return the numbers of a page, and the start of the next page."""
        order = _effective_order(found, sought, query)
        if query.after is not None:
            numbers = self._page_after(found, order, query.after, query.size + 1)
            is_more, numbers = len(numbers) > query.size, numbers[: query.size]
            return numbers, self._place(numbers[-1], order) if is_more else None
        numbers = _numbered_page(found, order, sought, query)
        end = query.offset + len(numbers)
        if order in _RANKED:
            # The unranked matches are older than the ranked ones.
            is_end = found.is_more and end >= found.number
            return numbers, self._place(found.oldest_ranked(), order) if is_end else None
        is_more = bool(numbers) and (found.is_more or end < found.number)
        return numbers, self._place(numbers[-1], order) if is_more else None

    def _page_after(self, found: _Matches, order: _Order, place: ListPlace, limit: int) -> list[int]:
        row = self._connection.execute(_NUMBER_OF, (label_key(place.name),)).fetchone()
        # If the item was removed meanwhile, start from its reserved numbers: an item may be repeated, but none is
        # missed.
        first = first_rowid(place.name)
        if order is Order.OLDEST:
            return found.newer_than(first - 1 if row is None else row[0], limit)
        if order is Order.TITLE:
            title = place.title.encode(errors="replace").decode()  # it may hold lone surrogates
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


class _Ranking(Enum):
    """Orders of the newest matches. The older ones follow, newest first."""

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
    """Return a page by relevance. Each tier includes the previous ones, so its newest matches fill up the page."""
    end = query.offset + query.size
    first, *tiers = sought.tiers()
    begins = None if found.is_more else sought.title_begins()
    numbers = dict.fromkeys(found.newest(0, end, within=first) if begins is None else found.titles_from(*begins, end))
    for match in tiers:
        if len(numbers) >= end:
            break
        numbers.update(dict.fromkeys(found.newest(0, end, within=match)))
    return list(islice(numbers, query.offset, end))


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
    for start in range(0, len(values), _SLICE):  # between two slices other threads get their turn
        counts.update(values[start : start + _SLICE])
    return counts
