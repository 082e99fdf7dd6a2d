"""Rules of reviews: what may be done with a draft in which state, and what may be said of it.

A draft that was submitted waits. Its depositor withdraws it, or a librarian publishes it or sends it back; sent back or
withdrawn, it can be submitted again. Comments can be made in every state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from ibi.archive.errors import InvalidField
from ibi.errors import IbiError
from ibi.model.draft_record import Description, description_document
from ibi.model.file import File
from ibi.model.item_json import file_document
from ibi.model.review import LONGEST_COMMENT, ReviewAct, ReviewState
from ibi.safe_text import is_visible, tidy_lines


class UnderReview(IbiError):
    """{draft} waits for review, and does not change until it is sent back or withdrawn."""

    code = "under-review"


class NotUnderReview(IbiError):
    """{draft} does not wait for review: it is {state}. Nothing was changed."""

    code = "not-under-review"


class ReviewNeeded(IbiError):
    """{draft} is not published at once: this Archive publishes after review. Submit it; a librarian publishes it or
    sends it back."""

    code = "review-needed"


class ReviewOutdated(IbiError):
    """{draft} is not as it was when you looked at it: it was changed since. Look at it again, then decide."""

    code = "review-outdated"


class InvalidComment(InvalidField):
    """{field}: {reason}."""

    code = "invalid-comment"


_NEXT: Final[Mapping[tuple[ReviewState | None, ReviewAct], ReviewState]] = {
    (None, ReviewAct.SUBMITTED): ReviewState.SUBMITTED,
    (ReviewState.RETURNED, ReviewAct.SUBMITTED): ReviewState.SUBMITTED,
    (ReviewState.SUBMITTED, ReviewAct.RETURNED): ReviewState.RETURNED,
    (ReviewState.SUBMITTED, ReviewAct.WITHDRAWN): ReviewState.RETURNED,
    (ReviewState.SUBMITTED, ReviewAct.PUBLISHED): ReviewState.PUBLISHED,
    # By a librarian, who may publish every draft, or by its depositor once reviews are switched off.
    (ReviewState.RETURNED, ReviewAct.PUBLISHED): ReviewState.PUBLISHED,
    **{(state, ReviewAct.COMMENTED): state for state in ReviewState},
}
_SHOWN: Final = {
    None: "not submitted",
    ReviewState.SUBMITTED: "submitted already",
    ReviewState.RETURNED: "with the depositor",
    ReviewState.PUBLISHED: "published",
}


def advance(draft: str, state: ReviewState | None, act: ReviewAct) -> ReviewState:
    """The state after the act; `NotUnderReview` if the act has no place in that state. None stands for a draft that was
    never submitted."""
    after = _NEXT.get((state, act))
    if after is None:
        raise NotUnderReview(draft=draft, state=_SHOWN[state])
    return after


def read_comment(text: str, *, is_required: bool = True) -> str:
    """A comment as it is kept: lines of visible characters. `InvalidComment` says what is wrong with it."""
    comment = tidy_lines(text)
    if not comment and is_required:
        raise InvalidComment("text", "enter a message: it is read by the people who work on the draft")
    if len(comment) > LONGEST_COMMENT:
        raise InvalidComment(
            "text", "it has {number} characters, and at most {most} are kept", number=len(comment), most=LONGEST_COMMENT
        )
    if not is_visible(comment):
        raise InvalidComment("text", "it has a character that cannot be shown")
    return comment


def seal_content(description: Description, files: Iterable[File]) -> str:
    """Another text for every other content of a draft: what is judged by one is published by the same."""
    said = [description_document(description), [file_document(file) for file in files]]
    return sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
