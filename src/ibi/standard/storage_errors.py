"""The refusals of a store that its callers distinguish. Each message says what to do about it.

Refusals that only an adapter knows (local locks, files of SQLite) are subclasses in `ibi.storage.errors`.
"""

from __future__ import annotations

import errno
from typing import Final

from ibi.standard.errors import ErrorKind, IbiError


class StorageError(IbiError):
    """The store cannot be used."""

    code = "storage"
    kind = ErrorKind.OUT_OF_ORDER


class DiskFull(StorageError):
    """There is no room left on the disk of this server. Nothing was changed, and what was kept before is whole."""

    code = "disk-full"
    kind = ErrorKind.STORAGE_FULL


class StoreDamaged(StorageError):
    """{path} cannot be used: {reason}. Put it back from a backup, without -wal and -shm files beside it."""

    code = "store-damaged"


class CatalogDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds nothing that the store does not: `ibi rebuild` sets it aside and makes
    it anew from the store; so does the next start of the server."""


class DraftDamaged(StorageError):
    """{path} is not the record of a draft: {reason}. Put it back from a backup, or remove the folder of this draft."""

    code = "draft-damaged"
    kind = ErrorKind.INTERNAL


class StoreIncomplete(StorageError):
    """{path} lacks {missing} of {items} items that it had, {example} among them. See whether its disk is mounted, or
    put it back from a newer backup; to go on without those items, run `ibi rebuild`."""

    code = "store-incomplete"


_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_SQLITE_FULL: Final = frozenset({13, 10 | 19 << 8})
"""SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no room for the memory that connections to a database share."""


def refused_for_room(error: BaseException | None) -> bool:
    """Return whether the root cause of an error is a full disk."""
    while error is not None:
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _NO_ROOM):
            return True
        if getattr(error, "sqlite_errorcode", None) in _SQLITE_FULL:
            return True
        error = error.__cause__
    return False
