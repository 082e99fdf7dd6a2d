"""The Archives that hold Copies of this Archive's items: those named at run time, and followers not named yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ibi.standard.label import Label
from ibi.standard.messages.holders import CopyHolder

MOST_OFFERS: Final = 32
"""Most Archives that are offered at a time; others wait until some were named or declined."""
OFFER_DAYS: Final = 30
"""Days after which an offer expires if the Archive follows no longer."""
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class CopyOffer:
    """An Archive of the register that keeps Copies of the items here. Times are seconds since 1970."""

    holder: CopyHolder
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class KnownCopyHolders:
    """The holders of Copies in one data directory, beside the settings. Each Archive is in one of the three lists."""

    named: tuple[CopyHolder, ...] = ()
    offers: tuple[CopyOffer, ...] = ()
    declined: tuple[Label, ...] = ()

    def name(self, holder: CopyHolder) -> KnownCopyHolders:
        rest = self.forget(holder.service)
        return replace(rest, named=(*rest.named, holder))

    def decline(self, service: Label) -> KnownCopyHolders:
        rest = self.forget(service)
        return replace(rest, declined=(*rest.declined, service)[-MOST_OFFERS:])

    def forget(self, service: Label) -> KnownCopyHolders:
        """Return the lists without that Archive; it is offered again if it continues to follow."""
        return KnownCopyHolders(
            tuple(each for each in self.named if each.service != service),
            tuple(each for each in self.offers if each.holder.service != service),
            tuple(each for each in self.declined if each != service),
        )

    def offer(self, holder: CopyHolder, now: int) -> KnownCopyHolders:
        """Return the lists with an Archive that follows now, unless an administrator has decided about it."""
        if holder.service in self.declined or any(each.service == holder.service for each in self.named):
            return self
        fresh = tuple(each for each in self.offers if now - each.last < OFFER_DAYS * _DAY)
        known = next((each for each in fresh if each.holder.service == holder.service), None)
        if known is None:
            return replace(self, offers=(*fresh, CopyOffer(holder, now, now))) if len(fresh) < MOST_OFFERS else self
        again = CopyOffer(holder, known.first, now)
        return replace(self, offers=tuple(again if each is known else each for each in fresh))
