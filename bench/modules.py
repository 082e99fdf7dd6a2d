"""How many modules of the package one request runs through: what a reader of the code has to open to follow it.

A server in a process of its own notes which function calls which, from one signal to the next; what begins with a call
that an idle server makes too is no part of a request. `python -m bench.modules` prints the table, with `names` also
which modules they are. Beside each number are the lines of those modules, and the least number that could hold them
without a module of more than `MOST_LINES` and without mixing packages, by which an aim can be judged. It measures
nothing that hangs on the machine, and is no part of `make bench`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
IDLE = 3.0
"""Seconds of an idle server that are traced: longer than what it does by itself lets pass in between."""
MOST_LINES = 450
"""Of one module (CONTRIBUTING.md)."""

Function = tuple[str, str]
"""A file, and the qualified name of a function in it."""
Call = tuple[Function, Function]
"""Who calls, and what is called."""


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["serve"]:
        serve(Path(arguments[1]), arguments[2:])
        return 0
    found = traced()
    for name, modules in found.items():
        total = sum(map(lines_of, modules))
        least = least_modules(modules)
        print(f"{name:16} {len(modules):4} modules, aim ≤ {LIMITS[name]:3}, {total:6} lines, least possible {least:3}")
        if arguments[:1] == ["names"]:
            print("    " + " ".join(sorted(modules)))
    return 0 if all(len(modules) <= LIMITS[name] for name, modules in found.items()) else 1


def lines_of(module: str) -> int:
    return len((SOURCE / module).read_text().splitlines())


def least_modules(modules: Iterable[str]) -> int:
    """How many would do if each package had its lines in as few modules as may be."""
    packages: Counter[Path] = Counter()
    for module in modules:
        packages[Path(module).parent] += lines_of(module)
    return sum(-(-lines // MOST_LINES) for lines in packages.values())


def traced() -> dict[str, set[str]]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        data, out = Path(home) / "ibi-data", Path(home) / "modules"
        command = (sys.executable, "-m", "bench.modules", "serve", str(out))
        variables = {"IBI_LOCK_DIR": f"{home}/locks", "IBI_LOG_LEVEL": "error"}
        with running((*command, "up", "--port", "0", "--data", str(data)), Path.cwd(), variables) as server:
            return Tour(server, out, token(data, variables)).modules()


def token(data: Path, variables: dict[str, str]) -> str:
    import subprocess

    command = [sys.executable, "-c", "from ibi.command import main; main()", "token", "create", "--scope", "deposit"]
    done = subprocess.run(
        [*command, "--data", str(data)], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


class Tour:
    """One request of each kind, to a server that has answered such a one before."""

    def __init__(self, server: Running, out: Path, secret: str) -> None:
        self._server, self._out, self._secret = server, out, secret
        self._idle: set[Call] = set()

    def modules(self) -> dict[str, set[str]]:
        label = self._deposited("known")
        cold = iter([self._deposited(f"cold{number}") for number in range(TIMES + 1)])
        titles = (f"deposit{number}" for number in count())
        words = (f"cold{number}" for number in count())
        self._ask("GET", f"/{next(cold)}", 302)
        self._ask("GET", f"/{label}", 302)
        self._mint()
        self._ask("GET", "/search?q=known", 200)
        self._idle = self._calls(lambda: time.sleep(IDLE))
        return {
            "cached redirect": self._traced(lambda: self._ask("GET", f"/{label}", 302)),
            "cold redirect": self._traced(lambda: self._ask("GET", f"/{next(cold)}", 302)),
            "deposit": self._traced(lambda: self._deposited(next(titles))),
            "mint": self._traced(self._mint),
            "search page": self._traced(lambda: self._ask("GET", f"/search?q={next(words)}", 200)),
        }

    def _traced(self, act: Callable[[], object]) -> set[str]:
        """The modules of what is called each time: what a server does beside requests comes and goes."""
        functions = set.intersection(*(called(self._calls(act), self._idle) for _ in range(TIMES)))
        paths = (Path(file) for file, _ in functions if file.endswith(".py"))  # templates are compiled to functions too
        return {str(path.relative_to(SOURCE)) for path in paths if path.is_relative_to(SOURCE)}

    def _calls(self, act: Callable[[], object]) -> set[Call]:
        self._signal(signal.SIGUSR1)
        act()
        self._signal(signal.SIGUSR2)
        return {((*caller,), (*callee,)) for caller, callee in json.loads(self._out.read_text())}

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


def called(calls: set[Call], idle: set[Call]) -> set[Function]:
    """The functions that are reached by a call which an idle server does not make."""
    by_caller: dict[Function, set[Function]] = {}
    for caller, callee in calls:
        by_caller.setdefault(caller, set()).add(callee)
    found: set[Function] = set()
    left = {callee for _, callee in calls - idle}
    while left:
        found |= left
        left = set().union(*(by_caller.get(each, set()) for each in left)) - found
    return found


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def name_of(code: CodeType | None) -> Function:
    return ("", "") if code is None else (code.co_filename, code.co_qualname)


# --- the server -------------------------------------------------------------------------------------------------------


def serve(out: Path, arguments: Sequence[str]) -> None:
    """The command, noting which function calls which."""
    seen: set[tuple[CodeType | None, CodeType]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add((None if frame.f_back is None else frame.f_back.f_code, frame.f_code))

    def tell(number: int, _: object) -> None:
        calls = [[name_of(caller), name_of(callee)] for caller, callee in tuple(seen) if callee.co_name != "<module>"]
        if number == signal.SIGUSR1:
            seen.clear()
        part = out.with_suffix(".part")
        part.write_text(json.dumps(calls))
        part.rename(out)

    signal.signal(signal.SIGUSR1, tell)
    signal.signal(signal.SIGUSR2, tell)
    threading.setprofile(note)
    sys.setprofile(note)
    sys.argv[1:] = arguments
    from ibi.command import main as command

    command()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
