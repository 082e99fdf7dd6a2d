"""Notifications to the service manager of the machine: ready, reloading, stopping, and alive.

This module is small because a server of one process uses it too, without the supervisor of several.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress


class ServiceManager:
    """Reports the state of the service to systemd, or another manager that sets NOTIFY_SOCKET (sd_notify(3))."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        given = dict(os.environ) if environment is None else environment
        self._path = given.get("NOTIFY_SOCKET", "")
        self._pause = _watchdog_pause(given)
        self._next = 0.0

    @property
    def is_present(self) -> bool:
        """True if there is a manager to notify."""
        return self._path[:1] in ("/", "@")

    def tell_ready(self) -> None:
        self._tell("READY=1")

    def tell_reloading(self) -> None:
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def tell_stopping(self) -> None:
        self._tell("STOPPING=1")

    def tell_alive(self) -> None:
        """Report at the manager's interval that the service is alive. Call it every second."""
        now = time.monotonic()
        if self._pause and now >= self._next:
            self._next = now + self._pause
            self._tell("WATCHDOG=1")

    def _tell(self, state: str) -> None:
        if not self.is_present:
            return
        address = f"\0{self._path[1:]}" if self._path[0] == "@" else self._path
        # A manager that does not listen is no reason to stop serving.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.settimeout(1.0)
            to.sendto(state.encode("ascii"), address)


def _watchdog_pause(given: dict[str, str]) -> float:
    """Return half of the seconds after which the manager takes this process for dead; 0 if there is no watchdog."""
    microseconds, process = given.get("WATCHDOG_USEC", ""), given.get("WATCHDOG_PID", str(os.getpid()))
    is_ours = process == str(os.getpid())
    return int(microseconds) / 2e6 if is_ours and microseconds.isdigit() else 0.0
