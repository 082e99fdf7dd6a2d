"""Jobs that make Copies of items elsewhere."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field, structs

from ibi.copies import model as model
from ibi.copies.model import ItemOutcome, JobState
from ibi.standard.resource import Answer, Request, bounds, one_of, time_text


class CopyRequest(Request, frozen=True):
    labels: Annotated[
        tuple[Annotated[str, Meta(description="A label, or a persistent URL.")], ...],
        bounds(minItems=1),
        Meta(description="At most 10000."),
    ]
    source: Annotated[
        str | UnsetType,
        Meta(
            description="The Archive that keeps the Originals, `http(s)://host[:port]`; without it the resolver is"
            " asked for each."
        ),
    ] = field(default=UNSET, name="from")
    token: Annotated[
        str | UnsetType,
        Meta(
            description="A token of that Archive, of the scope copy, for restricted items. It is kept until the job is"
            " at its end, and is in no answer."
        ),
    ] = UNSET


class CopyJobItem(Answer, frozen=True):
    number: int
    label: str
    outcome: Annotated[str, one_of(ItemOutcome)]
    size: int
    reason: Annotated[str | UnsetType, Meta(description="Why it was refused.")] = UNSET
    code: Annotated[str | UnsetType, Meta(description="That of the problem.")] = UNSET

    @classmethod
    def of(cls, item: model.JobItem) -> CopyJobItem:
        told = cls(number=item.number, label=item.label, outcome=item.outcome.value, size=item.size)
        return structs.replace(told, reason=item.reason, code=item.code) if item.reason else told


class CopyJobResource(Answer, frozen=True):
    id: str
    state: Annotated[str, one_of(JobState)]
    begun: str
    who: str
    labels: Annotated[int, Meta(description="How many it is about.")]
    copied: int
    refreshed: int
    unchanged: int
    deleted: Annotated[int, Meta(description="Whose Originals were deleted; the Copies say so.")]
    refused: int
    size: Annotated[int, Meta(description="Bytes of the files that came.")]
    links: dict[str, str]
    ended: str | UnsetType = UNSET
    source: str | UnsetType = field(default=UNSET, name="from")
    items: list[CopyJobItem] | UnsetType = UNSET

    @classmethod
    def of(cls, job: model.CopyJob, url: str) -> CopyJobResource:
        """Return a job that is at `url`, without its labels."""
        return cls(
            id=job.id,
            state=job.state.value,
            begun=time_text(job.begun),
            who=job.who,
            labels=job.labels,
            copied=job.copied,
            refreshed=job.refreshed,
            unchanged=job.unchanged,
            deleted=job.deleted,
            refused=job.refused,
            size=job.size,
            links={"self": url},
            ended=UNSET if job.ended is None else time_text(job.ended),
            source=UNSET if job.source is None else job.source,
        )


class CopyJobsResource(Answer, frozen=True):
    jobs: list[CopyJobResource]
    links: dict[str, str]
