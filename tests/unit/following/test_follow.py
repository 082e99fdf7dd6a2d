"""What can be followed."""

from __future__ import annotations

import pytest

from ibi.following.model.subscription import FollowKind, FollowTarget
from ibi.standard.errors import InvalidInput
from ibi.standard.label import RepositoryName

NAME = RepositoryName.parse("lab.br/arq/2009/07.21.14.43")


@pytest.mark.parametrize(
    ("kind", "text", "takes"),
    [
        (FollowKind.ALL, "", True),
        (FollowKind.ITEM, "LAB.br/arq/2009/07.21.14.43", True),
        (FollowKind.ITEM, "lab.br/arq/2009/07.21.14.44", False),
        (FollowKind.PREFIX, "lab.br/arq.80", True),
        (FollowKind.PREFIX, "lab.br/arq.81", False),
        (FollowKind.SEARCH, " rain   forest ", None),
    ],
)
def test_a_target_says_which_items_it_takes(kind: FollowKind, text: str, takes: bool | None) -> None:
    assert FollowTarget.of(kind, text).takes(NAME) is takes


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (FollowKind.ALL, "x"),
        (FollowKind.ITEM, "no label"),
        (FollowKind.PREFIX, "no/prefix/"),
        (FollowKind.SEARCH, " "),
        (FollowKind.SEARCH, "x" * 1001),
        (FollowKind.SEARCH, "a\x1bb"),
    ],
)
def test_what_cannot_be_followed_is_refused(kind: FollowKind, text: str) -> None:
    with pytest.raises(InvalidInput):
        FollowTarget.of(kind, text)
