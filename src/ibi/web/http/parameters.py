"""The parameters of a request's query. A program whose parameter is misspelt should not get everything.

Short: every list of the API refuses the same, and the modules of its resources do not know each other.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import QueryParams

from ibi.web.http.request_errors import InvalidParameter

_SHOWN = 40


def check_parameters(given: QueryParams, known: Collection[str], repeatable: Collection[str] = ()) -> None:
    """Refuse a parameter that is not among the `known` ones, and one that is given twice and is not `repeatable`."""
    for name in given:
        if name not in known:
            reason = f"there is no such parameter; known are: {', '.join(known)}"
            raise InvalidParameter(field=name[:_SHOWN], reason=reason)
    check_given_once(given, repeatable)


def check_given_once(given: QueryParams, repeatable: Collection[str] = ()) -> None:
    for name in given:
        if name not in repeatable and len(given.getlist(name)) > 1:
            raise InvalidParameter(field=name[:_SHOWN], reason="it is given once")


def number_of(given: QueryParams, name: str, default: int, lowest: int, highest: int, more: str = "") -> int:
    """The whole number that a parameter has; `more` ends the sentence that refuses another."""
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and lowest <= int(text) <= highest):
        raise InvalidParameter(field=name, reason=f"it is a whole number from {lowest} to {highest}{more}")
    return int(text)
