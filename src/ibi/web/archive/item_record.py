"""An item as a JSON document, for programs: its description, its files and its links.

Restricted files are protected where they are fetched. A restricted Web service is elsewhere and protects nothing, so
its URL is shown to permitted readers only.
"""

from __future__ import annotations

from typing import Any

from ibi.archive.profile import encoded_path
from ibi.model.file import File
from ibi.model.item import Item
from ibi.model.item_json import file_document, item_document, local_document
from ibi.services.archive_site import ArchiveSite
from ibi.vocabulary import State
from ibi.web.http.long_json import LongList

_ADMINISTRATIVE = frozenset({"schema", "source", "followers"})
"""With which Archives copies are exchanged is not part of an item's description."""


def item_record(site: ArchiveSite, item: Item, *, in_full: bool = False) -> dict[str, Any]:
    """The item as a document with links. Unless `in_full`, it lacks the files if they may not be listed, and the
    digests of restricted files and the URL of a restricted service."""
    shared = {name: value for name, value in item_document(item.without_files()).items() if name != "schema"}
    local = {name: value for name, value in local_document(item).items() if name not in _ADMINISTRATIVE}
    if item.visibility.listing or in_full:
        shared["files"] = item_files(site, item, in_full=in_full)
        shared |= {} if item.target is None else {"target": item.target}
    if public_service_url(site, item) is None and not in_full:
        shared.pop("target_url", None)
    damaged = {"damaged": True} if site.is_damaged(item) else {}
    return {**shared, **local, **damaged, "links": record_links(site, item)}


def record_links(site: ArchiveSite, item: Item) -> dict[str, str]:
    urls, base = site.urls, f"{site.public_url}/api/records/{encoded_path(item.rep.spelling)}"
    page = urls.metadata(item, None, None)
    links = {
        "self": base,
        "persistent": site.persistent_url(item.labels),
        "metadata": page,
        "oai_dc": urls.metadata(item, None, "oai_dc"),
        "usage": f"{base}/usage",
        "relations": f"{base}/relations",
    }
    if item.state is State.DELETED:
        return links
    if item.state is State.ORIGINAL:
        links["draft"] = f"{base}/draft"
    if item.visibility.listing and item.files:
        links |= {"files": f"{base}/files", "file_list": urls.file_list(item)}
    if item.target is not None or item.target_url is not None:
        links["content"] = public_service_url(site, item) or target_place(site, item)
    return links


def item_files(site: ArchiveSite, item: Item, *, in_full: bool) -> LongList:
    """The files of an item, made as they are read: of ten thousand few are in memory. The digest of a short file lets
    its content be guessed, so that of restricted files it is left out."""
    hidden = frozenset[str]() if in_full or item.visibility.is_open_to((), site.now) else frozenset({"sha512"})

    def file_record(file: File) -> dict[str, Any]:
        told = {name: value for name, value in file_document(file).items() if name not in hidden}
        return {**told, "url": site.urls.file(item, file.path)}

    return LongList(lambda: map(file_record, item.files))


def public_service_url(site: ArchiveSite, item: Item) -> str | None:
    """The URL of an item that is a service open to all readers; None for any other item."""
    is_restricted = bool(item.visibility.networks) or item.visibility.is_embargoed(site.now)
    return None if is_restricted else item.target_url


def target_place(site: ArchiveSite, item: Item) -> str:
    """The address from which a reader is sent on to what they may see."""
    return f"{site.content_url}/col/{item.rep.spelling}/doc/"
