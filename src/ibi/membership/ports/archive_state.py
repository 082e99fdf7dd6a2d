"""Stores for the state of an Archive: labels, keys, its membership, its usage counts, and URLs of its items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from ibi.membership.model.copy_holders import KnownCopyHolders
from ibi.membership.model.membership import ArchiveRecord, Membership, ResolverStanding
from ibi.membership.model.registration import RemovedArchive
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey


class ArchiveRecords(Protocol):
    """The record of the Archive of one data directory. Calls block, from any thread and process.

    It is written once, whole and durably. It is readable only for its owner, because it holds a secret.
    """

    def read(self) -> ArchiveRecord | None:
        """Return the record; None if no Archive was created.

        Raise `StorageError` if the record cannot be read: a new one is never created in its place.
        """

    def write(self, record: ArchiveRecord) -> bool:
        """Write the record. Return False if there is one already: of two concurrent callers, one succeeds."""


class KeyStore(Protocol):
    """The signing key of one Archive or one resolver. Calls block, from any thread and process."""

    def signing_key(self) -> SigningKey:
        """Return the key, which only its owner can read. The first call generates it at random and durably.

        Raise `StorageError` if the stored key cannot be read: it is never replaced without a request.
        """

    def former(self) -> tuple[PublicKey, ...]:
        """Return the keys that were in use before, the latest first: their signatures from that time stay valid."""

    def changes(self) -> tuple[str, ...]:
        """Return the statements by which former keys named their successors (`ibi.standard.messages.signatures`),
        oldest first."""

    def replace(self) -> SigningKey:
        """Generate a new key, which counts from now on.

        Whatever happens, the previous key is among the former ones, and has signed that this one replaces it.
        """


class ResolverKeys(Protocol):
    """The keys of resolvers that this Archive has asked. Calls block, from any thread.

    They are indexed by the resolvers' addresses, as in the settings, without a final slash.
    """

    def find(self, resolver: str) -> PublicKey | None: ...

    def former(self, resolver: str) -> tuple[PublicKey, ...]:
        """Return its former keys, the latest first: their signatures stay valid."""

    def keep(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        """Record the key durably. The previously known key, and those of `former`, become former keys."""

    def forget(self, resolver: str) -> bool:
        """Delete its key and its former keys. Return whether a key was known."""


class RegisterStore(Protocol):
    """The signed register of the Archive's resolver, and the resolver's key.

    Calls block, from any thread and process. A write survives a crash completely.
    """

    def read(self) -> str | None:
        """Return the last statement; None if there is none, or it cannot be read: it is fetched again."""

    def write(self, statement: str) -> None: ...

    def keep_former(self, statement: str, issued: int, archives: int) -> None:
        """Keep a statement that lists that many Archives, because the next one lacks some of them.

        The latest few are kept, and the fullest.
        """

    def former(self) -> tuple[str, ...]:
        """Return the statements from `keep_former`, the fullest first."""

    def resolver_key(self, resolver: str) -> PublicKey | None:
        """Return the key of the resolver at this URL; None if it is not known yet.

        Raise `StorageError` if the stored key cannot be read: it is never replaced by another without a request.
        """

    def pin(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        """Record this key for the resolver at this URL, and the `former` keys of which signatures stay valid."""

    def former_keys(self, resolver: str) -> tuple[PublicKey, ...]:
        """Return the keys that the resolver at this URL had before, the latest first."""

    def note_standing(self, standing: ResolverStanding | None) -> None:
        """Record for commands why this Archive resolves in place of its resolver; None if it does not."""


class PublishedStatement(Protocol):
    """The latest statement that all processes of one data directory publish.

    Calls block, from any thread and process.
    """

    def change(self, make: Callable[[str | None], str]) -> str:
        """Store the result of `make` for the present statement, which is None if there is none or it cannot be read.

        No other process changes it in between. The result survives a crash completely.
        """

    def note_removed(self, service: LabelForms, at: int) -> None:
        """Record that the administrator removed an Archive at this time in POSIX seconds, for the statements."""

    def removed(self) -> tuple[RemovedArchive, ...]:
        """Return the removed Archives, the latest last. Raise `StorageError` if they cannot be read."""


class CopyHolderStore(Protocol):
    """The Archives that are named as holders of Copies in addition to the settings, and those that are offered.

    Calls block, from any thread and process. Raise `StorageError` if it cannot be read or written.
    """

    def read(self) -> KnownCopyHolders: ...

    def change(self, make: Callable[[KnownCopyHolders], KnownCopyHolders]) -> KnownCopyHolders:
        """Store and return the result of `make`. No other process changes the record in between."""


class MembershipState(Protocol):
    """The membership of an Archive, and the lock of the process that maintains it. Reading needs no existing file.

    Raise `StorageError` if it cannot be read or written. A write survives a crash.
    """

    prompt: bool
    """True if an event loop may make these calls: they read a small file, once a second."""

    @property
    def switched_on(self) -> bool:
        """Return whether the Archive is switched on. Every Archive is, until it is switched off."""

    def switch(self, *, on: bool) -> None: ...

    def read(self) -> Membership:
        """Return the last written membership. If there is none, or it is unreadable, return one that has not begun."""

    def write(self, membership: Membership) -> None: ...

    def hold(self) -> bool:
        """Try to become the one process that speaks to the resolver. Return whether this process is it now.

        Repeated calls are allowed. The lock ends with `release` or with the process.
        """

    def release(self) -> None:
        """Release the lock. Does nothing if this process does not hold it."""
