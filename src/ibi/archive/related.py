"""What stands in a relation to an item (R Table 9.5): found step by step, as far as this Archive knows.

A step leads to something held here, to something of which only the IBI is known, or to metadata. From what is only
known by its IBI no further step is taken: the resolver goes on from there (R §8.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ibi.archive.editions import find_forms, last_edition
from ibi.archive.translations import group
from ibi.messages.field import State
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item
from ibi.ports.catalog import Catalog
from ibi.relation import Metadata, Relation, Step, Translation

__all__ = ["Described", "Held", "Named", "Related", "Relatives"]


@dataclass(frozen=True, slots=True)
class Held:
    """An item that is here, and the forms of its IBI to be given (E29)."""

    item: Item
    forms: LabelForms


@dataclass(frozen=True, slots=True)
class Named:
    """An item that is elsewhere."""

    forms: LabelForms


@dataclass(frozen=True, slots=True)
class Described:
    """The metadata of `item`: an item of its own that is here, or else written from the item's description.

    `format` is the one that was named, if one was.
    """

    item: Item
    own: Held | None = None
    format: str | None = None


Related = Held | Named | Described


@dataclass(frozen=True, slots=True)
class Relatives:
    """The relations between the items of a catalogue."""

    catalog: Catalog
    follow_editions: bool = True

    def related(self, item: Item, wanted: Relation) -> Iterator[tuple[Relation, Related]]:
        """All that `wanted` can mean for `item`: an open translation means every language there is, or none."""
        return self._walk(Held(item, item.labels), wanted.steps, ())

    def _walk(
        self, place: Related, ahead: tuple[Step, ...], behind: tuple[Step, ...]
    ) -> Iterator[tuple[Relation, Related]]:
        if not ahead:
            yield Relation(behind), place
            return
        for step, following in self._step(place, ahead[0]):
            yield from self._walk(following, ahead[1:], (*behind, step))

    def _step(self, place: Related, step: Step) -> Iterator[tuple[Step, Related]]:
        if isinstance(place, Named):
            return
        if isinstance(step, Translation):
            yield from (found for found in self._translations(place) if step.matches(found[0]))
        elif isinstance(place, Described):
            return  # the grammar has nothing but a translation after metadata
        elif isinstance(step, Metadata):
            described = self._metadata(place.item, step.format)
            if described is not None:
                yield step, described
        else:
            last = self._last_edition(place)
            if last is not None:
                yield step, last

    def _last_edition(self, place: Held) -> Held | None:
        """R §9.2: the item itself if it has no next edition. Otherwise only if all of them are here."""
        if place.item.next_edition is None:
            return place
        last = last_edition(self.catalog, place.item) if self.follow_editions else None
        return None if last is None else Held(last, last.labels)

    def _metadata(self, item: Item, name: str | None) -> Described | Named | None:
        if item.metadata_item is None:
            return Described(item, None, name)
        own = find_forms(self.catalog, item.metadata_item)
        if own is not None:
            deleted = own.state is State.DELETED
            return Described(item, None if deleted else Held(own, item.metadata_item), name)
        # The item that has the IBI is elsewhere, in forms of its own; a format that is named is written here.
        return Named(item.metadata_item) if name is None else Described(item, None, name)

    def _translations(self, place: Held | Described) -> Iterator[tuple[Translation, Related]]:
        if isinstance(place, Held):
            yield from self._texts(place)
        elif place.own is None:
            yield Translation(), place  # what we write from a description has no language of its own
        else:
            for step, text in self._texts(place.own):
                yield step, Described(place.item, text, place.format) if isinstance(text, Held) else text

    def _texts(self, place: Held) -> Iterator[tuple[Translation, Held | Named]]:
        """The group of an item; R §9.2 has an item without a language offer itself as a translation into none."""
        if place.item.language is None:
            yield Translation(), place
        for tag, forms in group(self.catalog, place.item).items():
            found = place.item if tag == place.item.language else find_forms(self.catalog, forms)
            yield Translation(tag), Named(forms) if found is None else Held(found, forms)
