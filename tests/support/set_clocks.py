"""A machine's clocks that stand still until a test moves them."""

from __future__ import annotations

from fractions import Fraction

from ibi import Instant
from ibi.standard.clock_reading import Reading


class SetClocks:
    """The port `Clocks`. Waiting with `sleep` moves the time by as much, at once."""

    def __init__(self, now: str | Instant = "2026-11-20T10:00:00Z") -> None:
        self._reading = Reading(now if isinstance(now, Instant) else Instant.parse(now), 1_000_000_000, "boot")
        self.slept: list[float] = []

    def read(self) -> Reading:
        return self._reading

    def seconds(self) -> int:
        return self.read().wall.seconds

    def set(self, now: Instant) -> None:
        """Let time pass until `now`."""
        self.advance(now.as_fraction() - self._reading.wall.as_fraction())

    def advance(self, seconds: Fraction | int) -> None:
        """Let time pass: the machine has been running for so much longer."""
        self._move(Fraction(seconds), passing=True)

    def jump(self, seconds: Fraction | int) -> None:
        """Set the time of day forward or back while no time passes."""
        self._move(Fraction(seconds), passing=False)

    def boot(self, name: str) -> None:
        """Start the machine anew: its uptime says nothing of what was before."""
        self._reading = Reading(self._reading.wall, 1_000_000_000, name)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(Fraction(max(1, round(seconds * 10**9)), 10**9))

    def _move(self, seconds: Fraction, *, passing: bool) -> None:
        before = self._reading
        wall = Instant.from_fraction(before.wall.as_fraction() + seconds)
        self._reading = Reading(wall, before.uptime + (int(seconds * 10**9) if passing else 0), before.boot)
