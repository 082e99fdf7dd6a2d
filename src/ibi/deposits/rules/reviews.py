"""Reviews of drafts: the acts that each state allows, the comments, and digests of the content that was reviewed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from ibi.deposits.model import (
    LONGEST_COMMENT,
    RequestedDeletion,
    ReviewAct,
    ReviewState,
    deletion_document,
    description_document,
)
from ibi.deposits.rules.drafts import NotUnderReview
from ibi.items.model.file import File
from ibi.items.model.item import Description
from ibi.items.model.item_json import file_document
from ibi.items.rules.errors import InvalidField
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.safe_text import is_visible, tidy_lines


class ReviewOutdated(IbiError):
    """{draft} is not as it was when you looked at it: it was changed since. Look at it again, then decide."""

    code = "review-outdated"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class InvalidComment(InvalidField):
    """{field}: {reason}."""

    code = "invalid-comment"


_NEXT: Final[Mapping[tuple[ReviewState | None, ReviewAct], ReviewState]] = {
    (None, ReviewAct.SUBMITTED): ReviewState.SUBMITTED,
    (ReviewState.RETURNED, ReviewAct.SUBMITTED): ReviewState.SUBMITTED,
    (ReviewState.SUBMITTED, ReviewAct.RETURNED): ReviewState.RETURNED,
    (ReviewState.SUBMITTED, ReviewAct.WITHDRAWN): ReviewState.RETURNED,
    (ReviewState.SUBMITTED, ReviewAct.PUBLISHED): ReviewState.PUBLISHED,
    # A librarian may publish every draft; its depositor may do so once reviews are switched off.
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
    """Return the state after the act. None stands for a draft that was never submitted. Raise `NotUnderReview` if the
    state does not allow the act."""
    after = _NEXT.get((state, act))
    if after is None:
        raise NotUnderReview(draft=draft, state=_SHOWN[state])
    return after


def read_comment(text: str, *, is_required: bool = True) -> str:
    """Return a comment as lines of visible characters. `InvalidComment` gives the reason if it is refused."""
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


def seal_deletion(deletion: RequestedDeletion, version: int | None) -> str:
    """Return a digest that differs for every reason and successor, and for every version of the item."""
    said = [deletion_document(deletion), version]
    return sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def seal_content(description: Description, files: Iterable[File]) -> str:
    """Return a digest of the content of a draft: only the content that was reviewed can be published."""
    said = [description_document(description), [file_document(file) for file in files]]
    return sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
