"""What one Archive said to a question, and what that tells of the Archive itself."""

from __future__ import annotations

from typing import Final, NamedTuple

from ibi.messages.field import State
from ibi.messages.url_list import UrlEntry, UrlList
from ibi.model.item import name_one_item
from ibi.relation import LastEdition, Relation
from ibi.resolver.archive_ref import ArchiveRef

__all__ = ["Heard"]

_LAST_EDITION: Final = Relation((LastEdition(),))


class Heard(NamedTuple):
    """A valid answer, and who gave it. `refused` are the relations for which it has a URL that is not believed."""

    archive: ArchiveRef
    answer: UrlList
    refused: frozenset[Relation] = frozenset()

    def is_believed(self, entry: UrlEntry) -> bool:
        """Whether an entry of the answer has a URL that somebody may be sent to."""
        return entry.url is not None and not (self.refused and entry.relation in self.refused)

    @property
    def state(self) -> State | None:
        """Of the item itself, as it is given or, if that is left out, as it is given of what turns out to be the item:
        the last edition, say. None if nothing tells."""
        itself = self.answer.entry()
        if itself is not None and itself.state is not None:
            return itself.state
        return next((entry.state for entry in self.answer.entries if self._is_of_the_item(entry)), None)

    def _is_of_the_item(self, entry: UrlEntry) -> bool:
        if entry.state is None:
            return False
        if entry.ibi is not None:
            return name_one_item(entry.ibi, self.answer.ibi)
        return entry.relation == _LAST_EDITION and self.answer.next_edition is None

    @property
    def succeeds_itself(self) -> bool:
        """Whether it names the item as its own next edition."""
        later = self.answer.next_edition
        return later is not None and name_one_item(later, self.answer.ibi)

    @property
    def knows_more(self) -> bool:
        """Whether it names a later edition. Whoever says that the item comes after itself knows nothing."""
        return self.answer.next_edition is not None and not self.succeeds_itself

    @property
    def claims_original(self) -> bool:
        """Whether it says that it holds the item, and nothing it says is known to be wrong."""
        return not self.refused and self.state is State.ORIGINAL
