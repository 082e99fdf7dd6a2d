"""An Archive dies at every step of every change: what was acknowledged is there, the rest is gone or finished."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.opening.archive_store import CATALOGUE, open_store
from ibi.items.service import deposits, store_listing
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.stored_item import name_of
from ibi.items.store.ocfl import sweep, versions
from ibi.items.store.ocfl.store import STEPS as OCFL_STEPS
from ibi.standard.messages import State
from tests.faults.deposit_worker import LARGE, Orders, files
from tests.support.content_samples import ocfl_py_says
from tests.support.deposit_samples import WHO, CountedLabels, draft, dump, kept_in, labels, sources
from tests.support.deposit_samples import deposits as deposits_on
from tests.support.forked_command import run_forked_script

SCRIPT = Path(__file__).with_name("deposit_worker.py")

OURS = tuple(step for step in deposits.STEPS if step not in ("labels reserved", "claim answered"))
CLAIMS = ("claim answered",)
NEW = ("labels reserved", *versions.CREATION_STEPS, *OURS)
REVISED = tuple(step for step in versions.REVISION_STEPS)
# Where the file system can exchange two names in one step, an object is never moved aside.
PURGED = tuple(step for step in sweep.PURGE_STEPS if step != "purge: moved aside")

STEPS_OF = {
    "deposit": NEW,
    "edition": (*NEW, *REVISED, *CLAIMS),
    "translation": (*NEW, *REVISED, *CLAIMS),
    "describe": (*OURS, *CLAIMS),
    "update": (*REVISED, *OURS),
    "delete": (*REVISED, *OURS),
    "purge": (*PURGED, *OURS),
    "relate": (*REVISED, *OURS),
    "unrelate": (*REVISED, *OURS),
    "undescribe": (*OURS,),
}
TWICE = {
    "edition": (*OURS,),
    "relate": ("content kept", "item listed", *REVISED),
    "unrelate": ("content kept", "item listed", *REVISED),
    "undescribe": ("content kept", "item listed"),
}
# What a start comes to after a crash.
SWEEPS = tuple(step for step in OCFL_STEPS if step.startswith(("recovery: ", "sweep: ")))
POINTS = [
    *((act, step, 1) for act, steps in STEPS_OF.items() for step in steps),
    *((act, step, 2) for act, steps in TWICE.items() for step in steps if step not in ("change noted", "change done")),
]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the items that the acts are on."""
    data = tmp_path_factory.mktemp("begun") / "data"
    with open_store(data) as store:
        made = deposits_on(store)
        for number in range(2):
            given = files(f"item {number}")
            made.deposit(draft(*given, title=f"item {number}", language="pt"), given, WHO)
    return data


@pytest.fixture
def data(begun: Path, tmp_path: Path) -> Path:
    shutil.copytree(begun, tmp_path / "data")
    return tmp_path / "data"


def run(data: Path, orders: Orders) -> tuple[int, str]:
    code, out, err = run_forked_script(SCRIPT, str(data), orders.text)
    assert not err, err
    return code, out


def prepared(data: Path, act: str) -> list[Item]:
    if act == "unrelate":
        run(data, Orders("relate"))
    if act == "undescribe":
        run(data, Orders("describe", first=2))
    with open_store(data) as store:
        return dump(store.catalog)


def intended(data: Path, act: str, copy: Path) -> list[Item]:
    """What the same would have been without the crash."""
    shutil.copytree(data, copy)
    code, said = run(copy, Orders(act, first=2))
    assert code == 0
    assert said
    with open_store(copy) as store:
        return dump(store.catalog)


@pytest.mark.parametrize(("act", "step", "visit"), POINTS)
def test_all_or_nothing(data: Path, tmp_path: Path, act: str, step: str, visit: int) -> None:
    print(f"{act} killed at {step!r}, come to for {visit} times")
    before = prepared(data, act)
    after = intended(data, act, tmp_path / "copy")
    code, said = run(data, Orders(act, step, visit, first=2))
    assert code == -signal.SIGKILL, f"it never came to the step {step!r} for {visit} times"
    assert said == ""  # the steps are all before the acknowledgment
    with open_store(data) as store:
        now = dump(store.catalog)
        assert now in (before, after)
        if step in ("change done", "claim answered", "content kept") and act not in ("unrelate", "undescribe"):
            assert now == after
        assert now == kept_in(store.content, store)
        assert [one for one in store.verify() if one.problems] == []
        check_content(store, now)
    check_again(data, now)


def check_content(store: ArchiveStore, items: list[Item]) -> None:
    """Every file of every item can be read to its end."""
    for item in items:
        for file in item.files:
            with store.content.open(name_of(item), f"doc/{file.path}") as opened:
                assert len(opened.read(0, len(LARGE) * 2)) == file.size


def check_again(data: Path, now: list[Item]) -> None:
    """Nothing is left of the crash: not for the next start, not for a catalogue made anew, not for a new deposit."""
    for path in (data / "store-staging").iterdir():
        assert path.name == "lock"
    for item in now:
        said = ocfl_py_says(data / "store" / name_of(item))
        assert [message for message in said if "W008" not in message] == []
    with open_store(data) as store:
        assert store.swept.looked_at == 0
        assert dump(store.catalog) == now
    for path in data.glob(f"{CATALOGUE}*"):
        path.unlink()
    with open_store(data) as store:
        assert dump(store.catalog) == now
        new = deposits_on(store, CountedLabels(10)).deposit(draft("a.txt"), sources(a=b"a"), WHO)
        assert store.find(new.rep).state is State.ORIGINAL


@pytest.mark.parametrize("act", STEPS_OF)
def test_what_was_acknowledged_survives(data: Path, tmp_path: Path, act: str) -> None:
    prepared(data, act)
    after = intended(data, act, tmp_path / "copy")
    code, said = run(data, Orders(act, first=2))
    assert (code, bool(said)) == (0, True)
    for path in data.glob(f"{CATALOGUE}*"):
        path.unlink()
    with open_store(data) as store:
        assert dump(store.catalog) == after


@pytest.mark.parametrize("step", ["item listed", *store_listing.STEPS, *SWEEPS])
@pytest.mark.parametrize("at", ["content kept", "update: version placed", "update: inventory replaced"])
def test_an_archive_that_dies_while_it_recovers_recovers_the_next_time(
    data: Path, tmp_path: Path, at: str, step: str
) -> None:
    after = intended(data, "edition", tmp_path / "copy")
    assert run(data, Orders("edition", at, first=2))[0] == -signal.SIGKILL
    for _ in range(3):
        run(data, Orders("nothing", step))
    with open_store(data) as store:
        assert dump(store.catalog) == after == kept_in(store.content, store)
        assert [one for one in store.verify() if one.problems] == []
    check_again(data, after)


def test_half_a_catalogue_is_never_taken_for_a_whole_one(data: Path) -> None:
    before = prepared(data, "deposit")
    for path in data.glob(f"{CATALOGUE}*"):
        path.unlink()
    assert run(data, Orders("nothing", "items read in"))[0] == -signal.SIGKILL
    with open_store(data) as store:
        assert store.swept.looked_at == len(before)
    check_again(data, before)


def test_every_step_is_tried() -> None:
    tried = {step for _, step, _ in POINTS}
    assert {*deposits.STEPS, *OCFL_STEPS} - tried == {"purge: moved aside", *sweep.REMOVAL_STEPS, *SWEEPS}
    assert labels(0) != labels(1)
