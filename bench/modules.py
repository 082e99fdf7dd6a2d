"""How many modules of the package one request runs through: what a reader of the code has to open to follow it.

A server in a process of its own notes every module of which a function is called, from one signal to the next.
`python -m bench.modules` prints the table, with `names` also which they are. It measures nothing that hangs on the
machine, and is no part of `make bench`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from bench.serving import Running, running

SOURCE = Path(__file__).parent.parent / "src" / "ibi"
LIMITS = {"cached redirect": 22, "cold redirect": 40, "deposit": 50, "mint": 22, "search page": 26}
WAIT = 10.0
TIMES = 4
"""Traces of each kind."""


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["serve"]:
        serve(Path(arguments[1]), arguments[2:])
        return 0
    found = traced()
    for name, modules in found.items():
        print(f"{name:16} {len(modules):4} modules, aim ≤ {LIMITS[name]}")
        if arguments[:1] == ["names"]:
            print("    " + " ".join(sorted(modules)))
    return 0 if all(len(modules) <= LIMITS[name] for name, modules in found.items()) else 1


def traced() -> dict[str, set[str]]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        data, out = Path(home) / "ibi-data", Path(home) / "modules"
        command = (sys.executable, "-m", "bench.modules", "serve", str(out))
        variables = {"IBI_LOCK_DIR": f"{home}/locks", "IBI_LOG_LEVEL": "error"}
        with running((*command, "up", "--port", "0", "--data", str(data)), Path.cwd(), variables) as server:
            return Tour(server, out, token(data, variables)).modules()


def token(data: Path, variables: dict[str, str]) -> str:
    import subprocess

    command = [sys.executable, "-c", "from ibi.cli import main; main()", "token", "create", "--scope", "deposit"]
    done = subprocess.run(
        [*command, "--data", str(data)], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


class Tour:
    """One request of each kind, to a server that has answered such a one before."""

    def __init__(self, server: Running, out: Path, secret: str) -> None:
        self._server, self._out, self._secret = server, out, secret

    def modules(self) -> dict[str, set[str]]:
        label = self._deposited("known")
        cold = iter([self._deposited(f"cold{number}") for number in range(TIMES + 1)])
        titles = (f"deposit{number}" for number in count())
        words = (f"cold{number}" for number in count())
        self._ask("GET", f"/{next(cold)}", 302)
        self._ask("GET", f"/{label}", 302)
        self._mint()
        self._ask("GET", "/search?q=known", 200)
        return {
            "cached redirect": self._traced(lambda: self._ask("GET", f"/{label}", 302)),
            "cold redirect": self._traced(lambda: self._ask("GET", f"/{next(cold)}", 302)),
            "deposit": self._traced(lambda: self._deposited(next(titles))),
            "mint": self._traced(self._mint),
            "search page": self._traced(lambda: self._ask("GET", f"/search?q={next(words)}", 200)),
        }

    def _traced(self, act: Callable[[], object]) -> set[str]:
        """What runs each time: what a server does beside requests comes and goes."""
        found = []
        for _ in range(TIMES):
            self._signal(signal.SIGUSR1)
            act()
            self._signal(signal.SIGUSR2)
            found.append({name for name in self._out.read_text().split() if name.endswith(".py")})
        return set.intersection(*found)

    def _signal(self, number: signal.Signals) -> None:
        self._out.unlink(missing_ok=True)
        os.kill(self._server.pid, number)
        deadline = time.monotonic() + WAIT
        while not self._out.exists():
            assert time.monotonic() < deadline, "the server does not tell"
            time.sleep(0.01)

    def _mint(self) -> None:
        self._ask("POST", "/api/labels", 201, {"count": 1})

    def _deposited(self, title: str) -> str:
        draft = self._ask("POST", "/api/items", 201, {"metadata": {"title": [{"value": title}]}})
        links = json.loads(draft)["links"]
        self._ask("PUT", f"{path_of(links['files'])}/text.txt", 201, title.encode())
        published = self._ask("POST", path_of(links["publish"]), 201)
        return str(json.loads(published)["rep"])

    def _ask(self, method: str, path: str, status: int, content: Any = None) -> bytes:
        body = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
        kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
        headers = {"Authorization": f"Bearer {self._secret}", "Content-Type": kind} if method != "GET" else {}
        with closing(HTTPConnection("127.0.0.1", self._server.port, timeout=WAIT)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            said = answer.read()
        assert answer.status == status, (method, path, answer.status, said[:300])
        return said


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


# --- the server -------------------------------------------------------------------------------------------------------


def serve(out: Path, arguments: Sequence[str]) -> None:
    """The command, noting the modules whose functions are called."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    def tell(number: int, _: object) -> None:
        files = {Path(code.co_filename) for code in tuple(seen) if code.co_name != "<module>"}
        modules = sorted(str(path.relative_to(SOURCE)) for path in files if path.is_relative_to(SOURCE))
        if number == signal.SIGUSR1:
            seen.clear()
        part = out.with_suffix(".part")
        part.write_text("\n".join(modules))
        part.rename(out)

    signal.signal(signal.SIGUSR1, tell)
    signal.signal(signal.SIGUSR2, tell)
    threading.setprofile(note)
    sys.setprofile(note)
    sys.argv[1:] = arguments
    from ibi.cli import main as command

    command()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
