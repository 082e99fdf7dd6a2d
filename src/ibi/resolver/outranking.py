"""Why another answer was better than one: what a trace tells of the rules of `ibi.resolver.selection`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from ibi.messages.field import State
from ibi.messages.url_list import UrlEntry
from ibi.model.item import name_one_item
from ibi.relation import Relation
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.heard import Heard

__all__ = ["Outranking", "outranking"]


class Outranking(StrEnum):
    """What another answer had before one (E54, E55)."""

    HOME = "the home of the label decides"
    HOLDER = "the holder is believed first"
    LATER_EDITION = "another knows of a later edition"
    URL = "another has the URL itself"
    ORIGINAL = "another has the Original"
    LONGER = "another Archive has been registered longer"
    SOONER = "another was as good, and came first"


def outranking(
    heard: Heard, better: Heard, *, holder: ArchiveRef | None, relation: Relation, among: Sequence[Heard]
) -> Outranking | None:
    """Why `better` was taken and not `heard`, both `among` the answers to a question in order of arrival; None where it
    is not one thing alone: the languages of a reader, say."""
    if better.archive == holder:
        return Outranking.HOLDER
    if relation.begins_with_last_edition and better.knows_more and not heard.knows_more:
        return Outranking.LATER_EDITION
    if relation.open_translations:
        return None
    ours, theirs = _located(heard, relation), _located(better, relation)
    if ours is None and theirs is not None:
        return Outranking.URL
    if ours is None or theirs is None:
        return _by_age(heard, better)
    if ours.ibi is not None and theirs.ibi is not None and not name_one_item(ours.ibi, theirs.ibi):
        return None
    if ours.state is not theirs.state:
        return Outranking.ORIGINAL if theirs.state is State.ORIGINAL else None
    age = _by_age(heard, better) if theirs.state is State.ORIGINAL else None
    return age or (Outranking.SOONER if among.index(better) < among.index(heard) else None)


def _located(heard: Heard, relation: Relation) -> UrlEntry | None:
    entry = heard.answer.entry(relation)
    return entry if entry is not None and heard.is_believed(entry) else None


def _by_age(heard: Heard, better: Heard) -> Outranking | None:
    return Outranking.LONGER if better.archive.registered < heard.archive.registered else None
