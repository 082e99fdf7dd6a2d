"""Drafts and what they become, as JSON with links."""

from __future__ import annotations

from hashlib import sha512
from typing import Any

import msgspec

from ibi.archive.drafts import DraftQuota, Holding
from ibi.archive.profile import encoded_path
from ibi.model.draft_record import description_document
from ibi.model.file import File
from ibi.model.item import Item
from ibi.model.item_json import file_document, forms_document
from ibi.services.archive_site import ArchiveSite
from ibi.services.drafts.drafts import Published
from ibi.services.drafts.ledger import DraftView
from ibi.vocabulary import State
from ibi.web.http.preconditions import Validators


def draft_url(site: ArchiveSite, draft: str) -> str:
    return f"{site.public_url}/api/records/{draft}"


def draft_document(site: ArchiveSite, view: DraftView) -> dict[str, Any]:
    record, base = view.record, draft_url(site, view.record.id)
    document: dict[str, Any] = {
        "id": record.id,
        "state": "draft" if record.publication is None else "published",
        "owner": record.owner.partition(":")[2],
        "created": str(record.created),
        "updated": str(view.changed),
        "size": view.size,
        **description_document(record.description),
        "files": [sent_file(site, record.id, file) for file in view.files],
    }
    if record.labels is not None:
        document |= {"labels": forms_document(record.labels), "base_version": record.base}
    links = {"self": base, "files": f"{base}/files", "publish": f"{base}/publish"}
    published = record.labels if record.publication is None else record.publication.labels
    if published is not None:
        links["item"] = _record_url(site, published.labels[0].spelling)
    return {**document, "links": links}


def sent_file(site: ArchiveSite, draft: str, file: File) -> dict[str, Any]:
    place = f"{draft_url(site, draft)}/files/{encoded_path(file.path)}"
    return {**file_document(file), "links": {"self": place}}


def quota_document(quota: DraftQuota, held: Holding) -> dict[str, Any]:
    """What a depositor has in drafts, and may have; null means no limit."""
    return {
        "drafts": held.drafts,
        "most_drafts": quota.drafts or None,
        "size": held.size,
        "most_size": quota.size or None,
    }


def publication_document(site: ArchiveSite, published: Published) -> dict[str, Any]:
    """A publication as JSON: what the command prints, and more."""
    item, rep = published.item, published.item.rep.spelling
    return {
        "rep": rep,
        "ibip": None if item.labels.ibip is None else item.labels.ibip.spelling,
        "persistent_url": site.persistent_url(item.labels),
        "url": item_url(site, item),
        "version": published.publication.version,
        "removed": list(published.publication.removed),
        "links": {"self": _record_url(site, rep), "metadata": site.urls.metadata(item, None, None)},
    }


def item_url(site: ArchiveSite, item: Item) -> str:
    """The address of the item for a reader who names no file."""
    if item.target_url is not None:
        return item.target_url
    if item.target is None or item.state is State.DELETED:
        return site.urls.metadata(item, None, None)
    return site.urls.file(item, item.target)


def draft_validators(view: DraftView) -> Validators:
    """Validators whose tag changes with the draft and with each of its files."""
    said = [
        description_document(view.record.description),
        [file_document(file) for file in view.files],
        view.record.publication is not None,
    ]
    return Validators(sha512(msgspec.json.encode(said)).hexdigest(), view.changed.seconds)


def file_validators(file: File) -> Validators:
    """Validators of a file: its tag alone, because the time at which a draft's file was sent is not stored."""
    return Validators(file.sha512, 0)


def _record_url(site: ArchiveSite, label: str) -> str:
    return f"{site.public_url}/api/records/{encoded_path(label)}"
