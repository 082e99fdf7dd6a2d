"""Scheduled verification while a server runs. All content is read again within some days, the least recently verified
first. The speed is bounded, and lower while the server is busy."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Event
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.items.model.content import Problem, Verification
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.integrity.integrity import Integrity
from ibi.jobs.limits import hold_alone
from ibi.jobs.runner import Job, JobStopped
from ibi.standard.errors import IbiError
from ibi.standard.mail import Letter, Mailer
from ibi.standard.safe_text import printable

_MOST: Final = 50
"""Items that one letter names."""

_TEXT: Final = """\
What is kept of {count} of {archive} is damaged:

{items}

Damaged files are not served, and the items take no new version. Restore the files from a backup
or from a Copy in another Archive, at the same place below the directory store, then run

  ibi verify LABEL

Until then there is one such letter a day at most, and only if more damage was found.
"""


def damage_letter(to: str, archive: str, damaged: Sequence[Verification]) -> Letter:
    """Return the letter about damaged items. `archive` is the address under which readers know the Archive."""
    count = "1 item" if len(damaged) == 1 else f"{len(damaged)} items"
    lines = [line for item in damaged[:_MOST] for line in _lines(item)]
    if len(damaged) > _MOST:
        lines.append(f"  and {len(damaged) - _MOST} more, named by `ibi archive status`")
    text = _TEXT.format(count=count, archive=archive, items="\n".join(lines))
    return Letter(to, f"{count} damaged: {archive}", text)


def _lines(item: Verification) -> list[str]:
    named = [f"    {_line(f'{problem.path}: {problem.reason}')}" for problem in item.problems[:5]]
    more = [f"    and {len(item.problems) - 5} more"] if len(item.problems) > 5 else []
    return [f"  {item.name}", *named, *more]


def _line(text: str) -> str:
    """Return the text on one line, whatever a path holds."""
    return printable(text, "\N{REPLACEMENT CHARACTER}")


_DAY: Final = 86_400
_HOUR: Final = 3_600
"""Seconds until a damaged item is verified again, and until an unsent mail is retried."""
_IDLE: Final = 30.0
"""Seconds between two checks for due items."""
_LOOK: Final = 0.1
"""Seconds between two measurements of the lateness of the event loop, during a verification."""
_BUSY: Final = 0.03
"""Seconds of lateness from which on the server counts as busy: readers wait as long."""
_PAUSE: Final = 1.0
"""Seconds for which each piece waits while the server is busy. Then it goes on: under constant load nothing would ever
be verified otherwise."""


class DamageMail:
    """Mails to the administrator: one a day at most, if damage was found since the last one."""

    def __init__(self, mailer: Mailer, to: str, archive: str, *, log: FilteringBoundLogger | None = None) -> None:
        self._mailer, self._to, self._archive = mailer, to, archive
        self._log = log or structlog.get_logger("ibi.integrity")
        self._not_before = 0

    def send_if_due(self, integrity: Integrity, now: int) -> None:
        """Send a mail if one is due. Blocks. Errors of the mail server are logged, and the mail is retried."""
        damaged, last = integrity.ledger.damaged_items().values(), integrity.ledger.last_letter()
        found = max((each.damaged_since or 0 for each in damaged), default=0)
        if now < self._not_before or (last is not None and (found <= last or now < last + _DAY)) or not found:
            return
        try:
            self._mailer.send(damage_letter(self._to, self._archive, _sort_by_time(damaged)))
        except IbiError as error:
            self._log.warning("the administrator cannot be told of damage by mail", reason=str(error))
            self._not_before = now + _HOUR
        else:
            integrity.ledger.note_letter(now)


class VerificationSchedule:
    """Verifies in the background, and more slowly while the event loop of the server is late."""

    def __init__(
        self,
        store: ArchiveStore,
        *,
        days: int,
        rate: int,
        mail: DamageMail | None = None,
        log: FilteringBoundLogger | None = None,
        now: Callable[[], float] = time.time,
        hold: Callable[[], bool] = hold_alone,
    ) -> None:
        """Verify everything within `days`, 0 for never. Read at most `rate` bytes a second, 0 for no bound. Of several
        processes, the one for which `hold` is true verifies."""
        assert store.integrity is not None  # a store on a disk has one
        self._store, self._integrity = store, store.integrity
        self._days, self._rate, self._mail, self._now = days, rate, mail, now
        self._log = log or structlog.get_logger("ibi.integrity")
        self._stopping = Event()
        self._job = Job("verification", self._verify_next, _IDLE, hold=hold, stopping=self._stopping)
        self._watch = Job("load during verification", self._look_at_load, math.inf)
        self._is_busy = self._is_verifying = False
        self._verified: tuple[str | None, int] = None, 0
        """The item verified last, with the time."""
        self._counted = 0
        """The day on which the items of the store were last counted."""
        self._granted: set[tuple[str, int]] = set()
        self._integrity.watch(self._tell)

    @property
    def integrity(self) -> Integrity:
        return self._integrity

    @property
    def days(self) -> int:
        """The number of days within which everything is verified; 0 for never."""
        return self._days

    @property
    def rate(self) -> int:
        """The bytes a second that verification reads at most; 0 for no bound."""
        return self._rate

    def verify_soon(self, name: str) -> None:
        """Verify an item before its turn, in the process that verifies. Blocks."""
        self._integrity.ledger.want(name, int(self._now()))
        self._job.wake()

    def jobs(self) -> tuple[Job, ...]:
        return self._job, self._watch

    def _verify_next(self) -> float | None:
        return 0.0 if self.step() else None

    def step(self) -> bool:
        """Verify the next due item. Return whether there was one. Blocks."""
        now = int(self._now())
        name = self._next_wanted() or self._next_due(now)
        if name is not None:
            self._is_verifying = True
            self._watch.wake()
            try:
                self._verify(name)
            finally:
                self._is_verifying = False
            self._granted.intersection_update(self._integrity.ledger.wanted())
        if self._mail is not None:
            self._mail.send_if_due(self._integrity, int(self._now()))
        return name is not None

    def _next_wanted(self) -> str | None:
        """Return an item that a person wants verified. Each wish counts once, whether or not its result can be
        recorded."""
        wanted = self._integrity.ledger.wanted()
        wish = next((each for each in wanted if each not in self._granted), None)
        if wish is None:
            return None
        self._granted.add(wish)
        return wish[0]

    def _next_due(self, now: int) -> str | None:
        if not self._days:
            return None
        self._count_items(now)
        name = self._integrity.ledger.next_due(now - self._days * _DAY, now - _HOUR)
        if (name, True) == (self._verified[0], now < self._verified[1] + _HOUR):
            name = None  # the result could not be recorded: not again at once
        self._verified = name, now
        return name

    def _count_items(self, now: int) -> None:
        """Count the items once a day and at the start: later deposits were hashed when they were taken in."""
        if now // _DAY != self._counted:
            self._integrity.ledger.expect(self._unless_stopped(self._store.content.iterate()))
            self._counted = now // _DAY

    def _unless_stopped(self, names: Iterator[str]) -> Iterator[str]:
        for name in names:
            if self._stopping.is_set():
                raise JobStopped
            yield name

    def _verify(self, name: str) -> None:
        verified = self._store.verify_item(name, self._pace)
        for problem in verified.problems:
            self._log.warning("a verification found a problem", item=name, file=problem.path, reason=problem.reason)
        if any(problem.code == "missing" for problem in verified.problems) and not self._store.is_listed(name):
            self._integrity.ledger.forget(name)  # it was removed since

    def _pace(self, size: int) -> None:
        """Limit the speed; called for each piece read."""
        wait = size / self._rate if self._rate else 0.0
        if self._stopping.wait(max(wait, _PAUSE if self._is_busy else 0.0)):
            raise JobStopped

    async def _look_at_load(self) -> float:
        """Measure the lateness of the event loop, again and again during a verification."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(_LOOK)
        self._is_busy = loop.time() - began - _LOOK > _BUSY
        return 0.0 if self._is_verifying else math.inf

    def _tell(self, name: str, problem: Problem) -> None:
        self._log.error("kept content is damaged", item=name, file=problem.path, reason=problem.reason)
        self._job.wake()


def _sort_by_time(damaged: Iterable[Verification]) -> list[Verification]:
    """Return items by the time of their damage, the latest first."""
    return sorted(damaged, key=lambda each: each.damaged_since or 0, reverse=True)
