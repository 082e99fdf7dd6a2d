"""The releases that a resolver was told, and why it believes them: they are signed by the home of the label, whose key
it has pinned, and by those who came after. Who is registered longest plays no part, nor does a date.

A chain that goes on from the known one replaces it; a beginning of it says nothing new; one that contradicts it is not
believed, since one Archive has signed two releases of one Original, and people have to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from ibi.errors import IbiError
from ibi.federation.provenance import Chain, ChainOrder, IsKeyOf, Release, check_chain, compare_chains
from ibi.label import Label
from ibi.label.search import home_prefix
from ibi.model.belief import Succession
from ibi.ports.registry import Beliefs
from ibi.ports.transfers import ChainStore

HasPrefix = Callable[[Label, str], bool]
"""Whether the Archive with this service is a home of labels with that prefix."""


class ReleaseNotBelieved(IbiError):
    """The release of {label} is not believed: {reason}."""

    code = "release-not-believed"


class ReleaseRegister:
    """The releases that one resolver believes. Calls block, from any thread."""

    def __init__(
        self,
        store: ChainStore,
        beliefs: Beliefs,
        is_key_of: IsKeyOf,
        is_home: HasPrefix,
        now: Callable[[], float],
    ) -> None:
        """`is_key_of` knows the keys that were pinned with registrations, `is_home` their prefixes."""
        self._store, self._beliefs, self._is_key_of, self._is_home, self._now = store, beliefs, is_key_of, is_home, now
        self._log = structlog.get_logger("ibi.resolver")

    def hear(self, texts: tuple[str, ...]) -> Label:
        """Believe a chain, if it proves anything: the service of who has the Original by it. `InvalidProvenance`,
        `ReleaseNotBelieved`."""
        chain = check_chain(texts, self._is_key_of)
        first = chain.first_release
        assert first is not None  # an empty chain is none to tell
        labels = self._labels_of_home(first)
        label = labels[0]
        known = self._store.chain(label)
        order = compare_chains(known, texts)
        if order is ChainOrder.FORKED:
            self._log.error("two releases of one Original", item=str(label), known=_holder(known), told=_holder(texts))
            raise ReleaseNotBelieved(label=str(label), reason="another release of the same number is known")
        if order is ChainOrder.NEWER:
            self._keep(chain, first, labels)
        elif order is ChainOrder.SAME:
            self._believe_again(chain, first, labels)
        return chain.successors[-1]

    def _labels_of_home(self, first: Release) -> tuple[Label, ...]:
        """Those of the labels of which the giver is the home: that another's label names the same item is its own word
        alone, and it decides about its own. `ReleaseNotBelieved` if the repository name, by which the item is kept, is
        not among them."""
        forms = first.labels
        labels = tuple(each for each in forms.labels if self._is_home(first.giver, home_prefix(each)))
        if forms.rep is None or forms.rep not in labels:
            reason = f"{first.giver} is not registered for its prefix"
            raise ReleaseNotBelieved(label=str(forms.labels[0]), reason=reason)
        return labels

    def _keep(self, chain: Chain, first: Release, labels: tuple[Label, ...]) -> None:
        self._store.keep(labels, chain.texts, (first.giver, *chain.successors))
        self._believe(labels, self._after_home(chain, first))

    def _believe_again(self, chain: Chain, first: Release, labels: tuple[Label, ...]) -> None:
        """What was believed of a known chain may be lost; what the administrator has said of it since is not."""
        expected = Succession(self._after_home(chain, first), is_signed=True)
        changed = (label for label in labels if self._beliefs.succession(label) != expected)
        self._believe([label for label in changed if self._beliefs.about(label).ruling is None], expected.chain)

    def _believe(self, labels: Iterable[Label], successors: tuple[Label, ...]) -> None:
        for label in labels:
            self._beliefs.record_signed_successors(label, successors, int(self._now()))

    @staticmethod
    def _after_home(chain: Chain, first: Release) -> tuple[Label, ...]:
        """The successors since the home had the Original last; none if it has it again."""
        successors = chain.successors
        if first.giver in successors:
            last = len(successors) - 1 - successors[::-1].index(first.giver)
            return successors[last + 1 :]
        return successors

    def chain(self, label: Label) -> tuple[str, ...]:
        return self._store.chain(label)

    def of_service(self, service: Label, after: str, most: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return self._store.with_service(service, after, most)


def _holder(texts: tuple[str, ...]) -> str:
    chain = check_chain(texts, lambda *_: True)
    return str(chain.successors[-1])
