"""Administration of the register, with texts as arguments and results so that it works over HTTP too."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import structs

from ibi.membership.resources import (
    ArchiveApplication,
    ArchiveChange,
    NewlyRegisteredArchive,
    RegisteredArchiveResource,
)
from ibi.membership.rules.membership import RegistrationChange
from ibi.membership.service.registration_admin import Application, RegistrationAdmin
from ibi.standard.label import parse
from ibi.standard.networks import network

Made = TypeVar("Made")


class ArchiveAdmin(Protocol):
    """Administration of the register in a data directory, or of a server over HTTP."""

    def register_archive(self, wanted: ArchiveApplication) -> NewlyRegisteredArchive: ...

    def list_archives(self) -> list[RegisteredArchiveResource]: ...

    def forget_archive(self, label: str) -> RegisteredArchiveResource: ...

    def allow_networks(
        self, label: str, allow: Sequence[str], disallow: Sequence[str]
    ) -> RegisteredArchiveResource: ...

    def change_archive(self, label: str, change: ArchiveChange) -> RegisteredArchiveResource:
        """Change an Archive and return it."""


class LocalArchiveAdmin:
    """Administration of the register in a data directory, for a command: each call blocks until it is done."""

    def __init__(self, admin: RegistrationAdmin) -> None:
        self._admin = admin

    def register_archive(self, wanted: ArchiveApplication) -> NewlyRegisteredArchive:
        registered = self._wait(
            self._admin.register(
                Application.of_request(wanted), allow_weak_key=wanted.allow_weak_key, replace_key=wanted.replace
            )
        )
        return registered.resource()

    def list_archives(self) -> list[RegisteredArchiveResource]:
        return [RegisteredArchiveResource.whole(registration) for registration in self._admin.all()]

    def forget_archive(self, label: str) -> RegisteredArchiveResource:
        return RegisteredArchiveResource.whole(self._wait(self._admin.forget(parse(label))))

    def allow_networks(self, label: str, allow: Sequence[str], disallow: Sequence[str]) -> RegisteredArchiveResource:
        changed = self._admin.allow_networks(parse(label), tuple(map(network, allow)), tuple(map(network, disallow)))
        return RegisteredArchiveResource.whole(self._wait(changed))

    def change_archive(self, label: str, change: ArchiveChange) -> RegisteredArchiveResource:
        words = RegistrationChange.of_words(**structs.asdict(change))
        return RegisteredArchiveResource.whole(self._wait(self._admin.set(parse(label), words)))

    def _wait(self, work: Coroutine[Any, Any, Made]) -> Made:
        return asyncio.run(work)
