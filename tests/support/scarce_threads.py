"""Threads that the system refuses to start, as it does at its limit of processes."""

from __future__ import annotations

from threading import Thread

import pytest


def refuse_threads(monkeypatch: pytest.MonkeyPatch, name: str, times: int = 1) -> None:
    """Have the next starts of threads of that name fail."""
    start, left = Thread.start, [None] * times

    def start_or_refuse(thread: Thread) -> None:
        if thread.name == name and left:
            left.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", start_or_refuse)
