"""Copies are made whole or not at all, of honest Archives; over real HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.copies.client import item_source
from ibi.copies.ports import NoCopyService, NoSource, SourceCut, SourceGone, SourceSilent
from ibi.copies.rules.copies import CopyRules, NotTheOriginal, OriginalDeleted
from ibi.copies.service import copying
from ibi.copies.service.jobs import bring_many
from ibi.items.model.content import Bytes
from ibi.items.model.item import Item
from ibi.items.model.item_json import encode_item
from ibi.items.rules.errors import AlreadyThere, NotAllowedNow, UnknownItem
from ibi.net.errors import UnexpectedAnswer
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName, parse
from ibi.standard.vocabulary import State
from tests.support.copy_world import (
    IBIP,
    NOW,
    REP,
    SourceRequest,
    chain_said,
    object_said,
    original,
    source_archive,
    taker,
)
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft
from tests.support.one_sided_transfers import Transfers
from tests.support.raw_server import Talk, drips, is_silent, raw_server, says
from tests.support.set_clocks import SetClocks

LABEL = parse(IBIP)


def bytes_of(store: object, one: Item) -> dict[str, bytes]:
    found = {}
    for file in one.files:
        with store.content.open(str(one.rep), f"doc/{file.path}") as opened:  # type: ignore[attr-defined]
            found[file.path] = opened.read(0, file.size)
    return found


def test_a_copy_has_the_labels_the_record_and_the_bytes_of_its_original(tmp_path: Path) -> None:
    one, contents = original(files={"a.txt": b"text", "b/c.bin": b"\0" * 300_000, "again.txt": b"text", "empty": b""})
    said = object_said(one, others=chain_said(one))
    with source_archive(said, contents) as source, taker(tmp_path) as here:
        counted: list[int] = []
        brought = here.copying.bring(LABEL, source.url, on_bytes=counted.append)
        assert (brought.changed, brought.is_new, brought.head) == (True, True, 1)
        assert brought.item.state is State.COPY
        assert brought.item.labels == one.labels
        assert brought.item.source_url == source.url
        assert bytes_of(here.store, brought.item) == contents
        with here.store.open_record(REP, "item.json", 1) as record:
            assert record.read_all() == encode_item(one)
        assert here.store.content.read(REP).head.files.keys() >= {"provenance/1.json", "item.json", "local.json"}
        assert here.store.catalog.find(parse(REP)) == brought.item
        assert sum(counted) == 300_004
        assert here.left() == []
        assert not [each for each in here.store.verify() if each.problems]


def test_a_record_is_kept_byte_for_byte_whatever_its_spelling(tmp_path: Path) -> None:
    one, contents = original()
    spelled = encode_item(one).replace(b"\n", b"\n ").rstrip() + b"\n\n"
    with source_archive(object_said(one, item_json=spelled), contents) as source, taker(tmp_path) as here:
        here.copying.bring(LABEL, source.url)
        with here.store.open_record(REP, "item.json", 1) as record:
            assert record.read_all() == spelled


def test_a_copy_that_is_the_same_is_left_alone(tmp_path: Path) -> None:
    one, contents = original()
    with source_archive(object_said(one), contents) as source, taker(tmp_path) as here:
        here.copying.bring(LABEL, source.url)
        again = here.copying.bring(LABEL)
        assert (again.changed, again.is_new) == (False, False)
        assert here.store.content.read(REP).head.number == 1


def test_a_refreshed_copy_fetches_only_what_it_has_not(tmp_path: Path) -> None:
    one, contents = original(files={"a.txt": b"a" * 1000, "b.txt": b"b" * 1000})
    with source_archive(object_said(one), contents) as source, taker(tmp_path) as here:
        here.copying.bring(LABEL, source.url)
        after, contents = original(files={"c/a.txt": b"a" * 1000, "d.txt": b"d"}, version=2)
        source.said, source.contents, source.asked = object_said(after, head=4), contents, []
        brought = here.copying.bring(LABEL)
        assert (brought.changed, brought.is_new, brought.head) == (True, False, 4)
        assert bytes_of(here.store, brought.item) == contents
        assert [path for path, _ in source.asked if "/files/" in path] == [f"/api/items/{REP}/files/d.txt"]
        assert here.left() == []


def test_a_copy_outlives_its_original_and_says_so(tmp_path: Path) -> None:
    one, contents = original()
    with source_archive(object_said(one), contents) as source, taker(tmp_path) as here:
        here.copying.bring(LABEL, source.url)
        gone = {"when": "2026-01-02T03:04:05Z", "why": "withdrawn"}
        source.said = object_said(one, item=None, item_sha512=None, state="Deleted", tombstone=gone)
        brought = here.copying.bring(LABEL)
        assert brought.changed
        assert brought.item.original_tombstone is not None
        assert brought.item.original_tombstone.why == "withdrawn"
        assert bytes_of(here.store, brought.item) == contents
        assert not here.copying.bring(LABEL).changed
        with here.store.open_record(REP, "item.json", 2) as record:
            assert record.read_all() == encode_item(one)
        here.copying.drop(LABEL, WHO)
        with pytest.raises(OriginalDeleted, match="withdrawn"):
            here.copying.bring(LABEL, source.url)


def test_a_dropped_copy_leaves_nothing(tmp_path: Path) -> None:
    one, contents = original()
    with source_archive(object_said(one), contents) as source, taker(tmp_path) as here:
        here.copying.bring(LABEL, source.url)
        here.copying.drop(LABEL, WHO)
        assert here.store.catalog.find(LABEL) is None
        assert list(here.store.content.iterate()) == []
        with pytest.raises(UnknownItem):
            here.copying.drop(LABEL, WHO)
        assert here.copying.bring(LABEL, source.url).is_new
    with taker(tmp_path) as here:
        assert here.store.find(LABEL).state is State.COPY


def test_an_original_is_neither_dropped_nor_overwritten(tmp_path: Path) -> None:
    with taker(tmp_path) as here:
        mine = deposits(here.store, CountedLabels()).deposit(draft("a.txt"), {"a.txt": Bytes(b"mine")}, WHO)
        with pytest.raises(NotAllowedNow, match="it is the Original"):
            here.copying.drop(mine.rep, WHO)
        forged, contents = original(*(str(label) for label in mine.labels.labels), files={"a.txt": b"forged"})
        with source_archive(object_said(forged), contents) as source:
            with pytest.raises(AlreadyThere, match="the Original is here"):
                here.copying.bring(mine.rep, source.url)
            assert source.asked == []
        assert bytes_of(here.store, here.store.find(mine.rep)) == {"a.txt": b"mine"}


def test_an_original_that_was_given_away_comes_back_as_a_copy(tmp_path: Path) -> None:
    to = parse("lab.br/other/2020/01.01.00.00")
    with taker(tmp_path) as here:
        mine = deposits(here.store, CountedLabels()).deposit(draft("a.txt"), {"a.txt": Bytes(b"mine")}, WHO)
        Transfers(here.store, SetClocks(NOW)).release(mine.rep, to, WHO)
        with source_archive(object_said(mine), {"a.txt": b"mine"}) as source:
            brought = here.copying.bring(mine.rep, source.url)
        assert brought.item.transferred_to == to
        here.copying.drop(mine.rep, WHO)
        assert here.store.catalog.find(mine.rep) is None
        transfer = here.store.catalog.transfer(mine.rep)
        assert transfer is not None
        assert transfer.to == to


def test_copies_are_made_of_originals(tmp_path: Path) -> None:
    one, contents = original()
    with (
        source_archive(object_said(one, state="Copy", source="home.lab.br"), contents) as source,
        taker(tmp_path) as here,
        pytest.raises(NotTheOriginal, match=r"taken from home\.lab\.br"),
    ):
        here.copying.bring(LABEL, source.url)


def test_the_resolver_is_asked_for_who_keeps_it_and_again_when_it_moved(tmp_path: Path) -> None:
    one, contents = original()
    with source_archive(object_said(one), contents) as source, source_archive(object_said(one), contents) as other:
        holder = [source.url]
        with taker(tmp_path, find_source=lambda label: holder[0]) as here:
            assert here.copying.bring(LABEL).item.source_url == source.url
            source.said = {}
            source.special = lambda request: request.refuse()
            holder[0] = other.url
            assert here.copying.bring(LABEL).item.source_url == other.url


def test_without_a_resolver_and_a_name_no_archive_is_asked(tmp_path: Path) -> None:
    with taker(tmp_path) as here, pytest.raises(NoSource, match="--from"):
        here.copying.bring(LABEL)


def test_an_archive_that_has_it_not_says_so(tmp_path: Path) -> None:
    with (
        source_archive(special=lambda request: request.refuse()) as source,
        taker(tmp_path) as here,
        pytest.raises(SourceGone, match=IBIP),
    ):
        here.copying.bring(LABEL, source.url)


def of_another_make(status: int, body: bytes, kind: str) -> Callable[[SourceRequest], bool]:
    def answer(request: SourceRequest) -> bool:
        request.send(body, status, Content_Type=kind)
        return True

    return answer


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, b"<h1>Not Found</h1>", "text/html"),
        (404, b'{"message": "not found"}', "application/json"),
        (410, b"", "text/plain"),
        (404, b'{"type": "urn:ibi:problem:not-found", "detail": "There is nothing here."}', "application/problem+json"),
        (400, b"error {no such label}", "text/plain"),
        (405, b"", "text/plain"),
        (501, b"", "text/plain"),
        (200, b"archiveaddress lab.br ibi.archiveservice {rep lab.br/arq/2001/01.01.01.01}", "text/plain"),
        (200, b"", "text/plain"),
        (200, b"<html>Welcome</html>", "text/html; charset=utf-8"),
    ],
)
def test_an_archive_of_another_make_is_told_from_one_that_has_it_not(
    status: int, body: bytes, kind: str, tmp_path: Path
) -> None:
    with source_archive(special=of_another_make(status, body, kind)) as source, taker(tmp_path) as here:
        with pytest.raises(NoCopyService, match="does not offer its items"):
            here.copying.bring(LABEL, source.url)
        assert len(source.asked) == 1


def test_an_archive_of_another_make_is_not_asked_for_each_of_many_items(tmp_path: Path) -> None:
    many = [RepositoryName.parse(f"lab.br/arq/2009/07.21.14.{minute:02}") for minute in range(40)]
    with (
        source_archive(special=of_another_make(404, b"Not Found", "text/plain")) as source,
        taker(tmp_path) as here,
    ):
        with pytest.raises(NoCopyService):
            list(bring_many(here.copying, many, source.url, None, lambda _: None, who="test"))
        assert len(source.asked) == 2


def test_what_broke_off_is_gone_on_with_and_nothing_is_read_twice(tmp_path: Path) -> None:
    content = bytes(range(256)) * 16_384
    one, contents = original(files={"large.bin": content})
    cuts = [200_000] * 20
    with source_archive(object_said(one), contents, cuts=cuts) as source, taker(tmp_path) as here:
        brought = here.copying.bring(LABEL, source.url)
        assert bytes_of(here.store, brought.item) == contents
        assert source.sent == len(content)
        assert not cuts


def test_another_process_goes_on_where_one_was_cut_off(tmp_path: Path) -> None:
    content = bytes(range(256)) * 4096
    one, contents = original(files={"large.bin": content})
    with source_archive(object_said(one), contents, cuts=[300_000, 0, 0, 0, 0]) as source:
        with taker(tmp_path) as here, pytest.raises(SourceCut):
            here.copying.bring(LABEL, source.url)
        with taker(tmp_path) as here:
            assert here.store.catalog.find(LABEL) is None
            assert here.left() != []
            brought = here.copying.bring(LABEL, source.url)
            assert bytes_of(here.store, brought.item) == contents
            assert source.sent == len(content)
            assert here.left() == []


def test_parts_that_were_left_alone_are_swept(tmp_path: Path) -> None:
    one, contents = original(files={"large.bin": b"x" * 500_000})
    with source_archive(object_said(one), contents, cuts=[100_000, 0, 0, 0, 0]) as source, taker(tmp_path) as here:
        with pytest.raises(SourceCut):
            here.copying.bring(LABEL, source.url)
        assert here.copying.sweep(1) == 0
        assert here.copying.sweep(0) == 1
        assert here.left() == []


def test_the_claims_of_a_copy_wait_for_the_owner_of_the_item_claimed(tmp_path: Path) -> None:
    with taker(tmp_path) as here:
        mine = deposits(here.store, CountedLabels()).deposit(draft("a.txt"), {"a.txt": Bytes(b"mine")}, WHO)
        one, contents = original(edition_of=mine.labels)
        with source_archive(object_said(one), contents) as source:
            here.copying.bring(LABEL, source.url)
        here.store.finish(REP)
        assert here.store.find(mine.rep).next_edition is None


def test_a_source_says_at_which_version_it_is(tmp_path: Path) -> None:
    one, contents = original()
    one = replace(one, updated=Instant.parse("2015-01-01T00:00:00Z"))
    with source_archive(object_said(one, head=7), contents) as source, taker(tmp_path, CopyRules()) as here:
        assert here.copying.bring(LABEL, source.url).head == 7


@pytest.mark.parametrize("talk", [is_silent, drips])
def test_a_server_that_never_answered_is_not_waited_for(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_source, "_FIRST_WAITS", replace(item_source._FIRST_WAITS, head=0.2, silence=0.2))
    monkeypatch.setattr(copying, "_PATIENCE", 0.1)
    with raw_server(talk) as url, taker(tmp_path) as here, pytest.raises(SourceSilent, match="could not be asked"):
        here.copying.bring(LABEL, url)


@pytest.mark.parametrize(
    "content", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"]
)
def test_of_a_server_that_never_answered_nothing_is_kept(content: bytes, tmp_path: Path) -> None:
    with raw_server(says(content)) as url, taker(tmp_path) as here, pytest.raises((SourceCut, UnexpectedAnswer)) as cut:
        here.copying.bring(LABEL, url)
    assert "is kept" not in str(cut.value)
