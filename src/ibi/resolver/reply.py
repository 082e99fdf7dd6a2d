"""What comes back from an Archive that was asked: an answer, with how long it may be kept, or the reason why none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ibi.label import Label
from ibi.messages.url_list import Deletion, UrlList
from ibi.resolver.trace import Failure

__all__ = ["Answered", "Reply"]


@dataclass(frozen=True, slots=True)
class Answered:
    """`answer` is None if the Archive has no such item. It may be kept for `max_age` seconds (E32), by its headers.

    The other members are what an Archive adds in headers of its own, since R's answers have no place for it.
    """

    answer: UrlList | Deletion | None
    max_age: int = 0
    final: bool = False
    """An empty answer of which the Archive says that it never gave the label away (`IBI-Final`)."""
    transferred_to: Label | None = None
    """The service of the Archive to which it gave the Original away (`IBI-Transferred-To`)."""
    copies_at: tuple[Label, ...] = ()
    """The services of the Archives that it names as holders of Copies of this item (`IBI-Copies`)."""


Reply: TypeAlias = Answered | Failure
