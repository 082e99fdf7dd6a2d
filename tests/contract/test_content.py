"""The port `Content`, tried on every adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha512
from pathlib import Path
from zlib import crc32

import pytest

from ibi.items.model.content import (
    BlockHasher,
    Bytes,
    Copy,
    Derived,
    InvalidFilePath,
    Keep,
    KeptObject,
    Move,
    NewObject,
    Sent,
    Source,
    Stream,
    TakenFile,
)
from ibi.items.ports.archive_store import (
    Content,
    ContentChanged,
    ContentExists,
    ContentMissing,
    FileMissing,
    SourceRefused,
    UploadDamaged,
)
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.errors import InvalidLabel
from tests.support.content_samples import NAME, OTHER, change, everything_in, files, stream
from tests.support.memory.content import MemoryContent

ADAPTERS: dict[str, Callable[[Path], Content]] = {"memory": lambda _: MemoryContent(), "ocfl": OcflStore}


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Content]:
    store = ADAPTERS[request.param](tmp_path / "data" / "content")
    yield store
    store.close()


def test_what_is_kept_is_read_again(store: Content) -> None:
    made = store.create(NAME, files(item=b"{}", doc__a=b"text", doc__empty=b""), change("first"))
    assert store.read(NAME) == made
    assert (made.name, made.head.number, made.head.change) == (NAME, 1, change("first"))
    assert made.head.files == {
        "item.txt": sha512(b"{}").hexdigest(),
        "doc/a.txt": sha512(b"text").hexdigest(),
        "doc/empty.txt": sha512(b"").hexdigest(),
    }
    assert everything_in(store, NAME) == [{"item.txt": b"{}", "doc/a.txt": b"text", "doc/empty.txt": b""}]


def test_a_change_may_have_no_address_nor_message(store: Content) -> None:
    bare = replace(change(""), address=None)
    assert store.create(NAME, files(a=b""), bare) == store.read(NAME)
    assert store.read(NAME).head.change == bare


def test_what_was_removed_is_gone_and_its_name_is_free(store: Content) -> None:
    store.create(NAME, files(a=b"1"), change())
    store.update(NAME, files(a=b"2"), change("second"))
    store.create(OTHER, files(a=b"1"), change())
    store.remove(NAME)
    with pytest.raises(ContentMissing):
        store.read(NAME)
    with pytest.raises(ContentMissing):
        store.remove(NAME)
    assert list(store.iterate()) == [OTHER]
    made = store.create(NAME, files(a=b"3"), change("anew"))
    assert made.head.number == 1
    assert everything_in(store, NAME) == [{"a.txt": b"3"}]


def test_names_may_be_in_any_script(store: Content) -> None:
    path = "doc/São José/日本 'quoted' \"&\"/%2e%2e/emoji 🛰️.txt"
    store.create(NAME, {path: Bytes(b"x")}, change())
    assert everything_in(store, NAME) == [{path: b"x"}]


def test_a_name_has_content_once(store: Content) -> None:
    made = store.create(NAME, files(a=b"1"), change())
    with pytest.raises(ContentExists, match="mtc-m18@80"):
        store.create(NAME, files(a=b"2"), change())
    assert store.read(NAME) == made


def test_what_was_never_kept_is_missing(store: Content) -> None:
    for call in (
        lambda: store.read(NAME),
        lambda: store.open(NAME, "a"),
        lambda: store.update(NAME, files(a=b""), change()),
        lambda: store.purge_to(NAME, files(a=b""), change()),
        lambda: list(store.verify(NAME)),
    ):
        with pytest.raises(ContentMissing):
            call()
    assert list(store.iterate()) == []


def test_an_update_adds_a_version_and_the_earlier_ones_stay(store: Content) -> None:
    store.create(NAME, files(item=b"1", doc__a=b"a", doc__b=b"b"), change("first"))
    wanted: dict[str, Source] = {
        "item.txt": Bytes(b"2"),
        "doc/a.txt": Keep("doc/a.txt"),
        "doc/new name.txt": Keep("doc/b.txt"),
    }
    kept = store.update(NAME, wanted, change("second", 1))
    assert [version.change.message for version in kept.versions] == ["first", "second"]
    assert everything_in(store, NAME) == [
        {"item.txt": b"1", "doc/a.txt": b"a", "doc/b.txt": b"b"},
        {"item.txt": b"2", "doc/a.txt": b"a", "doc/new name.txt": b"b"},
    ]


def test_a_version_may_bring_nothing_new_or_have_no_files(store: Content) -> None:
    store.create(NAME, files(a=b"1", b=b"1"), change())
    store.update(NAME, {"b.txt": Keep("a.txt"), "c.txt": Bytes(b"1")}, change())
    store.update(NAME, {}, change())
    store.update(NAME, files(a=b"1"), change())
    assert everything_in(store, NAME) == [
        {"a.txt": b"1", "b.txt": b"1"},
        {"b.txt": b"1", "c.txt": b"1"},
        {},
        {"a.txt": b"1"},
    ]
    assert list(store.verify(NAME)) == []


def test_a_file_of_an_earlier_version_comes_back_under_its_number(store: Content) -> None:
    store.create(NAME, files(a=b"1", b=b"2"), change())
    store.update(NAME, files(a=b"other"), change())
    for wrong in (Keep("b.txt"), Keep("b.txt", 2), Keep("b.txt", 0), Keep("b.txt", 3)):
        with pytest.raises(FileMissing):
            store.update(NAME, {"b.txt": wrong}, change())
    store.update(NAME, {"a.txt": Keep("a.txt", 1), "c.txt": Keep("b.txt", 1), "d.txt": Keep("a.txt")}, change())
    assert everything_in(store, NAME)[2] == {"a.txt": b"1", "c.txt": b"2", "d.txt": b"other"}
    assert list(store.verify(NAME)) == []


def test_only_files_of_the_current_version_can_be_kept(store: Content) -> None:
    with pytest.raises(FileMissing):
        store.create(NAME, {"a": Keep("b")}, change())
    store.create(NAME, files(a=b"1"), change())
    store.update(NAME, files(b=b"2"), change())
    with pytest.raises(FileMissing, match=r"Version 2 of .* has no file a\.txt"):
        store.update(NAME, {"a.txt": Keep("a.txt"), "c.txt": Bytes(b"c")}, change())
    assert store.read(NAME).head.number == 2


def test_a_change_made_for_another_version_is_refused(store: Content) -> None:
    store.create(NAME, files(a=b"1"), change())
    store.update(NAME, files(a=b"2"), change(), head=1)
    for make in (store.update, store.purge_to):
        with pytest.raises(ContentChanged) as refusal:
            make(NAME, files(a=b"3"), change(), head=1)
        assert refusal.value.parameters == {"name": NAME, "expected": 1, "found": 2}
    assert everything_in(store, NAME) == [{"a.txt": b"1"}, {"a.txt": b"2"}]


def test_a_purge_leaves_one_version_alone(store: Content) -> None:
    store.create(NAME, files(item=b"1", doc__secret=b"secret"), change())
    store.update(NAME, files(item=b"2", doc__secret=b"more"), change())
    with store.open(NAME, "doc/secret.txt", 1) as reading:
        store.purge_to(NAME, {"item.txt": Bytes(b"gone"), "local.txt": Keep("item.txt")}, change("purged"), head=2)
        assert reading.read(0, 100) == b"secret"  # who was reading may finish
    assert everything_in(store, NAME) == [{"item.txt": b"gone", "local.txt": b"2"}]
    assert store.read(NAME).head.change.message == "purged"
    with pytest.raises(FileMissing):
        store.open(NAME, "doc/secret.txt", 1)
    with pytest.raises(FileMissing):
        store.purge_to(NAME, {"a": Keep("doc/secret.txt")}, change())
    assert list(store.verify(NAME)) == []


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 3_000_000])
def test_content_comes_from_bytes_streams_and_files(store: Content, size: int, tmp_path: Path) -> None:
    content = bytes(index % 251 for index in range(1000)) * (size // 1000 + 1)
    content = content[:size]
    (tmp_path / "copied").write_bytes(content + b"c")
    (tmp_path / "moved").write_bytes(content + b"m")
    sources: dict[str, Source] = {
        "bytes": Bytes(content),
        "stream": stream(content + b"s"),
        "copied": Copy(str(tmp_path / "copied")),
        "moved": Move(str(tmp_path / "moved")),
    }
    store.create(NAME, sources, change())
    assert everything_in(store, NAME) == [
        {"bytes": content, "stream": content + b"s", "copied": content + b"c", "moved": content + b"m"}
    ]
    assert (tmp_path / "copied").exists()
    assert not (tmp_path / "moved").exists()


def test_a_file_stays_where_it_is_if_the_change_is_refused(store: Content, tmp_path: Path) -> None:
    upload = tmp_path / "upload"
    upload.write_bytes(b"precious")
    with pytest.raises(SourceRefused):
        store.create(NAME, {"a": Move(str(upload)), "b": Copy(str(tmp_path / "missing"))}, change())
    assert upload.read_bytes() == b"precious"
    assert list(store.iterate()) == []
    store.create(NAME, {"a": Move(str(upload)), "b": Bytes(b"precious")}, change())
    assert everything_in(store, NAME) == [{"a": b"precious", "b": b"precious"}]
    assert not upload.exists()


def test_files_that_tell_of_the_others_are_made_last(store: Content, tmp_path: Path) -> None:
    (tmp_path / "copied").write_bytes(b"copied")
    told: list[dict[str, TakenFile]] = []
    asked: list[str] = []

    def record(name: str) -> Derived:
        def make(taken: Mapping[str, TakenFile]) -> bytes:
            asked.append(name)
            told.append(dict(taken))
            return name.encode()

        return Derived(make)

    def read(length: int) -> bytes:
        asked.append("stream")
        return b""

    wanted: dict[str, Source] = {
        "item": record("item"),
        "doc/copied": Copy(str(tmp_path / "copied")),
        "doc/bytes": Bytes(b"bytes"),
        "local": record("local"),
        "doc/stream": Stream(read),
    }
    store.create(NAME, wanted, change())
    taken = {
        f"doc/{name}": TakenFile(len(content), sha512(content).hexdigest(), f"{crc32(content):08x}")
        for name, content in (("copied", b"copied"), ("bytes", b"bytes"), ("stream", b""))
    }
    assert (asked, told) == (["stream", "item", "local"], [taken, taken])
    store.update(NAME, {"doc/new": Bytes(b"new"), "doc/bytes": Keep("doc/bytes"), "item": record("next")}, change())
    assert told[2:] == [{"doc/new": TakenFile(3, sha512(b"new").hexdigest(), f"{crc32(b'new'):08x}")}]
    assert everything_in(store, NAME) == [
        {"item": b"item", "local": b"local", "doc/copied": b"copied", "doc/bytes": b"bytes", "doc/stream": b""},
        {"item": b"next", "doc/new": b"new", "doc/bytes": b"bytes"},
    ]
    assert list(store.verify(NAME)) == []


def test_a_reader_is_told_how_many_bytes_were_read(store: Content, tmp_path: Path) -> None:
    (tmp_path / "copied").write_bytes(b"c" * 3_000_000)
    (tmp_path / "moved").write_bytes(b"m" * 20)
    wanted: dict[str, Source] = {
        "copied": Copy(str(tmp_path / "copied")),
        "moved": Move(str(tmp_path / "moved")),
        "bytes": Bytes(b"12345"),
        "stream": stream(b"123"),
        "record": Derived(lambda taken: b"not told"),
    }
    read: list[int] = []
    store.create(NAME, wanted, change(), on_bytes=read.append)
    assert sum(read) == 3_000_000 + 20 + 5 + 3
    store.update(NAME, {"stream": Keep("stream"), "more": Bytes(b"1")}, change(), on_bytes=read.append)
    assert sum(read) == 3_000_000 + 20 + 5 + 3 + 1


def test_a_record_that_cannot_be_made_changes_nothing_and_keeps_no_other(store: Content, tmp_path: Path) -> None:
    def make(taken: Mapping[str, TakenFile]) -> bytes:
        raise ZeroDivisionError

    (tmp_path / "moved").write_bytes(b"stays")
    wanted: dict[str, Source] = {"item": Derived(make), "moved": Move(str(tmp_path / "moved"))}
    failed, kept = store.create_all([NewObject(NAME, wanted, change()), NewObject(OTHER, files(a=b"1"), change())])
    assert (type(failed), type(kept)) == (ZeroDivisionError, KeptObject)
    with pytest.raises(ZeroDivisionError):
        store.create(NAME, wanted, change())
    with pytest.raises(ZeroDivisionError):
        store.update(OTHER, wanted, change())
    assert list(store.iterate()) == [OTHER]
    assert store.read(OTHER).head.number == 1
    assert (tmp_path / "moved").read_bytes() == b"stays"


@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("size", [1, 100_000, 1 << 20, 3_000_000])
def test_a_file_that_is_not_what_was_sent_is_not_moved(
    store: Content, size: int, links: int, is_sealed: bool, tmp_path: Path
) -> None:
    """One that has another name stays what it is there: it is copied."""
    upload, content, hasher = tmp_path / "upload", b"x" * size, BlockHasher()
    upload.touch()
    if links > 1:
        (tmp_path / "other name").hardlink_to(upload)
    hasher.update(content)
    sent = Sent("a name", hasher.digest(), hasher.seal() if is_sealed else None)
    for changed in (b"y" + content[1:], content[:-1] + b"y", content[:-1], content + b"x", b""):
        upload.write_bytes(changed)
        with pytest.raises(UploadDamaged, match=r"^'a name': what is kept of this file is not what was sent"):
            store.create(NAME, {"a": Move(str(upload), sent)}, change())
        assert upload.read_bytes() == changed
    assert list(store.iterate()) == []
    upload.write_bytes(content)
    store.create(NAME, {"a": Move(str(upload), sent)}, change())
    assert everything_in(store, NAME) == [{"a": content}]
    assert store.read(NAME).head.files == {"a": sha512(content).hexdigest()}
    assert not upload.exists()


def test_a_file_is_not_moved_under_another_digest_than_its_own(store: Content, tmp_path: Path) -> None:
    """A disk may change the record of an upload as well as the upload."""
    upload, hasher = tmp_path / "upload", BlockHasher()
    upload.write_bytes(b"content")
    hasher.update(b"content")
    for sent in (Sent("a", "0" * 128, hasher.seal()), Sent("a", hasher.digest(), "0" * 64), Sent("a", "0" * 128)):
        with pytest.raises(UploadDamaged):
            store.create(NAME, {"a": Move(str(upload), sent)}, change())
    assert list(store.iterate()) == []


def test_a_stream_that_fails_changes_nothing(store: Content) -> None:
    def read(length: int) -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.create(NAME, {"a": Bytes(b"1"), "b": Stream(read)}, change())
    with pytest.raises(ContentMissing):
        store.read(NAME)


@pytest.mark.parametrize("kind", [Copy, Move])
@pytest.mark.parametrize("what", ["link", "folder", "missing"])
def test_only_plain_files_are_taken_in(
    store: Content, kind: type[Copy] | type[Move], what: str, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceRefused, match=what):
        store.create(NAME, {"a": kind(str(tmp_path / what))}, change())
    assert list(store.iterate()) == []


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "/etc/passwd", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "a\0b", "a\\b", "..\\a"),
        *("a\nb", "a\x7f", "\ud800", "x" * 256, "é" * 128, "/".join(["x" * 100] * 30)),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(store: Content, path: str) -> None:
    with pytest.raises(InvalidFilePath):
        store.create(NAME, {path: Bytes(b"x")}, change())
    store.create(NAME, files(a=b"1"), change())
    with pytest.raises(InvalidFilePath):
        store.update(NAME, {path: Keep("a.txt")}, change())
    with pytest.raises(FileMissing):
        store.open(NAME, path)


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "a/b"), ("a/b", "a/b/c"), ("A", "a"), ("a/x", "A"), ("é", "e\u0301"), ("straße", "STRASSE"), ("x/É", "x/é")],
)
def test_paths_that_some_disk_cannot_tell_apart_are_refused(store: Content, one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        with pytest.raises(InvalidFilePath):
            store.create(NAME, {first: Bytes(b"1"), second: Bytes(b"2")}, change())
    with pytest.raises(ContentMissing):
        store.read(NAME)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "a",
            "../../../etc",
            "sid.inpe.br/../2009/02.16.17.46",
            NAME.upper(),
            f"{NAME}/",
            f"/{NAME}",
            f"{NAME}/x",
        ),
        *("sid.inpe.br/mtc-m18@80/2009/02.16.17.46.00", "extensions/host/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"),
        *(NAME.replace("/", "\\"), f"{NAME}\0", "sid.inpe.br//2009/02.16.17.46"),
    ],
)
def test_only_canonical_repository_names_have_content(store: Content, name: str) -> None:
    for call in (
        lambda: store.create(name, files(a=b"1"), change()),
        lambda: store.update(name, files(a=b"1"), change()),
        lambda: store.purge_to(name, files(a=b"1"), change()),
        lambda: store.read(name),
        lambda: store.open(name, "a.txt"),
        lambda: list(store.verify(name)),
    ):
        with pytest.raises(InvalidLabel):
            call()
    assert list(store.iterate()) == []


def test_a_file_is_read_in_parts(store: Content) -> None:
    store.create(NAME, files(a=b"0123456789"), change())
    with store.open(NAME, "a.txt") as file:
        assert (file.size, file.digest) == (10, sha512(b"0123456789").hexdigest())
        assert [file.read(*part) for part in ((0, 3), (7, 100), (10, 1), (99, 1), (2, 0))] == [
            b"012",
            b"789",
            b"",
            b"",
            b"",
        ]
    file.close()


@pytest.mark.parametrize("version", [0, -1, 2, 10**9])
def test_a_version_that_is_not_there_has_no_files(store: Content, version: int) -> None:
    store.create(NAME, files(a=b"1"), change())
    with pytest.raises(FileMissing):
        store.open(NAME, "a.txt", version)


def test_names_are_listed_in_the_order_of_their_parts(store: Content) -> None:
    names = [NAME, OTHER, "br/sid/2010/01.01.00.00", "sid.inpe.br/mtc-m18/2010/01.01.00.00"]
    for name in names:
        store.create(name, files(a=b"1"), change())
    assert list(store.iterate()) == sorted(names, key=lambda name: name.split("/"))


def test_verification_reads_every_byte_once(store: Content) -> None:
    store.create(NAME, files(a=b"1" * 1000, b=b"1" * 1000, c=b"2" * 500), change())
    read: list[int] = []
    assert list(store.verify(NAME, read.append)) == []
    assert sum(read) == 1500


def test_a_sweep_of_what_is_in_order_does_nothing(store: Content) -> None:
    store.create(NAME, files(a=b"1"), change())
    assert store.sweep() == ()
    assert everything_in(store, NAME) == [{"a.txt": b"1"}]


def test_of_many_at_once_one_creates(store: Content) -> None:
    def create(number: int) -> bool:
        try:
            store.create(NAME, files(a=b"%d" % number), change(str(number)))
        except ContentExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(create, range(16))) == [False] * 15 + [True]
    assert everything_in(store, NAME) == [{"a.txt": store.read(NAME).head.change.message.encode()}]


def test_updates_at_once_are_made_one_after_the_other(store: Content) -> None:
    store.create(NAME, files(a=b"start"), change("start"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.update(NAME, files(a=b"%d" % number), change(str(number))), range(24)))
    versions = everything_in(store, NAME)
    assert [one["a.txt"].decode() for one in versions] == [one.change.message for one in store.read(NAME).versions]
    assert {one["a.txt"] for one in versions} == {b"start", *(b"%d" % number for number in range(24))}
    assert list(store.verify(NAME)) == []


def test_several_are_kept_as_if_each_were_alone(store: Content) -> None:
    store.create(NAME, files(a=b"1"), change())
    third = NAME.replace("mtc-m18", "mtc-m19")
    made = store.create_all(
        [
            NewObject(OTHER, files(a=b"2"), change("second")),
            NewObject(NAME, files(a=b"3"), change()),
            NewObject(third, {"../a": Bytes(b"4")}, change()),
            NewObject("no/name", files(a=b"5"), change()),
            NewObject(third, files(a=b"6"), change()),
            NewObject(third, files(a=b"7"), change()),
        ]
    )
    kept = [OTHER, third]
    assert [type(each) for each in made] == [
        KeptObject,
        ContentExists,
        InvalidFilePath,
        InvalidLabel,
        KeptObject,
        ContentExists,
    ]
    assert [each for each in made if isinstance(each, KeptObject)] == [store.read(name) for name in kept]
    assert [everything_in(store, name) for name in (NAME, *kept)] == [
        [{"a.txt": b"1"}],
        [{"a.txt": b"2"}],
        [{"a.txt": b"6"}],
    ]
    assert store.create_all([]) == []
    assert [list(store.verify(name)) for name in store.iterate()] == [[], [], []]


def test_one_whose_source_is_refused_keeps_no_other(store: Content, tmp_path: Path) -> None:
    missing = Copy(str(tmp_path / "missing"))
    refused, kept = store.create_all(
        [NewObject(NAME, {"a": missing}, change()), NewObject(OTHER, files(a=b"1"), change())]
    )
    assert isinstance(refused, SourceRefused)
    assert isinstance(kept, KeptObject)
    assert list(store.iterate()) == [OTHER]
