"""Makes many Copies at a time, over a few connections.

One request asks for several items. Small items come with their records. The next records are on their way while the
received ones are written, so neither the network nor the disk waits for the other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Final

import structlog

from ibi.copies.model import CopyJob, ItemObjectRecord, ItemOutcome, JobItem
from ibi.copies.ports import CopyJobs, CopyStaging, CopyStopped, ItemSource, NoCopyService, WantedCopies
from ibi.copies.service.copying import Brought, Copying
from ibi.items.ports.archive_store import OnBytes
from ibi.jobs.runner import Job
from ibi.people.model.account import Actor, Scope
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label, parse

GROUP: Final = 100
"""Items that are asked for at a time."""
_AHEAD: Final = 3
"""Requests that are under way, or answered, before they are needed."""

Outcome = tuple[Label, Brought | IbiError]
_Asked = tuple[Label, ItemObjectRecord | IbiError | None]


def bring_many(
    copying: Copying,
    labels: Sequence[Label],
    source: str | None,
    token: str | None,
    on_bytes: OnBytes,
    *,
    who: str,
) -> Iterator[Outcome]:
    """Yield the result of each label as it becomes known. Without a named `source`, each label is looked up by itself.

    `CopyStopped` ends the run, and so does an error of the source as a whole.
    """
    if source is None:
        for label in labels:
            yield label, _bring_alone(copying, label, token, on_bytes, who)
        return
    with copying.opened(source, token) as archive, ThreadPoolExecutor(_AHEAD, "ibi-copy") as threads:
        asked: deque[Future[list[_Asked]]] = deque()
        for start in range(0, len(labels), GROUP):
            asked.append(threads.submit(_ask, copying, archive, labels[start : start + GROUP]))
            if len(asked) >= _AHEAD:
                yield from _bring_group(copying, archive, asked.popleft().result(), on_bytes, who)
        while asked:
            yield from _bring_group(copying, archive, asked.popleft().result(), on_bytes, who)


def _bring_alone(copying: Copying, label: Label, token: str | None, on_bytes: OnBytes, who: str) -> Brought | IbiError:
    try:
        return copying.bring(label, None, token, on_bytes, who=who)
    except CopyStopped:
        raise
    except IbiError as error:
        return error


def _ask(copying: Copying, archive: ItemSource, labels: Sequence[Label]) -> list[_Asked]:
    """Return the Archive's record of each label, None for a label that has to be asked for alone."""
    outcomes: dict[Label, ItemObjectRecord | IbiError | None] = {}
    wanted = []
    for label in labels:
        outcomes[label] = None
        try:
            copying.check_wanted(label)
        except IbiError as error:
            outcomes[label] = error
        else:
            wanted.append(label)
    try:
        for found in archive.read_objects(wanted):
            outcomes[found.label] = found.outcome
    except IbiError:
        pass  # asked one by one, each has an error of its own
    return list(outcomes.items())


def _bring_group(
    copying: Copying, archive: ItemSource, asked: list[_Asked], on_bytes: OnBytes, who: str
) -> Iterator[Outcome]:
    if copying.stopping.is_set():
        raise CopyStopped()
    found = [(label, outcome) for label, outcome in asked if isinstance(outcome, ItemObjectRecord)]
    brought = dict(
        zip((label for label, _ in found), copying.bring_all(archive, found, on_bytes, who=who), strict=True)
    )
    for label, outcome in asked:
        if isinstance(outcome, IbiError):
            yield label, outcome
        elif label in brought:
            yield label, _or_stop(brought[label])
        else:
            yield label, _bring_one(copying, archive, label, on_bytes, who)


def _bring_one(copying: Copying, archive: ItemSource, label: Label, on_bytes: OnBytes, who: str) -> Brought | IbiError:
    try:
        return copying.bring_from(archive, label, on_bytes, who=who)
    except (CopyStopped, NoCopyService):  # errors of the source as a whole
        raise
    except IbiError as error:
        return error


def _or_stop(outcome: Brought | IbiError) -> Brought | IbiError:
    if isinstance(outcome, CopyStopped):
        raise outcome
    return outcome


MOST_LABELS: Final = 10_000
"""Labels of one job."""
MOST_JOBS: Final = 100
"""Jobs that have not ended."""
_REMEMBERED: Final = 1_000
_DAYS: Final = 30
"""Days for which ended jobs, and files of items that were left alone, are stored."""
_DAY: Final = 86_400
_LOOK: Final = 5.0
"""Seconds between looks for another process whose jobs can be taken over."""
_TOGETHER: Final = 1_000
_NOTED_AFTER: Final = 0.5
"""Seconds after which the results of labels are written down."""


def _pass() -> None:
    """Do nothing: by default nothing listens for the start."""


class UnknownJob(IbiError):
    """There is no job {job}, or it was long ago."""

    code = "unknown-job"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class TooManyJobs(IbiError):
    """There are {most} jobs under way already: wait until one of them is done."""

    code = "too-many-jobs"
    kind = ErrorKind.UNAVAILABLE


class CopyWork:
    """The queue of copy jobs of one Archive, with its worker. Jobs run one after the other beside the server's work.

    One process of a data directory works on them. A job that a stop or a crash cuts off is resumed. The result of each
    label is written down as it becomes known, so that a page and a program can follow it.
    """

    def __init__(
        self,
        jobs: CopyJobs,
        copying: Copying,
        staging: CopyStaging,
        *,
        now: Callable[[], float] = time.time,
        on_start: Callable[[], None] = _pass,
    ) -> None:
        """`on_start` is called on the event loop of the server."""
        self._jobs, self._copying, self._staging, self._now = jobs, copying, staging, now
        self._log = structlog.get_logger("ibi.copies")
        self._stopping = Event()
        self._under_way: tuple[str, Event] | None = None
        """The job under way, and the event that stops it."""
        self._job = Job(
            "copies",
            self._work_on_next,
            _LOOK,
            hold=jobs.hold,
            begin=on_start,
            halt=self._halt,
            stopping=self._stopping,
        )

    @property
    def copying(self) -> Copying:
        return self._copying

    def begin(self, labels: Sequence[Label], source: str | None, token: str | None, who: str, actor: Actor) -> CopyJob:
        """Return a new job, which runs after those before it. Blocks."""
        if sum(not job.is_ended for job in self._jobs.latest(MOST_JOBS * 2)) >= MOST_JOBS:
            raise TooManyJobs(most=MOST_JOBS)
        wanted = WantedCopies(tuple(dict.fromkeys(labels)), source, token, who, actor.account)
        job = self._jobs.create(wanted, int(self._now()))
        self._job.wake()
        return job

    def latest(self, most: int, before: str | None = None) -> list[CopyJob]:
        return self._jobs.latest(most, before)

    def find(self, job: str) -> CopyJob:
        found = self._jobs.find(job)
        if found is None:
            raise UnknownJob(job=repr(job[:40]))
        return found

    def items(self, job: str, after: int, most: int) -> list[JobItem]:
        return self._jobs.items(job, after, most)

    def cancel(self, job: str) -> CopyJob:
        """End a job. Finished Copies stay; the others are not begun."""
        self.find(job)
        self._jobs.end(job, int(self._now()), cancelled=True)
        self._halt(job)
        return self.find(job)

    def _halt(self, job: str | None = None) -> None:
        under_way = self._under_way
        if under_way is not None and job in (None, under_way[0]):
            under_way[1].set()

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    def _work_on_next(self) -> float | None:
        return 0.0 if self.step() else None

    def step(self) -> bool:
        """Work on the oldest job that has not ended. Return whether there was one. Blocks."""
        job = self._jobs.next_job()
        if job is None:
            self._sweep()
            return False
        halt = Event()
        self._under_way = job.id, halt
        try:
            if not self._stopping.is_set():
                self._work(job, halt)
        except CopyStopped:
            pass  # cancelled, or resumed at the next start
        finally:
            self._under_way = None
        return True

    def _sweep(self) -> None:
        self._jobs.forget(int(self._now()) - _DAYS * _DAY, _REMEMBERED)
        if removed := self._staging.sweep(_DAYS):
            self._log.info("parts of items that were left alone are removed", items=removed)

    def _work(self, job: CopyJob, halt: Event) -> None:
        actor = Actor(job.account, Scope.EDIT, address=f"job {job.id}")
        copying, token = self._copying.acting_for(actor, halt), self._jobs.token(job.id)
        while pending := self._jobs.pending(job.id, _TOGETHER):
            left: dict[Label, JobItem] = {parse(each.label): each for each in pending}
            outcomes = _Outcomes(self._jobs, job.id)
            try:
                for label, outcome in bring_many(copying, list(left), job.source, token, _ignore, who=job.who):
                    outcomes.add(_record_outcome(left.pop(label), outcome))
            except CopyStopped:
                raise
            except IbiError as error:  # an error of the source as a whole
                for item in left.values():
                    outcomes.add(_record_outcome(item, error))
            finally:
                outcomes.write()
        if self._jobs.end(job.id, int(self._now())):
            self._log.info("a job of Copies is done", job=job.id, labels=job.labels)


class _Outcomes:
    """Writes results down in groups: each write costs a sync of the disk. Results that a crash loses are asked for
    again."""

    def __init__(self, jobs: CopyJobs, job: str) -> None:
        self._jobs, self._job = jobs, job
        self._waiting: list[JobItem] = []
        self._since = time.monotonic()

    def add(self, item: JobItem) -> None:
        self._waiting.append(item)
        if time.monotonic() - self._since >= _NOTED_AFTER:
            self.write()

    def write(self) -> None:
        if self._waiting:
            self._jobs.record(self._job, self._waiting)
        self._waiting, self._since = [], time.monotonic()


def _ignore(_: int) -> None:
    """Do nothing: bytes are counted by item."""


def _record_outcome(item: JobItem, outcome: Brought | IbiError) -> JobItem:
    if isinstance(outcome, IbiError):
        return item._replace(outcome=ItemOutcome.REFUSED, reason=str(outcome), code=outcome.code)
    return item._replace(outcome=outcome_of(outcome), size=outcome.size)


def outcome_of(brought: Brought) -> ItemOutcome:
    if not brought.changed:
        return ItemOutcome.UNCHANGED
    if brought.item.original_tombstone is not None:
        return ItemOutcome.DELETED
    return ItemOutcome.COPIED if brought.is_new else ItemOutcome.REFRESHED
