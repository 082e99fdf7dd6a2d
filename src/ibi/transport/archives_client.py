"""A server's register of Archives, as a command asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from ibi.transport.api_client import ApiClient
from ibi.transport.errors import UnexpectedAnswer

__all__ = ["ArchivesClient"]

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
