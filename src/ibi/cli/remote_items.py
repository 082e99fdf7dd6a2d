"""Items of a server, for commands with `--server`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ibi.cli.item_output import Links
from ibi.cli.options import read_label
from ibi.config import Settings
from ibi.errors import IbiError, InvalidInput
from ibi.label import Label
from ibi.model.file import File
from ibi.model.item import Item
from ibi.model.item_json import SCHEMA, decode_item, read_file
from ibi.model.usage import Usage
from ibi.transport.api_client import one_line
from ibi.transport.api_clients import RecordsClient
from ibi.transport.errors import UnexpectedAnswer

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


_ADDED: Final = frozenset({"links", "damaged", "unconfirmed"})
"""Members of a record that belong to the server, not to the item."""


def records_client(settings: Settings) -> RecordsClient:
    return RecordsClient(settings.server or "", None if settings.token is None else settings.token.reveal())


def item_of(record: dict[str, Any], settings: Settings) -> Item:
    """Return the item in a server's record, with the checks for an item read from disk."""
    shared = {name: value for name, value in record.items() if name not in {*_ADDED, *_LOCAL}}
    local: dict[str, Any] = {name: record[name] for name in _LOCAL if name in record}
    try:
        if any("sha512" not in file for file in shared.get("files", ())):
            # Without a token the server lists the files of a restricted item, but not their digests.
            shared = {name: value for name, value in shared.items() if name not in {"files", "target"}}
        if "files" in shared:
            shared["files"] = [{name: file[name] for name in _FILE if name in file} for file in shared["files"]]
        return decode_item(_encode_document(shared), _encode_document(local))
    except (InvalidInput, KeyError, TypeError) as error:
        raise UnexpectedAnswer(server=settings.server, reason=one_line(f"this is no item: {error}")) from None


class FilesWithheld(IbiError):
    """The files of version {version} of {label} are not for all readers. Name a token that may read them (--token)."""

    code = "files-withheld"


def files_of(client: RecordsClient, label: Label, number: int | None, settings: Settings) -> list[File]:
    """Return the files of an item on a server, or of an earlier version. Raise `FilesWithheld` if this caller may not
    see them."""
    if number is None:
        return [file_of(each, settings) for each in client.manifest(label)]
    record = client.version(label, number)
    files, visibility = record.get("files"), record.get("visibility")
    is_unlisted = files is None and isinstance(visibility, dict) and visibility.get("listing") is False
    if is_unlisted or any(isinstance(each, dict) and "sha512" not in each for each in files or ()):
        raise FilesWithheld(label=str(label), version=number)
    return [file_of(each, settings) for each in files or ()]


def file_of(each: dict[str, Any], settings: Settings) -> File:
    """Return a file in a server's manifest, with the checks for one read from disk."""
    try:
        return read_file({name: each[name] for name in _FILE if name in each}, "manifest")
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


def give_remotely(settings: Settings, label: Label, owner: str) -> tuple[str, Links, int]:
    """Give an item on a server to an account, or to the Archive if `owner` is empty. Return the output for the item."""
    record = records_client(settings).give(label, owner or None)
    item = item_of(record, settings)
    return "; ".join(item.metadata.titles()), links_of(record, item), item.version


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
