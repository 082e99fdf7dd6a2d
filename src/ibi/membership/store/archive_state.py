"""Files of an Archive in its data directory: its record, its membership in a resolver, and its served address.

`archive.json` holds the labels of the Archive's own service, and the secret for its URL keys.

`membership/off` exists while the Archive is switched off. `membership/state.json` has the resolver's last statement.
`membership/lock` is held by the process that talks to the resolver.

`served-address` is locked by the server to which the Archive's own item leads, and holds its URL. A server that runs
beside it with another URL locks `served-address.other`.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from ibi.membership.model.membership import SECRET_BYTES, ArchiveRecord, Membership, Phase
from ibi.standard.errors import InvalidMessage
from ibi.standard.messages.identification import LabelForms
from ibi.standard.storage_errors import StorageError
from ibi.storage.directory_record import note_begun, was_begun
from ibi.storage.errors import DiskRefused, StoreNewer
from ibi.storage.locks import WorkerLock
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, sync_directory, sync_file, write_durably

FILE_NAME: Final = "archive.json"
_SCHEMA: Final = 1


class ArchiveRecordDamaged(StorageError):
    """{path} is not the record of an Archive: {reason}. Put it back from a backup."""

    code = "archive-record-damaged"


class ArchiveRecordLost(StorageError):
    """{path} is gone: it says which Archive this is, and to start without it would begin another one. Put it back from
    a backup; without one, `ibi archive init --recover` writes it anew from the Archive's own item in the store."""

    code = "archive-record-lost"


class ArchiveRecordFile:
    """Implements the port `ArchiveRecords` of one data directory. The existence of a record is also noted in
    `directory.json`, so that a lost record is not taken for an Archive that was never begun."""

    def __init__(self, data: Path) -> None:
        self._path = data / FILE_NAME

    def read(self) -> ArchiveRecord | None:
        path = self._path
        try:
            with refusals(ArchiveRecordDamaged, path):
                document = json.loads(path.read_bytes()) if path.exists() else None
                if document is None and was_begun(path):
                    raise ArchiveRecordLost(path=path)
            return None if document is None else _decode_record(path, document)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidMessage) as error:
            raise ArchiveRecordDamaged(path=path, reason=str(error) or type(error).__name__) from error

    def write(self, record: ArchiveRecord) -> bool:
        """Write the record, readable for its owner alone; return false if there is one already."""
        document = {
            "schema": _SCHEMA,
            "service": {label.form: label.spelling for label in record.service.labels},
            "url_key_secret": record.url_key_secret.hex(),
        }
        with refusals(DiskRefused, self._path):
            make_directory(self._path.parent)
            written = _write_new(self._path, json.dumps(document, indent=1).encode("ascii") + b"\n")
        self.note()
        return written

    def note(self) -> None:
        """Note that the record exists, so that its loss will be noticed."""
        note_begun(self._path)


def _decode_record(path: Path, document: dict[str, object]) -> ArchiveRecord:
    schema, service, secret = document["schema"], document["service"], document["url_key_secret"]
    if isinstance(schema, int) and schema > _SCHEMA:
        raise StoreNewer(path=path, found=schema, known=_SCHEMA)
    if not (isinstance(service, dict) and isinstance(secret, str) and len(secret) >= 2 * SECRET_BYTES):
        raise ValueError("its service or its secret is missing")
    forms = LabelForms.from_words(str(word) for pair in service.items() for word in pair)
    return ArchiveRecord(forms, bytes.fromhex(secret))


def _write_new(path: Path, content: bytes) -> bool:
    """Create a file atomically, by a link to a complete draft. Unlike a rename, a link never replaces a file."""
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


_ADDRESS: Final = "served-address"
_OTHER_ADDRESS: Final = "served-address.other"
_LONGEST_URL: Final = 4096
_MOMENT: Final = 1.0
"""Seconds within which a server that has taken the lock has written its URL."""


class ServedAddress:
    """The address of the Archive in one data directory. One server at a time defines it."""

    def __init__(self, data: Path) -> None:
        self._path, self._other_path = data / _ADDRESS, data / _OTHER_ADDRESS
        self._descriptor: int | None = None

    def claim(self, url: str) -> str:
        """Claim the Archive's address for `url`, and return the address. If a running server has it already, return
        that server's. A claim lasts until `release`, or until the process ends."""
        with refusals(DiskRefused, self._path):
            make_directory(self._path.parent)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                try:
                    address = _read_url(descriptor)
                finally:
                    os.close(descriptor)
                if address != url:
                    self._note_other(url)
                return address
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, url.encode(), 0)
        self._descriptor = descriptor
        return url

    def _note_other(self, url: str) -> None:
        """Record that a server with another address runs here; of several servers, one is recorded."""
        descriptor = os.open(self._other_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, url.encode(), 0)
        self._descriptor = descriptor

    @property
    def is_claimed(self) -> bool:
        """True if a running server has the address."""
        return _held_url(self._path) is not None

    def read_url(self) -> str | None:
        """Return the address; None if no running server has it."""
        return _held_url(self._path)

    def read_other(self) -> str | None:
        """Return the address of a server that runs beside the main one with another address; None if there is none."""
        return _held_url(self._other_path)

    def release(self) -> None:
        """Let another server take the address. Without effect if this one does not have it."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def _held_url(path: Path) -> str | None:
    """Return the URL in a file that a server has locked; None if no server has."""
    with refusals(DiskRefused, path):
        if not path.exists():
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read_url(descriptor)
        finally:
            os.close(descriptor)
    return None


def _read_url(descriptor: int) -> str:
    """Return the URL in a locked file, and wait a moment for its owner to write it."""
    deadline = time.monotonic() + _MOMENT
    while not (content := os.pread(descriptor, _LONGEST_URL, 0)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return content.decode(errors="replace")


_FOLDER: Final = "membership"


class MembershipFiles:
    """Implements the port `MembershipState` of one data directory."""

    prompt = True

    def __init__(self, data: Path) -> None:
        folder = data / _FOLDER
        self._folder, self._off, self._state = folder, folder / "off", folder / "state.json"
        lock = WorkerLock(folder / "lock")
        self.hold, self.release = lock.hold, lock.release

    @property
    def switched_on(self) -> bool:
        with refusals(DiskRefused, self._off):
            return not self._off.exists()

    def switch(self, *, on: bool) -> None:
        with refusals(DiskRefused, self._off):
            make_directory(self._folder)
            if on:
                self._off.unlink(missing_ok=True)
            else:
                self._off.touch()
            sync_directory(self._folder)

    def read(self) -> Membership:
        try:
            found = json.loads(self._state.read_bytes())
            return Membership(
                Phase(found["phase"]), found["confirmed"] is True, found["known"] is True, reason=_reason(found)
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise_if_exhausted(error)  # too many open files must not make a membership look absent
            return Membership()

    def write(self, membership: Membership) -> None:
        with refusals(DiskRefused, self._folder):
            make_directory(self._folder)
        write_durably(self._state, json.dumps(asdict(membership)).encode("ascii") + b"\n")


def _reason(found: dict[str, object]) -> str | None:
    reason = found.get("reason")
    return reason if isinstance(reason, str) else None
