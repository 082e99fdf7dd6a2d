"""The clocks of the machine, and the record of the dates that were minted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from ibi.minting.model import BatchShare, LabelBatch, Span, TickState
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms

KEY_LIFETIME = 48 * 3600
"""Seconds after which a key may be forgotten: twice the promised 24 hours, so that no clock correction shortens
them."""

Remembered = Callable[[str, str], BatchShare | None]
"""Return the share that (who, key) got before, if it is still recorded: for at least 24 hours."""


NewestKept = Callable[[Identity], Instant | None]
"""Return the newest date of a stored label under the prefixes of an identity, if there is one."""


class TickChange(Protocol):
    """The changes of a decision. Without a batch nothing changes, and nothing is written."""

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
    """The clock of one data directory. Calls block, from any thread and process, and are served one after the other."""

    prompt: bool
    """True if calls end within milliseconds without contention, so that a report may wait for them.

    An event loop makes none of these calls.
    """

    def identity(self) -> Identity | None:
        """Return the identity frozen here; None before the first use."""

    def freeze(self, identity: Identity) -> None:
        """Mint as `identity` from now on. Each identity has its own clock, which continues if the identity returns."""

    def state(self) -> TickState:
        """Return the state of the frozen identity's clock, as committed."""

    def advance(self, decide: Callable[[TickState, Remembered], Change]) -> Change:
        """Run `decide` on the state inside one exclusive transaction, and make its changes durable.

        On return, the new state, a line of the mint log and the remembered keys are on disk. If it raises, no label of
        that batch was given out, and none ever will be.
        """

    def accept_clock(self, accept: Callable[[TickState, list[Span]], TickState]) -> None:
        """Replace the state by the result of `accept` for it and everything issued; the log records this."""

    def log(self) -> Iterator[bytes]:
        """Yield the lines of the mint log from the first on, without line ends."""

    def check_log(self, pause: Callable[[], None] | None = None) -> None:
        """Read the whole log. Raise `LogBroken` if a line was changed: then minting stops until a restore.

        `pause` is called now and then, because others may need the processor.
        """

    def epoch(self) -> str:
        """Return a random text for this continuous use of the clock: another instance of the same past has another."""

    def is_in_doubt(self) -> bool:
        """Return whether another instance of the same identity may be running, and has yet to be searched for."""

    def set_doubt(self, *, in_doubt: bool) -> None:
        """Record whether that is so."""

    def close(self) -> None: ...


class LabelMinter(Protocol):
    """A minter, local or remote. Calls block, from any thread."""

    def reserve(self, key: str | None = None) -> LabelForms:
        """Return labels that no other caller ever gets. They are durable, and their date has come.

        A repeated call with the same `key` within a day returns the same labels. Unused labels leave a gap, which is
        allowed.
        """


class LabelBatchMinter(LabelMinter, Protocol):
    """A minter that can be asked once for many labels."""

    def reserve_all(self, keys: Sequence[str | None]) -> Sequence[LabelForms | Exception]:
        """Return for each key the result or the error of `reserve`."""


class GivenOut(Protocol):
    """The certain facts about labels with prefixes that are minted here. Calls come from any thread."""

    prompt: bool
    """True if a look-up takes tens of microseconds, so that an event loop may make it."""

    def is_final(self, label: Label) -> bool:
        """Return whether the label was certainly never given to another Archive, nor to a person for use elsewhere.

        This includes labels dated in the future. The result is False if that is not known: for another prefix, or a
        date before the record began.
        """
