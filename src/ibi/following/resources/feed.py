"""The feed of changes of an Archive, and who holds Copies of its items."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from ibi.items.model.change import ChangeKind
from ibi.standard.resource import Answer, Time, one_of


class ChangeResource(Answer, frozen=True):
    number: int
    label: Annotated[str, Meta(description="The repository name of the item.")]
    kind: Annotated[str, one_of(ChangeKind)]
    at: Annotated[Time, Meta(description="When the change was made, by the item's record.")]
    version: Annotated[int, Meta(description="The version of the item's object; 0 if there is none any more.")]
    listed: Annotated[
        Time, Meta(description="When the change could be seen first; never earlier than that of the entry before.")
    ]
    related: Annotated[
        bool,
        Meta(
            description="Whether the item has, or had before, relations to others: what is said of those may be"
            " another thing now."
        ),
    ]
    ibip: Annotated[str | UnsetType, Meta(description="The other label of a deleted item, if it has one.")] = UNSET


class CopiesPlace(Answer, frozen=True):
    at: Annotated[int, Meta(description="Milliseconds since 1970.")]
    path: str


class FeedLinks(Answer, frozen=True):
    here: str = field(name="self")
    next: str
    copies: str | UnsetType = UNSET


class ChangesResource(Answer, frozen=True):
    archive: Annotated[str, Meta(description="The label of the Archive's own item, whose feed this is.")]
    epoch: str
    changes: list[ChangeResource]
    after: Annotated[int, Meta(description="The number to go on after.")]
    end: Annotated[int, Meta(description="The number of the last entry that there is.")]
    links: FeedLinks
    copies: Annotated[
        CopiesPlace | UnsetType,
        Meta(description="Where on this server it is told, signed, who holds Copies, and since when the same is said."),
    ] = UNSET
