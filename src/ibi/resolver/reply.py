"""What comes back from an Archive that was asked: an answer, with how long it may be kept, or the reason why none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ibi.messages.url_list import Deletion, UrlList
from ibi.resolver.trace import Failure

__all__ = ["Answered", "Reply"]


@dataclass(frozen=True, slots=True)
class Answered:
    """`answer` is None if the Archive has no such item. It may be kept for `max_age` seconds (E32), by its headers."""

    answer: UrlList | Deletion | None
    max_age: int = 0


Reply: TypeAlias = Answered | Failure
