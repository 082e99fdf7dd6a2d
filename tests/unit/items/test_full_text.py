"""Texts of files: read behind the feed of changes, and found by whom they are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha512
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.model.content import Bytes, Change
from ibi.items.model.file import File
from ibi.items.model.item import Item, Tombstone
from ibi.items.model.search import ExtractedText, Facet, SearchQuery
from ibi.items.model.visibility import Visibility
from ibi.items.ports.archive_store import OpenFile
from ibi.items.ports.full_text import TextIndex, TextReader
from ibi.items.service.full_text import FullTextSearch, FullTextWorker
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.previews import SqlitePreviews
from ibi.items.store.catalogue.texts import SqliteTexts, _body
from ibi.items.store.text_process import TextProcess
from ibi.standard.instant import Instant
from ibi.standard.messages import State
from ibi.standard.networks import network
from tests.properties.item_strategies import forms_at
from tests.support.catalog_samples import item
from tests.support.flat_items import replace
from tests.support.memory.content import MemoryContent

_: tuple[type[TextIndex], type[TextReader]] = SqliteTexts, TextProcess
NOW = 1_800_000_000


class Plain:
    """The port `TextReader` without a process; counts what it reads."""

    def __init__(self) -> None:
        self.number = 0

    def can_read(self, media_type: str, size: int) -> bool:
        return media_type == "text/plain"

    def read(self, file: OpenFile, media_type: str) -> ExtractedText:
        self.number += 1
        return ExtractedText(file.read(0, file.size).decode())

    def stop(self) -> None: ...


@dataclass
class Library:
    data: Path
    catalog: SqliteCatalog
    index: SqliteTexts
    content: MemoryContent = field(default_factory=MemoryContent)
    reader: Plain = field(default_factory=Plain)
    now: int = NOW

    def put(self, minute: int, text: str, title: str = "A title", **others: object) -> Item:
        body = text.encode()
        file = File("a.txt", len(body), sha512(body).hexdigest(), "text/plain")
        kept = replace(item(minute, title), files=(file,), **others)
        if str(kept.rep) not in self.content.iterate():
            self.content.create(str(kept.rep), {"doc/a.txt": Bytes(body)}, Change("Ana", "deposit", kept.created))
        self.catalog.put(kept)
        return kept

    def read(self) -> None:
        worker = FullTextWorker(
            self.catalog, self.catalog.changes, self.content, self.index, self.reader, now=lambda: self.now
        )
        while worker.step():
            pass

    async def found(self, text: str, *filters: tuple[Facet, str]) -> list[tuple[int, str]]:
        search = FullTextSearch(self.catalog, self.index, lambda: Instant(self.now))
        matches = await search.find(SearchQuery(text=text, filters=filters))
        minutes = [(match.item.rep.instant.seconds - 1_200_000_000) // 60 for match in matches]
        lines = [
            "".join(f"[{piece.text}]" if piece.is_sought else piece.text for piece in each.line) for each in matches
        ]
        return list(zip(minutes, lines, strict=True))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with closing(SqliteCatalog(tmp_path / "catalogue.sqlite")) as catalog, closing(SqliteTexts(tmp_path)) as index:
        yield Library(tmp_path, catalog, index)


async def test_words_of_files_are_found_with_a_line_of_them(library: Library) -> None:
    library.put(1, "Of penguins in the snow", title="Birds")
    library.put(2, "Of whales and Pengüins", title="Fish")
    library.read()
    assert await library.found("penguins") == [(2, "Of whales and [Pengüins]"), (1, "Of [penguins] in the snow")]
    assert await library.found('"penguins in"') == [(1, "Of [penguins in] the snow")]
    assert await library.found("penguins -whales") == [(1, "Of [penguins] in the snow")]
    assert await library.found("penguins title:fish") == [(2, "Of whales and [Pengüins]")]
    assert await library.found("penguins birds") == [(1, "Of [penguins] in the snow")]  # one word is in the title
    assert await library.found("birds") == []  # that one is found without its files
    assert await library.found("title:birds") == []
    assert await library.found("penguins", (Facet.YEAR, "1999")) == []


async def test_what_was_read_is_known_after_a_restart_and_a_rebuild(library: Library) -> None:
    library.put(1, "penguins")
    library.read()
    library.read()
    assert library.reader.number == 1
    library.catalog.renew_feed()
    library.put(2, "penguins", title="The same file elsewhere")
    library.read()
    assert library.reader.number == 1
    assert [minute for minute, _ in await library.found("penguins")] == [2, 1]


@pytest.mark.parametrize(
    "visibility", [Visibility(networks=(network("10.0.0.0/8"),)), Visibility(embargo=Instant(NOW + 1_000))]
)
async def test_the_text_of_a_restricted_item_is_never_found(library: Library, visibility: Visibility) -> None:
    library.put(1, "penguins", visibility=visibility)
    library.read()
    assert library.reader.number == 0
    assert await library.found("penguins") == []
    assert list(library.index.texts(forms_at(1).labels[0])) == []  # type: ignore[arg-type]


async def test_the_text_of_an_item_that_becomes_restricted_is_gone_at_once(library: Library) -> None:
    kept = library.put(1, "penguins")
    library.read()
    library.catalog.put(replace(kept, visibility=Visibility(networks=(network("10.0.0.0/8"),)), version=2))
    assert await library.found("penguins") == []  # before the text was taken out
    library.read()
    assert library.index.find_text(kept.files[0].sha512) is None


def two_files(library: Library, bodies: dict[str, bytes] | None = None, **others: object) -> Item:
    """An item with a main file, of penguins, and one of whales; or with others."""
    bodies = bodies or {"a.txt": b"penguins", "b.txt": b"whales"}
    files = tuple(
        File(path, len(body), sha512(body).hexdigest(), "text/plain") for path, body in sorted(bodies.items())
    )
    kept = replace(item(1), files=files, target="a.txt", **others)
    sources = {f"doc/{path}": Bytes(body) for path, body in bodies.items()}
    library.content.create(str(kept.rep), sources, Change("Ana", "deposit", kept.created))
    library.catalog.put(kept)
    return kept


async def test_the_words_of_a_file_are_found_beside_a_very_long_one(library: Library) -> None:
    long = b"begins " + b"a1 " * 1_400_000 + b"ends"
    two_files(library, {"a.txt": long, "b.txt": b"penguins", "c.txt": b"of whales " * 1_000 + b"seals"})
    library.read()
    assert await library.found("penguins") == [(1, "[penguins]")]
    assert [minute for minute, _ in await library.found("seals")] == [1]
    assert [minute for minute, _ in await library.found("begins")] == [1]
    assert await library.found("ends") == []


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(0, 200))
def test_words_of_an_item_are_shared_between_its_files(lengths: list[int], most: int) -> None:
    texts = {f"{number}": f"w{number} " * length for number, length in enumerate(lengths)}
    found = Counter(_body(texts, most))
    taken = [found[f"w{number}"] for number in range(len(lengths))]
    assert sum(taken) == min(most, sum(lengths))
    for length, number in zip(lengths, taken, strict=True):
        assert number == length or number + 1 >= max(taken)  # what is cut short has as much as any other


async def test_the_text_of_unlisted_files_is_not_found_but_that_of_the_main_file(library: Library) -> None:
    kept = two_files(library, visibility=Visibility(listing=False))
    library.read()
    assert await library.found("penguins") == [(1, "[penguins]")]
    assert await library.found("whales") == []
    assert library.index.find_text(kept.files[1].sha512) is None


async def test_the_text_of_files_that_become_unlisted_is_gone_at_once(library: Library) -> None:
    kept = two_files(library)
    library.read()
    assert await library.found("whales") == [(1, "[whales]")]
    library.catalog.put(replace(kept, visibility=Visibility(listing=False), version=2))
    assert await library.found("whales") == []  # before the text was taken out
    library.read()
    assert await library.found("penguins") == [(1, "[penguins]")]
    assert library.index.find_text(kept.files[1].sha512) is None


async def test_the_text_of_a_version_that_the_catalogue_does_not_have_yet_is_not_read(library: Library) -> None:
    kept = library.put(1, "penguins")
    change = Change("Ana", "closed", kept.created)
    library.content.update(str(kept.rep), {"doc/a.txt": Bytes(b"whales")}, change)
    library.read()
    assert (await library.found("penguins"), await library.found("whales")) == ([], [])
    assert library.reader.number == 0


async def test_the_text_is_found_when_the_embargo_is_over(library: Library) -> None:
    library.put(1, "penguins", visibility=Visibility(embargo=Instant(NOW + 1_000)))
    library.read()
    library.now = NOW + 1_001
    library.read()
    assert [minute for minute, _ in await library.found("penguins")] == [1]


async def test_the_text_of_a_deleted_item_is_forgotten(library: Library) -> None:
    kept = library.put(1, "penguins")
    other = library.put(2, "penguins")
    library.read()
    for each in (kept, other):
        tombstone = Tombstone(Instant(NOW), "withdrawn")
        library.catalog.put(replace(each, state=State.DELETED, tombstone=tombstone, files=(), updated=Instant(NOW)))
        library.read()
        assert (library.index.find_text(kept.files[0].sha512) is None) == (each is other)
    assert await library.found("penguins") == []


async def test_a_file_that_is_not_there_stops_nothing(library: Library) -> None:
    missing = File("a.txt", 3, "0" * 128, "text/plain")
    library.catalog.put(item(1, files=(missing,)))
    library.put(2, "penguins")
    library.read()
    assert [minute for minute, _ in await library.found("penguins")] == [2]


@pytest.mark.parametrize(
    "text", ['"', "OR", "penguins OR", "·", "\0", "title:", "-penguins", "a" * 3_000, "body:penguins"]
)
async def test_any_text_can_be_sought(library: Library, text: str) -> None:
    library.put(1, "penguins")
    library.read()
    await library.found(text)


async def test_a_hostile_file_is_read_within_limits_and_the_item_is_found_all_the_same(library: Library) -> None:
    body = b"%PDF-1.4\n1 0 obj\n" + b"[" * 100_000
    file = File("a.pdf", len(body), sha512(body).hexdigest(), "application/pdf")
    hostile = item(1, "Hostile", files=(file,))
    library.content.create(str(hostile.rep), {"doc/a.pdf": Bytes(body)}, Change("Ana", "deposit", hostile.created))
    library.catalog.put(hostile)
    worker = FullTextWorker(library.catalog, library.catalog.changes, library.content, library.index, TextProcess())
    while worker.step():
        pass
    assert library.catalog.search(SearchQuery(text="hostile")).total == 1
    assert library.index.find_text(file.sha512) == ""


def test_previews_of_an_item_go_with_its_files(library: Library) -> None:
    with closing(SqlitePreviews(library.data, 1)) as previews:
        kept = library.put(1, "penguins")
        (digest,) = (file.sha512 for file in kept.files)
        for each in (digest, "of a file it had"):
            assert previews.claim(each, kept.rep, NOW)
            previews.put(each, "<p>penguins</p>", NOW)
        worker = FullTextWorker(
            library.catalog,
            library.catalog.changes,
            library.content,
            library.index,
            library.reader,
            now=lambda: NOW,
            previews=previews,
        )
        worker.step()
        assert previews.find(digest) is not None
        assert previews.find("of a file it had") is None
        library.catalog.put(replace(kept, state=State.DELETED, files=(), tombstone=Tombstone(kept.created, "why")))
        worker.step()
        assert previews.find(digest) is None
