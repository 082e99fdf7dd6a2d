"""Killed at every step of every change: what was acknowledged is there, whole; what was not is gone or finished."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ibi.items.store.ocfl.store import STEPS, OcflStore
from tests.faults.killer import PYTHONPATH
from tests.faults.ocfl_worker import NAMES, Orders, expected
from tests.support.content_samples import everything_in, ocfl_py_says
from tests.support.forked_command import run_forked_script

SCRIPT = Path(__file__).with_name("ocfl_worker.py")
CHANGES = (
    ("create", 0),
    ("create", 1),
    ("update", 0),
    ("update", 1),
    ("update", 0),
    ("purge", 1),
    ("update", 1),
    ("purge", 0),
    ("remove", 0),
    ("create", 0),
    ("remove", 1),
)
SIGKILLED = -9
LATER = tuple(step for step in STEPS if step.startswith(("recovery", "sweep")))
"""Steps of putting in order what an earlier crash has left."""

State = dict[str, list[int]]
"""The numbers of the changes that made the versions of each name."""


def run(root: Path, orders: Orders) -> tuple[int, int]:
    """How a worker ended, and how many changes it acknowledged."""
    code, out, err = run_forked_script(SCRIPT, str(root), orders.text)
    assert not err, err
    return code, len(out.splitlines())


def after(count: int) -> State:
    """What is to be there after so many changes."""
    state: State = {}
    for number, (kind, name) in enumerate(CHANGES[:count]):
        if kind == "remove":
            del state[NAMES[name]]
            continue
        versions = [] if kind == "purge" else state.get(NAMES[name], [])
        state[NAMES[name]] = [*versions, number]
    return state


def found(store: OcflStore) -> State:
    """What is there: every object valid, every file read."""
    state: State = {}
    for name in store.iterate():
        assert list(store.verify(name)) == []
        assert ocfl_py_says(store.root / name) == []
        numbers = [int(version.change.message) for version in store.read(name).versions]
        assert everything_in(store, name) == [expected(number) for number in numbers]
        state[name] = numbers
    return state


def leftovers(root: Path) -> list[Path]:
    """Files in staging, and empty directories in the root."""
    staging = root.with_name(f"{root.name}-staging")
    staged = [path for path in staging.rglob("*") if path != staging / "lock"]
    return staged + [path for path in root.rglob("*") if path.is_dir() and not any(path.iterdir())]


def check(root: Path, acknowledged: int) -> State:
    store = OcflStore(root)
    store.sweep()
    state = found(store)
    store.close()
    assert leftovers(root) == []
    assert state in (after(acknowledged), after(acknowledged + 1))
    return state


def cases() -> list[tuple[str, int, bool]]:
    """Each step at each of the first visits, with and without the exchange of names."""
    first = [step for step in STEPS if step not in LATER]
    # Only where two names cannot be exchanged in one step, one is moved aside.
    plain = [(step, visit, True) for step in first if step != "purge: moved aside" for visit in (1, 2)]
    return plain + [(step, visit, False) for step in first if step.startswith("purge") for visit in (1, 2)]


@pytest.mark.parametrize(("step", "visit", "exchange"), cases())
def test_a_crash_leaves_a_change_made_or_not_made(step: str, visit: int, exchange: bool, tmp_path: Path) -> None:
    root = tmp_path / "content"
    status, acknowledged = run(root, Orders(CHANGES, step, visit, exchange))
    assert status == SIGKILLED, "the step was not come to"
    state = check(root, acknowledged)
    rest = CHANGES[acknowledged + (state == after(acknowledged + 1)) :]
    store = OcflStore(root)
    assert store.sweep() == ()
    store.close()
    # And work goes on; the numbers of these changes begin anew.
    assert run(root, Orders(rest)) == (0, len(rest))


@pytest.mark.parametrize("step", [step for step in STEPS if step.startswith("update")])
def test_an_object_between_versions_is_readable_and_can_be_changed_without_a_sweep(step: str, tmp_path: Path) -> None:
    root = tmp_path / "content"
    _, acknowledged = run(root, Orders(CHANGES, step))
    name = NAMES[0]
    store = OcflStore(root)
    numbers = [int(version.change.message) for version in store.read(name).versions]
    assert numbers in (after(acknowledged)[name], after(acknowledged + 1)[name])
    store.update(name, {}, store.read(name).head.change)
    assert list(store.verify(name)) == []
    store.close()


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("step", ["update: version placed", "update: inventory replaced"])
def test_a_sweep_that_is_killed_is_done_by_the_next(step: str, later: str, tmp_path: Path) -> None:
    root = tmp_path / "content"
    assert run(root, Orders(CHANGES, step)) == (SIGKILLED, 2)
    assert run(root, Orders((), later)) == (SIGKILLED, 0)
    assert check(root, 2) == after(3)


def test_the_objects_finished_are_told(tmp_path: Path) -> None:
    root = tmp_path / "content"
    run(root, Orders(CHANGES, "update: inventory replaced"))
    store = OcflStore(root)
    assert store.sweep() == (NAMES[0],)
    assert found(store) == after(3)
    store.close()


def test_two_processes_change_one_store(tmp_path: Path) -> None:
    root = tmp_path / "content"
    assert run(root, Orders((("create", 0),))) == (0, 1)
    workers = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(root), Orders((("update", 0),) * 20).text],
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
            stdout=subprocess.DEVNULL,
        )
        for _ in range(3)
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    store = OcflStore(root)
    assert len(store.read(NAMES[0]).versions) == 61
    assert list(store.verify(NAMES[0])) == []
    store.close()
