"""Send notifications to the inboxes of items in other Archives.

The persistent URL leads to the page of an item through the resolver. The page's header `Link` names its inbox (W3C
Linked Data Notifications §3.1). The guard checks every address on the way. Answers have a size limit, and the caller
treats them as untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ssl import SSLContext
from typing import Final
from urllib.parse import urljoin

from ibi.claims.model import FoundItem, Unreached
from ibi.claims.rules import INBOX
from ibi.net.address_guard import AddressGuard, NameLookup
from ibi.net.http_connection import HttpResponse
from ibi.net.server_url import ServerUrl, request_target
from ibi.net.single_request import SingleRequests, settle
from ibi.standard.errors import InvalidInput
from ibi.standard.label import Label
from ibi.standard.messages import values as wire
from ibi.standard.networks import IpNetwork
from ibi.standard.origin import Origin
from ibi.standard.reply import Failure

MEDIA_TYPE: Final = 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"'
_PATIENCE: Final = 15.0
"""Seconds for one request, DNS lookup and connection included."""
_MOST_REDIRECTS: Final = 5
_MOST_RECORD: Final = 8 << 20
"""Maximum bytes of a record: for an item with ten thousand files it has some megabytes."""
_MOST_PAGE: Final = 1 << 20
_MOST_ANSWER: Final = 64 * 1024
_RECORD: Final = "application/json, text/html;q=0.5, */*;q=0.1"
_ORIGINAL: Final = "ibiurl.requireditemstatus=Original"
"""The holder of the Original answers for the item; a Copy may be older, or here."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_PASSING: Final = frozenset({408, 421, 425, 429})
"""Client-error statuses that are temporary."""
_SECONDS: Final = re.compile(rb"[0-9]{1,6}")
# RFC 8288 §3. Possessive quantifiers keep the match linear in long texts.
_LINK: Final = re.compile(r'<([^<>]*+)>((?:[^,"<]|"[^"]*+")*+)')
_REL: Final = re.compile(r';\s*rel\s*=\s*(?:"([^"]*+)"|([^\s;,"]++))', re.IGNORECASE)

PageFinder = Callable[[Label], Awaitable[str | FoundItem | Unreached]]
"""Returns the URL of an item's page, or the item if it was deleted."""


class NotificationClient:
    """Implements the port `NotificationGateway` over HTTP."""

    def __init__(
        self,
        guard: AddressGuard,
        find_page: PageFinder,
        networks: Sequence[IpNetwork] = (),
        *,
        tls: SSLContext | None = None,
        sign: Callable[[str, bytes], Mapping[str, str]] = lambda _to, _body: {},
    ) -> None:
        """`networks` are allowed beside public addresses. `tls` is for HTTPS; without it the machine's authorities are
        trusted. `sign` returns the header fields that prove the sender of a body to a server."""
        self._requests, self._find_page, self._networks = SingleRequests(guard, tls), find_page, tuple(networks)
        self._sign = sign

    async def find_item(self, label: Label) -> FoundItem | Unreached:
        place = await self._find_page(label)
        if not isinstance(place, str):
            return place
        found = await self._follow(place, _RECORD, _MOST_RECORD)
        if isinstance(found, Unreached):
            return found
        url, response = found
        inbox = inbox_in(response.fields.get(b"link", b""), url)
        record = response.body if b"json" in response.content_type.partition(b";")[0] else None
        if response.status == 410:
            return FoundItem(url, inbox, record, is_deleted=True)
        if response.status != 200:
            return Unreached(f"its page answers with status {response.status}")
        return FoundItem(url, inbox, record)

    async def read_page(self, url: str) -> str | Unreached:
        found = await self._follow(url, "text/html, */*;q=0.5", _MOST_PAGE)
        if isinstance(found, Unreached):
            return found
        response = found[1]
        if response.status != 200:
            return Unreached(f"the page answers with status {response.status}")
        return f"{response.fields.get(b'link', b'').decode('latin-1')}\n{response.body.decode(errors='replace')}"

    async def deliver(self, inbox: str, body: bytes) -> Unreached | None:
        def fields(origin: Origin) -> Mapping[str, str]:
            return {"Content-Type": MEDIA_TYPE, **self._sign(str(origin), body)}

        response = await self._ask(inbox, _MOST_ANSWER, fields, body)
        if isinstance(response, Unreached):
            return response
        if 200 <= response.status < 300:
            return None
        said = _SECONDS.fullmatch(response.fields.get(b"retry-after", b"").strip())
        is_final = 400 <= response.status < 500 and response.status not in _PASSING
        retry = None if said is None else int(said[0])
        return Unreached(f"the inbox answers with status {response.status}", is_final, retry)

    async def _follow(self, url: str, accept: str, most: int) -> tuple[str, HttpResponse] | Unreached:
        for _ in range(_MOST_REDIRECTS):
            response = await self._ask(url, most, lambda _: {"Accept": accept})
            if isinstance(response, Unreached):
                return response
            location = response.fields.get(b"location", b"").decode("latin-1")
            if response.status not in _REDIRECTS or not location:
                return url, response
            url = urljoin(url, location)
        return Unreached("it sends from one address to the next")

    async def _ask(
        self, url: str, most: int, fields: Callable[[Origin], Mapping[str, str]], body: bytes | None = None
    ) -> HttpResponse | Unreached:
        try:
            url = wire.url(url)
            origin = Origin.of_url(url)
        except InvalidInput as error:
            return Unreached(f"its address cannot be read ({error.reason.format(**error.details)})", is_final=True)
        request = self._requests.send(
            origin,
            request_target(url),
            fields(origin),
            most=most,
            networks=self._networks,
            body=body,
        )
        response = await settle(request, _PATIENCE)
        return Unreached(response.value) if isinstance(response, Failure) else response


def inbox_in(link: bytes, base: str) -> str | None:
    """Return the inbox that a header `Link` announces; None if it announces none."""
    for found in _LINK.finditer(link.decode("latin-1")):
        relation = _REL.search(found[2])
        if relation is not None and INBOX in (relation[1] or relation[2] or "").split():
            try:
                return wire.url(urljoin(base, found[1]))
            except (InvalidInput, ValueError):
                return None
    return None


class ResolverPages:
    """Asks a resolver for the page of an item.

    The resolver's address comes from the settings of this installation, never from another party, so it is not checked.
    """

    def __init__(self, resolver: str, *, names: NameLookup | None = None, tls: SSLContext | None = None) -> None:
        self._server, self._requests = ServerUrl.parse(resolver), SingleRequests(names or NameLookup(), tls)

    async def __call__(self, label: Label) -> str | FoundItem | Unreached:
        origin, target = self._server.origin, f"{self._server.path}/{label.spelling}:?{_ORIGINAL}"
        request = self._requests.send(origin, target, {"Accept": "*/*"}, most=_MOST_ANSWER)
        response = await settle(request, _PATIENCE)
        if isinstance(response, Failure):
            return Unreached(f"the resolver: {response.value}")
        location = response.fields.get(b"location", b"").decode("latin-1")
        if response.status in _REDIRECTS and location:
            return urljoin(f"{self._server}/", location)
        if response.status == 410:
            return FoundItem("", is_deleted=True)
        return Unreached(f"the resolver answers with status {response.status}")
