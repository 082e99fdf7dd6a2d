"""The register as an operator works on it, in words that travel: texts in, texts out."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypedDict, TypeVar

from ibi.label import parse
from ibi.model.visibility import network
from ibi.services.registration_desk import Application, RegistrationDesk
from ibi.services.registration_facts import all_facts, letter_facts

__all__ = ["ApplicationWords", "ArchiveDesk", "LocalArchiveDesk"]

Made = TypeVar("Made")


class ApplicationWords(TypedDict):
    """What is needed to register an Archive."""

    labels: list[str]
    key: str
    admin_mail: str | None
    hosts: list[str]
    networks: list[str]
    allow_weak_key: bool
    replace: bool


class ArchiveDesk(Protocol):
    """The desk of a data directory, or of a server that is asked."""

    def register_archive(self, wanted: ApplicationWords) -> dict[str, object]:
        """The Archive, and `letter`: what its administrator was told, or None."""

    def list_archives(self) -> list[dict[str, object]]: ...

    def forget_archive(self, label: str) -> dict[str, object]: ...

    def allow_networks(self, label: str, allow: Sequence[str], disallow: Sequence[str]) -> dict[str, object]: ...


class LocalArchiveDesk:
    """The desk of a data directory, for a command: it does one thing, and waits for it."""

    def __init__(self, desk: RegistrationDesk) -> None:
        self._desk = desk

    def register_archive(self, wanted: ApplicationWords) -> dict[str, object]:
        application = Application.of_words(
            wanted["labels"], wanted["key"], wanted["admin_mail"], wanted["hosts"], wanted["networks"]
        )
        registered = self._wait(
            self._desk.register(application, allow_weak_key=wanted["allow_weak_key"], replace_key=wanted["replace"])
        )
        return {**all_facts(registered.registration), "letter": letter_facts(registered.posted)}

    def list_archives(self) -> list[dict[str, object]]:
        return [all_facts(registration) for registration in self._desk.all()]

    def forget_archive(self, label: str) -> dict[str, object]:
        return all_facts(self._wait(self._desk.forget(parse(label))))

    def allow_networks(self, label: str, allow: Sequence[str], disallow: Sequence[str]) -> dict[str, object]:
        changed = self._desk.allow_networks(parse(label), tuple(map(network, allow)), tuple(map(network, disallow)))
        return all_facts(self._wait(changed))

    def _wait(self, work: Coroutine[Any, Any, Made]) -> Made:
        return asyncio.run(work)
