"""The releases that a resolver believes. Each release needs the signature of the home of the label, or of a successor.
The key of the home is pinned. Neither the age of a registration nor a date plays a part.

A chain that continues the known chain replaces it. A shorter part of the known chain says nothing new. A chain that
contradicts the known chain is not believed: one Archive has signed two releases of one Original, and people have to
decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from ibi.items.model.transfer_record import ToldChain
from ibi.items.rules.provenance import (
    Chain,
    ChainOrder,
    IsKeyOf,
    Release,
    check_chain,
    compare_chains,
    read_link,
    sign_release,
)
from ibi.membership.model.registration import Registration, Succession
from ibi.membership.ports.archive_state import KeyStore
from ibi.resolver.ports import Beliefs
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.transfers.ports import ChainStore
from ibi.transfers.rules.transfer_messages import TransferAcceptance, read_acceptance

LostTo = Callable[[Label], Iterable[Registration]]
"""Returns the lost Archives that have the Archive with this service as their successor."""
HasPrefix = Callable[[Label, str], bool]
"""Returns whether the Archive with this service is a home of labels with that prefix."""


class ReleaseNotBelieved(IbiError):
    """The release of {label} is not believed: {reason}."""

    code = "release-not-believed"
    kind = ErrorKind.FORBIDDEN


class OriginalNotGiven(ReleaseNotBelieved):
    """The Original of {label} is not given to the Archive that asks for it: {reason}."""

    code = "original-not-given"


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
        is_former_key: IsKeyOf = lambda _service, _key: False,
        keys: KeyStore | None = None,
        lost_to: LostTo = lambda _successor: (),
    ) -> None:
        """`is_key_of` knows the keys that are pinned with registrations, `is_former_key` the earlier keys, and
        `is_home` the prefixes. `keys` are the keys of the resolver, with which it signs in the place of lost
        Archives."""
        self._store, self._beliefs, self._is_home, self._now = store, beliefs, is_home, now
        self._keys, self._lost_to, self._is_archive_key = keys, lost_to, is_key_of
        self._is_former_key = is_former_key
        self._log = structlog.get_logger("ibi.resolver")

    def hear(self, texts: tuple[str, ...]) -> Label:
        """Believe a chain, if it proves anything. Return the service of the Archive that has the Original by this
        chain. Raise `InvalidProvenance` or `ReleaseNotBelieved`."""
        first = read_link(texts[0], 1).said  # callers never tell an empty chain
        rep = _repository_name(first.labels)
        self._store.change(rep, lambda known: self._judge(known, texts))
        return check_chain(texts, _trust_all).successors[-1]

    def _judge(self, known: tuple[str, ...], texts: tuple[str, ...]) -> ToldChain | None:
        """Return the chain that replaces the known chain, or None if the known chain stays. The beliefs change in the
        same step. Otherwise an older chain could be believed after a later chain was stored."""
        chain = self._check(texts, known)
        first = chain.first_release
        assert first is not None  # it is the first link
        labels = self._labels_of_home(first)
        order = compare_chains(known, texts)
        if order is ChainOrder.FORKED and not _takes_place(known, chain):
            self._log.error(
                "two releases of one Original", item=str(labels[0]), known=_holder(known), told=_holder(texts)
            )
            raise ReleaseNotBelieved(label=str(labels[0]), reason="another release of the same number is known")
        if order is ChainOrder.OLDER:
            return None
        if order is ChainOrder.SAME:
            self._believe_again(chain, first, labels)
            return None
        return self._keep(chain, first, labels)

    def _check(self, texts: tuple[str, ...], known: tuple[str, ...]) -> Chain:
        """Return the chain, after a check that the keys of its new links are known. Stored links were checked when they
        came, with the keys of that time."""
        given_up: set[PublicKey] = set()

        def is_key_of(service: Label, key: PublicKey) -> bool:
            if self._is_key_of(service, key):
                return True
            if self._is_former_key(service, key):
                given_up.add(key)
                return True
            return False

        chain = check_chain(texts, is_key_of, known=known)
        for link in chain.links[len(known) :]:
            if link.signer in given_up and isinstance(link.said, Release):
                self._require_agreement(chain, link.said)
        return chain

    def _require_agreement(self, chain: Chain, release: Release) -> None:
        """Check a release with a key that its Archive has given up since. Perhaps the release was made in time and is
        told late. Perhaps a thief of the key made it now, with any date. The release counts if its receiver is
        registered here and has countersigned it, and no known fact contradicts it."""
        label, answer = str(release.labels.labels[0]), chain.links[release.number : release.number + 1]
        if not answer or not self._knows_key(release.to, answer[0].signer):
            reason = "it is signed by a key that was given up, and no Archive that is known here has countersigned it"
            raise ReleaseNotBelieved(label=label, reason=reason)
        if any(self._beliefs.about(each).ruling is not None for each in release.labels.labels):
            raise ReleaseNotBelieved(
                label=label, reason="it is signed by a key that was given up, and the administrator said otherwise"
            )
        self._require_no_dispute(release.labels)

    def _require_no_dispute(self, labels: LabelForms) -> None:
        for label in labels.labels:
            if self._beliefs.disputes(1, label, settled=False):
                raise ReleaseNotBelieved(label=str(label), reason="who has the Original is in dispute")

    def _knows_key(self, service: Label, key: PublicKey) -> bool:
        return self._is_archive_key(service, key) or self._is_former_key(service, key)

    def _is_key_of(self, service: Label, key: PublicKey) -> bool:
        if service != resolver_service():
            return self._is_archive_key(service, key)
        return self._keys is not None and key in (self._keys.signing_key().public, *self._keys.former())

    def give_lost(self, acceptance: str, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the chain of an item with a release to the successor of its lost Archive (E97). The resolver signs the
        release in the place of the lost Archive. In `acceptance`, the successor says that it holds a Copy. `texts` is
        the successor's chain.

        A repeated call gives the same text, since the release has the date of the loss. Until the release is
        countersigned, an acceptance with another Copy or key replaces the release. The known chain may be longer than
        the chain in the acceptance. Then the answer is the known chain, without a release, and the successor asks again
        with the known chain.

        Raise `InvalidInput` or `OriginalNotGiven`, and `ReleaseNotBelieved` for errors in `texts`.
        """
        said, signer = read_acceptance(acceptance)
        rep = _repository_name(said.labels)
        if not self._is_archive_key(said.to, signer):
            raise OriginalNotGiven(label=str(rep), reason=f"{signer} is not the key of {said.to}")
        if not self._is_key_of(resolver_service(), said.giver_key):
            raise OriginalNotGiven(label=str(rep), reason="what is accepted is not a release of this resolver")
        if texts:
            self.hear(texts)
        return self._store.change(rep, lambda known: self._give(known, said, signer))

    def _give(self, known: tuple[str, ...], said: TransferAcceptance, signer: PublicKey) -> ToldChain | None:
        """Return the chain that replaces the known chain, or None if the known chain is the answer."""
        chain = check_chain(known, _trust_all, said.labels)
        last = chain.last_release
        if last is not None and last.by is not None and (last.to, last.number) == (said.to, said.number):
            if not chain.is_under_way or (last.to_key, last.manifest) == (signer, said.manifest):
                return None
            chain = Chain(chain.links[:-1])
        lost = self._lost_holder(said, chain)
        if said.number < chain.next_number:
            return None
        if said.number > chain.next_number:
            raise OriginalNotGiven(label=str(said.labels.labels[0]), reason="what it follows from is not known")
        return self._release(chain, said, signer, lost)

    def _release(self, chain: Chain, said: TransferAcceptance, signer: PublicKey, lost: Registration) -> ToldChain:
        assert self._keys is not None  # otherwise nothing is lost
        assert lost.lost is not None
        last = chain.last_release
        at = lost.lost if last is None else max(lost.lost, last.at)
        giver, by, key = lost.labels[0] if last is None else last.to, resolver_service(), self._keys.signing_key()
        given = sign_release(chain, said.labels, giver, said.to, signer, said.manifest, at, key, by=by)
        first = given.first_release
        assert first is not None  # the chain has a release by now
        kept = self._keep(given, first, self._labels_of_home(first))
        item = str(said.labels.labels[0])
        self._log.warning("an Original of a lost Archive is given to its successor", item=item, to=str(said.to))
        return kept

    def _lost_holder(self, said: TransferAcceptance, known: Chain) -> Registration:
        """Return the lost Archive that had the Original, as far as the resolver knows."""
        label, holder = said.labels.labels[0], known.successors[-1] if known.links else None
        prefixes = frozenset(map(home_prefix, said.labels.labels))
        for lost in self._lost_to(said.to):
            if holder in lost.labels if holder is not None else prefixes & lost.home_prefixes:
                self._require_undisputed(said, lost, known)
                return lost
        reason = (
            f"the administrator of this resolver has not named {said.to} for what was lost with its Archive; if that is"
            f" lost, ask them for `ibi resolver set LOST_SERVICE_IBI --successor {said.to} --lost`"
        )
        raise OriginalNotGiven(label=str(label), reason=reason)

    def _require_undisputed(self, said: TransferAcceptance, lost: Registration, known: Chain) -> None:
        """Raise `OriginalNotGiven` if another Archive may have the Original. The lost Archive may have given it away,
        signed or not, or the administrator may have ruled otherwise. All labels of the item are checked."""
        label = said.labels.labels[0]
        if known.is_under_way:
            raise OriginalNotGiven(label=str(label), reason="the Original is on its way to the lost Archive")
        if any(self._beliefs.deletion(each) is not None for each in said.labels.labels):
            raise OriginalNotGiven(label=str(label), reason="it was deleted, and an IBI that is gone never returns")
        agreed = {*lost.labels, said.to, *(() if lost.successor is None else lost.successor.labels)}
        for each in said.labels.labels:
            ruling, succession = self._beliefs.about(each).ruling, self._beliefs.succession(each)
            holder = ruling.holder if ruling is not None else succession.chain[-1] if succession.chain else None
            if holder is not None and holder not in agreed:
                raise OriginalNotGiven(label=str(each), reason=f"the Original is at {holder}, as far as is known")
        try:
            self._require_no_dispute(said.labels)
        except ReleaseNotBelieved as error:
            raise OriginalNotGiven(**error.parameters) from error

    def _labels_of_home(self, first: Release) -> tuple[Label, ...]:
        """Return the labels of which the giver is the home. Each home decides only about its own labels: the giver
        cannot prove that another home's label names the same item. Raise `ReleaseNotBelieved` if the repository name,
        the key of the store, is not among them."""
        forms = first.labels
        labels = tuple(each for each in forms.labels if self._is_home(first.giver, home_prefix(each)))
        if forms.rep is None or forms.rep not in labels:
            reason = f"{first.giver} is not registered for its prefix"
            raise ReleaseNotBelieved(label=str(forms.labels[0]), reason=reason)
        return labels

    def _keep(self, chain: Chain, first: Release, labels: tuple[Label, ...]) -> ToldChain:
        self._believe(labels, self._after_home(chain, first))
        return ToldChain(labels, chain.texts, (first.giver, *chain.successors))

    def _believe_again(self, chain: Chain, first: Release, labels: tuple[Label, ...]) -> None:
        """Restore lost beliefs of a known chain. A later ruling by the administrator stays."""
        expected = Succession(self._after_home(chain, first), is_signed=True)
        changed = (label for label in labels if self._beliefs.succession(label) != expected)
        self._believe([label for label in changed if self._beliefs.about(label).ruling is None], expected.chain)

    def _believe(self, labels: Iterable[Label], successors: tuple[Label, ...]) -> None:
        for label in labels:
            self._beliefs.record_signed_successors(label, successors, int(self._now()))

    @staticmethod
    def _after_home(chain: Chain, first: Release) -> tuple[Label, ...]:
        """Return the successors since the home last had the Original; none if the home has it again."""
        successors = chain.successors
        if first.giver in successors:
            last = len(successors) - 1 - successors[::-1].index(first.giver)
            return successors[last + 1 :]
        return successors

    def chain(self, label: Label) -> tuple[str, ...]:
        return self._store.chain(label)

    def of_service(self, service: Label, after: str, most: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return self._store.with_service(service, after, most)


def _takes_place(known: tuple[str, ...], chain: Chain) -> bool:
    """Return whether the chain has another release in the place of the known chain's last release, and continues after
    it. The resolver signed both releases in the place of a lost Archive. The release that the successor countersigned
    counts."""
    place = len(known) - 1
    last = check_chain(known, _trust_all).links[place].said
    if len(chain.links) <= len(known) or chain.texts[:place] != known[:place]:
        return False
    said = chain.links[place].said
    if not isinstance(last, Release) or not isinstance(said, Release):
        return False
    return last.by is not None and said.by is not None and last.to == said.to


def _repository_name(labels: LabelForms) -> RepositoryName:
    if labels.rep is None:
        raise ReleaseNotBelieved(label=str(labels.labels[0]), reason="it has no repository name, by which it is kept")
    return labels.rep


def _trust_all(_who: Label, _key: object) -> bool:
    """Return True: the chains were judged before."""
    return True


def _holder(texts: tuple[str, ...]) -> str:
    chain = check_chain(texts, lambda *_: True)
    return str(chain.successors[-1])
