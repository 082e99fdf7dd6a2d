"""The port `DraftStore`, tried on every adapter."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256, sha512
from pathlib import Path

import pytest

from ibi.deposits.model import DraftRecord, Publication
from ibi.deposits.ports import DraftStore, PartialUpload
from ibi.deposits.rules.drafts import DraftPublished, UnknownDraft, UnknownUpload, UploadBusy
from ibi.deposits.service.drafts import new_draft_id
from ibi.deposits.store.draft_files import DraftFiles
from ibi.items.model.content import BLOCK, BlockHasher
from ibi.items.model.file import File
from ibi.items.model.item import Description
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from tests.support.set_clocks import SetClocks

ADAPTERS: dict[str, Callable[[Path, SetClocks], DraftStore]] = {"files": DraftFiles}


@pytest.fixture
def clocks() -> SetClocks:
    return SetClocks()


@pytest.fixture(params=ADAPTERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path, clocks: SetClocks) -> Callable[[], DraftStore]:
    """The drafts of one Archive, as another process opens them."""
    return lambda: ADAPTERS[request.param](tmp_path, clocks)


@pytest.fixture
def drafts(opened: Callable[[], DraftStore]) -> DraftStore:
    return opened()


def record(title: str = "Uma tese") -> DraftRecord:
    described = Description(metadata=DescriptiveMetadata(title=(Text(title),)))
    return DraftRecord(id=new_draft_id(), owner="service:ana", created=Instant(1_234_806_360), description=described)


def begun(drafts: DraftStore) -> str:
    made = record()
    drafts.create(made)
    return made.id


def send(drafts: DraftStore, draft: str, path: str, content: bytes) -> File:
    incoming = drafts.receive(draft)
    incoming.write(content)
    incoming.finish()
    file = File(path, len(content), sha512(content).hexdigest(), "text/plain")
    with drafts.alone_on(draft):
        drafts.keep(draft, incoming, file)
    return file


def test_what_is_not_there_is_unknown(drafts: DraftStore) -> None:
    absent = new_draft_id()
    for name in (absent, "", "..", "../drafts", "draft-", "x" * 5_000):
        assert drafts.read(name) is None
    assert list(drafts.ids()) == []
    assert drafts.last_change(absent) == 0
    assert drafts.uploads(absent) == {}
    assert drafts.sizes(absent) == {}
    assert drafts.free() > 0
    with pytest.raises(UnknownDraft), drafts.alone_on(absent):
        pass
    drafts.sweep_removed()


def test_a_draft_is_read_as_it_was_written_last(opened: Callable[[], DraftStore]) -> None:
    made, drafts = record(), opened()
    drafts.create(made)
    assert opened().read(made.id) == made
    changed = replace(made, description=record("Outra tese").description)
    drafts.write(changed)
    assert opened().read(made.id) == changed


def test_drafts_are_listed_in_the_order_of_their_ids(drafts: DraftStore) -> None:
    made = sorted(begun(drafts) for _ in range(5))
    assert list(drafts.ids()) == made
    assert list(drafts.ids(after=made[1])) == made[2:]


def test_a_change_is_dated_by_the_clock_of_the_server(drafts: DraftStore, clocks: SetClocks) -> None:
    draft = begun(drafts)
    assert drafts.last_change(draft) == clocks.read().wall.seconds
    clocks.advance(1_000)
    assert drafts.last_change(draft) < clocks.read().wall.seconds
    send(drafts, draft, "a.txt", b"a")
    assert drafts.last_change(draft) == clocks.read().wall.seconds
    clocks.advance(1_000)
    with drafts.alone_on(draft):
        drafts.drop(draft, "a.txt")
    assert drafts.last_change(draft) == clocks.read().wall.seconds


def test_what_was_removed_is_gone(opened: Callable[[], DraftStore]) -> None:
    drafts = opened()
    draft, other = begun(drafts), begun(drafts)
    send(drafts, draft, "a.txt", b"a")
    drafts.remove(draft)
    assert opened().read(draft) is None
    assert drafts.uploads(draft) == {}
    assert list(opened().ids()) == [other]
    drafts.remove(draft)  # another may have been quicker


def test_a_file_is_there_once_it_is_kept(opened: Callable[[], DraftStore]) -> None:
    drafts = opened()
    draft = begun(drafts)
    incoming = drafts.receive(draft, with_sha256=True)
    for piece in (b"con", b"tent"):
        incoming.write(piece)
    assert incoming.size == 7
    assert incoming.digests() == {"sha-512": sha512(b"content").digest(), "sha-256": sha256(b"content").digest()}
    assert drafts.uploads(draft) == {}
    assert drafts.sizes(draft) == {incoming.name: 7}
    incoming.finish()
    file = File("a/b.txt", 7, sha512(b"content").hexdigest(), "text/plain")
    with drafts.alone_on(draft):
        drafts.keep(draft, incoming, file)
    for each in (drafts, opened()):
        assert {path: one.file for path, one in each.uploads(draft).items()} == {"a/b.txt": file}
        assert each.totals(draft) == (1, 7)
    found = opened().find_upload(draft, "a/b.txt")
    assert found is not None
    assert Path(found.place).read_bytes() == b"content"


@pytest.mark.parametrize("size", [0, 7, BLOCK, 2 * BLOCK + 1])
def test_a_file_keeps_the_seal_of_what_was_received(opened: Callable[[], DraftStore], size: int) -> None:
    drafts, hasher = opened(), BlockHasher()
    draft = begun(drafts)
    hasher.update(b"x" * size)
    send(drafts, draft, "a.txt", b"x" * size)
    found = opened().find_upload(draft, "a.txt")
    assert found is not None
    assert found.seal == hasher.seal()


def test_sha_256_is_computed_if_asked_for(drafts: DraftStore) -> None:
    incoming = drafts.receive(begun(drafts))
    assert incoming.digests().keys() == {"sha-512"}
    incoming.abandon()


def test_a_file_takes_the_place_of_one_that_some_systems_take_for_the_same(drafts: DraftStore) -> None:
    draft = begun(drafts)
    send(drafts, draft, "a.txt", b"first")
    found = drafts.find_upload(draft, "A.TXT")
    assert found is not None
    assert found.file.path == "a.txt"
    send(drafts, draft, "a.txt", b"second one")
    assert [one.file.size for one in drafts.uploads(draft).values()] == [10]
    assert drafts.totals(draft) == (1, 10)


def test_a_file_is_found_below_its_folders_while_it_is_there(opened: Callable[[], DraftStore]) -> None:
    drafts = opened()
    draft = begun(drafts)
    assert drafts.find_below(draft, "a") is None
    send(drafts, draft, "a/b/c.txt", b"content")
    for each in (drafts, opened()):
        assert [each.find_below(draft, name) for name in ("a", "A", "a/b", "a/B")] == ["a/b/c.txt"] * 4
        assert [each.find_below(draft, name) for name in ("b", "a/b/c.txt", "a/", "")] == [None] * 4
        assert list(each.uploads(draft)) == ["a/b/c.txt"]
    with drafts.alone_on(draft):
        assert drafts.drop(draft, "a/b/c.txt")
    assert [each.find_below(draft, "a") for each in (drafts, opened())] == [None, None]


def test_what_was_abandoned_was_never_there(drafts: DraftStore) -> None:
    draft = begun(drafts)
    for finished in (False, True):
        incoming = drafts.receive(draft)
        incoming.write(b"content")
        if finished:
            incoming.finish()
        incoming.abandon()
        incoming.abandon()
        assert drafts.totals(draft) == (0, 0)


def test_a_file_is_dropped_by_its_exact_name(drafts: DraftStore) -> None:
    draft = begun(drafts)
    send(drafts, draft, "a.txt", b"a")
    with drafts.alone_on(draft):
        assert not drafts.drop(draft, "A.TXT")
        assert not drafts.drop(draft, "b.txt")
        assert drafts.drop(draft, "a.txt")
        assert not drafts.drop(draft, "a.txt")
    assert drafts.totals(draft) == (0, 0)


def test_a_published_draft_has_no_files_any_more_and_is_read_still(
    opened: Callable[[], DraftStore], clocks: SetClocks
) -> None:
    drafts = opened()
    draft, other = begun(drafts), begun(drafts)
    send(drafts, draft, "a.txt", b"a")
    assert not drafts.is_done(draft)
    concluded = conclude(drafts, draft)
    assert drafts.is_done(draft)
    assert not drafts.is_done(other)
    assert drafts.uploads(draft) == {}
    for each in (drafts, opened()):
        assert each.read(draft) == concluded
        assert list(each.ids()) == [other]
        assert list(each.published_ids()) == [draft]
    assert drafts.last_change(draft) == clocks.read().wall.seconds
    with pytest.raises(DraftPublished), drafts.alone_on(draft):
        pass
    drafts.sweep(draft)
    assert drafts.read(draft) == concluded
    drafts.remove(draft)
    assert drafts.read(draft) is None
    assert list(drafts.published_ids()) == []


def conclude(drafts: DraftStore, draft: str) -> DraftRecord:
    found = drafts.read(draft)
    assert found is not None
    forms = LabelForms(RepositoryName.parse("ibi.lab.br/ibi/2026/01.01.00.00"))
    concluded = replace(found, publication=Publication(forms, 1))
    drafts.conclude(concluded)
    return concluded


def test_what_another_process_changes_is_told_once(opened: Callable[[], DraftStore]) -> None:
    own, other = opened(), opened()
    assert own.changed_elsewhere() is None
    first = begun(other)
    assert own.changed_elsewhere() is None  # the first change of all: from now on it is known
    draft = begun(other)
    begun(own)
    assert list(own.changed_elsewhere() or ()) == [draft]
    assert list(own.changed_elsewhere() or ()) == []
    changes: list[Callable[[], object]] = [
        lambda: send(other, draft, "a.txt", b"a"),
        lambda: other.receive(draft).abandon(),
        lambda: other.drop(draft, "a.txt"),
        lambda: conclude(other, draft),
    ]
    for change in changes:
        change()
        assert list(own.changed_elsewhere() or ()) == [draft]
    other.remove(first)
    assert list(own.changed_elsewhere() or ()) == [first]


def test_the_stamp_is_another_after_each_change(drafts: DraftStore) -> None:
    draft = begun(drafts)
    stamps = [drafts.stamp(draft)]
    incoming = drafts.receive(draft)
    stamps.append(drafts.stamp(draft))
    incoming.abandon()
    stamps.append(drafts.stamp(draft))
    found = drafts.read(draft)
    assert found is not None
    drafts.write(replace(found, owner="service:other"))
    stamps.append(drafts.stamp(draft))
    assert len(set(stamps)) == len(stamps)
    assert drafts.stamp(draft) == stamps[-1]


def test_a_sweep_removes_no_file_that_is_coming_or_was_kept(opened: Callable[[], DraftStore]) -> None:
    drafts = opened()
    draft = begun(drafts)
    send(drafts, draft, "a.txt", b"kept")
    coming, left = drafts.receive(draft), drafts.receive(draft)
    for incoming in (coming, left):
        incoming.write(b"piece")
    left.close()  # as the death of its process would
    opened().sweep(draft)
    assert drafts.totals(draft) == (2, 4 + 5)
    coming.abandon()


def test_one_caller_at_a_time_is_alone_on_a_draft(opened: Callable[[], DraftStore]) -> None:
    one, other = opened(), opened()
    draft, order = begun(one), list[str]()

    def second() -> None:
        with other.alone_on(draft):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with one.alone_on(draft):
            waiting = pool.submit(second)
            with pytest.raises(TimeoutError):
                waiting.result(0.1)
            order.append("first")
        waiting.result(10)
    assert order == ["first", "second"]


def test_a_file_comes_in_several_requests_and_stays_over_the_end_of_a_process(
    opened: Callable[[], DraftStore],
) -> None:
    drafts = opened()
    draft, content = begun(drafts), bytes(range(256)) * 20_000
    partial = drafts.begin_partial(draft, "a/b.bin", len(content), "text/csv")
    incoming = drafts.go_on(draft, partial)
    incoming.write(content[:1000])
    incoming.close()
    again = opened()
    again.sweep(draft)
    assert again.find_partial(draft, partial.id) == partial
    assert again.partials(draft) == (partial,)
    assert again.totals(draft) == (1, 1000)
    resumed = again.go_on(draft, partial)
    with pytest.raises(UploadBusy):
        drafts.go_on(draft, partial)
    resumed.write(b"spoiled")
    resumed.cut(1000)
    resumed.write(content[1000:])
    assert resumed.digests()["sha-512"] == sha512(content).digest()
    hasher = BlockHasher()
    hasher.update(content)
    assert resumed.seal() == hasher.seal()
    resumed.finish()
    file = File("a/b.bin", len(content), sha512(content).hexdigest(), "text/csv")
    with again.alone_on(draft):
        again.keep(draft, resumed, file)
    assert again.partials(draft) == ()
    # A crash may have kept its sender from knowing: to keep it again changes nothing.
    resumed = again.go_on(draft, partial)
    with again.alone_on(draft):
        again.keep(draft, resumed, file)
    (uploaded,) = again.uploads(draft).values()
    assert Path(uploaded.place).read_bytes() == content
    again.drop_partial(draft, partial.id)
    assert again.find_partial(draft, partial.id) is None
    assert Path(uploaded.place).read_bytes() == content


def test_a_partial_file_is_dropped_with_its_bytes(drafts: DraftStore) -> None:
    draft = begun(drafts)
    partial = drafts.begin_partial(draft, "a", 10, None)
    incoming = drafts.go_on(draft, partial)
    incoming.write(b"abc")
    incoming.close()
    assert drafts.partial_size(draft, partial.id) == 3
    drafts.drop_partial(draft, partial.id)
    assert (drafts.find_partial(draft, partial.id), drafts.totals(draft)) == (None, (0, 0))
    assert drafts.find_partial(draft, "../draft") is None
    with pytest.raises(UnknownUpload):
        drafts.go_on(draft, partial)


def send_in_parts(drafts: DraftStore, draft: str, path: str, content: bytes) -> PartialUpload:
    partial = drafts.begin_partial(draft, path, len(content), None)
    incoming = drafts.go_on(draft, partial)
    incoming.write(content)
    incoming.finish()
    with drafts.alone_on(draft):
        drafts.keep(draft, incoming, File(path, len(content), sha512(content).hexdigest(), "text/plain"))
    return partial


def test_the_record_of_a_partial_file_goes_with_its_bytes(opened: Callable[[], DraftStore], tmp_path: Path) -> None:
    drafts = opened()
    draft = begun(drafts)
    replaced = send_in_parts(drafts, draft, "a", b"first")
    dropped = send_in_parts(drafts, draft, "b", b"second")
    kept = send_in_parts(drafts, draft, "a", b"third")
    with drafts.alone_on(draft):
        assert drafts.drop(draft, "b")
    assert [drafts.find_partial(draft, each.id) for each in (replaced, dropped, kept)] == [None, None, kept]
    assert records_of(tmp_path) == {kept.id}


def test_a_sweep_removes_records_of_partial_files_whose_bytes_have_gone(
    opened: Callable[[], DraftStore], tmp_path: Path
) -> None:
    drafts = opened()
    draft = begun(drafts)
    gone, kept = (send_in_parts(drafts, draft, path, b"content") for path in "ab")
    coming = drafts.begin_partial(draft, "c", 10, None)
    for bytes_of in tmp_path.rglob(f"bytes/{gone.id}"):
        bytes_of.unlink()
    opened().sweep(draft)
    assert records_of(tmp_path) == {kept.id, coming.id}


def records_of(data: Path) -> set[str]:
    return {each.stem for each in data.rglob("partial/*.json")}
