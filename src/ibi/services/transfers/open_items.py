"""The open items of one Archive, of which chain and state do not agree, as all its processes know them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ibi.label import RepositoryName
from ibi.model.transfer import OpenItem, OpenProblem
from ibi.ports.federation import TransferLedger


class OpenItems:
    """The first 1,000 open items of the ledger, as of the last `follow`. Only `follow` blocks."""

    def __init__(self, ledger: TransferLedger) -> None:
        self._ledger = ledger
        self._items: dict[RepositoryName, OpenItem] = {}

    def follow(self) -> None:
        """Read the ledger. Call it every moment: another process may look at the items."""
        self._items = {item.rep: item for item in self._ledger.open_items()}

    def find(self, rep: RepositoryName) -> OpenItem | None:
        return self._items.get(rep)

    def count(self) -> Mapping[OpenProblem, int]:
        """Return the number of open items by problem."""
        found = Counter(item.problem for item in self._items.values())
        return {problem: found[problem] for problem in OpenProblem}
