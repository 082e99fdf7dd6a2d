"""The memory of the clock, which must survive everything (E10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from ibi.model.identity import Identity
from ibi.model.minting import Batch, Share, Span, TickState

__all__ = ["KEY_LIFETIME", "Remembered", "TickChange", "Ticks"]

KEY_LIFETIME = 48 * 3600
"""Seconds after which a key may be forgotten: twice the 24 hours that are promised, so that no clock set right in
between shortens them."""

Remembered = Callable[[str, str], Share | None]
"""The share that (who, key) got before, if it is still remembered: for at least 24 hours."""


class TickChange(Protocol):
    """What a decision changes. No batch, no change: nothing is written."""

    @property
    def state(self) -> TickState: ...
    @property
    def batch(self) -> Batch | None: ...
    @property
    def outcomes(self) -> tuple[object, ...]: ...
    @property
    def keys(self) -> tuple[tuple[str, Share], ...]: ...


Change = TypeVar("Change", bound=TickChange)


class Ticks(Protocol):
    """One data directory's clock. Calls block, from any thread and process, and are served one after the other."""

    def identity(self) -> Identity | None:
        """The identity frozen here; None before the first use."""

    def freeze(self, identity: Identity) -> None:
        """Mint as `identity` from now on. Each identity has its own clock, there again if it returns."""

    def state(self) -> TickState:
        """The memory of the frozen identity's clock, as committed."""

    def advance(self, decide: Callable[[TickState, Remembered], Change]) -> Change:
        """Run `decide` on the memory inside one exclusive transaction and make what it changed durable.

        Once it has returned, the new state, a line of the mint log and the remembered keys are on disk. If it raises,
        no label of that batch was given out, and none ever will be.
        """

    def accept_clock(self, accept: Callable[[TickState, list[Span]], TickState]) -> None:
        """Replace the state by what `accept` makes of it and of everything issued; the log records it."""

    def log(self) -> Iterator[bytes]:
        """The lines of the mint log from the first on, without their ends."""

    def close(self) -> None: ...
