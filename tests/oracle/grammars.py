"""The standards' grammars, read by the `abnf` package: a judge that shares no code with ours.

The rules are in the two `.abnf` files, corrected by the errata named there. RFC 3986's own come from the package.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import abnf
from abnf.grammars import rfc3986
from abnf.parser import Alternation, Concatenation, Literal, Option, Repetition
from hypothesis import strategies as st

_FOLDER = Path(__file__).parent
_BORROWED = ("IPv4address", "IPv6address", "path-absolute")


class Grammar(abnf.Rule):
    """Every rule of the two files by its name."""


for _file in ("generation.abnf", "resolution.abnf"):
    Grammar.load_grammar((_FOLDER / _file).read_text(encoding="ascii"))
for _name in _BORROWED:
    Grammar(_name, rfc3986.Rule(_name).definition)


@cache
def derives(rule: str, text: str) -> bool:
    """Whether the rule derives exactly this text."""
    try:
        Grammar(rule).parse_all(text)
    except abnf.ParseError:
        return False
    return True


@cache
def derived(rule: str) -> st.SearchStrategy[str]:
    """Texts that the rule derives, short ones."""
    return _derived(Grammar(rule).definition)


_MOST_REPETITIONS = 3


def _derived(parser: Any) -> st.SearchStrategy[str]:
    if isinstance(parser, abnf.Rule):
        return _of_rule(parser)
    if isinstance(parser, Literal):
        return _literal(parser)
    if isinstance(parser, Option):
        return st.one_of(st.just(""), _derived(parser.alternation))
    if isinstance(parser, Alternation):
        return st.one_of([_derived(one) for one in parser.parsers])
    if isinstance(parser, Concatenation):
        return st.tuples(*[_derived(one) for one in parser.parsers]).map("".join)
    assert isinstance(parser, Repetition), parser
    least, most = parser.repeat.min, parser.repeat.max
    most = least + _MOST_REPETITIONS if most is None else most
    return st.lists(_derived(parser.element), min_size=least, max_size=most).map("".join)


@cache
def _of_rule(rule: abnf.Rule) -> st.SearchStrategy[str]:
    return _derived(rule.definition)


def _literal(parser: Any) -> st.SearchStrategy[str]:
    if isinstance(parser.value, tuple):
        return st.characters(min_codepoint=ord(parser.value[0]), max_codepoint=ord(parser.value[1]))
    if parser.case_sensitive:
        return st.just(parser.value)
    return st.sampled_from(sorted({parser.value, parser.value.lower(), parser.value.upper()}))
