"""A death at a step, as the system deals it: no exception, no clean-up."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

__all__ = ["PYTHONPATH", "Killer"]

_ROOT = Path(__file__).parents[2]
PYTHONPATH = f"{_ROOT / 'src'}{os.pathsep}{_ROOT}"
"""What a worker needs to find us and what it works for."""


class Killer:
    """Ends this process at `step`, when it is come to for the `visit`th time."""

    def __init__(self, step: str, visit: int) -> None:
        self._step, self._visit = step, visit
        self._visits: Counter[str] = Counter()

    def __call__(self, step: str) -> None:
        self._visits[step] += 1
        if step == self._step and self._visits[step] == self._visit:
            os.kill(os.getpid(), signal.SIGKILL)
