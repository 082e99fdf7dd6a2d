"""The form of the answer to a persistent URL: a redirect, information about the target, or a trace."""

from __future__ import annotations

from enum import Enum
from typing import Final

from starlette.types import Scope

from ibi.errors import InvalidPersistentUrl
from ibi.messages.query import decode_query
from ibi.web.http.headers import values
from ibi.web.http.media_types import choose
from ibi.web.http.raw_target import raw_query
from ibi.web.http.request_errors import NotAcceptable

JSON: Final = "application/json"

_INFO, _TRACE = "ibiurl.info", "ibiurl.trace"


class View(Enum):
    REDIRECT = "redirect"
    INFO = "info"
    TRACE_PAGE = "trace=html"
    TRACE_JSON = "trace=json"

    @property
    def is_trace(self) -> bool:
        return self is View.TRACE_PAGE or self is View.TRACE_JSON


_BY_PAIR: Final = {
    (_INFO, "json"): View.INFO,
    (_TRACE, "html"): View.TRACE_PAGE,
    (_TRACE, "json"): View.TRACE_JSON,
}


def view_of(scope: Scope) -> View:
    """The form that the pairs `ibiurl.info` and `ibiurl.trace` name, which are the resolver's own (E35), or else
    Accept."""
    query = scope["query_string"]
    # Few URLs have these pairs: only a query that may contain one, perhaps percent-encoded, is parsed.
    if query and (b"ibiurl." in query.lower() or b"%" in query):
        found = _named_view(raw_query(scope))
        if found is not None:
            return found
    return View.INFO if _wants_json(scope) else View.REDIRECT


def _named_view(query: str) -> View | None:
    for name, value in decode_query(query):
        name = name.lower()
        if name in {_INFO, _TRACE}:
            view = _BY_PAIR.get((name, value.lower()))
            if view is None:
                known = ", ".join(each for own, each in _BY_PAIR if own == name)
                raise InvalidPersistentUrl(f"{name}={value}", len(name) + 1, "it can be {known} only", known=known)
            return view
    return None


def _wants_json(scope: Scope) -> bool:
    for name, value in scope["headers"]:
        if name == b"accept" and b"json" in value.lower():
            break
    else:
        return False
    try:
        return choose(values(scope["headers"], b"accept"), ("text/html", JSON)) == JSON
    except NotAcceptable:
        return False
