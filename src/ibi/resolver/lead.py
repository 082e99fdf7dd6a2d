"""Where an answer leads: to a URL, or to another question."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from ibi.messages.field import State
from ibi.messages.label_forms import LabelForms
from ibi.messages.url_list import UrlEntry
from ibi.model.item import name_one_item
from ibi.relation import LastEdition, Relation
from ibi.resolver.heard import Heard
from ibi.resolver.language import Wanted

__all__ = ["Following", "Located", "Reason", "later_than"]

_LAST_EDITION: Final = Relation((LastEdition(),))


class Reason(StrEnum):
    """Why an item is asked for: the parts of resolution step 3, and of its languages."""

    GIVEN = "it was asked for"
    PREFIX = "a part of the relation leads to it"
    RELATED = "the relation leads to it"
    NEXT_EDITION = "it is the next edition"
    LATER_EDITION = "there may be a later edition than the Copy"
    NO_NEXT_EDITION = "nobody knows of a next edition"
    ANY_LANGUAGE = "nobody has that very language"
    NO_TRANSLATION = "there is no translation that suits"


class Located(NamedTuple):
    """An answer with the URL that is wanted."""

    heard: Heard
    entry: UrlEntry


class Following(NamedTuple):
    """Another question: an item under `forms`, and what is wanted of it. `heard` is whoever pointed there."""

    forms: LabelForms
    wanted: Wanted
    reason: Reason
    heard: Heard | None = None


def later_than(heard: Heard, entry: UrlEntry) -> Following | None:
    """What to ask before a Copy is taken for the last edition of something: whoever has it was not asked for it, but
    for something that leads to it."""
    if entry.state is not State.COPY or entry.ibi is None or not entry.relation.ends_in_last_edition:
        return None
    if name_one_item(entry.ibi, heard.answer.ibi):
        return None
    return Following(entry.ibi, Wanted.of(_LAST_EDITION), Reason.LATER_EDITION, heard)
