"""Search in memory: every item is looked at, which is the plainest way to say what a search finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from time import time

from ibi.items.model.item import Item
from ibi.items.model.search import ENOUGH, FacetCounts, ListPlace, Order, SearchPage, SearchQuery
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.search import FIELDS, Entry, count_facets, day_word, entry_of, meets
from ibi.items.rules.search_terms import Group, Term, Terms, is_met, read_terms
from ibi.items.rules.spelling import correct, is_near, one_edit

__all__ = ["MemorySearch"]

Seen = tuple[Item, Entry]


class MemorySearch:
    """The port `Search` on any catalogue."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def search(self, query: SearchQuery) -> SearchPage:
        terms = read_terms(query.text)
        named = self._named(terms, query)
        if named is not None:
            shown = named[query.offset : query.offset + query.size]
            return SearchPage(tuple(item.without_files() for item in shown), len(named))
        newest = self._matches(terms, query)
        is_ranked, total, is_more = _is_ranked(terms, query), min(len(newest), query.most), len(newest) > query.most
        if query.after is None:
            considered = newest[: query.most] if is_ranked else newest
            whole = _ordered(considered, query.order, terms)[: query.most]
        else:
            whole = _after(newest, query.after, query.order, is_ranked=is_ranked)
        end = query.offset + query.size
        page = whole[query.offset : end]
        following = None
        if is_ranked and query.after is None:
            following = ListPlace(newest[query.most - 1][0].rep) if is_more and end >= total else None
        elif page and (end < len(whole) or (query.after is None and is_more)):
            is_by_title = query.order is Order.TITLE and not is_ranked
            following = ListPlace(page[-1][0].rep, page[-1][1].title_key if is_by_title else "")
        return SearchPage(tuple(item for item, _ in page), total, is_more, following)

    def facets(self, query: SearchQuery) -> FacetCounts:
        terms = read_terms(query.text)
        named = self._named(terms, query)
        if named is not None:
            return count_facets(map(entry_of, named), _today())
        return count_facets((entry for _, entry in islice(self._matches(terms, query), query.most)), _today())

    def suggest(self, query: SearchQuery) -> str | None:
        entries = [entry for entry in map(entry_of, self._catalog.items()) if entry is not None]
        known = sorted({word for entry in entries for field in entry.fields for word in field.split() if len(word) > 3})

        def nearest(word: str, *, is_beginning: bool) -> str | None:
            if any(each.startswith(word) if is_beginning else each == word for each in known):
                return word
            near = [each for each in known if each in one_edit(word)]
            return next(iter(near or [each for each in known if is_near(word, each)]), None)

        text = correct(query.text, nearest)
        return text if text is not None and self.search(replace(query, text=text)).total else None

    def _named(self, terms: Terms, query: SearchQuery) -> list[Item] | None:
        """The items that the text names by label; None if there is no such item here."""
        named = map(self._catalog.find, terms.labels)
        found = {item.rep: item for item in named if item is not None}
        return [item for item in found.values() if meets(entry_of(item), query.filters, _today())] if found else None

    def _matches(self, terms: Terms, query: SearchQuery) -> list[Seen]:
        """The newest first."""
        entries = ((item.without_files(), entry_of(item)) for item in self._catalog.items())
        left = [
            (item, entry) for item, entry in entries if entry is not None and meets(entry, query.filters, _today())
        ][::-1]
        if terms.is_beginning:
            whole = [seen for seen in left if _has(seen[1], terms.whole_words())]
            if len(whole) > min(query.most, ENOUGH):
                return whole
        return [seen for seen in left if _has(seen[1], terms)]


def _is_ranked(terms: Terms, query: SearchQuery) -> bool:
    """Whether the newest matches are put into an order of their own."""
    if query.order is Order.TITLE:
        return bool(terms.wanted or terms.unwanted or query.filters)
    return query.order is Order.RELEVANCE and terms.has_words


def _after(newest: list[Seen], place: ListPlace, order: Order, *, is_ranked: bool) -> list[Seen]:
    if order is Order.OLDEST:
        return [seen for seen in newest[::-1] if seen[0].rep > place.name]
    if order is Order.TITLE and not is_ranked:
        ordered = sorted((seen[1].title_key, seen[0].rep, seen) for seen in newest)
        return [seen for title, name, seen in ordered if (title, name) > (place.title, place.name)]
    return [seen for seen in newest if seen[0].rep < place.name]


def _ordered(found: list[Seen], order: Order, terms: Terms) -> list[Seen]:
    if order is Order.TITLE:
        return sorted(found, key=lambda seen: (seen[1].title_key, seen[0].rep))
    if order is Order.RELEVANCE:
        return sorted(found, key=lambda seen: _rank(seen[1], terms))
    return found[::-1] if order is Order.OLDEST else found


def _rank(entry: Entry, terms: Terms) -> int:
    """The smaller, the sooner."""
    phrase = terms.as_phrase
    if not terms.has_words or (phrase is not None and f"{entry.title} ".startswith(_text(phrase))):
        return 0
    tiers = enumerate((FIELDS[:1], FIELDS[:3], FIELDS), start=1)
    return next(rank for rank, fields in tiers if _all_in(entry, terms.wanted, fields))


def _has(entry: Entry, terms: Terms) -> bool:
    if terms.is_hopeless:
        return False
    return _all_in(entry, terms.wanted, FIELDS) and not any(is_met(entry, clause) for clause in terms.unwanted)


def _all_in(entry: Entry, wanted: tuple[Group, ...], fields: tuple[str, ...]) -> bool:
    return all(any(is_met(entry, clause, fields) for clause in group) for group in wanted)


def _text(term: Term) -> str:
    return " ".join(term.words) + ("" if term.is_beginning else " ")


def _today() -> str:
    return day_word(int(time()))
