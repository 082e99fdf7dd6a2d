"""The clocks of the machine, and the memory of the dates that were minted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.identification import LabelForms
from ibi.model.minting import BatchShare, Identity, LabelBatch, Reading, Span, TickState


class Clocks(Protocol):
    def read(self) -> Reading:
        """One look at the time of day and at the uptime, as close together as can be."""

    def seconds(self) -> int:
        """The time of day alone, in whole POSIX seconds: for callers that need no more, many times a second."""


KEY_LIFETIME = 48 * 3600
"""Seconds after which a key may be forgotten: twice the 24 hours that are promised, so that no clock set right in
between shortens them."""

Remembered = Callable[[str, str], BatchShare | None]
"""The share that (who, key) got before, if it is still remembered: for at least 24 hours."""


NewestKept = Callable[[Identity], Instant | None]
"""The newest date of a label under the prefixes of an identity that is kept in a store of items, if there is one."""


class TickChange(Protocol):
    """What a decision changes. No batch, no change: nothing is written."""

    @property
    def state(self) -> TickState: ...
    @property
    def batch(self) -> LabelBatch | None: ...
    @property
    def outcomes(self) -> tuple[object, ...]: ...
    @property
    def keys(self) -> tuple[tuple[str, BatchShare], ...]: ...


Change = TypeVar("Change", bound=TickChange)


class Ticks(Protocol):
    """One data directory's clock. Calls block, from any thread and process, and are served one after the other."""

    prompt: bool
    """Whether calls end within milliseconds when no other caller is served, so that a report may wait for them. An
    event loop makes none of them."""

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

    def check_log(self, pause: Callable[[], None] | None = None) -> None:
        """Read the whole log; `LogBroken` if a line was changed: nothing is minted from then on until it is put back.
        `pause` is called now and then: others may want the processor."""

    def epoch(self) -> str:
        """Which continuous use of this clock it is, as a random text: another instance of the same past has another."""

    def is_in_doubt(self) -> bool:
        """Whether another instance of the same identity may be running, and is yet to be looked for."""

    def set_doubt(self, *, in_doubt: bool) -> None:
        """Remember whether that is so."""

    def close(self) -> None: ...


class LabelMinter(Protocol):
    """A minter, here or elsewhere. Calls block, from any thread."""

    def reserve(self, key: str | None = None) -> LabelForms:
        """Labels that are given to no other caller, ever. They are durable, and their date has come.

        Asked again with the same `key` within a day, it gives the same ones. What is not used is a gap, which is fine.
        """


class LabelBatchMinter(LabelMinter, Protocol):
    """A minter that is asked once for many labels."""

    def reserve_all(self, keys: Sequence[str | None]) -> Sequence[LabelForms | Exception]:
        """For each key what `reserve` gives or raises."""


class GivenOut(Protocol):
    """What is certain of labels with prefixes that are minted with here. Calls come from any thread."""

    prompt: bool
    """Whether a look-up takes tens of microseconds, so that an event loop may make it."""

    def is_final(self, label: Label) -> bool:
        """Whether it is certain that the label was given to no other Archive and to no person for use elsewhere, also
        of one dated in the future.

        False where that is not known: of another's prefix, or dated before the record began.
        """
