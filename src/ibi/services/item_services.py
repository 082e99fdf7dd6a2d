"""The services that change an Archive's items, built once for a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ibi.messages.label_forms import LabelForms
from ibi.ports.clocks import Clocks
from ibi.services.drafts.drafts import Drafts
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_repository import ItemRepository
from ibi.services.items.relating import Relating


def _nothing() -> Mapping[str, object]:
    return {}


class _NoLabels:
    def reserve(self, key: str | None = None) -> LabelForms:
        raise AssertionError("new items come from drafts")


@dataclass(frozen=True, slots=True)
class ItemServices:
    """The services of one Archive. Their calls block, from any thread."""

    repository: ItemRepository
    drafts: Drafts
    clocks: Clocks
    service: LabelForms | None = None
    """The Archive's own item, which cannot be deleted."""
    standing: Callable[[], Mapping[str, object]] = _nothing
    """The status of the Archive: its membership in its resolver, and the state of its store."""

    @property
    def deposits(self) -> Deposits:
        """Changes of published items."""
        return Deposits(self.repository, _NoLabels(), self.clocks, service=self.service)

    @property
    def relating(self) -> Relating:
        return Relating(self.repository, self.deposits)
