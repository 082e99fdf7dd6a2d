"""Damaged content as an Archive's pages and programs are told of it, with everything in memory but the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from ibi.items.model.content import BLOCK, Damage, Problem
from ibi.items.model.item import Item
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.integrity.verified_file import PIECE, FirstReading, VerifiedFile
from ibi.items.store.catalogue.catalog import FILE_NAME
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.reading.delivery.file_answer import BlockMemory, FileAnswer
from ibi.standard.label import Label
from ibi.web.metrics import IntegrityMetrics
from ibi.web.request_middleware import AnswerBroken
from tests.support.archive_app import OTHER, REP, ArchiveApp, archive_app, kept
from tests.support.memory.content import MemoryContent, MemoryFile
from tests.support.standards_archives import forms

BROWSER = {"accept": "text/html"}
BYTES = bytes(range(251)) * (3 * BLOCK // 251)
DOC = f"/col/{REP}/doc"


@pytest.fixture
def integrity(tmp_path: Path) -> Iterator[Integrity]:
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as ledger:
        yield Integrity(ledger, lambda: 1_800_000_000.0)


def app_with(integrity: Integrity, **files: bytes) -> ArchiveApp:
    described = {name: ("text/plain", content) for name, content in files.items()}
    return archive_app(kept(REP, files=described), integrity=integrity)


def flip(app: ArchiveApp, content: bytes, offset: int) -> None:
    """One bit of a file that is kept."""
    store = app.site.content
    assert isinstance(store, MemoryContent)
    for key, found in store._content.items():
        if found == content:
            store._content[key] = found[:offset] + bytes([found[offset] ^ 1]) + found[offset + 1 :]


async def test_a_damaged_file_is_said_to_be_damaged(integrity: Integrity) -> None:
    app = app_with(integrity, a=b"0123456789", b=b"right")
    flip(app, b"0123456789", 3)
    answer = await app.get(f"{DOC}/a")
    assert (answer.status, answer.json()["type"]) == (500, "urn:ibi:problem:content-damaged")
    assert f"ibi verify {REP}" in answer.json()["detail"]
    assert (await app.get(f"{DOC}/a", BROWSER)).status == 500
    assert (await app.get(f"{DOC}/a", method="HEAD")).status == 500
    assert (await app.get(f"{DOC}/b")).body == b"right"
    assert list(integrity.ledger.damaged_items()) == [REP]


async def test_who_has_a_file_already_is_not_told_of_damage(integrity: Integrity) -> None:
    app = app_with(integrity, a=b"0123456789")
    tag = (await app.get(f"{DOC}/a")).headers["etag"]
    flip(app, b"0123456789", 3)
    assert (await app.get(f"{DOC}/a")).status == 500
    assert (await app.get(f"{DOC}/a", {"if-none-match": tag})).status == 304


async def test_the_page_and_the_record_of_a_damaged_item_say_so(integrity: Integrity) -> None:
    app = app_with(integrity, a=b"first lines")
    assert b"first lines" in (await app.get(f"/col/{REP}/metadata", BROWSER)).body
    assert "damaged" not in (await app.get(f"/api/items/{REP}")).json()
    flip(app, b"first lines", 3)
    page = await app.get(f"/col/{REP}/metadata", BROWSER)
    assert page.status == 200
    assert b"fir" not in page.body.partition(b'id="look"')[2].partition(b"</section>")[0]
    assert b"is damaged" in page.body
    assert (
        "danificado" in (await app.get(f"/col/{REP}/metadata", {**BROWSER, "accept-language": "pt-BR"})).body.decode()
    )
    assert (await app.get(f"/api/items/{REP}")).json()["damaged"] is True


async def test_the_page_of_an_item_is_shown_though_another_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    app = archive_app(kept(REP, edition_of=forms(OTHER), describes=forms(OTHER)))
    find = app.catalog.find

    def lost(label: Label) -> Item | None:
        if str(label) == OTHER:
            raise ContentDamaged(name=OTHER, problem="record", reason="lost")
        return find(label)

    monkeypatch.setattr(app.catalog, "find", lost)
    page = await app.get(f"/col/{REP}/metadata", BROWSER)
    assert (page.status, OTHER.encode() in page.body) == (200, True)
    assert (await app.get(f"/col/{OTHER}/metadata", BROWSER)).status == 500


# --- how it is sent --------------------------------------------------------------------------------------------------


class Receiver:
    """An ASGI `send` that notes what it gets, and `receive` of a reader who stays."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def send(self, message: Any) -> None:
        self.messages.append(dict(message))

    async def receive(self) -> Any:
        await asyncio.Event().wait()

    @property
    def body(self) -> bytes:
        return b"".join(bytes(each["body"]) for each in self.messages[1:])


def answer_of(content: bytes, integrity: Integrity, memory: BlockMemory, deposited: bytes | None = None) -> FileAnswer:
    item, _ = kept(REP, files={"a": ("text/plain", deposited or content)})
    file = integrity.verified_file(MemoryFile(content, item.files[0].sha512), REP, "a")
    return FileAnswer(item, file, "GET", [], memory)


@pytest.mark.parametrize(("most", "pieces"), [(0, PIECE), (2 * BLOCK, 256 * 1024)])
async def test_pieces_are_small_where_there_is_no_memory_for_blocks(
    integrity: Integrity, most: int, pieces: int
) -> None:
    memory, to = BlockMemory(most), Receiver()
    integrity.verified_file(
        MemoryFile(BYTES, kept(REP, files={"a": ("x/y", BYTES)})[0].files[0].sha512), REP, "a"
    ).learn_blocks()
    await answer_of(BYTES, integrity, memory).send(to.receive, to.send, {})
    assert to.body == BYTES
    assert max(len(each["body"]) for each in to.messages[1:]) == pieces
    assert memory.take(most)  # all was given back


@pytest.mark.parametrize("most", [0, 2 * BLOCK])
@pytest.mark.parametrize("known", [False, True])
async def test_an_answer_is_broken_before_its_end(integrity: Integrity, most: int, known: bool) -> None:
    if known:
        file = MemoryFile(BYTES, kept(REP, files={"a": ("x/y", BYTES)})[0].files[0].sha512)
        integrity.verified_file(file, REP, "a").learn_blocks()
    damaged, to, memory = BYTES[:-1] + b"x", Receiver(), BlockMemory(most)
    with pytest.raises(AnswerBroken):
        await answer_of(damaged, integrity, memory, BYTES).send(to.receive, to.send, {})
    assert len(to.body) < len(BYTES)
    assert all(each["more_body"] for each in to.messages[1:])
    assert integrity.is_damaged(REP)
    assert memory.take(most)


# --- the first reading of a large file -------------------------------------------------------------------------------


class Slow(VerifiedFile):
    def __init__(self, go: Event, error: Exception | None = None) -> None:
        super().__init__(MemoryFile(b"x", "0" * 128), REP, "a", None)
        self._go, self._error = go, error

    def learn_blocks(self, on_bytes: Any = None) -> None:
        assert self._go.wait(30)
        if self._error is not None:
            raise self._error


async def test_many_readers_wait_for_one_first_reading() -> None:
    go, opened, reading = Event(), [0], FirstReading()

    def open_file() -> VerifiedFile:
        opened[0] += 1
        return Slow(go)

    waiting = [asyncio.create_task(reading.learn("d", open_file)) for _ in range(5)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*waiting)
    assert opened == [1]
    await reading.learn("d", open_file)  # another time, it is read again
    assert opened == [2]


async def test_a_reader_does_not_wait_for_ever() -> None:
    go, reading = Event(), FirstReading(patience=0)
    with pytest.raises(TimeoutError):
        await reading.learn("d", lambda: Slow(go))
    go.set()


async def test_damage_found_by_a_first_reading_is_told() -> None:
    go = Event()
    go.set()
    with pytest.raises(ContentDamaged):
        await FirstReading().learn("d", lambda: Slow(go, ContentDamaged(name="a", problem="E092", reason="x")))


async def test_a_part_of_a_file_whose_blocks_are_not_known(integrity: Integrity) -> None:
    app = app_with(integrity, a=BYTES)
    assert (await app.get(f"{DOC}/a", {"range": f"bytes={BLOCK}-{BLOCK + 9}"})).body == BYTES[BLOCK : BLOCK + 10]
    flip(app, BYTES, BLOCK)
    answer = await app.get(f"{DOC}/a", {"range": f"bytes={BLOCK}-{BLOCK + 9}"})
    assert (answer.status, answer.json()["type"]) == (500, "urn:ibi:problem:content-damaged")


# --- figures ---------------------------------------------------------------------------------------------------------


async def test_the_figures(integrity: Integrity) -> None:
    registry = CollectorRegistry()
    metrics = IntegrityMetrics(registry, integrity, now=lambda: 1_800_000_100.0)
    integrity.ledger.expect(["a", "b", "c"])
    integrity.record("a", ())
    await metrics.refresh()
    integrity.note("b", Problem(Damage.DAMAGED, "E092", "x", "wrong"))
    await metrics.refresh()
    told = {
        name: registry.get_sample_value(name)
        for name in (
            "ibi_damage_found_total",
            "ibi_items_damaged",
            "ibi_items_never_verified",
            "ibi_last_verification_seconds",
            "ibi_oldest_verification_age_seconds",
        )
    }
    assert list(told.values()) == [1, 1, 2, 1_800_000_000, 100]
