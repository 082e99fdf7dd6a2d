"""Requests about transfers to other Archives and the resolver. Answers have size limits, and are parsed strictly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

from ibi.copies.client.item_source import HttpItemSources
from ibi.copies.ports import SourceCut
from ibi.net.api_client import ApiClient, is_unknown_service
from ibi.net.errors import ServerRefused, ServerUnreachable, UnexpectedAnswer
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.label import Label, parse
from ibi.standard.origin import Origin
from ibi.transfers.ports import NoTransferService, PeerRefused, PeerSilent, TokenRefused

Told = TypeVar("Told")
_TIMEOUT: Final = 15.0
_FOR_OFFER: Final = 10.0
"""Seconds for the answer to an offer: a person waits for the first one."""
_MOST_PAGES: Final = 1_000
_AFTER_ALL: Final = "~"
"""Sorts after every repository name, so that the page has no releases."""
_LONGEST_RUN: Final = 64
_UNAUTHORIZED: Final = frozenset({401, 403})
_BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that say nothing about the request: it is repeated later."""


class _Client(ApiClient):
    def get(self, path: str) -> dict[str, Any]:
        return self._object("GET", path)

    def post(self, path: str, said: object) -> dict[str, Any]:
        return self._object("POST", path, said)


class HttpTransferPeers:
    """Implements the port `TransferPeers` over HTTP."""

    def __init__(self, *, allow_plain: bool = False, sources: HttpItemSources | None = None) -> None:
        """`allow_plain` sends tokens unencrypted to addresses that are not on this machine. If `sources` are given,
        chains are read through them, because they refuse addresses that another party must not choose."""
        self._allow_plain, self._sources = allow_plain, sources

    def send_offer(self, url: str, offer: str, token: str | None = None) -> dict[str, object]:
        try:
            said = {"offer": offer}
            return self._ask(url, lambda client: client.post("/api/transfers", said), token, within=_FOR_OFFER)
        except (PeerSilent, PeerRefused) as error:
            refused = error.__cause__
            if isinstance(refused, ServerRefused) and is_unknown_service(refused):
                raise NoTransferService(peer=url, detail=str(refused.parameters["detail"])) from error
            if isinstance(refused, UnexpectedAnswer):
                raise NoTransferService(peer=url, detail="what it answers is no answer to an offer.") from error
            raise

    def chain(self, url: str, label: Label) -> tuple[str, ...]:
        if self._sources is not None:
            return _chain(url, self._tell(url, partial(_read_chain, self._sources, url, label)))
        place = f"/api/items/{quote(label.spelling, safe='/')}/provenance"
        return _chain(url, self._ask(url, lambda client: client.get(place)))

    def releases(self, url: str, service: Label) -> Iterator[tuple[str, tuple[str, ...]]]:
        after = ""
        for _ in range(_MOST_PAGES):
            query = urlencode({"of": service.spelling, "after": after})
            page = self._page(url, query)
            found = page.get("releases")
            if not isinstance(found, list):
                raise PeerSilent(peer=url, reason="it lists no releases")
            for each in found:
                after = str(each.get("item", "")) if isinstance(each, dict) else ""
                yield after, _chain(url, each)
            if not found or page.get("is_last") is True:
                return
        raise PeerSilent(peer=url, reason="its list does not end")

    def _page(self, url: str, query: str) -> dict[str, Any]:
        return self._ask(url, lambda client: client.get(f"/api/releases?{query}"))

    def run_of(self, url: str, service: Label) -> str:
        query = urlencode({"of": service.spelling, "after": _AFTER_ALL})
        return str(self._page(url, query).get("run", ""))[:_LONGEST_RUN]

    def tell(self, url: str, chain: tuple[str, ...]) -> None:
        self._ask(url, lambda client: client.post("/api/releases", {"chain": list(chain)}))

    def ask_for_lost(self, url: str, acceptance: str, chain: tuple[str, ...]) -> tuple[str, ...]:
        said = {"acceptance": acceptance, "chain": list(chain)}
        return _chain(url, self._ask(url, lambda client: client.post("/api/releases/lost", said)))

    def settled_holders(self, url: str, label: Label) -> frozenset[Label]:
        place = f"/api/disputes/{quote(label.spelling, safe='/')}"
        found = self._ask(url, lambda client: client.get(place)).get("disputes")
        if not isinstance(found, list):
            raise PeerSilent(peer=url, reason="it lists no disputes")
        settled = (each for each in found if isinstance(each, dict) and isinstance(each.get("settled"), str))
        try:
            return frozenset(parse(str(each.get("holder", ""))) for each in settled)
        except InvalidInput as error:
            raise PeerSilent(peer=url, reason=str(error)) from error

    def archives(self, url: str) -> dict[Label, str]:
        found, own = self._register(url)
        ours = dict.fromkeys(_labels(own), url) if isinstance(own, dict) else {}
        return ours | {label: place for each in found for label, place in _places(each, each)}

    def away(self, url: str) -> dict[Label, str]:
        found, _ = self._register(url)
        away = [(each, each.get("last")) for each in found if _place(each) is None]
        return {label: place for each, last in away if isinstance(last, dict) for label, place in _places(each, last)}

    def _register(self, url: str) -> tuple[list[dict[str, Any]], object]:
        """Return the Archives of a resolver, and the Archive of its own server."""
        document = self._ask(url, lambda client: client.get("/api/archives"))
        found = document.get("archives")
        if not isinstance(found, list):
            raise PeerSilent(peer=url, reason="it lists no Archives")
        return [each for each in found if isinstance(each, dict)], document.get("own")

    def _ask(
        self,
        url: str,
        ask: Callable[[_Client], dict[str, Any]],
        token: str | None = None,
        *,
        within: float = inf,
    ) -> dict[str, Any]:
        timeout = min(_TIMEOUT, within)
        client = partial(_Client, url, token, timeout=timeout, allow_plain=self._allow_plain, within=within)
        return self._tell(url, lambda: ask(client()), has_token=token is not None)

    def _tell(self, url: str, ask: Callable[[], Told], *, has_token: bool = False) -> Told:
        """Return the answer. Raise `PeerSilent` if the request may be repeated, `PeerRefused` if not, and
        `TokenRefused` if it may be repeated without the token."""
        try:
            return ask()
        except ServerRefused as error:
            if error.parameters.get("status") in _BUSY:
                raise PeerSilent(peer=url, reason=str(error.parameters.get("detail"))) from error
            is_of_token = has_token and error.parameters.get("status") in _UNAUTHORIZED
            kind = TokenRefused if is_of_token else PeerRefused
            raise kind(peer=url, detail=str(error.parameters.get("detail"))) from error
        except (ServerUnreachable, UnexpectedAnswer, SourceCut) as error:
            raise PeerSilent(peer=url, reason=str(error.parameters.get("reason"))) from error
        except IbiError as error:
            raise PeerRefused(peer=url, detail=str(error)) from error


def _read_chain(sources: HttpItemSources, url: str, label: Label) -> object:
    with sources.open(url, None) as source:
        try:
            return json.loads(source.read_chain(label))
        except (ValueError, RecursionError):
            return None


def _chain(url: str, document: object) -> tuple[str, ...]:
    found = document.get("chain") if isinstance(document, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise PeerSilent(peer=url, reason="it tells no chain")
    return tuple(found)


def _places(archive: dict[str, Any], at: dict[str, Any]) -> Iterator[tuple[Label, str]]:
    """Yield the labels of an Archive in a register, each with its present or former address `at`."""
    place = _place(at)
    if place is not None:
        yield from ((label, place) for label in _labels(archive))


def _labels(archive: dict[str, Any]) -> Iterator[Label]:
    for name in (archive.get(form) for form in ("rep", "ibip")):
        with suppress(InvalidInput):
            yield parse(str(name))


def _place(archive: dict[str, Any]) -> str | None:
    """Return the address of an Archive in a register."""
    if not isinstance(archive.get("address"), str):
        return None  # it is switched off
    scheme = "https" if str(archive.get("protocol", "")).upper() == "HTTPS" else "http"
    try:
        return str(Origin.of_url(f"{scheme}://{archive['address']}"))
    except (KeyError, IbiError, ValueError):
        return None
