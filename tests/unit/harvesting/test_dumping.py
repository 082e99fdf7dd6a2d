"""Dumps: every public record once, the place where a reader goes on, and nothing that is not for everyone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ibi.harvesting.service import dumps
from ibi.harvesting.service.dumps import Dump, DumpInterrupted, DumpSchedule
from ibi.items.model.change import Revision
from ibi.items.rules import life_cycle
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.generation_file import GenerationFile
from ibi.standard.instant import Instant
from tests.support.catalog_samples import item

WHEN = Instant.parse("2024-05-06T07:08:09Z")
DAY = 86_400


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteCatalog]:
    monkeypatch.setattr(dumps, "_PAGE", 4)
    with ExitStack() as opened:
        generation = opened.enter_context(closing(GenerationFile(tmp_path)))
        catalog = opened.enter_context(closing(SqliteCatalog(tmp_path / "catalogue.sqlite", generation)))
        catalog.end_rebuild()
        yield catalog


def test_a_dump_has_every_item_that_is_there_and_says_where_the_feed_goes_on(catalog: SqliteCatalog) -> None:
    catalog.put_all(item(minute) for minute in range(10))
    catalog.put(item(3, "Another title"), Revision(2, WHEN))
    catalog.put(life_cycle.delete(item(4), WHEN, "why"), Revision(2, WHEN))
    catalog.remove(item(5).rep, WHEN)
    dump = Dump(catalog.changes, catalog, WHEN)
    head, *records = map(json.loads, dump.lines())
    page = catalog.changes.since(0, 100)
    assert (head["format"], head["epoch"], head["after"]) == ("ibi-dump-1", page.epoch, page.end)
    assert {each["labels"]["rep"] for each in records} == {
        str(item(minute).rep) for minute in range(10) if minute not in (4, 5)
    }
    assert dump.records == len(records) == 8
    changed = records[-1]
    assert changed["metadata"]["title"][0]["value"] == "Another title"
    assert changed["change"] == {
        "number": 11,
        "at": str(WHEN),
        "version": 2,
        "listed": str(Instant(page.changes[10].listed)),
    }


def test_a_reader_of_a_dump_and_then_of_the_feed_has_everything_that_changed_meanwhile(catalog: SqliteCatalog) -> None:
    catalog.put_all(item(minute) for minute in range(20))
    dump, step = Dump(catalog.changes, catalog, WHEN), 1
    known: dict[str, int] = {}
    lines = dump.lines()
    next(lines)
    for line in lines:
        known[json.loads(line)["labels"]["rep"]] = json.loads(line)["change"]["version"]
        step += 1
        minute = step * 7 % 20
        if step % 5:
            catalog.put(item(minute, f"T {step}"), Revision(step, WHEN))
        else:
            catalog.remove(item(minute).rep, WHEN)
    for each in catalog.changes.since(dump.position.end, 1_000).changes:
        known[each.label] = each.head
    newest = {each.label: each.head for each in catalog.changes.current(0, 1_000).changes}
    assert known == newest


def test_a_rebuild_interrupts_a_dump(catalog: SqliteCatalog) -> None:
    catalog.put_all(item(minute) for minute in range(10))
    lines = Dump(catalog.changes, catalog, WHEN).lines()
    next(lines)
    next(lines)
    catalog.renew_feed()
    with pytest.raises(DumpInterrupted):
        list(lines)


class Files:
    """The port `DumpFiles` in memory."""

    def __init__(self) -> None:
        self.at: float | None = None
        self.names: list[str] = []
        self.now = 0.0

    def write(self, name: str, lines: Iterable[bytes]) -> int:
        size = sum(map(len, lines))
        self.names.append(name)
        self.at = self.now
        return size

    def written(self) -> float | None:
        return self.at

    def newest(self) -> str | None:
        return self.names[-1] if self.names else None


def test_a_server_writes_one_at_its_time_of_day_and_what_was_missed_at_its_start(catalog: SqliteCatalog) -> None:
    files, at = Files(), 3 * 3600
    schedule = DumpSchedule(catalog.changes, catalog, files, at, now=lambda: files.now)
    written = []
    for now in (1_000 * DAY, 1_000 * DAY + at - 1, 1_000 * DAY + at, 1_000 * DAY + at + 60, 1_001 * DAY + at + 1):
        files.now = float(now)
        written.append(schedule.step())
    assert written == [True, False, True, False, True]
    again = DumpSchedule(catalog.changes, catalog, files, at, now=lambda: files.now)
    assert not again.step()


def test_after_a_failure_it_is_tried_again_an_hour_later(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files()
    schedule = DumpSchedule(catalog.changes, catalog, files, 0, now=lambda: files.now)
    (job,) = schedule.jobs()
    with monkeypatch.context() as spoilt:
        spoilt.setattr(dumps, "dump_head", {}.__getitem__)
        with pytest.raises(KeyError):
            job.step()
    assert (job.first_rest, job.longest_rest) == (3600, 3600)
    assert job.step() is None
    assert len(files.names) == 1
