"""Usage: how often items are used."""

from __future__ import annotations

from typing import Final

from ibi.jobs.runner import write_later
from ibi.usage.ports import UsageLog
from ibi.web.authentication import Callers
from ibi.web.opened import Opened
from ibi.web.status import UseTotalsPage

_PAUSE: Final = 1.0
"""Seconds for which uses are gathered before they are written."""


def serve_usage(callers: Callers, log: UsageLog | None) -> Opened:
    """Return the totals of use. Without a `log`, nothing is counted."""
    jobs = () if log is None else (write_later("usage", _PAUSE, log.watch, log.flush),)
    return Opened(routes=UseTotalsPage(callers, log).routes(), jobs=jobs)
