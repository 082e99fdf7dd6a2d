"""An Archive that keeps failing is left alone for a while, each time longer, and then tried with one request."""

from __future__ import annotations

from typing import Final

__all__ = ["CircuitBreaker"]

_THRESHOLD: Final = 5
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0


class CircuitBreaker:
    """Of one Archive. Times are monotonic, in seconds; whoever is let pass tells afterwards how it went."""

    __slots__ = ("_failures", "_first_rest", "_longest_rest", "_probing", "_rest", "_threshold", "_until")

    def __init__(
        self, *, threshold: int = _THRESHOLD, first_rest: float = _FIRST_REST, longest_rest: float = _LONGEST_REST
    ) -> None:
        self._threshold, self._first_rest, self._longest_rest = threshold, first_rest, longest_rest
        self._rest = first_rest
        self._failures = 0
        self._until: float | None = None
        self._probing = False

    @property
    def is_closed(self) -> bool:
        """Whether everybody may pass."""
        return self._until is None

    def may_pass(self, now: float) -> bool:
        """Whether a request may be sent. When the rest is over one may, and no other before it is known how it went."""
        if self._until is None:
            return True
        if self._probing or now < self._until:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """The Archive is there, whoever found out."""
        self._failures, self._until, self._probing, self._rest = 0, None, False, self._first_rest

    def unused(self) -> None:
        """Nothing was sent after all: the next one may try."""
        self._probing = False

    def failed(self, now: float) -> None:
        """A request failed. Those that were sent before the rest began do not prolong it."""
        if self._until is None:
            self._failures += 1
            if self._failures >= self._threshold:
                self._until = now + self._rest
        elif self._probing:
            self._rest = min(2 * self._rest, self._longest_rest)
            self._until, self._probing = now + self._rest, False
