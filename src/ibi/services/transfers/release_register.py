"""The releases that a resolver was told, and why it believes them: they are signed by the home of the label, whose key
it has pinned, and by those who came after. Who is registered longest plays no part, nor does a date.

A chain that goes on from the known one replaces it; a beginning of it says nothing new; one that contradicts it is not
believed, since one Archive has signed two releases of one Original, and people have to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from ibi.errors import IbiError
from ibi.federation.provenance import (
    Chain,
    ChainOrder,
    IsKeyOf,
    Release,
    check_chain,
    compare_chains,
    sign_release,
)
from ibi.federation.transfer_messages import TransferAcceptance, read_acceptance
from ibi.label import Label
from ibi.label.search import home_prefix
from ibi.messages.service import resolver_service
from ibi.model.registration import Registration, Succession
from ibi.ports.archive_state import KeyStore
from ibi.ports.registry import Beliefs
from ibi.ports.transfers import ChainStore
from ibi.signing import PublicKey

LostTo = Callable[[Label], Iterable[Registration]]
"""The Archives that are lost, and whose successor is the one with this service."""
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
        *,
        keys: KeyStore | None = None,
        lost_to: LostTo = lambda _successor: (),
    ) -> None:
        """`is_key_of` knows the keys that were pinned with registrations, `is_home` their prefixes. With `keys`, those
        of the resolver, it signs in the place of Archives that are lost."""
        self._store, self._beliefs, self._is_home, self._now = store, beliefs, is_home, now
        self._keys, self._lost_to, self._is_archive_key = keys, lost_to, is_key_of
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

    def _is_key_of(self, service: Label, key: PublicKey) -> bool:
        if service != resolver_service():
            return self._is_archive_key(service, key)
        return self._keys is not None and key in (self._keys.signing_key().public, *self._keys.former())

    # --- Archives that are lost (E97) ---

    def give_lost(self, acceptance: str, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The chain of an item, with the release that is signed here in the place of its Archive, which is lost: for
        its successor, which holds a Copy and says so. `texts` is the chain that the successor has.

        Asked again, it is the same to the letter: its date is that of the loss. `InvalidInput`, `ReleaseNotBelieved`.
        """
        said, signer = read_acceptance(acceptance)
        label = said.labels.labels[0]
        if not self._is_archive_key(said.to, signer):
            raise ReleaseNotBelieved(label=str(label), reason=f"{signer} is not the key of {said.to}")
        if texts:
            self.hear(texts)
        known = check_chain(self._store.chain(label), self._is_key_of, said.labels)
        last = known.last_release
        if last is not None and (last.by, last.to, last.to_key) == (resolver_service(), said.to, signer):
            return known.texts
        lost = self._lost_holder(said, known)
        assert self._keys is not None  # or nothing is lost
        assert lost.lost is not None
        at = lost.lost if last is None else max(lost.lost, last.at)
        giver, by, key = lost.labels[0] if last is None else last.to, resolver_service(), self._keys.signing_key()
        chain = sign_release(known, said.labels, giver, said.to, signer, said.manifest, at, key, by=by)
        self.hear(chain.texts)
        self._log.warning("an Original of a lost Archive is given to its successor", item=str(label), to=str(said.to))
        return chain.texts

    def _lost_holder(self, said: TransferAcceptance, known: Chain) -> Registration:
        """The lost Archive that has the Original, as far as is known."""
        label, holder = said.labels.labels[0], known.successors[-1] if known.links else None
        prefixes = frozenset(map(home_prefix, said.labels.labels))
        for lost in self._lost_to(said.to):
            if holder in lost.labels if holder is not None else prefixes & lost.home_prefixes:
                self._require_undisputed(said, lost, known)
                return lost
        reason = f"the administrator of the resolver has not named {said.to} for what was lost with its Archive"
        raise ReleaseNotBelieved(label=str(label), reason=reason)

    def _require_undisputed(self, said: TransferAcceptance, lost: Registration, known: Chain) -> None:
        """What the lost Archive gave away, signed or not, or what the administrator said of the item, stands."""
        label = said.labels.labels[0]
        if known.is_under_way:
            raise ReleaseNotBelieved(label=str(label), reason="the Original is on its way to the lost Archive")
        if any(self._beliefs.deletion(each) is not None for each in said.labels.labels):
            raise ReleaseNotBelieved(label=str(label), reason="it was deleted, and an IBI that is gone never returns")
        ruling, succession = self._beliefs.about(label).ruling, self._beliefs.succession(label)
        holder = ruling.holder if ruling is not None else succession.chain[-1] if succession.chain else None
        if holder is not None and holder not in lost.labels:
            raise ReleaseNotBelieved(label=str(label), reason=f"the Original is at {holder}, as far as is known")

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
