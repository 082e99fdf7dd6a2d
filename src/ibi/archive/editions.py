"""Editions: a line of items, each with its own IBI, that know their neighbours (R §9.2, §10.2).

The new edition says `edition_of`; the Archive of the old one's Original writes down `next_edition`, at once if both
are here, otherwise when its librarian accepts the claim. There is never a second successor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ibi.archive.errors import EditionLoop, SecondSuccessor
from ibi.archive.life_cycle import Act, require
from ibi.messages.field import State
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item, name_one_item
from ibi.ports.catalog import Catalog

__all__ = ["find_forms", "last_edition", "later_editions", "record_next_edition", "withdraw_next_edition"]


def find_forms(catalog: Catalog, forms: LabelForms) -> Item | None:
    """The item here that bears one of these labels."""
    return next((item for item in map(catalog.find, forms.labels) if item is not None), None)


def later_editions(catalog: Catalog, item: Item) -> Iterator[Item | None]:
    """The editions after `item`, nearest first; None, and no more, where the line leaves this Archive.

    A line that was tied into a loop by hand or by another Archive ends with None too (E23).
    """
    seen = {item.rep}
    while item.next_edition is not None:
        following = find_forms(catalog, item.next_edition)
        if following is None or following.rep in seen:
            yield None
            return
        seen.add(following.rep)
        yield following
        item = following


def last_edition(catalog: Catalog, item: Item) -> Item | None:
    """The end of the line if all of it is here: `item` itself if nothing follows it, None if the end is not known."""
    for following in later_editions(catalog, item):
        if following is None or following.state is State.DELETED:
            return None
        item = following
    return item


def record_next_edition(catalog: Catalog, item: Item, new: LabelForms) -> Item:
    """`item` with `new` as its next edition; saying the same twice changes nothing."""
    require(item, Act.RELATE)
    known = item.next_edition
    if known is not None and name_one_item(known, new):
        return item
    if known is not None:
        raise SecondSuccessor(label=str(item.rep), successor=str(known.labels[0]))
    _check_no_loop(catalog, item, new)
    return replace(item, next_edition=new)


def withdraw_next_edition(item: Item) -> Item:
    """`item` as the end of its line: the claim was a mistake."""
    require(item, Act.RELATE)
    return replace(item, next_edition=None)


def _check_no_loop(catalog: Catalog, item: Item, new: LabelForms) -> None:
    """What follows `new` must not lead back to `item`, nor may what `item` follows, of which `new` might be one."""
    first = find_forms(catalog, new)
    after = () if first is None else later_editions(catalog, first)
    if name_one_item(new, item.labels) or any(other is not None and other.rep == item.rep for other in after):
        raise EditionLoop(label=str(item.rep), new=str(new.labels[0]))
    before: Item | None = item
    seen = {item.rep}
    while before is not None and before.edition_of is not None:
        if name_one_item(before.edition_of, new):
            raise EditionLoop(label=str(item.rep), new=str(new.labels[0]))
        before = find_forms(catalog, before.edition_of)
        if before is None or before.rep in seen:
            return
        seen.add(before.rep)
