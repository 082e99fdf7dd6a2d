"""The holders of Copies that an Archive names to its resolver."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from ibi.membership.ports.archive_state import CopyHolderStore
from ibi.membership.resources import CopyHolderResource, CopyHoldersResource
from ibi.membership.service.signers import OwnKeys
from ibi.standard.clock_reading import Clocks
from ibi.standard.messages.holders import MOST_COPIES, CopyHolder, sign_copies
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import milliseconds
from ibi.standard.signing import PublicKey


class CopiesWord(NamedTuple):
    """A signed statement, made at `at`, in milliseconds since 1970."""

    at: int
    statement: str
    signer: PublicKey


class NamedCopyHolders:
    """The Archive's own statement about the holders of Copies of its items, signed with its key (E84).

    The administrator names the holders (`archive.copies_at`, `ibi archive holders`). To name one is to trust it,
    because resolvers ask it while this Archive is silent.

    The statement is made at the first call, and anew when any process replaced the key or named other holders. Calls
    block for a fraction of a millisecond, from any thread. `StorageError` if the named holders cannot be read.
    """

    def __init__(
        self,
        service: LabelForms,
        settled: Sequence[CopyHolder],
        keys: OwnKeys,
        clocks: Clocks,
        store: CopyHolderStore | None = None,
    ) -> None:
        """`settled` are the holders of the settings; `store` has those named beside them."""
        self.service, self.settled = service, tuple(settled)
        self._keys, self._clocks, self._store = keys, clocks, store
        self._word: CopiesWord | None = None
        self._said: tuple[CopyHolder, ...] = ()
        self._lock = Lock()

    @property
    def holders(self) -> tuple[CopyHolder, ...]:
        named = () if self._store is None else self._store.read().named
        services = {each.service for each in self.settled}
        return (*self.settled, *(each for each in named if each.service not in services))[:MOST_COPIES]

    def word(self) -> CopiesWord:
        key, holders = self._keys.ring().key, self.holders
        with self._lock:
            if self._word is None or self._word.signer != key.public or self._said != holders:
                # Later than the one before, also within one millisecond: the latest counts.
                at = max(milliseconds(self._clocks.read().wall), 0 if self._word is None else self._word.at + 1)
                self._word = CopiesWord(at, sign_copies(self.service, holders, at, key), key.public)
                self._said = holders
            return self._word

    def resource(self) -> CopyHoldersResource:
        """Return the statement for programs, with its content for people."""
        word = self.word()
        return CopyHoldersResource(
            archive=[label.spelling for label in self.service.labels],
            at=word.at,
            holders=[CopyHolderResource.of(holder) for holder in self.holders],
            statement=word.statement,
        )
