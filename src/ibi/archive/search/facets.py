"""What the items of a search have in common: values counted, and the filters that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest, nsmallest
from typing import Final

from ibi.archive.search.entry import Entry, facet_value
from ibi.model.search import Facet, FacetCount, FacetCounts

MOST_VALUES: Final = 20
"""Of each facet: the most frequent ones."""

Filters = tuple[tuple[Facet, str], ...]


def values_sought(filters: Filters) -> Filters:
    """The filters in the spelling in which values are counted."""
    return tuple((facet, facet_value(value)) for facet, value in filters)


def meets(entry: Entry | None, filters: Filters) -> bool:
    """Whether an item meets every filter; one that was deleted has no values, and meets none."""
    return all(entry is not None and sought in entry.facets for sought in values_sought(filters))


def count_facets(entries: Iterable[Entry | None]) -> FacetCounts:
    counts: dict[Facet, Counter[str]] = {facet: Counter() for facet in Facet}
    for entry in entries:
        for facet, value in () if entry is None else entry.facets:
            counts[facet][value] += 1
    return FacetCounts(*(most_frequent(counts[facet]) for facet in Facet))


def most_frequent(counts: Mapping[str, int]) -> tuple[FacetCount, ...]:
    """The most frequent values, and of equals the first in their order. Tens of thousands of names may stand here once
    each: they are compared as little as possible."""
    if not counts:
        return ()
    least = nlargest(MOST_VALUES, counts.values())[-1]
    frequent = [count for count in counts.items() if count[1] >= least]
    more = sorted((-number, value) for value, number in frequent if number > least)
    rest = nsmallest(MOST_VALUES - len(more), [value for value, number in frequent if number == least])
    return (*(FacetCount(value, -number) for number, value in more), *(FacetCount(value, least) for value in rest))
