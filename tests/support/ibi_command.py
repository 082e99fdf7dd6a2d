"""The command as a person has it: real processes on a data directory of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.forked_command import ForkedProcess, run_forked

_IBI = "from ibi.command import main; main()"
_PATIENCE = 120.0


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class IbiCommand:
    """Runs `ibi` in a directory where nothing else is, with locks nobody else has."""

    home: Path
    first: str = ""
    """Python to be run in each process before the command."""
    log: Path | None = None
    """Where standard error of servers goes, for those that say much: a pipe that is not read fills up."""

    @property
    def data(self) -> Path:
        return self.home / "ibi-data"

    @property
    def log_text(self) -> str:
        return "" if self.log is None else self.log.read_text()

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("IBI_")}
        # One process, unless a test is about workers: with an identity of its own a server would start several.
        return {**kept, "IBI_LOCK_DIR": str(self.home / "locks"), "IBI_WORKERS": "1", **variables}

    def _program(self) -> list[str]:
        return [sys.executable, "-c", f"{self.first}\n{_IBI}"]

    def __call__(self, *arguments: str, **variables: str) -> Outcome:
        if self._can_be_forked(variables):
            return Outcome(*run_forked(arguments, self.home, self.environment(**variables), _PATIENCE))
        done = subprocess.run(
            [*self._program(), *arguments],
            cwd=self.home,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def _can_be_forked(self, variables: Iterable[str]) -> bool:
        """What a process is told before its first import needs an interpreter of its own."""
        return not self.first and all(name.startswith("IBI_") for name in variables)

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        with ExitStack() as opened:
            error = subprocess.PIPE if self.log is None else opened.enter_context(self.log.open("a"))
            if self._can_be_forked(variables):
                log = None if isinstance(error, int) else error.fileno()
                return ForkedProcess(arguments, self.home, self.environment(**variables), err=log)
            return subprocess.Popen(
                [*self._program(), *arguments],
                cwd=self.home,
                env=self.environment(**variables),
                stdout=subprocess.PIPE,
                stderr=error,
                text=True,
            )

    @contextmanager
    def up(self, *arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
        """A server on a free port, and its URL; stopped at the end if it still runs."""
        server = self.start("up", "--port", "0", "--log-level", "error", *arguments, **variables)
        assert server.stdout is not None
        try:
            first = server.stdout.readline()
            found = re.search(r"http://\S+", first)
            assert found, (first, self._complaint(server))
            yield server, found[0]
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)

    def _complaint(self, server: subprocess.Popen[str]) -> str:
        """What a server said that did not start."""
        server.wait(30)
        return self.log_text if server.stderr is None else server.stderr.read()
