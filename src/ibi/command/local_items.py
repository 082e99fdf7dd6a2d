"""Items of a data directory, for commands without `--server`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

import click

from ibi.command.archive_store import is_unconfirmed, opened_archive, opened_remote_claims, who
from ibi.command.item_output import PublishedItem, links
from ibi.command.items import ItemFiles, LinkedItem, SaidRelation
from ibi.items.model.item import Item
from ibi.settings import Settings
from ibi.standard.label import Label
from ibi.standard.vocabulary import State

if TYPE_CHECKING:
    from ibi.command.items import AnyClaim
    from ibi.items.model.file import File
    from ibi.items.service.archive_store import ArchiveStore
    from ibi.items.service.relating import Claim, Relating
    from ibi.items.service.versions import ItemVersion

_A_PAGE: Final = 100
_CLAIMS: Final = ("edition_of", "translation_of", "describes")


class LocalItems:
    def __init__(self, settings: Settings, store: ArchiveStore) -> None:
        self._settings, self._store = settings, store

    def find(self, label: Label, number: int | None) -> LinkedItem:
        item = self._store.find(label)
        if number is not None:
            item = self._version(item, label, number)
        return LinkedItem(item, links(item, self._settings), is_unconfirmed(self._settings, item))

    def _version(self, item: Item, label: Label, number: int) -> Item:
        from ibi.items.service.versions import Versions

        found = Versions(self._store.content, self._store.integrity).find(item, number).item
        if found is None:
            raise click.ClickException(f"version {number} of {label} has no record: the item was not here then")
        return found

    def files(self, label: Label, number: int | None) -> ItemFiles:
        from ibi.items.service.versions import Versions

        item = self._store.find(label)
        versions = Versions(self._store.content, self._store.integrity)
        history: Any = versions.list(item, before=None, most=1)[0] if number is None else versions.find(item, number)

        def read(file: File, offset: int) -> Iterator[bytes]:
            with versions.open_file(item, history.number, file.path) as opened:
                yield from opened.pieces(offset, opened.size - offset)

        return ItemFiles(() if history.item is None else history.item.files, read)

    def versions(self, label: Label) -> Iterator[dict[str, Any]]:
        from ibi.items.service.versions import Versions

        item, before = self._store.find(label), None
        history = Versions(self._store.content, self._store.integrity)
        while page := history.list(item, before=before, most=_A_PAGE):
            yield from map(_version_document, page)
            before = page[-1].number


def _version_document(each: ItemVersion) -> dict[str, Any]:
    """Return the version in the form of a server's answer."""
    return {
        "number": each.number,
        "version": None if each.item is None else each.item.version,
        "current": each.is_current,
        "who": each.change.user,
        "message": each.change.message,
        "at": str(each.change.at),
        "changed": list(each.changes.fields),
        "files_added": list(each.changes.added),
        "files_changed": list(each.changes.changed),
        "files_removed": list(each.changes.removed),
    }


class LocalItemChanges:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def _found(self, item: Item) -> LinkedItem:
        return LinkedItem(item, links(item, self._settings))

    def relate(self, label: Label, said: SaidRelation, *, undo: bool) -> LinkedItem:
        change = _withdraw_relation if undo else _record_relation
        with opened_archive(self._settings) as archive:
            item = change(archive.relating, label, said)
        return self._found(item)

    def delete(self, label: Label, reason: str, replaced_by: Label | None, *, purge: bool) -> LinkedItem:
        with opened_archive(self._settings) as archive:
            item = archive.deposits.delete(label, reason, who(), replaced_by=replaced_by, purge=purge)
        return self._found(item)

    def restore(self, label: Label, number: int, message: str | None) -> PublishedItem:
        from ibi.items.service.versions import Restoring
        from ibi.storage.machine import MachineClocks

        with opened_archive(self._settings) as archive:
            restoring = Restoring(archive.store, archive.deposits, MachineClocks())
            restored = restoring.restore(label, number, who(), message)
        removed = [warning.path for warning in restored.warnings]
        return PublishedItem.of(restored.item, links(restored.item, self._settings), removed)

    def claims(self, state: str) -> Iterator[AnyClaim]:
        from ibi.claims.model import RemoteClaimState
        from ibi.claims.resources import ItemClaimResource, ReceivedClaimResource, SentClaimResource
        from ibi.items.rules.related_items import ClaimState

        with opened_archive(self._settings) as archive:
            for each in archive.claims.list({ClaimState(state)}):
                yield ItemClaimResource.of(each.claimant, each.link, each.item, each.state)
            with opened_remote_claims(archive) as remote:
                wanted = {RemoteClaimState(state)}
                yield from [ReceivedClaimResource.of(*claim) for claim in remote.received(wanted)]
                yield from [SentClaimResource.of(*claim) for claim in remote.sent(wanted)]

    def answer_claim(self, label: Label, claimant: Label | str, word: str) -> LinkedItem:
        with opened_archive(self._settings) as archive:
            held = None if isinstance(claimant, str) else archive.store.catalog.find(claimant)
            if held is None or held.state is State.COPY or isinstance(claimant, str):
                with opened_remote_claims(archive) as remote:
                    item = remote.answer(word, label, claimant, who())
            else:
                answer = archive.claims.accept if word == "accept" else archive.claims.decline
                item = answer(label, claimant, who())
        return self._found(item)


def _record_relation(relating: Relating, label: Label, said: SaidRelation) -> Item:
    if said.language is not None:
        return relating.record_translation(label, said.language, said.other, who())
    record = relating.record_metadata_item if said.kind == "metadata_item" else relating.record_next_edition
    return record(label, said.other, who())


def _withdraw_relation(relating: Relating, label: Label, said: SaidRelation) -> Item:
    if said.kind in _CLAIMS:
        return relating.withdraw_claim(label, cast("Claim", said.kind), said.other, who())
    if said.language is not None:
        return relating.withdraw_translation(label, said.language, said.other, who())
    withdraw = relating.withdraw_metadata_item if said.kind == "metadata_item" else relating.withdraw_next_edition
    return withdraw(label, said.other, who())
