"""What an Archive keeps of itself: `archive.json` in the data directory, for its owner alone.

It holds the labels of the Archive's own service, and the secret that its URL keys are signed with.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ibi.errors import InvalidMessage
from ibi.messages.label_forms import LabelForms
from ibi.ports.errors import StorageError
from ibi.storage.disk import make_directory, refusals, sync_directory, sync_file
from ibi.storage.errors import DiskRefused, StoreNewer

FILE_NAME: Final = "archive.json"
_SCHEMA: Final = 1
_SECRET_BYTES: Final = 32


class ArchiveRecordDamaged(StorageError):
    """{path} is not the record of an Archive: {reason}. Put it back from a backup."""

    code = "archive-record-damaged"


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    service: LabelForms
    """The Archive's own service."""
    url_key_secret: bytes = field(repr=False)

    @classmethod
    def new(cls, service: LabelForms) -> ArchiveRecord:
        return cls(service, secrets.token_bytes(_SECRET_BYTES))


def read_archive_record(data: Path) -> ArchiveRecord | None:
    """The record of the Archive in this data directory; None if none was begun there."""
    path = data / FILE_NAME
    try:
        with refusals(ArchiveRecordDamaged, path):
            document = json.loads(path.read_bytes()) if path.exists() else None
        return None if document is None else _decoded(path, document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidMessage) as error:
        raise ArchiveRecordDamaged(path=path, reason=str(error) or type(error).__name__) from error


def _decoded(path: Path, document: dict[str, object]) -> ArchiveRecord:
    schema, service, secret = document["schema"], document["service"], document["url_key_secret"]
    if isinstance(schema, int) and schema > _SCHEMA:
        raise StoreNewer(path=path, found=schema, known=_SCHEMA)
    if not (isinstance(service, dict) and isinstance(secret, str) and len(secret) >= 2 * _SECRET_BYTES):
        raise ValueError("its service or its secret is missing")
    forms = LabelForms.from_words(str(word) for pair in service.items() for word in pair)
    return ArchiveRecord(forms, bytes.fromhex(secret))


def write_archive_record(data: Path, record: ArchiveRecord) -> bool:
    """Keep the record, readable for its owner alone; False if there is one already: it stays."""
    document = {
        "schema": _SCHEMA,
        "service": {label.form: label.spelling for label in record.service.labels},
        "url_key_secret": record.url_key_secret.hex(),
    }
    path = data / FILE_NAME
    with refusals(DiskRefused, path):
        make_directory(data)
        return _write_new(path, json.dumps(document, indent=1).encode("ascii") + b"\n")


def _write_new(path: Path, content: bytes) -> bool:
    """A second name for a file that is already whole: unlike renaming, linking never replaces anything."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            sync_file(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)
    return True
