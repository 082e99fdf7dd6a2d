"""Whatever is wrong with an object on the disk is found, and told with OCFL's code for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ibi.items.model.content import Bytes, Keep
from ibi.items.ports.archive_store import ContentDamaged, ContentMissing
from ibi.items.store.ocfl.store import OcflStore
from tests.support.content_samples import NAME, change, files, ocfl_py_says


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OcflStore]:
    store = OcflStore(tmp_path / "content")
    store.create(NAME, files(item=b"{}", doc__a=b"some text"), change())
    store.update(NAME, {"item.txt": Bytes(b"[]"), "doc/b.txt": Keep("doc/a.txt")}, change("second", 1))
    yield store
    store.close()


@pytest.fixture
def place(store: OcflStore) -> Path:
    return store.root / NAME


def codes(store: OcflStore) -> list[tuple[str, str, str]]:
    return [(problem.kind, problem.code, problem.path) for problem in store.verify(NAME)]


def test_a_whole_object_has_no_problems_and_is_valid_elsewhere(store: OcflStore, place: Path) -> None:
    assert codes(store) == []
    assert ocfl_py_says(place) == []


def write(path: str, content: bytes) -> Callable[[Path], object]:
    def act(place: Path) -> None:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)

    return act


def remove(path: str) -> Callable[[Path], object]:
    return lambda place: (place / path).unlink()


def link(path: str, target: str) -> Callable[[Path], object]:
    def act(place: Path) -> None:
        (place / path).unlink(missing_ok=True)
        (place / path).symlink_to(target)

    return act


def copy(path: str, other: str) -> Callable[[Path], object]:
    return lambda place: (place / other).write_bytes((place / path).read_bytes())


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (write("v1/content/doc/a.txt", b"sOme text"), ("damaged", "E092", "v1/content/doc/a.txt")),
        (write("v1/content/doc/a.txt", b""), ("damaged", "E092", "v1/content/doc/a.txt")),
        (remove("v1/content/item.txt"), ("missing", "E092", "v1/content/item.txt")),
        (link("v1/content/item.txt", "../../v2/content/item.txt"), ("extra", "E090", "v1/content/item.txt")),
        (link("v1/content/link", "/etc/passwd"), ("extra", "E090", "v1/content/link")),
        (lambda place: os.mkfifo(place / "v1/content/pipe"), ("extra", "E023", "v1/content/pipe")),
        (write("v1/content/doc/extra.txt", b"x"), ("extra", "E023", "v1/content/doc/extra.txt")),
        (lambda place: (place / "v2/content/empty").mkdir(), ("extra", "E024", "v2/content/empty")),
        (write("v1/notes.txt", b"x"), ("extra", "E015", "v1/notes.txt")),
        (lambda place: (place / "v1/other").mkdir(), ("extra", "W002", "v1/other")),
        (write("notes.txt", b"x"), ("extra", "E001", "notes.txt")),
        (lambda place: (place / "folder").mkdir(), ("extra", "E001", "folder")),
        (lambda place: (place / "v9").mkdir(), ("extra", "E046", "v9")),
        (link("link", "v1"), ("extra", "E090", "link")),
        (write("0=ocfl_object_1.0", b"ocfl_object_1.0\n"), ("extra", "E003", "0=ocfl_object_1.0")),
        (write("0=ocfl_object_1.1", b"ocfl_object_1.0\n"), ("structure", "E007", "0=ocfl_object_1.1")),
        (remove("0=ocfl_object_1.1"), ("missing", "E003", "0=ocfl_object_1.1")),
        (remove("inventory.json"), ("structure", "E063", "inventory.json")),
        (remove("inventory.json.sha512"), ("structure", "E058", "inventory.json")),
        (write("inventory.json.sha512", b"x inventory.json\n"), ("structure", "E061", "inventory.json")),
        (copy("v1/inventory.json.sha512", "inventory.json.sha512"), ("structure", "E060", "inventory.json")),
        (copy("v1/inventory.json", "inventory.json"), ("structure", "E060", "inventory.json")),
        (remove("v1/inventory.json"), ("missing", "W010", "v1/inventory.json")),
        (remove("v2/inventory.json.sha512"), ("missing", "E058", "v2/inventory.json")),
        (write("v1/inventory.json", b"{}"), ("structure", "E060", "v1/inventory.json")),
    ],
)
def test_harm_is_found(
    store: OcflStore, place: Path, harm: Callable[[Path], object], found: tuple[str, str, str]
) -> None:
    harm(place)
    assert found in codes(store)


def test_a_version_that_is_gone_is_found(store: OcflStore, place: Path) -> None:
    (place / "v1").rename(place.parent / "elsewhere")
    assert ("missing", "E010", "v1") in codes(store)
    assert ("missing", "E092", "v1/content/doc/a.txt") in codes(store)


def test_an_old_inventory_in_its_place_is_found(store: OcflStore, place: Path) -> None:
    for name in ("inventory.json", "inventory.json.sha512"):
        copy(f"v1/{name}", f"v2/{name}")(place)
    assert ("structure", "E040", "v2/inventory.json") in codes(store)


def test_a_history_told_otherwise_is_found(store: OcflStore, place: Path, tmp_path: Path) -> None:
    other = OcflStore(tmp_path / "other" / "content")
    other.create(NAME, files(item=b"{}", doc__a=b"another text"), change())
    for name in ("inventory.json", "inventory.json.sha512"):
        (place / "v1" / name).write_bytes((other.root / NAME / name).read_bytes())
    assert codes(store) == [("structure", "E066", "v1/inventory.json")]
    other.close()


def test_an_object_in_the_place_of_another_is_found(store: OcflStore, place: Path) -> None:
    elsewhere = place.with_name("02.16.17.47")
    place.rename(elsewhere)
    name = f"{NAME[:-1]}7"
    assert [problem.code for problem in store.verify(name)] == ["E083"]
    with pytest.raises(ContentDamaged, match="E083"):
        store.read(name)
    with pytest.raises(ContentMissing):
        store.verify(NAME).__next__()


def test_content_reached_through_a_linked_folder_is_not_content(store: OcflStore, place: Path) -> None:
    (place / "v1/content/doc").rename(place.parent / "moved")
    (place / "v1/content/doc").symlink_to(place.parent / "moved")
    assert {problem.code for problem in store.verify(NAME)} == {"E090", "E092"}
    with pytest.raises(ContentDamaged):
        store.open(NAME, "doc/b.txt")


def plain_files(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_flipped_bit_anywhere_is_found(store: OcflStore, place: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(plain_files(place)))
    whole = path.read_bytes()
    index = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[index] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(flipped)
    try:
        # The digest in a sidecar may be in either case: that is the same digest.
        same = path.suffix == ".sha512" and flipped.lower() == whole
        assert bool(codes(store)) != same
    finally:
        path.write_bytes(whole)
    assert codes(store) == []


def test_what_cannot_be_read_is_told(store: OcflStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from ibi.items.store.ocfl import verification

    def fail(descriptor: int, on_bytes: object) -> str:
        os.close(descriptor)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(verification, "_hash_file", fail)
    assert {problem.kind for problem in store.verify(NAME)} == {"unreadable"}


def test_an_object_purged_while_it_is_verified_is_no_damage(store: OcflStore) -> None:
    purged: list[object] = []

    def purge(size: int) -> None:
        if not purged:
            purged.append(store.purge_to(NAME, files(item=b"gone"), change()))

    assert list(store.verify(NAME, purge)) == []
    assert purged
