"""One runner repeats what a server does in the background: no coroutine and no thread outside it repeats a step for the
life of the server."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "ibi"
RUNNER = "jobs/runner.py"

WAITING = {"wait", "wait_for", "sleep", "recv", "acquire", "select", "poll"}
SCHEDULING = {"call_later", "call_at"}
STOPS = ("stop", "clos", "ending", "ended", "running", "is_set", "alive", "wait")

LOOPS = {
    "following/service/follow_worker.py:join": "ends with the calls that it waits for, and after some seconds",
    "items/opening/store_workers.py:_run": "the life of a process of one command",
    "items/service/feed_readers.py:_next_page": "one request, which waits for a change for some seconds",
    "minting/service/queue.py:_gather": "a millisecond",
    "resolver/service/acknowledgments.py:drain": "the end of the server, for a moment",
    "following/service/webhook_worker.py:tell": "ends when one webhook was told all that there is",
    "storage/batching.py:_gather_group": "a few milliseconds, in which changes gather for one commit",
    "deposits/store/draft_files.py:_lock": "ends when one draft is locked",
    "items/store/ocfl/durability.py:run": "ends when one sync of the disk is done",
    "storage/connection.py:_set_journal": "the opening of one database, for some seconds",
    "items/store/text_process.py:_collect": "ends when one file is read, and after some seconds",
    "server/worker_state.py:_lock": "ends when one lock is taken",
    "command/api_clients.py:upload": "one upload of a command",
    "following/client/feed_client.py:search": "ends with the pages of one search",
    "check/client.py:wait": "one answer to `ibi check`",
    "reading/delivery/file_answer.py:_send_body": "the body of one answer",
    "web/metrics.py:_have_published": "one request, for a quarter of a second",
}
"""Loops that wait and may look endless, each of which ends with one unit of work: by file and function, and why."""

THREADS = {
    "jobs/runner.py:attempt": "the thread of a job",
    "items/service/integrity/verified_file.py:_in_thread": "the first reading of one file",
    "items/service/previews.py:_want": "renders previews until none waits",
    "following/service/follow_worker.py:__call__": "one call",
    "storage/locks.py:__init__": "waits for one lock",
    "net/address_guard.py:_start_threads": "looks up names until none waits",
    "check/client.py:_look_up": "looks up one name",
    "check/client.py:listening": "a server of one `ibi check`",
    "server/supervisor.py:watch_orders": "the supervisor's order to end a worker, also one whose event loop hangs",
    "app/starting.py:start": "answers while the catalogue is made anew at the start",
}
"""Threads outside the runner, each of which ends with one unit of work: by file and function, and why."""

TIMERS = {
    "resolver/service/misses.py": "goes on while links wait in a line",
    "membership/client/archive_http.py": "goes on while there are connections, or questions on them",
    "server/connection.py": "goes on while one connection is open",
}
"""Files with a `call_later` that schedules itself, and when that ends. Each schedules the next call in a `finally`: an
error goes to the loop's handler, which logs and counts it."""


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from own_nodes(child)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def called_name(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name
    return ""


def waits(loop: ast.While) -> bool:
    return any(isinstance(node, ast.Await) or called_name(node) in WAITING or takes(node) for node in own_nodes(loop))


def takes(node: ast.AST) -> bool:
    """Whether it waits for a queue or a thread: `get` of a dictionary and `join` of a text have arguments."""
    return isinstance(node, ast.Call) and called_name(node) in {"get", "join"} and not node.args


def may_be_endless(loop: ast.While) -> bool:
    """Whether its condition says nothing about the work, or asks only whether somebody has stopped it."""
    if isinstance(loop.test, ast.Constant):
        return bool(loop.test.value)
    names = [node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in ast.walk(loop.test)]
    return any(stop in name.lower() for name in names for stop in STOPS)


def endless_loops(tree: ast.AST) -> Iterator[str]:
    for function in functions(tree):
        for node in own_nodes(function):
            if isinstance(node, ast.While) and waits(node) and may_be_endless(node):
                yield function.name


def threads(tree: ast.AST) -> Iterator[str]:
    for function in functions(tree):
        if any(called_name(node) in {"Thread", "Timer"} for node in own_nodes(function)):
            yield function.name


def timers(tree: ast.AST) -> Iterator[str]:
    """Functions that come back to themselves through a timer."""
    calls: dict[str, set[str]] = {}
    timed: dict[str, set[str]] = {}
    known = {function.name for function in functions(tree)}
    for function in functions(tree):
        named = calls.setdefault(function.name, set())
        for node in own_nodes(function):
            named.add(called_name(node))
            if called_name(node) in SCHEDULING and isinstance(node, ast.Call):
                for argument in node.args[1:]:
                    timed.setdefault(function.name, set()).add(getattr(argument, "attr", getattr(argument, "id", "")))
    for name, later in timed.items():
        reached, todo = set[str](), {each for each in later if each in known}
        while todo:
            each = todo.pop()
            reached.add(each)
            todo |= {other for other in calls.get(each, set()) | timed.get(each, set()) if other in known} - reached
        if name in reached:
            yield name


@cache
def modules() -> dict[str, ast.Module]:
    """All modules but those of commands, which end."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if not {"cli", "cli.py"} & {*path.parts}]
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def found(look: Callable[[ast.AST], Iterator[str]]) -> set[str]:
    return {f"{path}:{name}" for path, tree in modules().items() for name in look(tree)}


def test_no_loop_outside_the_runner_waits_without_end() -> None:
    assert {place for place in found(endless_loops) if not place.startswith(RUNNER)} == set(LOOPS)


def test_no_thread_outside_the_runner_goes_on_for_the_life_of_the_server() -> None:
    assert found(threads) == set(THREADS)


def test_no_timer_schedules_itself_for_the_life_of_the_server() -> None:
    assert {place.partition(":")[0] for place in found(timers)} == set(TIMERS)


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (endless_loops, "async def f():\n while True:\n  await g()"),
        (endless_loops, "async def f():\n while True:\n  if x:\n   await g()\n  else:\n   return"),
        (endless_loops, "def f(self):\n while not self._stopping.is_set():\n  self._news.wait(1)"),
        (endless_loops, "def f(self):\n while not self._stopping.wait(1):\n  time.sleep(1)"),
        (endless_loops, "def f(queue):\n while 1:\n  queue.get()()"),
        (endless_loops, "class A:\n async def f(self):\n  async def g():\n   while True:\n    await h()"),
        (threads, "def f():\n Thread(target=g).start()"),
        (threads, "def f():\n threading.Timer(1, g)"),
        (timers, "def f(self):\n loop.call_later(1, self.f)"),
        (timers, "def f(self):\n loop.call_later(1, self.g)\ndef g(self):\n self.h()\ndef h(self):\n self.f()"),
        (timers, "def f(self):\n loop.call_at(1, g)\ndef g():\n loop.call_later(1, f)"),
    ],
)
def test_a_planted_loop_is_found(look: Callable[[ast.AST], Iterator[str]], text: str) -> None:
    assert list(look(ast.parse(text)))


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (endless_loops, "async def f():\n for each in many:\n  await g(each)"),
        (endless_loops, "async def f():\n while page := await g():\n  h(page)"),
        (endless_loops, "def f():\n while True:\n  if g():\n   return"),
        (timers, "def f(self):\n loop.call_later(1, self.g)\ndef g(self):\n pass"),
    ],
)
def test_a_loop_over_work_is_left_alone(look: Callable[[ast.AST], Iterator[str]], text: str) -> None:
    assert not list(look(ast.parse(text)))
