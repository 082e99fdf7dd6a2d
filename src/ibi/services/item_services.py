"""Where an Archive takes things in: everything that changes its items, put together once for a server."""

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
    """Calls of what it gives block, from any thread."""

    kept: ItemRepository
    drafts: Drafts
    clocks: Clocks
    service: LabelForms | None = None
    """The Archive's own item, which nobody deletes."""
    standing: Callable[[], Mapping[str, object]] = _nothing
    """How the Archive stands with its resolver, and whether its store is in order."""

    @property
    def deposits(self) -> Deposits:
        """For what is published already."""
        return Deposits(self.kept, _NoLabels(), self.clocks, service=self.service)

    @property
    def relating(self) -> Relating:
        return Relating(self.kept, self.deposits)
