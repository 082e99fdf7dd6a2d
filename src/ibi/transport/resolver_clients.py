"""Clients of another server's resolver, by what they ask for: its register, beliefs, disputes, resolutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from ibi.persistent_url import PersistentUrl
from ibi.transport.api_client import ApiClient
from ibi.transport.errors import UnexpectedAnswer

_PATH = "/api/archives"


class ArchivesClient(ApiClient):
    """Changes are asked for with a token of the scope admin, which also makes the list tell more."""

    def register_archive(self, wanted: Mapping[str, object]) -> dict[str, object]:
        return self._object("POST", _PATH, dict(wanted))

    def list_archives(self) -> list[dict[str, object]]:
        archives = self._object("GET", _PATH).get("archives")
        if not isinstance(archives, list) or not all(isinstance(each, dict) for each in archives):
            raise UnexpectedAnswer(server=self._server, reason="it lists no Archives")
        return archives

    def forget_archive(self, label: str) -> dict[str, object]:
        return self._object("DELETE", f"{_PATH}/{quote(label)}")

    def allow_networks(self, label: str, allow: Sequence[str], disallow: Sequence[str]) -> dict[str, object]:
        return self._object("PATCH", f"{_PATH}/{quote(label)}", {"allow": list(allow), "disallow": list(disallow)})

    def change_archive(self, label: str, change: Mapping[str, object]) -> dict[str, object]:
        return self._object("PATCH", f"{_PATH}/{quote(label)}", dict(change))


class BeliefsClient(ApiClient):
    """What a server's resolver believes; public."""

    def about(self, text: str) -> dict[str, Any]:
        return self._object("GET", f"/api/beliefs?{urlencode({'about': text})}")


class DisputesClient(ApiClient):
    """Disputes over Originals at a server's resolver. To settle one needs a token of the scope admin."""

    def list_disputes(self, *, settled: bool) -> list[dict[str, Any]]:
        return self._disputes(self._object("GET", f"/api/disputes{'?settled=yes' if settled else ''}"))

    def settle_dispute(self, label: str, holder: str) -> list[dict[str, Any]]:
        return self._disputes(self._object("PUT", f"/api/disputes/{quote(label)}", {"holder": holder}))

    def _disputes(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        disputes = answer.get("disputes")
        if not isinstance(disputes, list) or not all(isinstance(each, dict) for each in disputes):
            raise UnexpectedAnswer(server=self._server, reason="it lists no disputes")
        return disputes


class ResolverClient(ApiClient):
    """`ServerRefused` if the resolver cannot say where an item is; its `problem` and `detail` tell why."""

    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return what a redirect would lead to."""
        return self._object("GET", _target(url, "ibiurl.info=json"))

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return the steps of the resolution, also of one that fails."""
        return self._object("GET", _target(url, "ibiurl.trace=json"))


def _target(url: PersistentUrl, pair: str) -> str:
    # Below `/ibi/` no label is taken for the path of a page.
    text = url.text("", keep_spelling=True)
    return f"/ibi/{text}{'&' if '?' in text else '?'}{pair}"
