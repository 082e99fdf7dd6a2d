"""Originals that are given away, without another Archive that takes them."""

from __future__ import annotations

from ibi.items.model.content import Change
from ibi.items.model.transfer_record import Transfer
from ibi.items.rules import life_cycle
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import name_of
from ibi.people.model.account import AuditEntry
from ibi.standard.clock_reading import Clocks
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms


class Transfers:
    """Gives away Originals of one Archive as a transfer does in the end, without the other side."""

    def __init__(self, kept: ItemRepository, clocks: Clocks, *, service: LabelForms | None = None) -> None:
        self._kept, self._clocks, self._service = kept, clocks, service

    def release(
        self, label: Label, to: Label, who: str, *, keep_copy: bool = False, address: str | None = None
    ) -> Transfer:
        """Give the Original to the Archive whose service is `to`, at `address` (`host[:port]`) if that is known.

        The answers to resolvers name that Archive from then on. Without `keep_copy` they contain nothing else; the
        bytes stay in earlier versions of the object. `UnknownItem`, `OriginalNeeded`, `UntransferableItem` and other
        errors of the life cycle if the item cannot go; nothing has changed then.
        """
        name = name_of(self._kept.find(label))
        with self._kept.changing(name), self._kept.locks.hold(name):
            before = self._kept.read(name)
            now = Instant(self._clocks.read().wall.seconds)
            transfer = life_cycle.send_away(before.item, to, now, service=self._service)
            change = Change(who, f"Transferred to {to}", now)
            if keep_copy:
                copy = life_cycle.keep_copy(before.item, transfer, address)
                self._kept.list(self._kept.annotate(copy, change, before.head))
            else:
                self._kept.depart(transfer, change, before.head)
            self._kept.note(AuditEntry(now, "transfer", name, detail=str(to)))
        return transfer
