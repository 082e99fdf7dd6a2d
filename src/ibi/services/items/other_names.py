"""Other names that items get: a label of before 2008, a DOI, an ARK or a handle leads to one item of an Archive.

A second item is refused one that another has. Those of deleted items are free, and so is what two items share already,
by a version that did not look, by hand, or because one of them is a Copy of what another Archive keeps.

Short: one question, which every change of names asks before it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ibi.archive.errors import AlternateTaken
from ibi.messages.label_forms import LabelForms
from ibi.model.alternate import Alternate
from ibi.model.item import name_one_item
from ibi.ports.catalog import Catalog
from ibi.services.items.item_repository import ItemRepository
from ibi.vocabulary import State


class NameCheck:
    """Refuses names that other items have, and remembers which it allowed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._allowed: dict[tuple[str, str], LabelForms] = {}

    def allow(self, alternates: Iterable[Alternate], labels: LabelForms) -> None:
        """Let the item of these labels have the names; `AlternateTaken` if one of them is another item's."""
        wanted = [each for each in alternates if each.names_one_item]
        for each in wanted:
            holder = self._holder(each, labels)
            if holder is not None:
                raise AlternateTaken(alternate=str(each), label=str(holder.labels[0]))
        self._allowed |= {(each.scheme, each.key): labels for each in wanted}

    def _holder(self, alternate: Alternate, labels: LabelForms) -> LabelForms | None:
        """Another item that has the name."""
        allowed = self._allowed.get((alternate.scheme, alternate.key))
        if allowed is not None:
            return allowed
        found = (item for item in self._catalog.find_alternate(alternate) if item.state is not State.DELETED)
        return next((item.labels for item in found if not name_one_item(item.labels, labels)), None)


@contextmanager
def giving_names(kept: ItemRepository, alternates: Iterable[Alternate]) -> Iterator[NameCheck]:
    """Alone on these names, so that no two items get one of them at a time. For a caller that holds no item yet."""
    names = {f"{each.scheme}:{each.key}" for each in alternates if each.names_one_item}
    check = NameCheck(kept.catalog)
    if not names:
        yield check
        return
    with kept.locks.hold_names(*names):
        yield check
