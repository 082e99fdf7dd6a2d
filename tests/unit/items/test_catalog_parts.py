"""Texts, previews and verifications in the file of the catalogue: taken over, kept, and written in short steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from ibi.items.model.content import Damage, Problem
from ibi.items.model.preview import PreviewState
from ibi.items.opening.archive_store import open_repaired, rebuild_catalogue
from ibi.items.store.catalogue import parts_copy as catalog_parts_copy
from ibi.items.store.catalogue import texts
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.items.store.catalogue.part import MOST_BYTES, MOST_ROWS
from ibi.items.store.catalogue.parts_copy import rescue_parts
from ibi.items.store.catalogue.previews import SqlitePreviews
from ibi.items.store.catalogue.texts import MOST_ROW_WORDS, SqliteTexts
from ibi.standard.label import RepositoryName
from ibi.storage.group_commit import writer_queue
from tests.support.catalog_samples import item
from tests.support.former_databases import BLOCKS, DIGEST, write_former_databases

NAME, OTHER = (RepositoryName.parse(f"urlib.net/www/2017/06.1{each}.10.11") for each in (1, 2))
FORMER = ("texts.sqlite", "previews.sqlite", "integrity.sqlite")
LOST = Problem(Damage.DAMAGED, "E092", "v1/content/doc/a.txt", "another digest")
SAMPLE = {(10, str(NAME)): "of penguins in the snow", (11, str(OTHER)): "of whales and penguins"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalogue.sqlite"


def open_catalogue(path: Path) -> None:
    SqliteCatalog(path).close()


def check_taken_over(path: Path) -> None:
    with closing(SqliteIntegrity(path)) as ledger:
        assert list(ledger.damaged_items()) == ["damaged"]
        assert ledger.damaged_items()["damaged"].problems == (LOST,)
        assert ledger.find_blocks(DIGEST) == BLOCKS
        assert (ledger.wanted(), ledger.last_letter()) == ((("wanted", 4),), 9)
        assert ledger.summary().items == 4
    with closing(SqlitePreviews(path.parent, 1)) as previews:
        assert [previews.find(str(each)) is not None for each in range(4)] == [True, True, True, False]
    with closing(SqliteTexts(path.parent)) as index:
        assert index.find("penguins", 5) == (OTHER, NAME)
        assert index.find('"penguins in"', 5) == (NAME,)
        assert list(index.texts(NAME)) == ["of penguins in the snow"]
        assert index.position() == ("an epoch", 7)


def test_databases_of_an_earlier_version_move_into_the_catalogue(path: Path) -> None:
    write_former_databases(path.parent, SAMPLE)
    open_catalogue(path)
    check_taken_over(path)
    assert [name for name in FORMER if (path.parent / name).exists()] == []
    with closing(SqliteTexts(path.parent)) as index:  # the index of words is as good as one of its own
        index.put(NAME, "a title", {"0": "of seals"})
        index.remove(OTHER)
        assert (index.find("penguins", 5), index.find("seals", 5)) == ((), (NAME,))
        with index._change() as connection:
            connection.execute("INSERT INTO text_words (text_words) VALUES ('integrity-check')")


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", range(9))
def test_a_process_that_is_killed_leaves_what_the_next_one_takes_over(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    write_former_databases(path.parent, SAMPLE)
    left = iter(range(step))

    def dying(name: str) -> Callable[..., Any]:
        whole = getattr(catalog_parts_copy, name)

        def run(*given: object) -> Any:
            done = whole(*given) if name == "_copy_rows" else None
            if next(left, None) is None:
                raise Killed
            return whole(*given) if done is None else done

        return run

    with monkeypatch.context() as patched:
        for name in ("_copy_rows", "copy_word_index", "remove_database"):
            patched.setattr(catalog_parts_copy, name, dying(name))
        with pytest.raises(Killed):
            open_catalogue(path)
    open_catalogue(path)
    check_taken_over(path)


def test_what_can_be_read_of_a_damaged_database_is_taken_over(tmp_path: Path) -> None:
    data = tmp_path / "data"
    many = {(each, f"urlib.net/www/2017/06.{each}.10.11"): f"word{each} " * 300 for each in range(400)}
    write_former_databases(data, many, previews=2_000, items=20_000)
    for name in FORMER:
        with (data / name).open("r+b") as file:
            file.seek((data / name).stat().st_size // 8192 * 4096)
            file.write(b"\xff" * 8192)
    open_catalogue(data / "catalogue.sqlite")
    with closing(SqliteIntegrity(data / "catalogue.sqlite")) as ledger:
        assert 10_000 < ledger.summary().items < 20_001
        assert list(ledger.damaged_items()) == ["damaged"]
    with closing(SqliteTexts(data)) as index, index._open() as connection:
        assert 0 < connection.execute("SELECT count(*) FROM texts").fetchone()[0] <= 400
    assert [name for name in FORMER if (data / name).exists()] == []


@pytest.mark.parametrize("content", [b"", b"no database" * 500])
def test_a_former_database_that_is_none_is_removed(path: Path, content: bytes) -> None:
    for name in FORMER:
        (path.parent / name).write_bytes(content)
    open_catalogue(path)
    assert sorted(each.name for each in path.parent.glob("*.sqlite")) == ["catalogue.sqlite"]


def fill(data: Path) -> None:
    with closing(SqliteIntegrity(data / "catalogue.sqlite")) as ledger:
        ledger.record("damaged", [LOST], 100)
        ledger.keep_blocks(DIGEST, BLOCKS)
        ledger.note_letter(9)
        ledger.want("wanted", 4)
    with closing(SqlitePreviews(data, 1)) as previews:
        previews.claim("0", NAME, 1)
        previews.put("0", "<p>", 1)
    with closing(SqliteTexts(data)) as index:
        index.put(NAME, "a title", {DIGEST: "of penguins"})


def check_filled(data: Path) -> None:
    with closing(SqliteIntegrity(data / "catalogue.sqlite")) as ledger:
        assert ledger.damaged_items()["damaged"].problems == (LOST,)
        assert (ledger.find_blocks(DIGEST), ledger.last_letter(), ledger.wanted()) == (BLOCKS, 9, (("wanted", 4),))
    with closing(SqlitePreviews(data, 1)) as previews:
        found = previews.find("0")
        assert found is not None
        assert found.state is PreviewState.RENDERED
    with closing(SqliteTexts(data)) as index:
        assert index.find_text(DIGEST) == "of penguins"


def test_a_rebuild_keeps_texts_previews_and_verifications(tmp_path: Path) -> None:
    open_repaired(tmp_path).close()
    fill(tmp_path)
    rebuild_catalogue(tmp_path)
    check_filled(tmp_path)


def test_what_a_damaged_catalogue_has_of_them_is_in_the_next_one(tmp_path: Path) -> None:
    open_repaired(tmp_path).close()
    fill(tmp_path)
    path = tmp_path / "catalogue.sqlite"
    with closing(SqliteTexts(tmp_path)) as index, index._change() as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'changes'").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    asides: list[Path | None] = []
    open_repaired(tmp_path, on_aside=lambda _, aside: asides.append(aside)).close()
    assert len(asides) == 1
    check_filled(tmp_path)
    with closing(SqliteTexts(tmp_path)) as index:
        assert index.position() == ("", 0)  # the words are gathered anew, from the texts
    assert not (tmp_path / "catalogue-rescued.sqlite").exists()


def test_what_was_rescued_before_a_kill_is_taken_over_after_it(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    open_catalogue(path)
    fill(tmp_path)
    for _ in range(2):  # the first one was killed before it set the file aside
        rescue_parts(path)
    path.unlink()
    open_catalogue(path)
    check_filled(tmp_path)


def test_a_catalogue_that_is_no_database_leaves_nothing_to_rescue(path: Path) -> None:
    path.write_bytes(b"no database" * 500)
    rescue_parts(path)
    path.unlink()
    open_catalogue(path)
    with closing(SqliteIntegrity(path)) as ledger:
        assert ledger.summary().items == 0


def test_what_they_write_is_no_change_of_the_catalogue(path: Path) -> None:
    with closing(SqliteCatalog(path)) as catalog:
        catalog.put(kept := item(1))
        found, version = catalog.find(kept.rep), catalog.version()
        fill(path.parent)
        assert catalog.version() == version
        assert catalog.find(kept.rep) is found
        with closing(SqliteCatalog(path)) as other:
            other.put(item(2))
        assert catalog.version() != version


class Counted:
    """A connection that counts what each transaction writes."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.transactions: list[tuple[int, int]] = []
        """Rows and bytes of each."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, row: Any = ()) -> Any:
        if statement.startswith("BEGIN"):
            self.transactions.append((0, 0))
        elif not statement.lstrip().startswith(("SELECT", "COMMIT", "PRAGMA")):
            self._count([row])
        return self._connection.execute(statement, row)

    def executemany(self, statement: str, rows: Any) -> Any:
        rows = list(rows)
        self._count(rows)
        return self._connection.executemany(statement, rows)

    def _count(self, rows: list[Any]) -> None:
        sizes = [len(value) for row in rows for value in row if isinstance(value, str | bytes)]
        before = self.transactions[-1]
        self.transactions[-1] = before[0] + len(rows), before[1] + sum(sizes)


def counted(part: Any) -> Counted:
    with part._lock:
        part._connection = found = Counted(part._connection)
    return found


def bounded(file: Counted, rows: int = MOST_ROWS * 2 + 1, size: int = MOST_BYTES + 1_000) -> bool:
    return all(each[0] <= rows and each[1] <= size for each in file.transactions)


def test_a_long_text_is_written_in_short_transactions(path: Path) -> None:
    with closing(SqliteTexts(path.parent)) as index:
        file = counted(index)
        noise = "".join(f"{each * 7919 % 1_000_003:x} " for each in range(400_000))
        index.put(NAME, "a title", {"0": noise, "1": "short"})
        index.put(NAME, "a title", {"1": "short"})
        assert bounded(file, rows=300)
        assert len(file.transactions) > 400_000 // MOST_ROW_WORDS
        assert index.find_text("0") is None


def test_many_verifications_are_written_in_short_transactions(path: Path) -> None:
    with closing(SqliteIntegrity(path)) as ledger:
        ledger.summary()
        file = counted(ledger)
        ledger.expect(f"item {each}" for each in range(1_000))
        ledger.record_all([(f"item {each}", ()) for each in range(1_000)], 100)
        for each in range(20):
            ledger.keep_blocks(f"{each:0128x}", b"1" * 100_000)
        assert bounded(file)
        assert len(file.transactions) >= 10


def test_many_previews_are_dropped_in_short_transactions(path: Path) -> None:
    with closing(SqlitePreviews(path.parent, 1)) as previews:
        for each in range(100):
            previews.claim(str(each), NAME, each)
            previews.put(str(each), "x", each)
        file = counted(previews)
        previews.keep_only(NAME, ())
        assert bounded(file, rows=8)
        assert len(file.transactions) == 13


def test_digests_of_blocks_wait_for_no_other_writer(path: Path) -> None:
    with closing(SqliteIntegrity(path)) as ledger:
        ledger.summary()
        with writer_queue(path):
            ledger.keep_blocks(DIGEST, BLOCKS)
            assert ledger.find_blocks(DIGEST) == BLOCKS
            with closing(SqliteIntegrity(path)) as other:
                assert other.find_blocks(DIGEST) is None
        ledger.record("a", (), 1)
        with closing(SqliteIntegrity(path)) as other:
            assert other.find_blocks(DIGEST) == BLOCKS


def test_a_deposit_that_waits_comes_before_the_next_step_of_a_long_text(path: Path) -> None:
    order: list[str] = []
    with closing(SqliteCatalog(path)) as catalog, closing(SqliteTexts(path.parent)) as index:
        steps = _watched_steps(index, order)
        with writer_queue(path):
            deposit = Thread(target=_deposit, args=(catalog, order))
            deposit.start()
            while not writer_queue(path)._next.locked():  # it waits in the first place
                pass
            worker = Thread(target=lambda: index.put(NAME, "a title", {"0": "word " * 50_000}))
            worker.start()
            steps.wait()
        deposit.join()
        worker.join()
    assert "deposit" in order[:2]
    assert len(order) > 10


def _deposit(catalog: SqliteCatalog, order: list[str]) -> None:
    catalog.put(item(1))
    order.append("deposit")


def _watched_steps(index: SqliteTexts, order: list[str]) -> Event:
    whole, begun = index._change, Event()

    def change() -> Any:
        begun.set()
        order.append("step")
        return whole()

    index._change = change  # type: ignore[method-assign]
    return begun


@pytest.fixture
def index(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteTexts]:
    monkeypatch.setattr(texts, "MOST_ROW_WORDS", 20)
    with closing(SqliteTexts(path.parent)) as opened:
        yield opened


LONG = " ".join(f"w{each}" for each in range(500))


@pytest.mark.parametrize(
    ("sought", "is_found"),
    [
        ("w0", True),
        ("w499", True),
        ("w0 w250 w499", True),
        ('"w19 w20"', True),
        ('"w38 w39 w40 w41"', True),
        ('"w19 w21"', False),
        ("w0 w500", False),
        ("w0 -w499", False),
        ("w0 -w500", True),
        ("penguins", False),
        ("penguins w250", True),
        ("w250 OR w600", True),
        ("w250 -penguins", False),
    ],
)
def test_the_words_of_a_long_item_are_found_wherever_they_stand(
    index: SqliteTexts, sought: str, is_found: bool
) -> None:
    index.put(NAME, "penguins", {"0": LONG})
    index.put(OTHER, "whales", {"1": "seals"})
    assert index.find(sought, 5) == ((NAME,) if is_found else ())


def test_long_and_short_items_are_found_together_the_newest_first(index: SqliteTexts) -> None:
    names = [RepositoryName.parse(f"urlib.net/www/2017/06.{each}.10.11") for each in range(11, 17)]
    for place, name in enumerate(names):
        index.put(name, "a title", {str(place): LONG if place % 2 else f"w3 w{place + 300}"})
    assert index.find("w3", 10) == tuple(reversed(names))
    assert index.find("w3", 3) == tuple(reversed(names))[:3]
    assert index.find("w3 w302", 10) == (names[5], names[3], names[2], names[1])


def test_a_long_item_that_changes_or_goes_leaves_nothing(index: SqliteTexts) -> None:
    index.put(NAME, "a title", {"0": LONG})
    index.put(NAME, "a title", {"1": "seals"})
    assert (index.find("w3", 5), index.find("seals", 5)) == ((), (NAME,))
    index.put(NAME, "a title", {"0": LONG})
    index.remove(NAME)
    assert index.find("w3", 5) == ()
    with index._open() as connection:
        for table in ("texts", "text_documents", "text_files", "text_long", "text_long_words_docsize"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_long_item_that_was_written_in_part_is_not_found_and_written_again(
    index: SqliteTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = index._change
    left = iter(range(10))

    def change() -> Any:
        if next(left, None) is None:
            raise Killed
        return whole()

    with monkeypatch.context() as patched:
        patched.setattr(index, "_change", change)
        with pytest.raises(Killed):
            index.put(NAME, "a title", {"0": LONG})
    assert index.find("w3", 5) == ()
    index.put(NAME, "a title", {"0": LONG})
    assert index.find("w3 w499", 5) == (NAME,)


def test_a_text_whose_pieces_are_not_all_there_is_read_again(
    index: SqliteTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MOST_BYTES", 100)
    index.put(NAME, "a title", {"0": LONG})
    assert index.find_text("0") == LONG
    with index._change() as connection:
        connection.execute("DELETE FROM texts WHERE piece = 0")
    assert index.find_text("0") is None
    index.put(NAME, "a title", {"0": LONG})
    with index._change() as connection:
        connection.execute("UPDATE texts SET text = x'00' WHERE piece = 2")
    assert index.find_text("0") is None
    index.put(NAME, "a title", {"0": LONG})
    assert index.find_text("0") == LONG
