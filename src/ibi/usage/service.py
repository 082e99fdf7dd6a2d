"""Counts the uses of one Archive's items."""

from __future__ import annotations

from collections.abc import Callable

from ibi.standard.origin import authority_of
from ibi.usage.model import UsageDay, UsageKind
from ibi.usage.ports import UsageLog
from ibi.usage.rules.counting import Recent
from ibi.usage.rules.referrers import classify_referrer


def _no_robot(_: str) -> bool:
    return False


class UseCounter:
    """Counts uses in a `log`; without one, nothing is counted."""

    def __init__(
        self,
        log: UsageLog | None = None,
        *,
        recent: Recent | None = None,
        is_robot: Callable[[str], bool] = _no_robot,
        own_urls: tuple[str, ...] = (),
    ) -> None:
        """`recent` has the uses of the last half minute. `is_robot` judges by the header User-Agent. A reader who comes
        from a page of one of the `own_urls` comes from here."""
        self.log, self.recent, self.is_robot = log, Recent() if recent is None else recent, is_robot
        self._own = frozenset(authority_of(each).lower() for each in own_urls)

    def count(self, counted: tuple[UsageDay, UsageKind] | None, referrer: str = "") -> None:
        """Count a use. Only the class of the `referrer`, the header Referer, is stored."""
        if counted is not None and self.log is not None:
            self.log.count(*counted, classify_referrer(referrer, self._own))
