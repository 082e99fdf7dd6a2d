"""The foreign Archive and the foreign resolver as processes, and what a test tells them.

They run without this project and without installed packages: `python -I -S`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class ForeignProcess:
    """A process that obeys orders, one line of JSON each; `first` is what it said at its start."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.first = self._read()

    @property
    def address(self) -> str:
        return str(self.first)

    def __call__(self, do: str, **order: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **order}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the foreign process ended"
        return json.loads(line)


@contextmanager
def foreign(name: str, *arguments: str) -> Iterator[ForeignProcess]:
    """`archive` or `resolver`, until it is left."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(HERE / f"{name}.py"), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield ForeignProcess(process)
    finally:
        process.terminate()
        process.communicate(timeout=30)
