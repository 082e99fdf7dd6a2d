"""What another server's Archive follows, and its webhooks, asked over its API.

Short: a client of its own, beside those for records and for the register.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from ibi.transport.api_client import ApiClient
from ibi.transport.errors import UnexpectedAnswer


class SubscriptionsClient(ApiClient):
    """What a server's Archive follows, asked with a token of the scope edit, and its webhooks, with one of admin."""

    def add_follow(self, kind: str, text: str, source: str, token: str | None) -> tuple[dict[str, Any], bool]:
        """Follow something; how it is listed, and whether it was not followed before."""
        named: dict[str, object] = {"label" if kind == "item" else kind: True if kind == "all" else text}
        said = {"source": source, **named} | ({} if token is None else {"token": token})
        before = {each.get("id") for each in self.list_follows()}
        listed = self._object("POST", "/api/follows", said)
        return listed, listed.get("id") not in before

    def list_follows(self) -> list[dict[str, Any]]:
        return self._listed("/api/follows", "follows")

    def remove_follow(self, identity: str) -> dict[str, Any]:
        return self._object("DELETE", f"/api/follows/{quote(identity, safe='')}")

    def add_webhook(self, url: str, prefix: str | None, kinds: Sequence[str]) -> dict[str, Any]:
        said = {"url": url, "kinds": list(kinds)} | ({} if prefix is None else {"prefix": prefix})
        return self._object("POST", "/api/webhooks", said)

    def list_webhooks(self) -> list[dict[str, Any]]:
        return self._listed("/api/webhooks", "webhooks")

    def enable_webhook(self, identity: str) -> dict[str, Any]:
        return self._object("POST", f"/api/webhooks/{quote(identity, safe='')}")

    def remove_webhook(self, identity: str) -> dict[str, Any]:
        return self._object("DELETE", f"/api/webhooks/{quote(identity, safe='')}")

    def _listed(self, place: str, name: str) -> list[dict[str, Any]]:
        found = self._object("GET", place).get(name)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise UnexpectedAnswer(server=self._server, reason=f"it lists no {name}")
        return found
