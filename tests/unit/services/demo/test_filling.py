"""The demonstration: what is in it, and that starting again continues."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.messages.field import State
from ibi.model.item import Item
from ibi.services.demo.collection import demo_items
from ibi.services.demo.filling import FILE_NAME, fill
from ibi.services.demo.paper import pdf
from ibi.services.demo.picture import landscape
from ibi.services.items.archive_store import ArchiveStore
from tests.support.deposit_samples import CountedLabels, deposits, dump

SITE = "http://ibi.example"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ArchiveStore]:
    with ArchiveStore(tmp_path) as opened:
        yield opened


def _item(store: ArchiveStore, known: dict, name: str) -> Item:  # type: ignore[type-arg]
    found = store.catalog.find(known[name])
    assert found is not None
    return found


def test_it_has_one_of_each_kind(store: ArchiveStore, tmp_path: Path) -> None:
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


def test_a_paper_is_a_pdf_whose_table_is_right() -> None:
    made = pdf("A (title) \\ here", ["words " * 40] * 30)

    table = int(made.rpartition(b"startxref\n")[2].split()[0])
    places = [int(line[:10]) for line in made[table:].split(b"\n")[3:] if line.endswith(b" n ")]
    assert made[table : table + 4] == b"xref"
    assert [made[place:].startswith(b"%d 0 obj" % number) for number, place in enumerate(places, 1)] == [True] * len(
        places
    )
    assert made.count(b"/Type /Page ") == 4
    assert rb"(A \(title\) \\ here)" in made


def test_a_picture_is_a_png() -> None:
    made = landscape(16, 8)

    start = made.index(b"IDAT") + 4
    rows = zlib.decompressobj().decompress(made[start:])
    assert made.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(rows) == 3 * 8 * (1 + 3 * 16 * 3)
