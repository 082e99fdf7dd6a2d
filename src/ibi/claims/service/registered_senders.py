"""Identifies the registered Archive that sent a notification, by its signature and the register of the resolver.

Any server may send to an inbox, and a flood of strangers is bounded. Archives of the register have a bound of their
own, so that no flood keeps their notifications out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Final

from ibi.claims.model import SIGNED
from ibi.standard.errors import InvalidInput
from ibi.standard.messages.signatures import read_notification_signature
from ibi.standard.origin import Origin
from ibi.standard.signing import PublicKey, claimed_signer
from ibi.transfers.rules.standing import KnownArchives

LONGEST_SIGNATURE: Final = 2048
_OFTEN: Final = 5.0
"""Seconds for which the register is not read again."""
_MOST_APART: Final = 300_000
"""Milliseconds between the clocks of two Archives: an older notification may have been overheard and sent again."""


class RegisteredSenders:
    """The Archives of a register, by their keys. Calls block, from any thread."""

    def __init__(
        self,
        register: Callable[[], KnownArchives | None],
        url: str,
        now: Callable[[], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`register` returns the stored register, and may block. `url` is the address of this Archive, which a
        signature has to name. `now` returns the second since 1970."""
        self._register, self._place, self._now, self._monotonic = register, Origin.of_url(url), now, monotonic
        self._lock = Lock()
        self._read: tuple[float, Mapping[PublicKey, str]] = (float("-inf"), {})

    def knows(self, signature: str) -> bool:
        """Return whether the signature names the key of a registered Archive. It is not checked: that takes the
        body."""
        return len(signature) <= LONGEST_SIGNATURE and self.knows_signer(signature)

    def knows_signer(self, statement: str) -> bool:
        """Return the same for any statement, which the caller has bounded."""
        signer = claimed_signer(statement)
        return signer is not None and signer in self._names()

    def find(self, signature: str, body: bytes) -> str | None:
        """Return the Archive that signed this body for this inbox, as the network of its claims. None if none did, or
        long ago."""
        try:
            said = read_notification_signature(signature, body)
            name = self.name_of(said.signer, said.to, said.at)
        except InvalidInput:
            return None
        return None if name is None else f"{SIGNED}{name}"

    def name_of(self, signer: PublicKey, to: str, at: int) -> str | None:
        """Return the label of the Archive that signed for this one at that time, in milliseconds. None if it is not
        registered, meant another server, or signed long ago. `InvalidInput` if `to` is no address."""
        is_ours = Origin.of_url(to) == self._place
        is_fresh = abs(at - 1000 * self._now()) <= _MOST_APART
        return self._names().get(signer) if is_ours and is_fresh else None

    def _names(self) -> Mapping[PublicKey, str]:
        with self._lock:
            now = self._monotonic()
            if now - self._read[0] >= _OFTEN:
                known = self._register()
                archives = () if known is None else known.archives
                self._read = now, {each.key: str(each.labels[0]) for each in archives if each.key is not None}
            return self._read[1]
