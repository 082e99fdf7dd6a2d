"""Deposits and updates in a data directory, for commands without `--server`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ibi.command.archive_store import account_named, opened_archive, who
from ibi.command.item_output import PublishedItem, links, progress
from ibi.deposits.cli.depositing import ItemUpdate, NewDeposit, to_remove
from ibi.deposits.cli.item_options import described
from ibi.items.model.content import Keep
from ibi.items.model.item import Description, Draft, Item, checked_target
from ibi.items.service.file_selection import unread_files
from ibi.settings import Settings
from ibi.standard.label import Label

if TYPE_CHECKING:
    from ibi.items.model.content import Source


class LocalDepositing:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def deposit(self, new: NewDeposit) -> PublishedItem:
        found, account = new.found, account_named(self._settings, new.owner)
        with opened_archive(self._settings, begin=True) as archive, progress("depositing", found.size) as on_bytes:
            forms = {name: archive.deposits.forms(label) for name, label in new.relations.items()}
            files = unread_files(found.sources)
            description = Description(
                target=checked_target(files, new.target, new.url),
                target_url=new.url,
                edition_of=forms.get("edition_of"),
                translation_of=forms.get("translation_of"),
                describes=forms.get("describes"),
            )
            draft = described(Draft(description=description, files=files), new.given)
            item = archive.deposits.deposit(draft, found.sources, who(), key=new.key, owner=account, on_bytes=on_bytes)
        return self._published(item, url=item.target_url)

    def update(self, label: Label, changes: ItemUpdate) -> PublishedItem:
        with opened_archive(self._settings) as archive, progress("updating", changes.found.size) as on_bytes:
            item = archive.store.find(label)
            kept: dict[str, Source] = {file.path: Keep(file.path) for file in item.files} if changes.keeps else {}
            sources = {**kept, **changes.found.sources}
            leaving = to_remove(changes.removed, sources)
            sources = {path: source for path, source in sources.items() if path not in leaving}
            draft = _draft(item, sources, changes)
            updated = archive.deposits.update(item.rep, draft, sources, who(), changes.message, on_bytes=on_bytes)
        return self._published(updated.item, [warning.path for warning in updated.warnings], url=changes.url)

    def give(self, label: Label, owner: str) -> PublishedItem:
        account = account_named(self._settings, owner)
        with opened_archive(self._settings) as archive:
            item = archive.deposits.give(archive.store.find(label).rep, account, who())
        return self._published(item)

    def _published(self, item: Item, removed: list[str] | None = None, *, url: str | None = None) -> PublishedItem:
        return PublishedItem.of(item, links(item, self._settings), removed or (), self._warnings(url))

    def _warnings(self, url: str | None) -> Iterator[str]:
        """Yield a warning for a Web service on a host that resolvers may ask readers to confirm."""
        from ibi.membership.opening.membership import undeclared_host

        warning = None if url is None else undeclared_host(self._settings, self._settings.own_url, url)
        if warning is not None:
            yield warning


def _draft(item: Item, sources: dict[str, Source], changes: ItemUpdate) -> Draft:
    """Return a draft of the item with these files. A target that was removed is dropped."""
    files, url = unread_files(sources), changes.url or (None if sources else item.target_url)
    target = checked_target(files, changes.target or (item.target if item.target in sources else None), url)
    description = replace(item.description.without_relations(), target=target, target_url=url)
    return Draft(labels=item.labels, description=changes.describe(description), files=files)
