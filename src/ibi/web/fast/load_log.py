"""Logs and counts refused and broken connections, and descriptors running out.

The first of each kind is logged at once, then one line a minute with the number since: a flood of connections must not
become a flood of lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from structlog.typing import FilteringBoundLogger

from ibi.web.http.metrics import Metrics
from ibi.web.http.reader_address import truncate_address

_PAUSE: Final = 60.0
"""Seconds between two lines of one kind."""


class LoadLog:
    """Used from one event loop. Clients are logged as their networks, as everywhere in the log."""

    def __init__(self, log: FilteringBoundLogger, metrics: Metrics, now: Callable[[], float] = time.monotonic) -> None:
        self._log, self._metrics, self._now = log, metrics, now
        self._since: dict[str, tuple[float, int]] = {}

    def note_refused(self, client: str, is_full: bool) -> None:
        if is_full:
            self._metrics.count_connection_refused("server")
            self._tell("connections refused: the server has as many as its descriptors allow", client)
        else:
            self._metrics.count_connection_refused("client")
            self._tell("connections refused: their client has too many, see connections_per_client", client)

    def note_displaced(self, client: str) -> None:
        self._metrics.count_connection_broken("displaced")
        self._tell("connections closed: other clients needed their places", client)

    def note_unread(self, client: str) -> None:
        self._metrics.count_connection_broken("unread")
        self._tell("connections broken: too much waited for clients that do not read", client)

    def note_exhausted(self) -> None:
        self._metrics.count_descriptors_exhausted()
        self._tell("too many open files: raise the limit of descriptors (ulimit -n, LimitNOFILE)")

    def _tell(self, words: str, client: str | None = None) -> None:
        now = self._now()
        told, number = self._since.get(words, (float("-inf"), 0))
        number += 1
        if now - told < _PAUSE:
            self._since[words] = told, number
            return
        self._since[words] = now, 0
        more = {} if client is None else {"client": truncate_address(client.partition("/")[0])}
        self._log.warning(words, number=number, **more)
