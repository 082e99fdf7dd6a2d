"""The Archive's own word on who holds Copies of its items, signed with its key (E84).

The administrator names the holders (`archive.copies_at`): to name one is to trust it, because resolvers ask it while
this Archive is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from ibi.messages.copy_holders import CopyHolder, sign_copies
from ibi.messages.label_forms import LabelForms
from ibi.messages.signatures import milliseconds
from ibi.ports.clocks import Clocks
from ibi.services.membership.signers import OwnKeys
from ibi.signing import PublicKey


class CopiesWord(NamedTuple):
    """A statement, and when it was made, in milliseconds since 1970."""

    at: int
    statement: str
    signer: PublicKey


class NamedCopyHolders:
    """The statement of one server. It is made when it is first asked for, and anew when the key was replaced. Calls
    block for a fraction of a millisecond, from any thread."""

    def __init__(self, service: LabelForms, holders: Sequence[CopyHolder], keys: OwnKeys, clocks: Clocks) -> None:
        self.service, self.holders = service, tuple(holders)
        self._keys, self._clocks = keys, clocks
        self._word: CopiesWord | None = None
        self._lock = Lock()

    def word(self) -> CopiesWord:
        key = self._keys.ring().key
        with self._lock:
            if self._word is None or self._word.signer != key.public:
                # Later than the one before, also within one millisecond: the latest counts.
                at = max(milliseconds(self._clocks.read().wall), 0 if self._word is None else self._word.at + 1)
                self._word = CopiesWord(at, sign_copies(self.service, self.holders, at, key), key.public)
            return self._word

    def facts(self) -> dict[str, object]:
        """The statement for programs, and what it says for people."""
        word = self.word()
        return {
            "archive": [label.spelling for label in self.service.labels],
            "at": word.at,
            "holders": [holder_facts(holder) for holder in self.holders],
            "statement": word.statement,
        }


def holder_facts(holder: CopyHolder) -> dict[str, object]:
    """An Archive and the prefixes of which it holds Copies; None for all."""
    return {"archive": holder.service.spelling, "prefixes": sorted(holder.prefixes) or None}
