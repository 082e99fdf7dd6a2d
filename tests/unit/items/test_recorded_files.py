"""Very many files are read when somebody looks at them, and are the same files."""

from __future__ import annotations

import msgspec
import pytest

from ibi.items.model import file as recorded_files
from ibi.items.model.file import File, RecordedFiles, without_files
from ibi.items.model.item import Item
from ibi.items.model.item_json import decode_item, item_document, local_document
from ibi.standard.document_errors import InvalidDocument, InvalidItem
from tests.support.catalog_samples import item
from tests.support.flat_items import replace

FILES = tuple(File(f"data/{number:05}.png", number, f"{number:0128x}", "image/png") for number in range(10_000))
WHOLE = item(1, files=FILES, target="data/05000.png")


def recorded(whole: Item = WHOLE) -> Item:
    rest, files = without_files(msgspec.json.encode(item_document(whole)))
    return decode_item(rest, msgspec.json.encode(local_document(whole)), files=files)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that were read, in their order."""
    paths: list[str] = []

    def counted(path: str, *others: object) -> File:
        paths.append(path)
        return File(path, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(recorded_files, "File", counted)
    return paths


def test_recorded_files_are_equal_to_the_tuple_of_the_files() -> None:
    one = recorded()
    assert isinstance(one.files, RecordedFiles)
    assert one == WHOLE
    assert WHOLE.__eq__(one), "whichever of the two is asked"
    assert one == recorded()
    assert hash(one) == hash(WHOLE)
    assert one.files != FILES[1:]
    assert one.files != list(FILES)
    assert replace(one, version=2) == replace(WHOLE, version=2)
    assert item_document(one) == item_document(WHOLE)


def test_parts_of_them_are_what_parts_of_a_tuple_are() -> None:
    files = recorded().files
    assert (len(files), bool(files), files[0], files[-1]) == (10_000, True, FILES[0], FILES[-1])
    assert (files[:3], files[9_998:], files[5:1]) == (FILES[:3], FILES[9_998:], ())
    assert [*files] == [*FILES]
    assert FILES[7] in files
    with pytest.raises(IndexError):
        files[10_000]


def test_a_caller_that_wants_one_file_has_few_read(made: list[str]) -> None:
    one = recorded()
    assert one.target == "data/05000.png"
    assert one.file("data/09999.png") == FILES[-1]
    assert one.file("data/nothing.png") is None
    assert one.file("data/näher.png") is None
    assert one.files[:50] == FILES[:50]
    assert len(made) < 200


def test_a_file_is_found_in_either_spelling(made: list[str]) -> None:
    decomposed = File("data/zu\u0308ge.png", 1, "0" * 128)
    one = recorded(replace(WHOLE, files=(*FILES, decomposed)))
    assert one.file("data/z\u00fcge.png") == decomposed
    assert replace(one, target="data/z\u00fcge.png").target == decomposed.path
    assert len(made) < 100


def test_a_target_is_one_of_them() -> None:
    with pytest.raises(InvalidItem, match="not among the files"):
        replace(recorded(), target="data/nothing.png")


def test_a_record_without_files_stays_as_it_is() -> None:
    assert recorded(item(1)) == item(1)


@pytest.mark.parametrize("spoilt", [b'{"path":"a"}', b"1", b'{"path":"../a","size":1,"sha512":"x","media_type":"a/b"}'])
def test_what_is_wrong_with_a_file_is_said_when_it_is_looked_at(spoilt: bytes) -> None:
    one = msgspec.json.encode({"path": "a", "size": 1, "sha512": "0" * 128, "media_type": "a/b"})
    files = RecordedFiles(msgspec.Raw(b"[" + one + b"," + spoilt + b"]"))
    assert files[0].path == "a"
    with pytest.raises(InvalidDocument):
        files[1]
    with pytest.raises(InvalidDocument):
        tuple(files)


@pytest.mark.parametrize("spoilt", [b"1", b"{}", b'{"path":1}'])
def test_what_is_wrong_with_a_name_is_said_when_it_is_looked_at(spoilt: bytes) -> None:
    files = RecordedFiles(msgspec.Raw(b"[" + spoilt + b"]"))
    with pytest.raises(InvalidDocument):
        files.paths  # noqa: B018 - it is looked at


def test_a_field_of_a_later_version_is_not_looked_at() -> None:
    one = msgspec.json.encode({"path": "a", "size": 1, "sha512": "0" * 128, "media_type": "a/b", "surprise": 1})
    assert RecordedFiles(msgspec.Raw(b"[" + one + b"]"))[0] == File("a", 1, "0" * 128, "a/b")


@pytest.mark.parametrize("record", [b"", b"[]", b'{"files":', b'{"files":1}', b'{"files":{}}', b'{"\xff":1}'])
def test_what_is_no_record_is_refused(record: bytes) -> None:
    with pytest.raises(InvalidDocument):
        without_files(record)
