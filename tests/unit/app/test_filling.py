"""The demonstration: what is in it, and that starting again continues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from ibi.app.demo.collection import demo_items
from ibi.app.demo.depositing import FILE_NAME, fill
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.standard.vocabulary import State
from tests.support.deposit_samples import CountedLabels, deposits, dump

ROOT = Path(__file__).parents[3]
SITE = "http://ibi.example"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ArchiveStore]:
    with open_store(tmp_path) as opened:
        yield opened


def _item(store: ArchiveStore, known: dict, name: str) -> Item:  # type: ignore[type-arg]
    found = store.catalog.find(known[name])
    assert found is not None
    return found


def test_the_demonstration_has_one_item_of_each_kind(store: ArchiveStore, tmp_path: Path) -> None:
    known = fill(deposits(store), tmp_path, SITE)

    first, second = (_item(store, known, f"thesis, {which} edition") for which in ("first", "second"))
    assert first.next_edition == second.labels
    guide = _item(store, known, "guide in en")
    assert {str(tag) for tag, _ in guide.translations} == {"pt-BR", "es"}
    assert any("/" in file.path for file in _item(store, known, "rainfall").files)
    assert _item(store, known, "notebook").visibility.networks
    assert _item(store, known, "model output").visibility.embargo is not None
    assert _item(store, known, "explainer").target_url == f"{SITE}/explain"
    gone = _item(store, known, "withdrawn tables")
    assert gone.state is State.DELETED
    assert gone.tombstone is not None
    assert gone.tombstone.replaced_by == _item(store, known, "rainfall").labels


def test_starting_again_adds_nothing(store: ArchiveStore, tmp_path: Path) -> None:
    before = fill(deposits(store), tmp_path, SITE)
    dumped = dump(store.catalog)

    # Other labels would be given now, and no key is remembered: it is the file that tells.
    assert fill(deposits(store, CountedLabels(1000)), tmp_path, SITE) == before
    assert dump(store.catalog) == dumped


def test_starting_again_after_an_interruption_adds_what_is_missing(store: ArchiveStore, tmp_path: Path) -> None:
    labels = CountedLabels()
    fill(deposits(store, labels), tmp_path, SITE)
    written = json.loads((tmp_path / FILE_NAME).read_text())
    lost = {name: label for name, label in written.items() if name not in {"withdrawn tables", "explainer"}}
    (tmp_path / FILE_NAME).write_text(json.dumps(lost))
    dumped = dump(store.catalog)

    known = fill(deposits(store, labels), tmp_path, SITE)

    assert {name: label.spelling for name, label in known.items()} == written
    assert dump(store.catalog) == dumped


def test_names_are_told_apart_and_point_backwards() -> None:
    seen: set[str] = set()
    for each in demo_items():
        assert each.name not in seen
        assert {name for name in (each.edition_of, each.translation_of) if name} <= seen
        seen.add(each.name)


FILES = {
    "thesis, first edition/thesis.pdf": (1532, "c74d2334edfc1340"),
    "thesis, second edition/thesis.pdf": (1309, "e2a8d045ae3de171"),
    "thesis, second edition/corrections.txt": (55, "a909a7b136de6159"),
    "rainfall/README.txt": (103, "641c5bab62181f8f"),
    "rainfall/station 1/2023.csv": (198, "ff5b383475fdb401"),
    "rainfall/station 1/2024.csv": (198, "21bb231337290fe8"),
    "rainfall/station 1/2025.csv": (198, "1403f4cee43cc8b3"),
    "rainfall/station 2/2023.csv": (198, "29bf0e5d0c266515"),
    "rainfall/station 2/2024.csv": (197, "00209ea54082282e"),
    "rainfall/station 2/2025.csv": (197, "5e4cee92c3cf6d33"),
    "rainfall/station 3/2023.csv": (198, "96886cc9f29d2d2d"),
    "rainfall/station 3/2024.csv": (199, "9099c3b42b04600d"),
    "rainfall/station 3/2025.csv": (198, "424591f8d908af81"),
    "guide in en/guide.html": (652, "3407ab0c2b8685cf"),
    "guide in pt-BR/guide.html": (696, "891687c82b153a4e"),
    "guide in es/guide.html": (712, "7b121c1b847d5d18"),
    "images/january.png": (31029, "161f1c09610679b8"),
    "images/april.png": (32379, "35bc5f2256e31080"),
    "images/july.png": (30778, "2e998120dc02384c"),
    "images/october.png": (29389, "b6f341756b3ffbad"),
    "notebook/notebook.txt": (281, "19fab743fb632e45"),
    "model output/run12.csv": (197, "150b92eb0c76d463"),
    "withdrawn tables/rain.csv": (198, "1f3447d735cf1f54"),
}
"""Length and beginning of the SHA-256 of each file: who has seen the demonstration finds the same again."""


def test_the_files_of_the_demonstration_are_always_the_same() -> None:
    made = {f"{each.name}/{path}": content for each in demo_items() for path, content in each.files().items()}
    assert {name: (len(content), sha256(content).hexdigest()[:16]) for name, content in made.items()} == FILES


def test_the_wheel_has_its_files() -> None:
    kept = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "ibi").rglob("demo/content/*")}
    packed = {each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert len(kept) == 10
    assert kept <= packed
