"""Requests that a page of another site makes with somebody's browser, refused where a GET changes something.

The standard has Archives included and excluded by GET (R §7.2). A link or an image on any page can make a browser send
one, from inside a network that the page itself cannot reach. Programs send none of the headers looked at here.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from ibi.errors import IbiError
from ibi.web.headers import RawHeaders, values

__all__ = ["CrossSiteRequest", "authority", "is_cross_site", "refuse_other_sites"]

_OWN = frozenset({"none", "same-origin"})


class CrossSiteRequest(IbiError):
    """A page of another site sent this request. It was not done."""

    code = "cross-site-request"


def is_cross_site(headers: RawHeaders) -> bool:
    """Whether a browser says that a page of another site made it send this."""
    return any(value.strip().lower() == "cross-site" for value in values(headers, b"sec-fetch-site"))


def refuse_other_sites(headers: RawHeaders) -> None:
    """`CrossSiteRequest` unless the browser says that it was a person, or a page of this very site; and for what is
    said twice, or in a way that cannot be read."""
    if any(value.strip().lower() not in _OWN for value in values(headers, b"sec-fetch-site")):
        raise CrossSiteRequest()
    hosts = {value.strip().lower() for value in values(headers, b"host")}
    for name in (b"origin", b"referer"):
        if any(authority(value) not in hosts for value in values(headers, name)):
            raise CrossSiteRequest()


def authority(url: str) -> str | None:
    """`host[:port]` of a URL as the header Host writes it; None if it is none of the Web's."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme.lower() in {"http", "https"} else None
