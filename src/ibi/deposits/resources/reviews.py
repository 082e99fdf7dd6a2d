"""Reviews of drafts."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType, structs

from ibi.deposits import model as model
from ibi.deposits.model import ReviewAct, ReviewState
from ibi.people.model.account import shown_account
from ibi.standard.resource import Answer, Links, Page, Request, Time, bounds, one_of, time_text

MOST_REVIEWS: Final = 1000
"""Reviews in one answer."""


class ReviewText(Request, frozen=True):
    text: Annotated[
        str,
        bounds(maxLength=model.LONGEST_COMMENT),
        Meta(description="The comment, or the reason. To withdraw a draft, it may be empty."),
    ] = ""


class ReviewEntryResource(Answer, frozen=True):
    act: Annotated[str, one_of(ReviewAct)]
    at: Time
    name: Annotated[str, Meta(description="Who did it.")]
    text: str

    @classmethod
    def of(cls, entry: model.ReviewEntry) -> ReviewEntryResource:
        return cls(act=str(entry.act), at=time_text(entry.at), name=entry.name, text=entry.text)


class ReviewResource(Answer, frozen=True):
    id: Annotated[str, Meta(description="That of the draft.")]
    state: Annotated[str, one_of(ReviewState)]
    title: str
    owner: str
    depositor: Annotated[str, Meta(description="Who submitted it.")]
    submitted: Time
    changed: Time
    links: Links
    deletes: Annotated[
        bool | UnsetType,
        bounds(const=True),
        Meta(
            description="There if the deletion of the item was asked for: to publish the draft deletes the item, and to"
            " send it back declines."
        ),
    ] = UNSET
    entries: list[ReviewEntryResource] | UnsetType = UNSET

    @classmethod
    def of(cls, review: model.Review, public_url: str) -> ReviewResource:
        """Return a review at the Archive at `public_url`, without its entries."""
        base, draft = f"{public_url}/api/reviews/{review.draft}", f"{public_url}/api/items/{review.draft}"
        links = {"self": base, "draft": draft, "comments": f"{base}/comments"}
        if review.label is not None:
            links["item"] = f"{public_url}/api/items/{review.label}"
        if review.state is ReviewState.SUBMITTED:
            links |= {"return": f"{base}/return", "withdraw": f"{base}/withdraw", "publish": f"{draft}/publish"}
        return cls(
            id=review.draft,
            state=str(review.state),
            title=review.title,
            owner=shown_account(review.owner),
            depositor=review.depositor,
            submitted=time_text(review.submitted),
            changed=time_text(review.changed),
            deletes=True if review.deletes else UNSET,
            links=links,
        )

    def with_entries(self, entries: tuple[model.ReviewEntry, ...]) -> ReviewResource:
        return structs.replace(self, entries=[ReviewEntryResource.of(entry) for entry in entries])


class ReviewsResource(Page, frozen=True):
    reviews: Annotated[list[ReviewResource], bounds(maxItems=MOST_REVIEWS)]
