"""How an outcome came about: every question, everybody who was asked, what each said and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ibi.label import Label
from ibi.messages.url_list import Deletion, UrlList
from ibi.relation import Relation
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.authority import Word
from ibi.resolver.lead import Reason
from ibi.resolver.outranking import Outranking

__all__ = ["Failure", "Hop", "Report", "Trace", "Verdict"]


class Failure(StrEnum):
    """Why an Archive gave no answer that could be read."""

    UNREACHABLE = "it could not be reached"
    TIMED_OUT = "it took too long"
    RESTING = "it failed too often lately and was not asked"
    FORBIDDEN_ADDRESS = "its address is one that is not dialled"
    REFUSED = "it refused the request"
    MALFORMED = "its answer could not be read"
    TOO_LARGE = "its answer was too large"


class Verdict(StrEnum):
    """What became of what an Archive said."""

    CHOSEN = "its URL was chosen"
    FOLLOWED = "it pointed to the next question"
    DISPUTED = "it claims the Original, and so does another"
    OUTRANKED = "another answer was better"
    UNPROVEN = "it claims the item, and nothing proves it"
    NOT_THE_ORIGINAL = "it has a Copy, and the Original is required"
    NOT_FOLLOWED = "it points to where the search had been, or could not go"
    OF_NO_USE = "it had neither the URL nor a pointer"
    EMPTY = "it has no such item"
    DELETED = "it says that the item was deleted"
    DISBELIEVED = "the answer broke a rule"
    FAILED = "there was no answer"
    LATE = "the answer came when it was no longer needed"
    SILENT = "nothing came in time"

    @property
    def leads_on(self) -> bool:
        return self in (Verdict.CHOSEN, Verdict.FOLLOWED)

    @property
    def is_silence(self) -> bool:
        """Whether nothing was said that counts."""
        return self in (Verdict.SILENT, Verdict.FAILED, Verdict.DISBELIEVED)


@dataclass(frozen=True, slots=True)
class Report:
    """One Archive and one question. Times are those that were given to the resolution."""

    archive: ArchiveRef
    asked_at: float
    verdict: Verdict
    answered_at: float | None = None
    said: UrlList | Deletion | None = None
    failure: Failure | None = None
    broken_rule: str | None = None
    """The name of the rule of `ibi.resolver.validity` that the answer, or a URL in it, broke."""
    because: Outranking | None = None
    """Why another answer was better, if it was and that is one thing."""
    transferred_to: Label | None = None
    """The service of the Archive to which it says that it gave the Original away (E63)."""
    copies_at: tuple[Label, ...] = ()
    """The services of the Archives that it names as holders of Copies (E64)."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One question. `number` counts from 0; `parent` is the question that led to this one.

    `word` is what the home said, or the successor that it named, and `deciders` who of these can be asked.
    """

    number: int
    parent: int | None
    label: Label
    relation: Relation
    reason: Reason
    reports: tuple[Report, ...]
    word: Word = Word.NO_HOME
    deciders: tuple[ArchiveRef, ...] = ()

    @property
    def leading(self) -> tuple[Report, ...]:
        """Of those whose word was taken."""
        return tuple(report for report in self.reports if report.verdict.leads_on)

    def unheard(self, archives: Iterable[ArchiveRef]) -> list[ArchiveRef]:
        """Those of the `archives` that were not asked, or cannot be counted as having answered."""
        heard = {report.archive for report in self.reports if not report.verdict.is_silence}
        return [archive for archive in archives if archive not in heard]


@dataclass(frozen=True, slots=True)
class Trace:
    """All questions in the order in which they were asked."""

    hops: tuple[Hop, ...]
