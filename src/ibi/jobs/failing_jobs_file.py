"""The file with the failing background jobs of a server, for other processes: `ibi doctor`, other workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from ibi.jobs.failing_job import FailingJob
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import alone
from ibi.storage.machine import refusals, write_durably

FILE: Final = "failing-jobs.json"
_MOST_READ: Final = 1 << 20

_decode: Final[Callable[[bytes], list[FailingJob]]] = msgspec.json.Decoder(list[FailingJob]).decode


class FailingJobsFile:
    """Implements the port `FailureBoard` of one data directory. An unreadable file counts as empty: the next failure
    rewrites it."""

    def __init__(self, data: Path) -> None:
        self._path = data / FILE

    def put(self, failing: FailingJob) -> None:
        self._change(lambda known: [*(each for each in known if each.name != failing.name), failing])

    def remove(self, name: str) -> None:
        self._change(lambda known: [each for each in known if each.name != name])

    def all(self) -> tuple[FailingJob, ...]:
        with refusals(DiskRefused, self._path):
            return tuple(self._read())

    def _change(self, make: Callable[[list[FailingJob]], list[FailingJob]]) -> None:
        with refusals(DiskRefused, self._path), alone(self._path.with_suffix(".lock")):
            known = self._read()
            after = sorted(make(known))
            if after:
                write_durably(self._path, msgspec.json.encode(after), 0o600)
            elif known:
                self._path.unlink(missing_ok=True)

    def _read(self) -> list[FailingJob]:
        try:
            with self._path.open("rb") as file:
                return _decode(file.read(_MOST_READ))
        except (FileNotFoundError, msgspec.DecodeError):
            return []
