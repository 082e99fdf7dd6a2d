"""The related items that a page shows: editions, translations and other relations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ibi.items.model.item import Item, name_one_item
from ibi.items.rules.related_items import find_forms, group, later_editions
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State
from ibi.web.sites import ArchiveSite
from ibi.web.words import shown_title

MOST_EDITIONS: Final = 30
"""Number of editions that a page shows in either direction."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A related item and its link: to its page if it is in this Archive, or else its persistent URL."""

    label: str
    url: str
    when: Instant
    title: str | None = None
    language: LanguageTag | None = None
    is_here: bool = True
    is_deleted: bool = False
    is_this: bool = False

    @classmethod
    def of(cls, site: ArchiveSite, forms: LabelForms, *, language: LanguageTag | None = None) -> Relative:
        item = find_forms(site.shown_catalog, forms)
        if item is not None:
            return cls.here(site, item)
        label = forms.labels[0]
        return cls(label.spelling, site.persistent_url(forms), label.instant, language=language, is_here=False)

    @classmethod
    def here(cls, site: ArchiveSite, item: Item, *, is_this: bool = False) -> Relative:
        return cls(
            item.rep.spelling,
            site.urls.metadata(item, None, None),
            item.rep.instant,
            shown_title(item),
            item.language,
            is_deleted=item.state is State.DELETED,
            is_this=is_this,
        )


@dataclass(frozen=True, slots=True)
class EditionLine:
    """The known editions of an item, oldest first, with the item itself."""

    editions: tuple[Relative, ...]

    @classmethod
    def of(cls, site: ArchiveSite, item: Item) -> EditionLine:
        before = tuple(islice(_earlier(site, item), MOST_EDITIONS))
        after = tuple(islice(_later(site, item), MOST_EDITIONS))
        return cls((*reversed(before), Relative.here(site, item, is_this=True), *after))

    @property
    def newer(self) -> Relative | None:
        """The last edition, if it is not this one. Deleted editions are skipped."""
        after = self.editions[self._index + 1 :]
        return next((each for each in reversed(after) if not each.is_deleted), None)

    @property
    def _index(self) -> int:
        return next(index for index, each in enumerate(self.editions) if each.is_this)

    def __len__(self) -> int:
        return len(self.editions)


def _later(site: ArchiveSite, item: Item) -> Iterator[Relative]:
    """Yield the later editions. If the next edition is in another Archive, it is the last known one."""
    for following in later_editions(site.shown_catalog, item):
        if following is None:
            if item.next_edition is not None and find_forms(site.shown_catalog, item.next_edition) is None:
                yield Relative.of(site, item.next_edition)
            return
        yield Relative.here(site, following)
        item = following


def _earlier(site: ArchiveSite, item: Item) -> Iterator[Relative]:
    seen = {item.rep}
    while item.edition_of is not None:
        before = find_forms(site.shown_catalog, item.edition_of)
        if before is None:
            yield Relative.of(site, item.edition_of)
            return
        if before.rep in seen:
            return
        seen.add(before.rep)
        yield Relative.here(site, before)
        item = before


def translations_of(site: ArchiveSite, item: Item) -> tuple[tuple[LanguageTag, Relative], ...]:
    """Return the other texts of the item's translation group, by language."""
    found = group(site.shown_catalog, item)
    return tuple(
        (tag, Relative.of(site, forms, language=tag))
        for tag, forms in sorted(found.items(), key=lambda entry: str(entry[0]))
        if not name_one_item(forms, item.labels)
    )
