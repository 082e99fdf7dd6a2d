"""What a data directory keeps of its Archive's membership in a resolver, in the folder `membership`.

`off` is there while the Archive is switched off. `state.json` tells what the resolver last said. `lock` is held by the
process that speaks to the resolver.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Final

from ibi.model.membership import Membership, Phase
from ibi.storage.descriptors import raise_if_exhausted
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, refusals, sync_directory, write_durably

_FOLDER: Final = "membership"


class MembershipFiles:
    """The port `MembershipState` of one data directory."""

    prompt = True

    def __init__(self, data: Path) -> None:
        folder = data / _FOLDER
        self._folder, self._off, self._state, self._lock = (
            folder,
            folder / "off",
            folder / "state.json",
            folder / "lock",
        )
        self._descriptor: int | None = None

    @property
    def switched_on(self) -> bool:
        with refusals(DiskRefused, self._off):
            return not self._off.exists()

    def switch(self, *, on: bool) -> None:
        with refusals(DiskRefused, self._off):
            make_directory(self._folder)
            if on:
                self._off.unlink(missing_ok=True)
            else:
                self._off.touch()
            sync_directory(self._folder)

    def read(self) -> Membership:
        try:
            found = json.loads(self._state.read_bytes())
            return Membership(
                Phase(found["phase"]), found["confirmed"] is True, found["known"] is True, reason=_reason(found)
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise_if_exhausted(error)  # a membership that was begun is not forgotten for it
            return Membership()

    def write(self, membership: Membership) -> None:
        with refusals(DiskRefused, self._folder):
            make_directory(self._folder)
        write_durably(self._state, json.dumps(asdict(membership)).encode("ascii") + b"\n")

    def hold(self) -> bool:
        if self._descriptor is not None:
            return True
        with refusals(DiskRefused, self._lock):
            make_directory(self._folder)
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _reason(found: dict[str, object]) -> str | None:
    reason = found.get("reason")
    return reason if isinstance(reason, str) else None
