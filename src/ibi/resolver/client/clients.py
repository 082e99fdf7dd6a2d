"""Clients of the administration API of a resolver on another server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from ibi.membership.resources import (
    ArchiveApplication,
    ArchiveChange,
    NewlyRegisteredArchive,
    RegisteredArchiveResource,
    RegisteredArchivesResource,
)
from ibi.net.api_client import ApiClient
from ibi.resolver.resources import BeliefsResource, DisputeResource, DisputeRuling, DisputesResource
from ibi.standard.persistent_url import PersistentUrl

_PATH = "/api/archives"
_ANY = frozenset(range(200, 600))


class ArchivesClient(ApiClient):
    """Changes need a token of the scope admin. With that token the list also tells more."""

    def register_archive(self, wanted: ArchiveApplication) -> NewlyRegisteredArchive:
        return self._answer(NewlyRegisteredArchive, "POST", _PATH, wanted)

    def list_archives(self) -> list[RegisteredArchiveResource]:
        return self._answer(RegisteredArchivesResource, "GET", _PATH).archives

    def forget_archive(self, label: str) -> RegisteredArchiveResource:
        return self._answer(RegisteredArchiveResource, "DELETE", f"{_PATH}/{quote(label)}")

    def allow_networks(self, label: str, allow: Sequence[str], disallow: Sequence[str]) -> RegisteredArchiveResource:
        return self.change_archive(label, ArchiveChange(allow=(*allow,), disallow=(*disallow,)))

    def change_archive(self, label: str, change: ArchiveChange) -> RegisteredArchiveResource:
        return self._answer(RegisteredArchiveResource, "PATCH", f"{_PATH}/{quote(label)}", change)


class BeliefsClient(ApiClient):
    """Reads the beliefs of a server's resolver; they are public."""

    def about(self, text: str) -> BeliefsResource:
        return self._answer(BeliefsResource, "GET", f"/api/beliefs?{urlencode({'about': text})}")


class DisputesClient(ApiClient):
    """Disputes over Originals at a server's resolver. Settling one needs a token of the scope admin."""

    def list_disputes(self, *, settled: bool) -> list[DisputeResource]:
        place = f"/api/disputes{'?settled=yes' if settled else ''}"
        return self._answer(DisputesResource, "GET", place).disputes

    def settle_dispute(self, label: str, holder: str) -> list[DisputeResource]:
        place = f"/api/disputes/{quote(label)}"
        return self._answer(DisputesResource, "PUT", place, DisputeRuling(holder)).disputes


class ResolverClient(ApiClient):
    """Asks a resolver for resolutions. Raises `ServerRefused` if it cannot locate an item; `problem` and `detail` say
    why."""

    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return the target of a redirect, as a record."""
        return self._object("GET", _target(url, "ibiurl.info=json"))

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return the steps of the resolution, even if it fails."""
        return self._object("GET", _target(url, "ibiurl.trace=json"))

    def find_resolver(self, url: PersistentUrl) -> ResolverClient | str | None:
        """Return the resolver to which an Archive without one leaves the link, or the URL to which the Archive
        redirects. None if the server is a resolver, or does not say. The token is sent to no other server."""
        target = _target(url, "ibiurl.info=json")
        with self._request("GET", target, None, {"Accept": "application/json"}, _ANY) as answer:
            place = answer.header("location") if 300 < answer.status < 400 else ""
        if not place:
            return None
        text, (origin, slash, path) = url.text("", keep_spelling=True), place.partition("/" + str(url.label.spelling))
        if not slash or path not in ("", text.removeprefix(url.label.spelling)):
            return place
        return ResolverClient(origin)


def _target(url: PersistentUrl, pair: str) -> str:
    # Below `/ibi/` no label is mistaken for the path of a page.
    text = url.text("", keep_spelling=True)
    return f"/ibi/{text}{'&' if '?' in text else '?'}{pair}"
