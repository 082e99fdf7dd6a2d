"""A work in two editions and two languages, and what an honest Archive keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from random import Random

from ibi.items.model.item import Item, Tombstone
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms, State
from tests.support.flat_items import replace
from tests.support.standards_archives import forms, item

__all__ = ["ROUTES", "Family", "Member", "copied", "deleted"]

EN, PT = LanguageTag("en"), LanguageTag("pt")
AT = "2015-03-15T02:40:14Z"


class Member(StrEnum):
    FIRST = "2010/01.01.00.01"
    SECOND = "2020/01.01.00.01"
    FIRST_PT = "2011/01.01.00.01"
    SECOND_PT = "2021/01.01.00.01"


ROUTES: Mapping[str, tuple[Member, ...]] = {
    "": (Member.FIRST,),
    "!": (Member.FIRST, Member.SECOND),
    "+": (Member.FIRST, Member.FIRST_PT),
    "+(pt)": (Member.FIRST, Member.FIRST_PT),
    "!+": (Member.FIRST, Member.SECOND, Member.SECOND_PT),
    "!+(pt)": (Member.FIRST, Member.SECOND, Member.SECOND_PT),
    "+(pt)!": (Member.FIRST, Member.FIRST_PT, Member.SECOND_PT),
}
"""By modifier: the items on the way, as an Archive that keeps one of them alone would point to the next. A reader of
Portuguese is the one who asks."""


class Family:
    """`prefixes` are where the members were made, and so part of their labels."""

    def __init__(self, prefixes: Mapping[Member, str]) -> None:
        self.labels: dict[Member, LabelForms] = {
            member: forms(f"{prefix}/{member.value}") for member, prefix in prefixes.items()
        }
        self.items = {member: self._item(member) for member in Member}

    def _item(self, member: Member) -> Item:
        first, second, first_pt, second_pt = (self.labels[each] for each in Member)
        is_first, is_source = member in (Member.FIRST, Member.FIRST_PT), member in (Member.FIRST, Member.SECOND)
        source, translation = (first, first_pt) if is_first else (second, second_pt)
        earlier, later = (first, second) if is_source else (first_pt, second_pt)
        return item(
            str(self.labels[member].labels[0]),
            at=AT,
            files=("text.pdf",),
            language=EN if is_source else PT,
            translation_of=None if is_source else source,
            translations=((EN, source), (PT, translation)),
            next_edition=later if is_first else None,
            edition_of=None if is_first else earlier,
        )


def copied(original: Item, random: Random) -> Item:
    """A Copy that may have been made before there was a later edition, or a translation."""
    kept = replace(original, state=State.COPY, source="a0.example.org")
    if random.random() < 0.4:
        kept = replace(kept, next_edition=None)
    if original.translation_of is None and random.random() < 0.3:
        kept = replace(kept, translations=())
    return kept


def deleted(original: Item) -> Item:
    gone = Tombstone(Instant.parse(AT), "it was withdrawn")
    return replace(original, state=State.DELETED, files=(), target=None, tombstone=gone)
