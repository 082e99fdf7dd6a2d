"""The expressions by which the catalogue is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ibi.items.model.search import Facet, YearSpan
from ibi.items.rules.search import FIELDS, TITLE_KEY, Filters, values_sought
from ibi.items.rules.search_terms import Clause, Group, SearchField, Term, Terms
from ibi.items.store.catalogue.search_rows import EVERYTHING, access_expression, facet_word, span_words, type_words

AFTER_LETTERS, _AFTER_SPACE = "\U0010ffff", "!"
"""`AFTER_LETTERS` sorts after all words with the same prefix, `_AFTER_SPACE` after all texts that begin with the same
words."""
_COLUMNS: Final = {SearchField.TITLE: "title", SearchField.CREATOR: "names", SearchField.SUBJECT: "subject"}


@dataclass(frozen=True, slots=True)
class SoughtWords:
    """A search, with its FTS5 expressions. Words hold no quotes and no other FTS5 syntax."""

    terms: Terms
    filters: Filters
    today: str
    words_beginning: Callable[[str], tuple[str, ...] | None]
    """Returns the words with a given prefix; None if they are unknown or too many."""

    def whole_words(self) -> SoughtWords:
        return replace(self, terms=self.terms.whole_words())

    def expression(self, columns: tuple[str, ...] = (), first: str | None = None) -> str | None:
        """Return the expression to match; None matches everything. `columns` limits words that have no field. `first`
        has to match too."""
        sought = [] if first is None else [first]
        sought += (self._any(group, columns) for group in self.terms.wanted)
        sought += (self._filter(*pair) for pair in values_sought(self.filters))
        if not self.terms.unwanted:
            return " AND ".join(sought) or None
        unwanted = " OR ".join(self._clause(clause, ()) for clause in self.terms.unwanted)
        everything = f'"{EVERYTHING}"'
        return f"({' AND '.join(sought) or everything}) NOT ({unwanted})"

    def tiers(self) -> Iterator[str | None]:
        """Yield expressions for the best matches first, and then wider ones, up to all matches."""
        phrase = self.terms.as_phrase
        if phrase is not None:
            yield self.expression(first=f"title : {self._phrase(phrase, '^ ')}")
        yield self.expression(FIELDS[:1])
        yield self.expression(FIELDS[:3])
        yield self.expression()

    def title_begins(self) -> tuple[str, str] | None:
        """Return the range of title keys that begin with the search words; None if the search has other conditions."""
        phrase, terms = self.terms.as_phrase, self.terms
        is_more = self.filters or terms.unwanted or len(tuple(terms.wanted_terms)) < len(terms.wanted)
        if phrase is None or is_more or any(term.field is not None for term in terms.wanted_terms):
            return None
        text = " ".join(phrase.words)
        if len(text) >= TITLE_KEY:
            return None
        return text, text + (AFTER_LETTERS if phrase.is_beginning else _AFTER_SPACE)

    def _filter(self, facet: Facet, value: str) -> str:
        if facet is Facet.YEAR:
            return _years(YearSpan.parse(value))
        if facet is Facet.ACCESS:
            return access_expression(value, self.today)
        return f'"{facet_word(facet, value)}"'

    def _any(self, group: Group, columns: tuple[str, ...]) -> str:
        return f"({' OR '.join(self._clause(clause, columns) for clause in group)})"

    def _clause(self, clause: Clause, columns: tuple[str, ...]) -> str:
        if isinstance(clause, YearSpan):
            return _years(clause)
        if clause.field is SearchField.TYPE:
            return quote(type_words(clause.words), is_beginning=clause.is_beginning)
        within = columns if clause.field is None else (_COLUMNS[clause.field],)
        phrase = self._phrase(clause)
        return f"{{{' '.join(within)}}} : {phrase}" if within else phrase

    def _phrase(self, term: Term, mark: str = "") -> str:
        """Return the expression of a phrase. FTS5 reads all matches of a prefix at once, but matches of single words
        only as far as needed; so a prefix is expanded to its words."""
        *others, last = term.words
        longer = self.words_beginning(last) if term.is_beginning else None
        if longer is None:
            return f"({mark}{quote(' '.join(term.words), is_beginning=term.is_beginning)})"
        return f"({' OR '.join(mark + quote(' '.join((*others, word))) for word in longer or (last,))})"


def quote(words: str, *, is_beginning: bool = False) -> str:
    return f'"{words}"{" *" if is_beginning else ""}'


def _years(span: YearSpan | None) -> str:
    """Return the expression of the years. A span that cannot be parsed matches no year."""
    words = (facet_word(Facet.YEAR, ""),) if span is None else span_words(span)
    return f"({' OR '.join(map(quote, words))})"
