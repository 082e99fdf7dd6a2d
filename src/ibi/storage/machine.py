"""This machine: its clocks, and its name for itself."""

from __future__ import annotations

import secrets
import socket
import time
import uuid
from hashlib import sha256
from pathlib import Path

from ibi.instant import Instant
from ibi.model.minting import Reading

_UPTIME_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where the system has such a clock."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_NO_ADDRESS = 1 << 40
"""A bit that no network card's address has: `uuid.getnode` sets it in the number it draws where it finds no card."""


class MachineClocks:
    """The port `Clocks` on the real clocks."""

    def __init__(self, boot_id: Path = _BOOT_ID) -> None:
        # Where the system does not number its boots, uptimes are compared within this process only.
        self._boot = _text(boot_id) or secrets.token_hex(16)

    def read(self) -> Reading:
        uptime = time.clock_gettime_ns(_UPTIME_CLOCK)
        return Reading(Instant.from_nanoseconds(time.time_ns()), uptime, self._boot)

    def seconds(self) -> int:
        return time.time_ns() // 1_000_000_000


def machine_id(places: tuple[Path, ...] = _MACHINE_IDS) -> str:
    """The same text on this machine always, on another another; hashed, since the number itself is confidential."""
    found = next((text for text in map(_text, places) if text and text != "uninitialized"), None)
    return sha256(f"ibi {found or _hardware()}".encode()).hexdigest()


def _hardware() -> str:
    node = uuid.getnode()
    return socket.gethostname() if node & _NO_ADDRESS else f"{node:012x} {socket.gethostname()}"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
