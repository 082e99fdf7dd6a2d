"""A client of a running resolver, for programs that do one thing at a time: where a persistent URL leads, and why."""

from __future__ import annotations

from collections.abc import Mapping

from ibi.persistent_url import PersistentUrl
from ibi.transport.api_client import ApiClient

__all__ = ["ResolverClient"]


class ResolverClient(ApiClient):
    """`ServerRefused` if the resolver cannot say where an item is; its `problem` and `detail` tell why."""

    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        """What a redirect would lead to."""
        return self._object("GET", _target(url, "ibiurl.info=json"))

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        """How the resolution goes, whatever becomes of it."""
        return self._object("GET", _target(url, "ibiurl.trace=json"))


def _target(url: PersistentUrl, pair: str) -> str:
    # `/ibi/` leads to an item whatever its label begins with.
    text = url.text("", keep_spelling=True)
    return f"/ibi/{text}{'&' if '?' in text else '?'}{pair}"
