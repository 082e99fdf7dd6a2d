"""Why the stores of this machine refuse: what `ibi.ports.errors` leaves to them. Each message says what to do about
it."""

from __future__ import annotations

from typing import Final

from ibi.errors import ErrorKind
from ibi.ports.errors import StorageError, StoreDamaged, refused_for_room


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


class AccountsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds the hashes of the tokens, and nothing else has them: put it back from a
    backup, without -wal and -shm files beside it, and start the server again. Without a backup, `ibi rebuild --empty
    accounts` sets it aside and begins an empty one; all tokens have to be created anew then."""


class PeopleDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds the accounts of people, and nothing else has them: put it back from a
    backup, without -wal and -shm files beside it, and start the server again. Without a backup, `ibi rebuild --empty
    people` sets it aside and begins an empty one; all accounts have to be created anew then."""


class RegistryDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds the Archives registered here, and nothing else has them: put it back
    from a backup, without -wal and -shm files beside it, and start the server again. Without a backup, `ibi rebuild
    --empty registry` sets it aside and begins an empty one, and `ibi resolver recover` brings the Archives back from
    the registers that they keep."""


class UsageDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds counts of use alone: put it back from a backup, without -wal and -shm
    files beside it; otherwise the next start of the server sets it aside and counts anew."""


class TextsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds the words of files alone, which are read again: the next start of the
    server sets it aside."""


class PreviewsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds rendered previews alone, which are rendered again: the next start of
    the server sets it aside."""


class BeliefsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds what this resolver learned from Archives: put it back from a backup,
    without -wal and -shm files beside it; otherwise the next start of the server sets it aside and learns anew."""


class JobsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds jobs that make Copies, not the Copies: put it back from a backup,
    without -wal and -shm files beside it; otherwise the next start of the server sets it aside, and what was not copied
    yet has to be asked for again."""


class SubscriptionsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds what this Archive follows and who is told of its changes: put it back
    from a backup, without -wal and -shm files beside it. If there is none, begin anew with `ibi rebuild --empty
    subscriptions`, and follow again: Copies that are here stay, and are not fetched twice."""


class CollectionsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds the collections of this Archive, not their items: put it back from a
    backup, without -wal and -shm files beside it. If there is none, begin anew with `ibi rebuild --empty
    collections`."""


class TransfersDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds how far transfers to and from other Archives are: put it back from a
    backup, without -wal and -shm files beside it. Without a backup, move it away: items that were given away are known
    from the items themselves, and transfers under way have to be begun again by the sender."""


class ReleasesDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds the releases of Originals that this resolver was told: put it back from
    a backup, without -wal and -shm files beside it. Without a backup, move it away: Archives tell them again."""


class NotificationsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds what this Archive and others told each other of claims: put it back
    from a backup, without -wal and -shm files beside it; otherwise the next start of the server sets it aside. Claims
    of items here are sent again then, and claims of others that waited have to be sent anew by them."""


class ReviewsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds which drafts wait for review, and what was said of them: put it back
    from a backup, without -wal and -shm files beside it; otherwise the next start of the server sets it aside. Drafts
    that waited have to be submitted anew then."""


class RequestsDamaged(StoreDamaged):
    """{path} cannot be used: {reason}. It holds what readers asked for, and the links that were given to them: put it
    back from a backup, without -wal and -shm files beside it; otherwise the next start of the server sets it aside."""


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
