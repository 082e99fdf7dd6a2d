"""One question to all Archives: whom it has been put to, who has answered, and how long it has been open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.messages.requests import UrlRequest
from ibi.messages.url_list import Deletion, UrlList
from ibi.relation import Relation
from ibi.resolver import trace
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.language import Wanted
from ibi.resolver.selection import Heard, Reason
from ibi.resolver.trace import Failure, Report, Verdict
from ibi.resolver.validity import Rule

__all__ = ["Asking", "Question"]

_UNASKED: Final = (Failure.UNREACHABLE, Failure.TIMED_OUT, Failure.RESTING, Failure.FORBIDDEN_ADDRESS)


@dataclass(frozen=True, slots=True)
class Asking:
    """A request that is to be sent to an Archive, once; the answer is given back together with it."""

    archive: ArchiveRef
    request: UrlRequest
    question: int


@dataclass(slots=True, eq=False)
class Question:
    """A hop that is under way. `waiting` are the Archives not asked yet, `path` the questions that led here."""

    number: int
    forms: LabelForms
    wanted: Wanted
    request: UrlRequest
    reason: Reason
    path: tuple[Question, ...]
    began: float
    first: Sequence[ArchiveRef]
    waiting: Sequence[ArchiveRef]
    holder: ArchiveRef | None = None
    all_asked: float | None = None
    heard: list[Heard] = field(default_factory=list)
    deletions: list[tuple[ArchiveRef, Deletion]] = field(default_factory=list)
    reports: dict[ArchiveRef, Report] = field(default_factory=dict)
    pending: set[ArchiveRef] = field(default_factory=set)
    judged: dict[tuple[ArchiveRef, Relation], Rule | None] = field(default_factory=dict)
    """The rule that each entry of a valid answer breaks, as far as anybody wanted to know."""
    refused_url: bool = False
    """Whether an answer had the URL that is wanted, and it broke a rule."""

    @property
    def label(self) -> Label:
        return self.request.label

    def ask(self, now: float, *, everybody: bool) -> Iterator[Asking]:
        """Put the question to the likely Archives, or to all."""
        due = [*self.first, *(self.waiting if everybody else ())]
        self.first = ()
        if everybody:
            self.waiting = ()
        if not self.waiting and self.all_asked is None:
            self.all_asked = now
        for archive in due:
            self.pending.add(archive)
            self.reports[archive] = Report(archive, now, Verdict.SILENT)
            yield Asking(archive, self.request, self.number)

    def report(
        self, archive: ArchiveRef, verdict: Verdict, now: float | None = None, *, failure: Failure | None = None
    ) -> None:
        """Note what became of an Archive's answer."""
        before = self.reports[archive]
        answered_at = before.answered_at if now is None else now
        # Written out: `replace` takes longer than all the rest of it.
        self.reports[archive] = Report(
            archive, before.asked_at, verdict, answered_at, before.said, failure, before.broken_rule
        )

    def note_said(self, archive: ArchiveRef, said: UrlList | Deletion | None, now: float) -> None:
        """Note what an Archive has answered."""
        before = self.reports[archive]
        self.reports[archive] = Report(archive, before.asked_at, before.verdict, now, said)

    @property
    def silent(self) -> tuple[ArchiveRef, ...]:
        """Whoever was asked and cannot be counted as having answered."""
        unheard = (Verdict.SILENT, Verdict.FAILED, Verdict.DISBELIEVED)
        return tuple(archive for archive, report in self.reports.items() if report.verdict in unheard)

    def may_know_more(self, archive: ArchiveRef) -> bool:
        """Whether an Archive has not had its say: it was asked in vain, or not at all."""
        report = self.reports.get(archive)
        return report is None or report.verdict is Verdict.SILENT or report.failure in _UNASKED

    @property
    def holder_heard(self) -> Heard | None:
        return next((heard for heard in self.heard if heard.archive == self.holder), None)

    @property
    def holder_deletion(self) -> Deletion | None:
        return next((deletion for archive, deletion in self.deletions if archive == self.holder), None)

    @property
    def awaits_holder(self) -> bool:
        return self.holder is not None and (self.holder in self.pending or self.holder in self.waiting)

    def traced(self) -> trace.Hop:
        parent = self.path[-1].number if self.path else None
        reports = tuple(self.reports.values())
        return trace.Hop(self.number, parent, self.label, self.wanted.relation, self.reason, reports)
