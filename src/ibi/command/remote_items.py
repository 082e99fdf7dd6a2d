"""Items of a server, for commands with `--server`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ibi.command.api_clients import RecordsClient
from ibi.command.item_output import Links, PublishedItem
from ibi.command.items import ItemFiles, LinkedItem, SaidRelation, SubmittedDeletion
from ibi.command.options import read_label
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.item_json import SCHEMA, decode_item, read_file
from ibi.net.api_client import one_line
from ibi.net.errors import ServerRefused, UnexpectedAnswer
from ibi.settings import Settings
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.label import Label
from ibi.usage.model import Usage

if TYPE_CHECKING:
    from ibi.command.items import AnyClaim

_LOCAL: Final = ("state", "transferable", "tombstone", "original_tombstone", "owner")
_FILE: Final = ("path", "size", "sha512", "media_type", "crc32")
_STANDING: Final = (
    "begun",
    "rep",
    "ibip",
    "public_url",
    "content_url",
    "resolver",
    "switched_on",
    "membership",
    "confirmed",
    "membership_reason",
    "register_archives",
    "register_issued",
    "resolver_key",
    "unreadable",
    "damaged",
    "verified",
    "never_verified",
    "last_verification",
    "oldest_verification",
    "in_doubt",
    "unheard",
)


_NO_INBOX: Final = 404
_ADDED: Final = frozenset({"links", "damaged", "unconfirmed"})
"""Members of a record that belong to the server, not to the item."""


def records_client(settings: Settings) -> RecordsClient:
    return RecordsClient(settings.server or "", None if settings.token is None else settings.token.reveal())


def item_of(record: dict[str, Any], settings: Settings) -> Item:
    """Return the item in a server's record, with the checks for an item read from disk."""
    local: dict[str, Any] = {name: record[name] for name in _LOCAL if name in record}
    try:
        return decode_item(_encode_document(_shared_members(record)), _encode_document(local))
    except (InvalidInput, KeyError, TypeError) as error:
        raise UnexpectedAnswer(server=settings.server, reason=one_line(f"this is no item: {error}")) from None


def _shared_members(record: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a record that every Archive with the item has."""
    shared = {name: value for name, value in record.items() if name not in {*_ADDED, *_LOCAL}}
    if any("sha512" not in file for file in shared.get("files", ())):
        # Without a token the server lists the files of a restricted item, but not their digests.
        return {name: value for name, value in shared.items() if name not in {"files", "target"}}
    if "files" in shared:
        shared["files"] = [_file_members(file) for file in shared["files"]]
    return shared


def _file_members(file: dict[str, Any]) -> dict[str, Any]:
    return {name: file[name] for name in _FILE if name in file}


class FilesWithheld(IbiError):
    """The files of version {version} of {label} are not for all readers. Name a token that may read them (--token)."""

    code = "files-withheld"


class RemoteItems:
    def __init__(self, settings: Settings) -> None:
        self._settings, self._client = settings, records_client(settings)

    def find(self, label: Label, number: int | None) -> LinkedItem:
        record = self._client.record(label) if number is None else self._client.version(label, number)
        return found_item(record, self._settings)

    def files(self, label: Label, number: int | None) -> ItemFiles:
        """Return the files of the item. Raise `FilesWithheld` if this caller may not see those of an earlier
        version."""

        def read(file: File, offset: int) -> Iterator[bytes]:
            return self._client.file_from(label, file, number, offset)

        listed = self._client.manifest(label) if number is None else self._listed(label, number)
        return ItemFiles([file_of(each, self._settings) for each in listed], read)

    def _listed(self, label: Label, number: int) -> list[dict[str, Any]]:
        record = self._client.version(label, number)
        files, visibility = record.get("files"), record.get("visibility")
        is_unlisted = files is None and isinstance(visibility, dict) and visibility.get("listing") is False
        if is_unlisted or any(isinstance(each, dict) and "sha512" not in each for each in files or ()):
            raise FilesWithheld(label=str(label), version=number)
        return list(files or ())

    def versions(self, label: Label) -> Iterator[dict[str, Any]]:
        for version in self._client.versions(label):
            yield {name: value for name, value in version.items() if name != "links"}


class RemoteItemChanges:
    def __init__(self, settings: Settings) -> None:
        self._settings, self._client = settings, records_client(settings)

    def relate(self, label: Label, said: SaidRelation, *, undo: bool) -> LinkedItem:
        told = {said.kind: str(said.other)} | ({} if said.language is None else {"language": str(said.language)})
        return found_item(self._client.relate(label, told, undo=undo), self._settings)

    def delete(
        self, label: Label, reason: str, replaced_by: Label | None, *, purge: bool
    ) -> LinkedItem | SubmittedDeletion:
        record = self._client.delete(label, reason, replaced_by, purge=purge)
        if record.get("review") == "submitted":
            return SubmittedDeletion(record)
        return found_item(record, self._settings)

    def restore(self, label: Label, number: int, message: str | None) -> PublishedItem:
        restored = found_item(self._client.restore(label, number, message), self._settings)
        return PublishedItem.of(restored.item, restored.links)

    def claims(self, state: str) -> Iterator[AnyClaim]:
        yield from self._client.claims(state)
        try:
            yield from self._client.received_claims(state)
            yield from self._client.sent_claims(state)
        except ServerRefused as refusal:
            if refusal.parameters.get("status") != _NO_INBOX:
                raise

    def answer_claim(self, label: Label, claimant: Label | str, word: str) -> LinkedItem:
        return found_item(self._client.answer_claim(label, claimant, word), self._settings)


def found_item(record: dict[str, Any], settings: Settings) -> LinkedItem:
    item = item_of(record, settings)
    return LinkedItem(item, links_of(record, item), record.get("unconfirmed") is True)


def file_of(each: dict[str, Any], settings: Settings) -> File:
    """Return a file in a server's manifest, with the checks for one read from disk."""
    try:
        return read_file(_file_members(each), "manifest")
    except (InvalidInput, KeyError, TypeError) as error:
        raise UnexpectedAnswer(server=settings.server, reason=one_line(f"this is no file: {error}")) from None


def _encode_document(document: dict[str, Any]) -> bytes:
    return json.dumps({"schema": SCHEMA, **document}).encode("ascii")


def links_of(record: dict[str, Any], item: Item) -> Links:
    """Return the links of an item on a server, in the form of `item_output.links`."""
    told = record.get("links")
    links = told if isinstance(told, dict) else {}
    urls = {file["path"]: file.get("url") for file in record.get("files", ())}
    url = item.target_url or (links.get("metadata") if item.target is None else urls.get(item.target))
    return {
        "rep": item.rep.spelling,
        "ibip": None if item.labels.ibip is None else item.labels.ibip.spelling,
        "persistent_url": one_line(str(links.get("persistent"))),
        "url": None if url is None else one_line(str(url)),
    }


def remote_usage(settings: Settings, label: str | None) -> Iterator[tuple[dict[str, str], Usage]]:
    """Yield the usage of each item, or of one item day by day."""
    client = records_client(settings)
    if label is None:
        for total in client.usage():
            yield {"rep": one_line(total.rep)}, total.usage()
        return
    this = read_label(label)
    rep = str(item_of(client.record(this), settings).rep)
    for day in client.usage_of(this):
        yield {"rep": rep, "date": one_line(day.date)}, day.usage()


def remote_standing(settings: Settings) -> dict[str, object]:
    """Return the output of `ibi archive status`, without the directory on the server."""
    told = records_client(settings).archive()
    return {name: told.get(name) for name in _STANDING}
