"""A link from an item to a related one, and the relation that it claims."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ibi.standard.document_errors import InvalidItem
from ibi.standard.errors import InvalidInput
from ibi.standard.messages import values as wire

LONGEST_NAME: Final = 200
"""Most characters of the name that a sender gives itself."""


class ClaimRelation(StrEnum):
    """The relation that is claimed of an item.

    The first three are fields of `Item`, and become back-links; the others are stored as related links.
    """

    EDITION_OF = "edition_of"
    TRANSLATION_OF = "translation_of"
    DESCRIBES = "describes"
    REVIEW = "review"
    ENDORSEMENT = "endorsement"
    RELATED = "related"

    @property
    def is_backlink(self) -> bool:
        return self in {ClaimRelation.EDITION_OF, ClaimRelation.TRANSLATION_OF, ClaimRelation.DESCRIBES}


@dataclass(frozen=True, slots=True)
class RelatedLink:
    """An external resource about an item, such as a review of it, that was accepted for display with it."""

    kind: ClaimRelation
    url: str
    name: str | None = None
    """The author's own name."""
    relation: str | None = None
    """The IRI of the relation, if the kind does not define it."""

    def __post_init__(self) -> None:
        if self.kind.is_backlink:
            raise InvalidItem(self.kind.value, 0, "editions, translations and metadata have fields", field="related")
        for url in (self.url, self.relation):
            _check_link(url)
        if self.name is not None and not (0 < len(self.name) <= LONGEST_NAME and self.name.isprintable()):
            reason = "a name has between 1 and {most} characters that can be shown"
            raise InvalidItem(self.name, 0, reason, field="related", most=LONGEST_NAME)


def _check_link(url: str | None) -> None:
    if url is None:
        return
    try:
        wire.url(url)
    except InvalidInput as error:
        raise InvalidItem(url, error.offset, error.reason, field="related", **error.details) from error
