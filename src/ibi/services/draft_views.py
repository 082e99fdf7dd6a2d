"""Drafts as somebody sees them: their own, or a librarian's view of all, and none that were left alone for too long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ibi.archive.drafts import DraftPublished, DraftRules, UnknownDraft, together
from ibi.instant import Instant
from ibi.model.draft_record import DraftRecord
from ibi.model.file import File
from ibi.ports.clocks import Clocks
from ibi.services.depositor import Depositor
from ibi.storage.draft_files import DraftDamaged, DraftFiles

__all__ = ["DraftView", "DraftViews"]


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft as it is at the moment, with all its files."""

    record: DraftRecord
    files: tuple[File, ...]
    changed: Instant
    size: int = 0
    """Bytes that were sent for it: those of the item that it changes are not the draft's."""


@dataclass(frozen=True, slots=True)
class DraftViews:
    """Calls block, from any thread."""

    files: DraftFiles
    clocks: Clocks
    rules: DraftRules

    def record(self, who: Depositor, draft: str) -> DraftRecord:
        """`UnknownDraft` for those of others too: that there is one is nobody else's business."""
        record = self.files.read(draft)
        if record is None or not _may_see(who, record) or self.is_stale(draft):
            raise UnknownDraft(draft=draft[:40])
        return record

    def open_record(self, who: Depositor, draft: str) -> DraftRecord:
        """The draft, if it can still be changed; `DraftPublished` if not."""
        record = self.record(who, draft)
        if record.publication is not None:
            raise DraftPublished(draft=draft, label=str(record.publication.labels.labels[0]))
        return record

    def open_records(self, who: Depositor, after: str = "") -> Iterator[DraftRecord]:
        """Those that were not published, in the order of their ids."""
        for draft in self.files.ids(after):
            try:
                record = self.files.read(draft)
            except DraftDamaged:
                continue
            if record is None or not _may_see(who, record) or self.is_stale(draft):
                continue
            if record.publication is None:
                yield record

    def view(self, record: DraftRecord) -> DraftView:
        uploaded = [one.file for one in self.files.uploads(record.id).values()]
        changed = max(record.created.seconds, self.files.changed(record.id))
        size = sum(file.size for file in uploaded)
        return DraftView(record, together(record.kept, uploaded), Instant(changed), size)

    def is_stale(self, draft: str) -> bool:
        changed, now = self.files.changed(draft), self.clocks.read().wall
        return changed > 0 and self.rules.is_stale(changed, now, done=self.files.is_done(draft))


def _may_see(who: Depositor, record: DraftRecord) -> bool:
    return who.librarian or who.owner == record.owner
