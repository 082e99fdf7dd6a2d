"""Usage: how often items are used."""

from __future__ import annotations

from typing import Final

from ibi.ports.archive_state import UsageLog
from ibi.services.jobs import write_later
from ibi.web.api.authentication import Callers
from ibi.web.api.status import UseTotalsPage
from ibi.web.opened import Opened

_PAUSE: Final = 1.0
"""Seconds for which uses are gathered before they are written."""


def serve_usage(callers: Callers, log: UsageLog | None) -> Opened:
    """Return the totals of use. Without a `log`, nothing is counted."""
    jobs = () if log is None else (write_later("usage", _PAUSE, log.watch, log.flush),)
    return Opened(routes=UseTotalsPage(callers, log).routes(), jobs=jobs)
