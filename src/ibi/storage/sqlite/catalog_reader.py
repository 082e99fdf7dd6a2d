"""The reading side of the catalogue: look-ups and searches on the connection of one thread.

A common word has hundreds of thousands of matches. FTS5 gives them newest first and one by one, so that to stop after
twenty thousand costs no more than those: everything here is asked of that many newest matches, bounded by the number of
the oldest of them. The ranking of FTS5 itself (bm25) reads all matches of each word, and is not used. What lies beyond
is read page by page, each from the number of an item on: that costs as little at the end of a list as at its beginning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Any, Final
from weakref import finalize

from ibi.archive.search.terms import Term, Terms, count_facets, meets, most_frequent, read_terms, values_sought
from ibi.archive.search.words import FIELDS, entry_of
from ibi.instant import Instant
from ibi.label import Label
from ibi.lru_cache import LruCache
from ibi.model.alternate import Alternate
from ibi.model.content import HeldTotal
from ibi.model.item import Item
from ibi.model.search import ENOUGH, Facet, FacetCounts, ListPlace, Order, SearchPage, SearchQuery
from ibi.model.transfer import Transfer
from ibi.ports.catalog import Link
from ibi.storage.sqlite.catalog_rows import (
    ALTERNATE,
    LINKED,
    NAMES_AFTER,
    NEWEST,
    PAGE,
    PAGE_AFTER,
    ROWIDS_PER_TICK,
    Record,
    alternate_key,
    decode_record,
    find_record,
    find_transfer,
    first_rowid,
    has_departures,
    instant_of,
    key_end,
    label_key,
    memory_of,
    repository_name,
    transfers,
)
from ibi.storage.sqlite.connection import Connection, snapshot
from ibi.storage.sqlite.holdings import held_totals
from ibi.storage.sqlite.search_rows import BEFORE_CREATORS, BETWEEN_CREATORS, EVERYTHING, SINGLE_FACETS, facet_word
from ibi.vocabulary import State

_CACHE: Final = "PRAGMA cache_size = -16384"
"""In KB. What is counted lies on a few thousand pages."""
_FIRST: Final = -1 << 63
_LAST: Final = (1 << 63) - 1
_SLICE: Final = 4_096

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
_COUNT = {has_match: f"SELECT count(*), min(number) FROM ({newest})" for has_match, newest in _NEWEST.items()}  # noqa: S608
_FACETS = {
    False: f"SELECT facets {_ALL} ORDER BY number DESC LIMIT :limit",
    True: f"SELECT listed.facets AS facets {_LISTED_MATCHES} ORDER BY search.rowid DESC LIMIT :limit",
}
_NUMBER_OF: Final = "SELECT number FROM items WHERE rep = ?"
_NAME_OF: Final = "SELECT rep FROM items WHERE number = ?"
_TITLE_OF: Final = "SELECT title FROM listed WHERE number = ?"
_ALL_FACETS = {has_match: f"SELECT group_concat(facets, char(10)) FROM ({rows})" for has_match, rows in _FACETS.items()}  # noqa: S608


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

    def facets(self) -> str:
        return self._ask(_ALL_FACETS, limit=self._most)[0][0] or ""

    def _numbers(self, statements: dict[bool, str], offset: int, limit: int, **others: Any) -> list[int]:
        return [number for (number,) in self._ask(statements, offset=offset, limit=max(limit, 0), **others)]

    def _ask(self, statements: dict[bool, str], **values: Any) -> list[Any]:
        given = {"match": self._match, "lowest": _FIRST, "highest": _LAST, "offset": 0, **values}
        return self._execute(statements[given["match"] is not None], given).fetchall()


class SqliteSearch:
    """The port `Search` for one thread."""

    def __init__(self, connection: Connection, item_of: Callable[[Record], Item]) -> None:
        """`item_of` gives the item of a record, from memory if it can."""
        self._connection = connection
        self._item_of: Callable[[Record], Item] = lambda record: item_of(record).without_files()
        connection.execute(_CACHE)

    def search(self, query: SearchQuery) -> SearchPage:
        terms = read_terms(query.text)
        with snapshot(self._connection):
            named = self._items_by_label(terms, query)
            if named is not None:
                return SearchPage(tuple(named[query.offset : query.offset + query.size]), len(named))
            if terms.is_hopeless:
                return SearchPage()
            terms, found = self._find_matches(terms, query)
            numbers, following = self._page(found, terms, query)
            return SearchPage(tuple(self._items(numbers)), found.number, found.is_more, following)

    def facets(self, query: SearchQuery) -> FacetCounts:
        terms = read_terms(query.text)
        with snapshot(self._connection):
            named = self._items_by_label(terms, query)
            if named is not None:
                return count_facets(map(entry_of, named))
            if terms.is_hopeless:
                return FacetCounts()
            _, found = self._find_matches(terms, query)
            facets = found.facets()
        return _count_facets(facets)

    def _items_by_label(self, terms: Terms, query: SearchQuery) -> list[Item] | None:
        """The items that the text names by label; None if there is no such item here."""
        records = (find_record(self._connection, label) for label in terms.labels)
        found = {item.rep: item for item in (self._item_of(record) for record in records if record is not None)}
        return [item for item in found.values() if meets(entry_of(item), query.filters)] if found else None

    def _find_matches(self, terms: Terms, query: SearchQuery) -> tuple[Terms, _Matches]:
        """The matches, and what they match: if the last word as it stands finds more than enough, longer ones are not
        looked for. All words that begin with some letters take FTS5 longer than one."""
        if terms.is_beginning:
            whole = terms.whole_words()
            found = _Matches(self._connection, _expression(whole, query), query.most)
            if found.is_more or found.number > ENOUGH:
                return whole, found
        return terms, _Matches(self._connection, _expression(terms, query), query.most)

    def _page(self, found: _Matches, terms: Terms, query: SearchQuery) -> tuple[list[int], ListPlace | None]:
        """The numbers of a page, and where the next one begins."""
        order = _effective_order(found, terms, query)
        if query.after is not None:
            numbers = self._page_after(found, order, query.after, query.size + 1)
            is_more, numbers = len(numbers) > query.size, numbers[: query.size]
            return numbers, self._place(numbers[-1], order) if is_more else None
        numbers = _numbered_page(found, order, terms, query)
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
        return (self._item_of(records[number]) for number in numbers)


# --- the order of a page ---------------------------------------------------------------------------------------------


class _Ranking(Enum):
    """Orders of the newest matches, behind which the others come newest first."""

    RELEVANCE = "relevance"
    TITLE = "title"


_Order = Order | _Ranking
_RANKED: Final = frozenset(_Ranking)


def _effective_order(found: _Matches, terms: Terms, query: SearchQuery) -> _Order:
    if query.order is Order.TITLE and not found.are_all:
        return _Ranking.TITLE
    if query.order is Order.RELEVANCE:
        return _Ranking.RELEVANCE if terms.wanted else Order.NEWEST
    return query.order


def _numbered_page(found: _Matches, order: _Order, terms: Terms, query: SearchQuery) -> list[int]:
    if order is Order.OLDEST:
        return found.oldest(query.offset, query.size)
    if order in {Order.TITLE, _Ranking.TITLE}:
        return found.by_title(query.offset, query.size)
    if order is Order.NEWEST:
        return found.newest(query.offset, query.size)
    return _most_relevant(found, terms, query)


def _most_relevant(found: _Matches, terms: Terms, query: SearchQuery) -> list[int]:
    """Each tier holds the ones before it: its newest are enough to go on to the end of the page."""
    end = query.offset + query.size
    numbers: dict[int, None] = {}
    for wanted in _tiers(terms):
        if len(numbers) >= end:
            break
        numbers.update(dict.fromkeys(found.newest(0, end, within=_expression(terms, query, wanted))))
    return list(islice(numbers, query.offset, end))


# --- expressions of FTS5: words have neither quotes nor any other character that means something there -------------


def _tiers(terms: Terms) -> Iterator[str]:
    everywhere = _all(terms.wanted)
    yield f"title : ^ {_phrase(terms.as_phrase)}"
    yield f"title : ({everywhere})"
    yield f"{{{' '.join(FIELDS[:3])}}} : ({everywhere})"
    yield f"({everywhere})"


def _expression(terms: Terms, query: SearchQuery, wanted: str | None = None) -> str | None:
    """What to match: `wanted` if it is given, everything the terms want otherwise; None for everything there is."""
    sought = [wanted or f"({_all(terms.wanted)})"] if terms.wanted else []
    sought += (f'"{facet_word(*pair)}"' for pair in values_sought(query.filters))
    if not terms.unwanted:
        return " AND ".join(sought) or None
    unwanted = " OR ".join(map(_phrase, terms.unwanted))
    everything = f'"{EVERYTHING}"'
    return f"({' AND '.join(sought) or everything}) NOT ({unwanted})"


def _all(terms: tuple[Term, ...]) -> str:
    return " AND ".join(map(_phrase, terms))


def _phrase(term: Term) -> str:
    return f'"{" ".join(term.words)}"{" *" if term.is_beginning else ""}'


# --- facets ----------------------------------------------------------------------------------------------------------


def _count_facets(facets: str) -> FacetCounts:
    values = facets.split(BETWEEN_CREATORS) if facets else []
    counts: Counter[str] = Counter()
    for start in range(0, len(values), _SLICE):  # between two slices others get their turn
        counts.update(values[start : start + _SLICE])
    single: list[dict[str, int]] = [{} for _ in SINGLE_FACETS]
    for combined in [value for value in counts if BEFORE_CREATORS in value]:
        number = counts.pop(combined)
        for known, value in zip(single, combined.split(BEFORE_CREATORS), strict=True):
            known[value] = known.get(value, 0) + number
    for known in single:
        known.pop("", None)
    found = dict(zip(SINGLE_FACETS, map(most_frequent, single), strict=True))
    found[Facet.CREATOR] = most_frequent(counts)
    return FacetCounts(*(found[facet] for facet in Facet))


_VERSION: Final = "PRAGMA data_version"
_MOST_ITEMS: Final = 1_000
_MOST_BYTES: Final = 24 << 20
"""Mostly of items that all threads share."""


class CatalogReader:
    """Reads on a connection that never writes: its `data_version` tells of every change by other connections, this
    process's own among them. What was found is remembered until it changes; what changed is read again, and decoded
    only if it is not the same as before.
    """

    def __init__(self, connection: Connection, item_of: Callable[[Record], Item]) -> None:
        """`item_of` gives the item of a record, from memory if it can. The connection goes with its thread."""
        self.connection = connection
        self._execute = connection.execute
        self._item_of = item_of
        self._version = -1
        self._departures: tuple[int, bool] = (-1, False)
        """For which version it is known whether there are any."""
        self._found: LruCache[Label, Item] = LruCache(_MOST_ITEMS, _MOST_BYTES, keeps_last=True)
        self.close = finalize(self, connection.close)

    @cached_property
    def search(self) -> SqliteSearch:
        """Most threads never search."""
        return SqliteSearch(self.connection, self._item_of)

    def version(self) -> int:
        """Another number after every change, as this connection sees it."""
        (version,) = self._execute(_VERSION).fetchone()
        return int(version)

    def find(self, label: Label) -> Item | None:
        version = self.version()
        if version != self._version:
            self._found.clear()
            self._version = version
        return self._found.find(label) or self._look_up(label)

    def _look_up(self, label: Label) -> Item | None:
        record = find_record(self.connection, label)
        if record is None:
            return None
        item = self._item_of(record)
        # A change between the two statements makes this newer than its version says, which does no harm.
        self._found.keep(label, item, memory_of(record, item))
        return item

    def transfer(self, label: Label) -> Transfer | None:
        """Most Archives gave nothing away, and most labels that they are asked for are unknown."""
        version = self.version()
        if version != self._departures[0]:
            self._departures = version, has_departures(self.connection)
        return find_transfer(self.connection, label) if self._departures[1] else None

    def holdings(self) -> dict[State, HeldTotal]:
        return held_totals(self.connection)

    def transfers(self) -> list[Transfer]:
        """All of them; they are few."""
        return transfers(self.connection)

    def find_linked(self, link: Link, label: Label) -> tuple[Item, ...]:
        return tuple(map(self._item_of, self._execute(LINKED, (link.value, label_key(label))).fetchall()))

    def find_alternate(self, alternate: Alternate) -> tuple[Item, ...]:
        return tuple(map(self._item_of, self._execute(LINKED, (ALTERNATE, alternate_key(alternate))).fetchall()))

    def newest(self, prefix: str) -> Instant | None:
        """The newest instant of a label with this prefix."""
        end = key_end(prefix)
        row = self._execute(NEWEST["rep" if "/" in prefix else "ibip"], {"prefix": end}).fetchone()
        return None if row is None else instant_of(row[0])

    def names(self, after: bytes) -> list[bytes]:
        """The keys of the next `PAGE` items after that key."""
        return [key for (key,) in self._execute(NAMES_AFTER, (after, PAGE)).fetchall()]

    def page(self, after: bytes, *, statement: str = PAGE_AFTER) -> list[tuple[bytes, Item]]:
        """The next `PAGE` items after that key that the statement gives, with their own. They are not remembered: a
        caller that reads all of them wants none of them twice, and what others want is to stay."""
        return [
            (key, decode_record((item, local)))
            for key, item, local in self._execute(statement, (after, PAGE)).fetchall()
        ]
