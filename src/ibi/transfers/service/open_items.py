"""The open items of one Archive, of which chain and state do not agree, as all its processes know them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ibi.items.rules.provenance import check_chain
from ibi.standard.errors import InvalidInput
from ibi.standard.label import Label, RepositoryName
from ibi.transfers.model import OpenItem, OpenProblem
from ibi.transfers.ports import TransferLedger


class OpenItems:
    """The first 1,000 open items of the ledger, as of the last `follow`. Only `follow` blocks."""

    def __init__(self, ledger: TransferLedger) -> None:
        self._ledger = ledger
        self._items: dict[RepositoryName, OpenItem] = {}
        self._problems: dict[Label, OpenProblem] = {}
        """The problems by all labels of the items."""

    def follow(self) -> None:
        """Read the ledger. Call it every moment: another process may look at the items."""
        before, self._items = self._items, {item.rep: item for item in self._ledger.open_items()}
        if before != self._items:
            found = self._items.items()
            self._problems = {label: item.problem for rep, item in found for label in self._labels_of(rep)}

    def _labels_of(self, rep: RepositoryName) -> Sequence[Label]:
        """Return the labels of an item by its chain: the item itself may be gone."""
        try:
            release = check_chain(self._ledger.chain(rep), lambda _who, _key: True).last_release
        except InvalidInput:  # the chain in the ledger is damaged
            release = None
        return (rep,) if release is None else release.labels.labels

    def find(self, rep: RepositoryName) -> OpenItem | None:
        return self._items.get(rep)

    def is_awaited(self, labels: Iterable[Label], given_to: Label | None = None) -> bool:
        """Return whether the Original of an item that is not here belongs here.

        Until an open item was looked at, this Archive may be its giver: `given_to` then is the receiver.
        """
        problems = {self._problems.get(label) for label in labels} if self._problems else set()
        if OpenProblem.UNCHECKED in problems:
            return given_to is None
        return OpenProblem.IN_DOUBT in problems or OpenProblem.NOT_FETCHED in problems

    def count(self) -> Mapping[OpenProblem, int]:
        """Return the number of open items by problem."""
        found = Counter(item.problem for item in self._items.values())
        return {problem: found[problem] for problem in OpenProblem}
