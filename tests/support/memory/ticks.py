"""The clock's memory in a process: gone with it, and so for tests alone."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from ibi.minting.model import BatchShare, LabelBatch, Span, TickState
from ibi.minting.ports import KEY_LIFETIME, Remembered, TickChange
from ibi.minting.rules.errors import IdentityMissing
from ibi.minting.rules.mint_log import (
    GENESIS,
    Kind,
    LogEntry,
    check_links,
    decode,
    encode,
    hash_of,
    issued_spans,
    mint_entry,
    resumed_clock,
)
from ibi.standard.clock_reading import Clocks
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.storage.machine import MachineClocks

__all__ = ["MemoryTicks"]

Change = TypeVar("Change", bound=TickChange)


class MemoryTicks:
    """The port `Ticks` without a disk. `clocks` only date lines of the log."""

    prompt = True

    def __init__(self, clocks: Clocks | None = None) -> None:
        self._wall_clocks = clocks or MachineClocks()
        self._turn = threading.Lock()
        self._identity: Identity | None = None
        self._epoch, self._in_doubt = secrets.token_hex(16), False
        self._states: dict[str, TickState] = {}
        self._lines: list[bytes] = []
        self._served: dict[tuple[str, str], tuple[int, BatchShare]] = {}

    def identity(self) -> Identity | None:
        return self._identity

    def state(self) -> TickState:
        return TickState() if self._identity is None else self._states[self._identity.key]

    def freeze(self, identity: Identity) -> None:
        with self._turn:
            if identity == self._identity:
                return
            self._states[identity.key] = resumed_clock(identity, self._states)
            self._identity = identity
            self._write(identity, "identity", self._wall_clocks.read().wall)

    def advance(self, decide: Callable[[TickState, Remembered], Change]) -> Change:
        with self._turn:
            identity = self._frozen()
            change = decide(self._states[identity.key], self._remembered)
            if change.batch is not None:
                self._record(identity, change.batch, change)
            return change

    def accept_clock(self, accept: Callable[[TickState, list[Span]], TickState]) -> None:
        with self._turn:
            identity = self._frozen()
            entries = (decode(line, number) for number, line in enumerate(self._lines, start=1))
            before = self._states[identity.key]
            state = accept(before, issued_spans(identity, before, entries))
            at = state.accepted or self._wall_clocks.read().wall
            self._write(identity, "clock", at)
            self._states[identity.key] = state
            self._served = {key: (at.seconds, share) for key, (_, share) in self._served.items()}

    def log(self) -> Iterator[bytes]:
        return iter(tuple(self._lines))

    def check_log(self, pause: Callable[[], None] | None = None) -> None:
        check_links(self._lines, self._head(), pause)

    def epoch(self) -> str:
        return self._epoch

    def is_in_doubt(self) -> bool:
        return self._in_doubt

    def set_doubt(self, *, in_doubt: bool) -> None:
        self._in_doubt = in_doubt

    def close(self) -> None:
        """Nothing to let go of."""

    def _frozen(self) -> Identity:
        if self._identity is None:
            raise IdentityMissing
        return self._identity

    def _remembered(self, who: str, key: str) -> BatchShare | None:
        served = self._served.get((who, key))
        return None if served is None else served[1]

    def _head(self) -> str:
        return hash_of(self._lines[-1]) if self._lines else GENESIS

    def _write(self, identity: Identity, kind: Kind, at: Instant) -> None:
        self._lines.append(encode(LogEntry(len(self._lines) + 1, kind, identity, at, self._head())))

    def _record(self, identity: Identity, batch: LabelBatch, change: TickChange) -> None:
        entry = mint_entry(len(self._lines) + 1, self._head(), identity, batch, change.outcomes)
        self._lines.append(encode(entry))
        self._states[identity.key] = change.state
        now = batch.now.seconds
        due = now - KEY_LIFETIME
        self._served = {key: served for key, served in self._served.items() if served[0] >= due}
        self._served |= {(share.who, key): (now, share) for key, share in change.keys}
