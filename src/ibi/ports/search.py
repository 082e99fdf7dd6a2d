"""Where readers search and browse what an Archive keeps.

Beside the port `Catalog` and not part of it: resolution and deposits need no search, and whatever stands in for a
catalogue elsewhere need not have one. An adapter keeps to a catalogue, and finds what that has at the moment.
"""

from __future__ import annotations

from typing import Protocol

from ibi.model.search import FacetCounts, SearchPage, SearchQuery

__all__ = ["Search"]


class Search(Protocol):
    """Finds items by the words of `ibi.archive.search`. What was deleted is found by its labels alone; drafts are not
    in a catalogue. Any query is answered; only the store itself may fail. Takes milliseconds: not for an event loop.
    """

    def search(self, query: SearchQuery) -> SearchPage:
        """One page of what is found, in the order asked for.

        Labels in the text of which one is known here decide: the items that bear them are found, whatever else the text
        says. The last word may be the beginning of one, unless as a whole word it finds more than enough already.
        Relevance and titles order the newest `most` of the matches.
        """

    def facets(self, query: SearchQuery) -> FacetCounts:
        """What the items found have, most frequent first, and of equals in the order of the values."""
