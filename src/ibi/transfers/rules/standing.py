"""The standing of a sender in the resolver's register: it shows whether the Original is the sender's to give (E100).

A signature proves the key, not its owner: the register names the owner. The sender of an offer must be the Archive that
it names. It must also be the home of the item, or the last of a chain of releases that begins with the home. An offer
that the register contradicts is refused, even with a token. Where the register knows too little, the librarian decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ibi.items.rules.provenance import Chain, InvalidProvenance, check_chain
from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey


class SenderVerdict(Enum):
    """The consequence of a sender's standing."""

    PROVEN = "proven"
    UNKNOWN = "unknown"
    """There is no register here: a token is enough, and the librarian is warned."""
    OPEN = "open"
    """The register does not know enough: the librarian decides, and a token is not enough."""
    REFUSED = "refused"


class SenderStanding(Enum):
    """The standing of a sender in the register: a word for programs and a description for people."""

    REGISTERED = ("registered", "the Archive that it says it is, by the register of the resolver", SenderVerdict.PROVEN)
    NO_REGISTER = (
        "unproven",
        "unproven: there is no register of a resolver here that could tell",
        SenderVerdict.UNKNOWN,
    )
    NO_KEY = ("no-key", "unproven: the register has no key of it", SenderVerdict.OPEN)
    UNKNOWN_WAY = (
        "unknown-way",
        "registered, but the Original came to it through an Archive that the register does not know",
        SenderVerdict.OPEN,
    )
    NOT_REGISTERED = ("not-registered", "not registered at the resolver", SenderVerdict.REFUSED)
    OTHER_KEY = ("other-key", "another key than the register has of it", SenderVerdict.REFUSED)
    NOT_HOME = ("not-home", "neither the home of the item nor its holder by signed releases", SenderVerdict.REFUSED)

    def __init__(self, word: str, description: str, verdict: SenderVerdict) -> None:
        self.word, self.description, self.verdict = word, description, verdict


class RegisteredArchive(NamedTuple):
    """An Archive of the register."""

    labels: tuple[Label, ...]
    prefixes: frozenset[str]
    """The prefixes for which it is the home, as `home_prefix` writes them."""
    key: PublicKey | None = None
    former_keys: tuple[PublicKey, ...] = ()

    def has_signed_with(self, key: PublicKey) -> bool:
        return key == self.key or key in self.former_keys


@dataclass(frozen=True, slots=True)
class KnownArchives:
    """The register as an Archive has it, and the keys of the resolver that signed it."""

    archives: tuple[RegisteredArchive, ...]
    resolver_keys: tuple[PublicKey, ...] = ()

    def find(self, service: Label) -> RegisteredArchive | None:
        return next((each for each in self.archives if service in each.labels), None)

    def is_key_of(self, service: Label, key: PublicKey) -> bool:
        """Return whether the Archive, or the resolver, signs with this key or did before."""
        if service == resolver_service():
            return key in self.resolver_keys
        found = self.find(service)
        return found is not None and found.has_signed_with(key)

    def is_home(self, service: Label, labels: LabelForms) -> bool:
        """Return whether the service is the home of the item by its repository name. No other Archive may be home by
        the other label."""
        rep, found = labels.rep, self.find(service)
        if rep is None or found is None or home_prefix(rep) not in found.prefixes:
            return False
        return all(home_prefix(each) in found.prefixes or not self._has_home(each) for each in labels.labels)

    def _has_home(self, label: Label) -> bool:
        return any(home_prefix(label) in each.prefixes for each in self.archives)

    def judge_sender(self, giver: Label, key: PublicKey, labels: LabelForms, number: int) -> SenderStanding:
        """Return the standing of an Archive that offers the release of this number. `judge_chain` judges the chain
        before it."""
        found = self.find(giver)
        if found is None:
            return SenderStanding.NOT_REGISTERED
        if found.key is not None and found.key != key:
            return SenderStanding.OTHER_KEY
        if number == 1 and not self.is_home(giver, labels):
            return SenderStanding.NOT_HOME
        return SenderStanding.NO_KEY if found.key is None else SenderStanding.REGISTERED

    def judge_chain(
        self, texts: Sequence[str], giver: Label, labels: LabelForms, own: Iterable[PublicKey] = ()
    ) -> tuple[SenderStanding, str]:
        """Return the standing of an Archive that has the Original by these releases, and the reason.

        Links up to the last one signed with an `own` key are not judged again: this Archive judged them when it signed.
        """
        try:
            chain = check_chain(texts, lambda _who, _key: True, labels)
        except InvalidProvenance as error:
            return SenderStanding.NOT_HOME, error.reason.format(**error.details)
        ours = frozenset(own)
        signed = max((link.said.number for link in chain.links if link.signer in ours), default=0)
        sender = self.find(giver)
        names = (giver,) if sender is None else sender.labels
        if chain.is_under_way or not chain.successors or chain.successors[-1] not in names:
            return SenderStanding.NOT_HOME, f"by its releases {giver} does not have the Original"
        return self._judge_links(chain, labels, signed)

    def _judge_links(self, chain: Chain, labels: LabelForms, signed: int) -> tuple[SenderStanding, str]:
        first, unknown = chain.first_release, ""
        assert first is not None  # a chain without a release has no successors
        if not signed and not self.is_home(first.giver, labels):
            if self.find(first.giver) is not None or any(map(self._has_home, labels.labels)):
                return SenderStanding.NOT_HOME, f"{first.giver}, which gave it first, is not its home"
            unknown = f"{first.giver} is not registered"
        for link in chain.links[signed:]:
            who = link.speaker
            found = self.find(who)
            if self.is_key_of(who, link.signer):
                continue
            if who == resolver_service() or (found is not None and found.key is not None):
                return SenderStanding.NOT_HOME, f"link {link.said.number}: {link.signer} is not a key of {who}"
            unknown = unknown or f"link {link.said.number}: the register has no key of {who}"
        return (SenderStanding.UNKNOWN_WAY, unknown) if unknown else (SenderStanding.REGISTERED, "")
