"""Opens the usage counts of a data directory."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import structlog

from ibi.standard.storage_errors import StorageError
from ibi.usage.store import SqliteUsageLog


def open_usage(path: Path, opened: ExitStack) -> SqliteUsageLog | None:
    """Open the usage counts. They never prevent a start: a damaged file is set aside, and without a file nothing is
    counted."""
    log = structlog.get_logger("ibi.archive")

    def set_aside(error: StorageError, aside: Path | None) -> None:
        log.warning("use is counted anew", reason=str(error.parameters.get("reason", error)), name=aside and aside.name)

    try:
        usage = SqliteUsageLog(path, on_damage=set_aside)
    except StorageError as error:
        log.error("use is not counted", reason=str(error))
        return None
    opened.callback(usage.close)
    return usage
