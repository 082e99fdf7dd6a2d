"""Looks up the sender of an offer in the register of the resolver; `ibi.transfers.rules.standing` has the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from ibi.items.rules.provenance import InvalidProvenance, check_chain
from ibi.standard.label import Label
from ibi.standard.signing import PublicKey
from ibi.transfers.model import IncomingTransfer
from ibi.transfers.rules.standing import KnownArchives, RegisteredArchive, SenderStanding, SenderVerdict
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.rules.transfer_messages import Offer


class RegisterLookup(Protocol):
    """The register of the resolver as this Archive has it. Calls block."""

    def read(self) -> KnownArchives | None:
        """Return the stored register; None if there is none."""

    def renew(self) -> KnownArchives | None:
        """Return the resolver's present register, if the resolver can be asked. An Archive may have been registered, or
        have replaced its key, a moment ago."""


class _NoRegister:
    def read(self) -> KnownArchives | None:
        return None

    renew = read


NO_REGISTER: Final[RegisterLookup] = _NoRegister()


class Senders:
    """The senders of offers to one Archive. Calls block, from any thread."""

    def __init__(self, register: RegisterLookup = NO_REGISTER) -> None:
        self._register = register

    def find(self, service: Label) -> RegisteredArchive | None:
        """Return an Archive of the stored register, by any form of its label."""
        known = self._register.read()
        return None if known is None else known.find(service)

    def judge_offer(self, offer: Offer, signer: PublicKey) -> SenderStanding:
        """Return the standing of the sender of an offer."""

        def judge(known: KnownArchives) -> SenderStanding:
            return known.judge_sender(offer.giver, signer, offer.labels, offer.number)

        known = self._register.read()
        if known is not None and (found := judge(known)).verdict is SenderVerdict.PROVEN:
            return found
        newest = self._register.renew()
        return SenderStanding.NO_REGISTER if newest is None else judge(newest)

    def judge_kept(self, kept: IncomingTransfer) -> SenderStanding:
        """Return the standing of the sender of a stored transfer, without a question to the resolver."""
        known = self._register.read()
        if known is None:
            return SenderStanding.NO_REGISTER
        return known.judge_sender(kept.giver, kept.giver_key, kept.labels, kept.number)

    def judge_chain(
        self, kept: IncomingTransfer, texts: Sequence[str], own: tuple[PublicKey, ...]
    ) -> tuple[SenderStanding, str]:
        """Return the standing of the sender by the releases before its own, with their error."""
        before, known = tuple(texts)[: kept.number - 1], self._register.read()
        if known is None or kept.number == 1 or _has_countersigned(texts, kept, own):
            return SenderStanding.REGISTERED, ""
        found = known.judge_chain(before, kept.giver, kept.labels, own)
        newest = None if found[0].verdict is SenderVerdict.PROVEN else self._register.renew()
        return found if newest is None else newest.judge_chain(before, kept.giver, kept.labels, own)

    def is_home(self, offer: Offer, signer: PublicKey) -> bool:
        """Return whether the home of the label signed the offer, by the register."""
        known = self._register.read()
        if known is None or not known.is_home(offer.giver, offer.labels):
            return False
        return known.judge_sender(offer.giver, signer, offer.labels, 1) is SenderStanding.REGISTERED


WITHOUT_REGISTER: Final = Senders()


def _has_countersigned(texts: Sequence[str], kept: IncomingTransfer, own: tuple[PublicKey, ...]) -> bool:
    """Return whether this Archive had taken the Original over, and was restored from a backup since: it judged the
    sender then."""
    try:
        chain = check_chain(texts[: kept.number + 1], lambda *_: True, kept.labels)
    except InvalidProvenance:
        return False
    return len(chain.links) > kept.number and chain.links[kept.number].signer in own


def require_standing(label: object, standing: SenderStanding, cause: str = "") -> None:
    """Raise `TransferRefused` for a sender that the register contradicts."""
    if standing.verdict is SenderVerdict.REFUSED:
        raise TransferRefused(label=str(label), reason=explain_standing(standing, cause))


def explain_standing(standing: SenderStanding, cause: str = "") -> str:
    return f"the sender is {standing.description}{f' ({cause})' if cause else ''}"
