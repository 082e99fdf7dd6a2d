"""Administration of the register, with texts as arguments and results so that it works over HTTP too."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypedDict, TypeVar

from ibi.label import parse
from ibi.model.visibility import network
from ibi.resolver.membership import RegistrationChange
from ibi.services.membership.registration_admin import Application, RegistrationAdmin, all_facts, registered_facts

Made = TypeVar("Made")


class ApplicationWords(TypedDict):
    """The texts needed to register an Archive."""

    labels: list[str]
    key: str
    admin_mail: str | None
    hosts: list[str]
    networks: list[str]
    prefixes: list[str]
    shared: bool
    archive_key: str | None
    allow_weak_key: bool
    replace: bool


class ChangeWords(TypedDict, total=False):
    """Changes of a registration; fields that are missing stay as they are."""

    label: str
    add_prefixes: list[str]
    remove_prefixes: list[str]
    shared: bool
    vouched: bool
    successor: str
    no_successor: bool
    add_hosts: list[str]
    remove_hosts: list[str]
    allow: list[str]
    disallow: list[str]
    admin_mail: str
    archive_key: str
    forget_archive_key: bool
    lost: bool


class ArchiveAdmin(Protocol):
    """Administration of the register in a data directory, or of a server over HTTP."""

    def register_archive(self, wanted: ApplicationWords) -> dict[str, object]:
        """Return the Archive; `letter`, the mail to its administrator or None; and `warnings`, a list of sentences."""

    def list_archives(self) -> list[dict[str, object]]: ...

    def forget_archive(self, label: str) -> dict[str, object]: ...

    def allow_networks(self, label: str, allow: Sequence[str], disallow: Sequence[str]) -> dict[str, object]: ...

    def change_archive(self, label: str, change: ChangeWords) -> dict[str, object]:
        """Change an Archive and return it."""


class LocalArchiveAdmin:
    """Administration of the register in a data directory, for a command: each call blocks until it is done."""

    def __init__(self, admin: RegistrationAdmin) -> None:
        self._admin = admin

    def register_archive(self, wanted: ApplicationWords) -> dict[str, object]:
        application = Application.of_words(
            wanted["labels"],
            wanted["key"],
            wanted["admin_mail"],
            wanted["hosts"],
            wanted["networks"],
            wanted["prefixes"],
            shared=wanted["shared"],
            archive_key=wanted["archive_key"],
        )
        registered = self._wait(
            self._admin.register(application, allow_weak_key=wanted["allow_weak_key"], replace_key=wanted["replace"])
        )
        return registered_facts(registered)

    def list_archives(self) -> list[dict[str, object]]:
        return [all_facts(registration) for registration in self._admin.all()]

    def forget_archive(self, label: str) -> dict[str, object]:
        return all_facts(self._wait(self._admin.forget(parse(label))))

    def allow_networks(self, label: str, allow: Sequence[str], disallow: Sequence[str]) -> dict[str, object]:
        changed = self._admin.allow_networks(parse(label), tuple(map(network, allow)), tuple(map(network, disallow)))
        return all_facts(self._wait(changed))

    def change_archive(self, label: str, change: ChangeWords) -> dict[str, object]:
        return all_facts(self._wait(self._admin.set(parse(label), RegistrationChange.of_words(**change))))

    def _wait(self, work: Coroutine[Any, Any, Made]) -> Made:
        return asyncio.run(work)
