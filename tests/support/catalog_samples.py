"""Items for tests of the catalogue, by the minute of their labels."""

from __future__ import annotations

from ibi.items.model.item import Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages import LabelForms
from tests.properties.item_strategies import forms_at
from tests.support.flat_items import new_item

__all__ = ["item", "same_ibip"]


def item(minute: int = 0, title: str = "A title", *, both: bool = True, **others: object) -> Item:
    created = Instant(1_700_000_000)
    metadata = DescriptiveMetadata(title=(Text(title),))
    known = {"labels": forms_at(minute, both=both), "created": created, "updated": created, "metadata": metadata}
    return new_item(**{**known, **others})


def same_ibip(minute: int = 0, host: str = "b.lab.br") -> LabelForms:
    """Labels of another host that claim the IBIp of that minute."""
    forms = forms_at(minute)
    return LabelForms(RepositoryName.from_parts(host, 80, forms.labels[0].instant), forms.ibip)
