"""Relations between items as claims and back-links.

A new edition says `edition_of`, a translation `translation_of`, metadata `describes`: these are claims. If the item
that they name is an Original of this Archive, it gets the back-link at once: `next_edition`, one more of its
`translations`, or `metadata_item`. The claim is written first and withdrawn last. So a crash can only leave a claim
without a back-link, and adding it, which `with_backlink` may do any number of times, is right. A translation of
metadata makes no claim on the item described, which names the source of the metadata alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibi.archive.related_items import (
    check_described,
    check_source,
    find_forms,
    record_metadata_item,
    record_next_edition,
    record_translation,
)
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Draft, Item
from ibi.ports.catalog import Catalog
from ibi.vocabulary import State


def named_by(item: Item | Draft) -> tuple[LabelForms, ...]:
    """The items that this one makes claims on."""
    names = (item.edition_of, item.translation_of, item.describes)
    return tuple(dict.fromkeys(forms for forms in names if forms is not None))


def items_claimed(catalog: Catalog, item: Item | Draft) -> Iterator[Item]:
    """The claimed items that are Originals here: the relations of a Copy are decided by the Archive of its Original."""
    for forms in named_by(item):
        held = find_forms(catalog, forms)
        if held is not None and held.state is not State.COPY:
            yield held


def check_backlinks(catalog: Catalog, draft: Draft, new: LabelForms) -> None:
    """Refuse a draft whose claims would get no back-link: `new` is the label that it will have."""
    if draft.translation_of is not None:
        check_source(catalog, draft.translation_of, draft.language, None)
    if draft.describes is not None:
        check_described(catalog, draft.describes)
    for held in items_claimed(catalog, draft):
        with_backlink_to(catalog, held, draft, new)


def with_backlink(catalog: Catalog, held: Item, claimant: Item) -> Item:
    """`held` with the back-link to `claimant`; the same, if it has it already."""
    return with_backlink_to(catalog, held, claimant, claimant.labels)


def with_backlink_to(catalog: Catalog, held: Item, claimant: Item | Draft, new: LabelForms) -> Item:
    """The same for what says of `held` what `claimant` does, and has the labels `new`, here or elsewhere."""
    if _names(claimant.edition_of, held):
        held = record_next_edition(catalog, held, new)
    if _names(claimant.translation_of, held) and claimant.language is not None:
        held = record_translation(catalog, held, claimant.language, new)
    if _names(claimant.describes, held) and claimant.translation_of is None:
        held = record_metadata_item(catalog, held, new)
    return held


def _names(forms: LabelForms | None, held: Item) -> bool:
    return forms is not None and any(held.is_called(label) for label in forms.labels)
