"""Killed at every step of making, refreshing and dropping a Copy: it is there whole, as it was, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ibi.copies.service import copying
from ibi.items.service import item_repository
from ibi.items.store.ocfl import sweep, versions
from ibi.standard.label import parse
from tests.support.copy_world import IBIP, REP, Taker, object_said, original, source_archive, taker
from tests.support.forked_command import run_forked_script

SCRIPT = Path(__file__).with_name("copy_worker.py")
OLD, CONTENTS = original(files={"a.txt": b"old", "large.bin": b"x" * 1_200_000})
NEW, NEWER = original(files={"a.txt": b"new", "large.bin": b"x" * 1_200_000}, version=2)
CHANGED = ("change noted", "content kept", "item listed", "change done")
STEPS = {
    "copy": (*versions.CREATION_STEPS, *CHANGED),
    "refresh": (*versions.REVISION_STEPS, *CHANGED),
    "drop": (*sweep.REMOVAL_STEPS, *item_repository.REMOVAL_STEPS),
}
ALL = [(act, step) for act, steps in STEPS.items() for step in dict.fromkeys(steps)]
POINTS = (
    ALL
    if os.environ.get("SOAK_COPIES")
    else [
        ("copy", "content half written"),
        ("copy", "create: renamed"),
        ("copy", "item listed"),
        ("refresh", "update: version placed"),
        ("drop", "item listed"),
        ("drop", "remove: moved aside"),
    ]
)
"""The others are tried by `make soak`."""


def run(data: Path, source: str, act: str, step: str) -> tuple[int, str]:
    code, out, err = run_forked_script(SCRIPT, str(data), source, act, step, "1")
    assert not err, err
    return code, out


def held(here: Taker) -> dict[str, bytes] | None:
    item = here.store.catalog.find(parse(IBIP))
    if item is None:
        assert list(here.store.content.iterate()) == []
        return None
    assert not [each for each in here.store.verify() if each.problems]
    found = {}
    for file in item.files:
        with here.store.content.open(REP, f"doc/{file.path}") as opened:
            found[file.path] = opened.read(0, file.size)
    return found


@pytest.mark.parametrize(("act", "step"), POINTS)
def test_a_crash_leaves_a_copy_whole_as_it_was_or_not_at_all(tmp_path: Path, act: str, step: str) -> None:
    data = tmp_path / "data"
    before, after = {"copy": (None, CONTENTS), "refresh": (CONTENTS, NEWER), "drop": (CONTENTS, None)}[act]
    with source_archive(object_said(OLD), CONTENTS) as source:
        if before is not None:
            with taker(data) as here:
                here.copying.bring(parse(IBIP), source.url)
        if act == "refresh":
            source.said, source.contents = object_said(NEW, head=2), NEWER
        assert run(data, source.url, act, step) == (-9, ""), "the step was not come to"
        with taker(data) as here:
            assert held(here) in (before, after)
            if act == "drop":
                if held(here) is not None:
                    here.copying.drop(parse(IBIP), "again")
            else:
                here.copying.bring(parse(IBIP), source.url)
            assert held(here) == after
            assert here.left() == []


def test_every_step_of_copying_is_tried() -> None:
    assert set(copying.STEPS) - {step for _, step in ALL} == {"claim answered"}
