"""The two kinds of struct, and types of members that many resources have."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any, Final, overload

import msgspec
from msgspec import Meta

from ibi.standard.instant import Instant


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body of a request. A member that it has not is refused. A client leaves out what it does not say."""


class Answer(msgspec.Struct, frozen=True):
    """The body of an answer, or a part of it. A client passes over members that it does not know."""


Count = Annotated[int, Meta(ge=0)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Url = Annotated[str, Meta(extra_json_schema={"format": "uri"})]
Links = Annotated[dict[str, Url], Meta(description="Where to go from here, by relation.")]


class Page(Answer, frozen=True):
    """A page of a list."""

    links: Annotated[dict[str, Url], Meta(description="`next` is there if there may be more.")]


def one_of(words: Iterable[Enum] | Iterable[str]) -> Meta:
    """Return the words that a member may be. Reading it allows others: a newer server may know more."""
    return Meta(extra_json_schema={"enum": [word.value if isinstance(word, Enum) else word for word in words]})


def bounds(**schema: Any) -> Meta:
    """Return bounds that programs are told. The service checks them, with errors of its own."""
    return Meta(extra_json_schema=schema)


NEEDED: Final = bounds(required=True)
"""Of a member that has a default here, because the service has an error of its own if it is missing."""


@overload
def time_text(second: int) -> str: ...
@overload
def time_text(second: int | None) -> str | None: ...
def time_text(second: int | None) -> str | None:
    """Return a time that is kept in seconds since 1970 as answers have it."""
    return None if second is None else str(Instant(second))
