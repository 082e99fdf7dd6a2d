"""Replies of other servers to a request, and the reasons why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from ibi.standard.label import Label
from ibi.standard.messages.url_list import Deletion, UrlList


class Failure(StrEnum):
    """The reason why an Archive gave no readable answer."""

    UNREACHABLE = "it could not be reached"
    UNKNOWN_NAME = "its name was not found"
    CONNECTION_REFUSED = "it refused the connection"
    BAD_CERTIFICATE = "its certificate was not accepted"
    TIMED_OUT = "it took too long"
    RESTING = "it failed too often lately and was not asked"
    FORBIDDEN_ADDRESS = "its address is one that is not dialled"
    OWN_ADDRESS = "its address is that of this server"
    REFUSED = "it refused the request"
    MALFORMED = "its answer could not be read"
    TOO_LARGE = "its answer was too large"
    UNREADABLE = "it has something to say, and what is needed of it could not be read"

    @property
    def was_not_reached(self) -> bool:
        """True if a request was sent, or would have been, and no server answered it."""
        return self in _NOT_REACHED

    @property
    def is_silence(self) -> bool:
        """True if the Archive was not heard: it was not reached, or not asked."""
        return self.was_not_reached or self.is_address or self is Failure.RESTING

    @property
    def is_address(self) -> bool:
        """True if nothing was sent because of the address alone."""
        return self in (Failure.FORBIDDEN_ADDRESS, Failure.OWN_ADDRESS)


_NOT_REACHED: Final = frozenset(
    {
        Failure.UNREACHABLE,
        Failure.UNKNOWN_NAME,
        Failure.CONNECTION_REFUSED,
        Failure.BAD_CERTIFICATE,
        Failure.TIMED_OUT,
    }
)


@dataclass(frozen=True, slots=True)
class Answered:
    """The reply of an Archive; `answer` is None if it has no such item.

    The answer may be cached for `max_age` seconds, according to its headers (E32). The other members come from
    additional headers of the Archive, because R's answers have no field for them.
    """

    answer: UrlList | Deletion | None
    max_age: int = 0
    final: bool | None = None
    """Of an empty answer: whether the Archive is certain that it never gave the label away (`IBI-Final`, E62).

    None if it does not say, as other platforms do not.
    """
    transferred_to: Label | None = None
    """The service of the Archive to which it gave the Original away (`IBI-Transferred-To`)."""
    copies_at: tuple[Label, ...] = ()
    """The services of the Archives that it names as holders of Copies of this item (`IBI-Copies`)."""


Reply: TypeAlias = Answered | Failure
