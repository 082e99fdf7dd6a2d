"""`/robots.txt` (RFC 9309): crawlers see items and files, and stay out of what has no end.

Every value of every facet leads to another list, each link has a trace, and each page of an item the same again in
every format: a crawler that follows them all asks for millions of pages of an Archive with a thousand items. Lists
without a query stay open: they lead to every item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from ibi.model.search import Facet

SITEMAP: Final = "/sitemap.xml"
"""Named to crawlers where there is such a route."""

_SEARCH: Final = ("q", *(facet.value for facet in Facet), "sort")
"""Parameters of a search; `page` alone is no trap."""
_ANYWHERE: Final = ("format", "ibiurl.info", "ibiurl.trace", "servicesubject")
"""Parameters that show in another way what has a page: formats, traces, requests of resolvers."""
_SEGMENTS: Final = (
    *("account", "admin", "api", "claims", "deposit", "explain", "inbox", "jobs", "language", "oai"),
    *("sign-in", "sign-out"),
)
"""First segments below which nothing is for crawlers."""
_ENDS: Final = ("$", "/", "?")
"""What follows a whole segment: labels such as `jobs.example.org/…` begin in the same way."""
_DAY: Final = 86_400


def robots_txt(public_url: str, *, has_sitemap: bool) -> str:
    """What the server at `public_url` tells crawlers."""
    base = urlsplit(public_url).path.rstrip("/")
    lines = ["User-agent: *", *(f"Disallow: {base}{pattern}" for pattern in _closed())]
    if has_sitemap:
        lines += ["", f"Sitemap: {public_url}{SITEMAP}"]
    return "\n".join((*lines, ""))


def _closed() -> Iterator[str]:
    """Patterns: `*` stands for anything, and the end of each is open, but for `$`."""
    for name in _SEARCH:
        yield f"/search*?{name}="
        yield f"/search*&{name}="
    for name in _ANYWHERE:
        yield f"/*?{name}="
        yield f"/*&{name}="
    for segment in _SEGMENTS:
        for end in _ENDS:
            yield f"/{segment}{end}"


class RobotsPage:
    """Answers the same to all, whoever asks."""

    def __init__(self, public_url: str, *, has_sitemap: bool) -> None:
        self._body = robots_txt(public_url, has_sitemap=has_sitemap).encode()

    async def get(self, _: Request) -> Response:
        return Response(self._body, headers={"cache-control": f"max-age={_DAY}"}, media_type="text/plain")
