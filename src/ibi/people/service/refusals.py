"""Refused requests in the audit log: the account, the subject, the time and the network.

Each line costs disk for good, and strangers can cause any number of refusals. So the log gets the first refusals of a
network or an account, then one after ever longer pauses. A limit per minute bounds the lines about all strangers
together. The line after a pause gives the number that was left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from ibi.jobs.limits import Attempts, LimitExceeded, LimitRows, RateLimiter
from ibi.people.model.account import Actor, AuditEntry
from ibi.people.ports import AuditLog
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import ErrorKind
from ibi.standard.instant import Instant

REFUSE: Final = "refuse"
"""The act in a line about a refusal."""
STRANGER: Final = "stranger"
"""The account in a line about an unknown sender. None would mean the Archive itself."""
LINES_OF_NETWORK: Final = 5
"""Refusals of strangers from one network that are logged without a pause."""
LINES_OF_ACCOUNT: Final = 1000
LINES_OF_STRANGERS: Final = 20
"""Refusals of all strangers together that are logged in a minute."""
_STRANGER_PAUSE: Final = 900.0
_ACCOUNT_PAUSE: Final = 60.0
_MOST_SUBJECT: Final = 300


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request."""

    subject: str
    """The repository name of an item, or `path:` with the requested path."""
    detail: str
    """The request, and the code of the error."""
    address: str
    network: str
    who: Actor | None = None
    """None for a stranger."""


class TooManyRefusals(LimitExceeded):
    """So many refusals are not written down: {retry_after} seconds later one is."""

    code = "too-many-refusals"
    kind = ErrorKind.OUT_OF_ORDER


class RefusalLog:
    """Writes refusals into the audit log, within limits. Calls block, and come from any thread. Several processes share
    the `rows` of the limits."""

    def __init__(
        self,
        audit: AuditLog,
        clocks: Clocks,
        *,
        rows: LimitRows | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._audit, self._clocks, self._monotonic, self._lock = audit, clocks, monotonic, Lock()
        self._networks = Attempts(free=LINES_OF_NETWORK, longest_wait=_STRANGER_PAUSE, rows=rows)
        self._accounts = Attempts(free=LINES_OF_ACCOUNT, longest_wait=_ACCOUNT_PAUSE, rows=rows)
        self._strangers = RateLimiter(LINES_OF_STRANGERS, LINES_OF_STRANGERS, TooManyRefusals, monotonic, rows)
        self._left_out = 0

    def note(self, refusal: Refusal) -> bool:
        """Log the refusal unless there were too many. Return whether it was logged."""
        with self._lock:
            is_due = self._take_turn(refusal)
            left_out, self._left_out = (self._left_out, 0) if is_due else (0, self._left_out + 1)
        if is_due:
            self._audit.append([self._entry(refusal, left_out)])
        return is_due

    def _take_turn(self, refusal: Refusal) -> bool:
        who = refusal.who
        attempts = self._networks if who is None else self._accounts
        subject = ("refused", refusal.network if who is None else who.account or "")
        with attempts.alone():
            now = self._monotonic()
            if attempts.wait(subject, now) > 0:
                return False
            if who is None and not self._has_room():
                return False
            attempts.begin(subject, now)
        return True

    def _has_room(self) -> bool:
        try:
            self._strangers.count("strangers")
        except TooManyRefusals:
            return False
        return True

    def _entry(self, refusal: Refusal, left_out: int) -> AuditEntry:
        who, at = refusal.who, Instant(self._clocks.read().wall.seconds)
        account, token = (None, None) if who is None else (who.account, who.token)
        more = f"; {left_out} more were not written" if left_out else ""
        return AuditEntry(
            at,
            REFUSE,
            refusal.subject[:_MOST_SUBJECT],
            STRANGER if who is None else account,
            token,
            refusal.address,
            f"{refusal.detail[:_MOST_SUBJECT]}{more}",
        )
