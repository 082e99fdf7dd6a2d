"""Errors of the stores on this machine, beside those in `ibi.standard.storage_errors`. Each message names the
remedy."""

from __future__ import annotations

from typing import Final

from ibi.standard.errors import ErrorKind
from ibi.standard.storage_errors import StorageError, StoreDamaged, refused_for_room


class DiskRefused(StorageError):
    """{path} could not be written: {reason}. Nothing of this request was done. See whether the path is right, who may
    write there, and what the system says of the disk; then ask again."""

    code = "disk-refused"

    @property
    def template(self) -> str:
        return NO_ROOM if refused_for_room(self) else super().template


NO_ROOM: Final = (
    "{path} could not be written: {reason}. Nothing of this request was done. Free some space, or see what the system"
    " says of the disk; then ask again."
)


class TooManyOpenFiles(StorageError):
    """The server has too many files open to open another one: wait {retry_after} seconds and try again."""

    code = "too-many-open-files"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 2

    def __init__(self, **parameters: object) -> None:
        super().__init__(**{"retry_after": self.retry_after, **parameters})


class NotAStore(StorageError):
    """{path} cannot be used as a store of content: {reason}."""

    code = "not-a-store"


class StateDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds people, tokens, registered Archives and all else that is not in the
    items, and nothing else has them: stop the server, move the file away with its -wal and -shm files, and put the
    newest copy from state-copies/ or from a backup in its place. Without a copy, `ibi rebuild --empty state` sets it
    aside and begins an empty one; `ibi resolver recover` brings registered Archives back."""


class DirectoryRecordDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It notes which files this data directory has: put it back from a backup. If all
    files are there, remove it: the next start writes it anew."""


class UsageDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds counts of use alone: put it back from a backup, without -wal and -shm
    files beside it; otherwise the next start of the server sets it aside and counts anew."""


class TicksDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. Move it away with its -wal and -shm files: it is made anew from mint.log beside
    it, and only the idempotency keys of the last days are forgotten."""


class StoreNewer(StorageError):
    """{path} was written by a newer version of this software (format {found}, this one knows {known}): install that."""

    code = "store-newer"


class StoreClosed(StorageError):
    """{path} was closed."""

    code = "store-closed"


class StoreForked(StorageError):
    """{path} was opened before this process was forked off: each process opens its own."""

    code = "store-forked"
    kind = ErrorKind.INTERNAL


class IdentityInUse(StorageError):
    """The data directory {path} of this machine mints as {prefix}: a second one would give out the same labels. Use
    that one; or stop it, move it off this machine, and try again."""

    code = "identity-in-use"


class DataDirectoryCopied(StorageError):
    """The data directory {path} was used on another machine last. If it still mints there, both would give out the same
    labels. If it does not, confirm with `ibi mint --accept-copy` that this is its place now."""

    code = "data-directory-copied"


class MintLogLost(StorageError):
    """{path} is empty or gone, but items are kept here under {prefix}, the newest of {newest}. Put the directory mint/
    back from a backup; if there is none, begin a new log with `ibi mint --accept-loss`: labels go on later than now."""

    code = "mint-log-lost"


class LockHeld(StorageError):
    """Another process has held the lock {path} for {seconds} seconds. See which one it is (`lsof` or `fuser` tell), and
    end it if it hangs; then ask again."""

    code = "lock-held"


class LockRefused(StorageError):
    """The lock {path} cannot be used: {reason}. Put that right, or set `lock_dir` (IBI_LOCK_DIR) to another directory,
    the same one for all minters of this machine."""

    code = "lock-refused"
