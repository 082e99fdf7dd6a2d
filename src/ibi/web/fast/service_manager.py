"""What the service manager of the machine is told of this server: that it is ready, reloads, stops, and is alive.

Short: a server of one process tells it too, without the supervisor of several.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress


class ServiceManager:
    """Tells systemd, or another manager that sets NOTIFY_SOCKET, how the service stands (sd_notify(3))."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        given = dict(os.environ) if environment is None else environment
        self._path = given.get("NOTIFY_SOCKET", "")
        self._pause = _watchdog_pause(given)
        self._next = 0.0

    @property
    def is_present(self) -> bool:
        """Whether there is one that wants to be told."""
        return self._path[:1] in ("/", "@")

    def tell_ready(self) -> None:
        self._tell("READY=1")

    def tell_reloading(self) -> None:
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def tell_stopping(self) -> None:
        self._tell("STOPPING=1")

    def tell_alive(self) -> None:
        """As often as the manager wants to hear it; to be called every second."""
        now = time.monotonic()
        if self._pause and now >= self._next:
            self._next = now + self._pause
            self._tell("WATCHDOG=1")

    def _tell(self, state: str) -> None:
        if not self.is_present:
            return
        address = f"\0{self._path[1:]}" if self._path[0] == "@" else self._path
        # A manager that does not listen is no reason not to serve.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.settimeout(1.0)
            to.sendto(state.encode("ascii"), address)


def _watchdog_pause(given: dict[str, str]) -> float:
    """Half of the seconds after which the manager takes this process for dead; 0 if it does not."""
    microseconds, process = given.get("WATCHDOG_USEC", ""), given.get("WATCHDOG_PID", str(os.getpid()))
    is_ours = process == str(os.getpid())
    return int(microseconds) / 2e6 if is_ours and microseconds.isdigit() else 0.0
