"""Records of schema 1 are read as they are, and what later versions wrote survives every change."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from hashlib import sha512
from pathlib import Path
from zlib import crc32

import pytest

from ibi.items.model.content import Bytes, Change, Keep
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.standard.instant import Instant
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, put, sources
from tests.support.flat_items import replace

SCHEMA_1 = Path(__file__).parents[2] / "support" / "stores" / "schema1.tar.xz"
"""A data directory made by the last version that knew schema 1 alone."""
ODD = '{"n":1.10,"far":1e400,"t":"\\u00e9"}'
CHANGE = Change(WHO, "Written by a later version", Instant.parse("2009-02-16T18:00:00Z"))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(SCHEMA_1) as packed:
        packed.extractall(tmp_path / "old", filter="data")
    return tmp_path / "old"


def bytes_of(data: Path) -> dict[str, str]:
    root = data / "store"
    return {
        str(path.relative_to(root)): sha512(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "ibi-generation.json"
    }


@pytest.mark.parametrize("catalogue", [True, False])
def test_a_store_of_schema_1_is_read_as_it_is(old: Path, *, catalogue: bool) -> None:
    before = bytes_of(old)
    if not catalogue:
        (old / "catalogue.sqlite").unlink()
    with open_store(old) as kept:
        items = dump(kept.catalog)
        assert [item.metadata.titles()[0] for item in items] == [
            *("Uma tese corrigida", "A thesis", "Edição", "Gone", "Edição")
        ]
        assert all(item.owner is None and not item.alternates for item in items)
        assert not any(found.problems for found in kept.verify())
        kept.rebuild()
        assert dump(kept.catalog) == items
        for item in items:
            kept.settle(str(item.rep))
            kept.finish(str(item.rep))
    assert bytes_of(old) == before


def test_an_item_of_schema_1_is_updated_and_related_as_any_other(old: Path) -> None:
    with open_store(old) as kept:
        made = deposits(kept, CountedLabels(200))
        first, *_, copy = dump(kept.catalog)
        new = put(made, title="New", edition_of=dump(kept.catalog)[2].labels)
        made.update(
            first.rep,
            replace(draft("a.txt", title="Again", language="pt"), target="a.txt"),
            {"a.txt": Keep("a.txt")},
            WHO,
        )
        assert kept.find(new.rep).edition_of == dump(kept.catalog)[2].labels
        assert kept.find(first.rep).metadata.titles() == ("Again",)
        assert not any(found.problems for found in kept.verify())
        local = read(kept, copy, "local.json")
        assert json.loads(local)["followers"] == ["b.br:8080"]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[ArchiveStore]:
    with open_store(tmp_path / "data") as store:
        yield store


def read(kept: ArchiveStore, item: Item, path: str) -> bytes:
    with kept.content.open(str(item.rep), path) as file:
        return file.read(0, 1 << 20)


def rewrite_as_later(kept: ArchiveStore, item: Item, *others: str) -> None:
    """As a later version might: unknown members in every object, and files of kinds that are not known here."""
    shared, local = read(kept, item, "item.json"), read(kept, item, "local.json")
    for old, new in (
        (b'{\n "schema": 2', f'{{\n "schema": 9,\n "later": {ODD}'),
        (b'"labels": {', f'"labels": {{"later": {ODD}, '),
        (b'"metadata": {', f'"metadata": {{"later": {ODD}, '),
        (b'"value": "Uma tese"', f'"value": "Uma tese", "later": {ODD}'),
        (b'"path": "a.txt"', f'"path": "a.txt", "later": {ODD}'),
    ):
        assert shared.count(old) == 1, old
        shared = shared.replace(old, new.encode())
    local = local.replace(b'"schema": 1', f'"schema": 9, "later": {ODD}'.encode())
    files = {f"doc/{file.path}": Keep(f"doc/{file.path}") for file in item.files}
    rest = {path: Bytes(path.encode()) for path in others}
    kept.content.update(
        str(item.rep), {**files, **rest, "item.json": Bytes(shared), "local.json": Bytes(local)}, CHANGE
    )
    kept.settle(str(item.rep))


def odd_members(record: bytes) -> int:
    return record.replace(b" ", b"").replace(b"\n", b"").count(f'"later":{ODD}'.encode())


OTHERS = ("provenance/1.json", "source/dspace/mets.xml", "extra.bin")


def test_members_and_files_of_a_later_version_survive_every_change(kept: ArchiveStore) -> None:
    made = deposits(kept)
    item = put(made, sources(a=b"a", b=b"b"))
    rewrite_as_later(kept, item, *OTHERS)
    before = read(kept, item, "item.json"), read(kept, item, "local.json")
    kept.rebuild()
    assert not kept.verify_item(str(item.rep)).problems
    assert (read(kept, item, "item.json"), read(kept, item, "local.json")) == before

    edition = put(made, title="Next", edition_of=item.labels)
    made.update(
        item.rep,
        draft("a.txt", "c.txt", title="Uma tese"),
        {"a.txt": Keep("a.txt"), "c.txt": Bytes(b"c")},
        WHO,
    )
    after = json.loads(read(kept, item, "item.json"))
    assert after["next_edition"]["rep"] == str(edition.rep)
    assert after["schema"] == 9
    assert odd_members(read(kept, item, "item.json")) == 5
    assert odd_members(read(kept, item, "local.json")) == 1
    made.delete(item.rep, "gone", WHO)
    assert odd_members(read(kept, item, "item.json")) == 4, "the file went, and what was said of it"
    assert [read(kept, item, path) for path in OTHERS] == [path.encode() for path in OTHERS]
    assert not kept.verify_item(str(item.rep)).problems


def test_a_purge_leaves_no_other_files(kept: ArchiveStore) -> None:
    made = deposits(kept)
    item = put(made)
    rewrite_as_later(kept, item, *OTHERS)
    made.delete(item.rep, "gone", WHO, purge=True)
    assert set(kept.content.read(str(item.rep)).head.files) == {"item.json", "local.json"}


def test_an_item_belongs_to_the_account_that_it_is_deposited_for(kept: ArchiveStore) -> None:
    made = deposits(kept)
    item = made.deposit(draft("a.txt"), sources(a=b"a"), WHO, owner="ana")
    made.update(item.rep, draft("a.txt", title="Again"), {"a.txt": Keep("a.txt")}, WHO)
    assert kept.find(item.rep).owner == "ana"
    assert json.loads(read(kept, item, "local.json"))["owner"] == "ana"
    assert put(made).owner is None


def test_each_file_has_a_crc_32_from_its_deposit_on(kept: ArchiveStore) -> None:
    large = b"large" * 500_000
    item = put(deposits(kept), sources(a=b"content", b=large))
    assert [file.crc32 for file in kept.find(item.rep).files] == [f"{crc32(each):08x}" for each in (b"content", large)]
    assert json.loads(read(kept, item, "item.json"))["files"][0]["crc32"] == f"{crc32(b'content'):08x}"


def test_files_of_schema_1_get_their_crc_32_when_they_are_verified(old: Path) -> None:
    before, expected = bytes_of(old), [f"{crc32(each):08x}" for each in (b"second\n", b"b\n")]
    with open_store(old) as kept:
        first = dump(kept.catalog)[0]
        assert [file.crc32 for file in first.files] == [None, None]
        for _ in range(2):
            assert not any(found.problems for found in kept.verify())
            assert [file.crc32 for file in kept.find(first.rep).files] == expected
    assert bytes_of(old) == before


def test_a_verification_that_finds_all_known_already_lists_nothing_anew(kept: ArchiveStore) -> None:
    item = put(deposits(kept))
    version = kept.catalog.version()
    assert not kept.verify_item(str(item.rep)).problems
    assert kept.catalog.version() == version
