"""The port `AuditTrail`, tried on its adapter: pages from the end, by what is asked for, and the chain."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibi.people.store.audit_trail as adapter
from ibi.people.model.account import AuditEntry, AuditPage, AuditQuery
from ibi.people.ports import AuditTrail
from ibi.people.store.audit_log import FileAuditLog
from ibi.people.store.audit_trail import FileAuditTrail
from ibi.standard.instant import Instant

FIRST = 1_800_000_000
ACCOUNTS = ("person:ana", "service:harvest", None)


def at(number: int) -> Instant:
    return Instant(FIRST + number * 60)


def entry(number: int) -> AuditEntry:
    account = ACCOUNTS[number % 3]
    token = "t0ken" if number % 10 == 0 else None
    return AuditEntry(
        at(number), "delete" if number % 7 == 0 else "publish", f"lab.br/arq/2026/{number:04}", account, token
    )


@pytest.fixture
def trail(tmp_path: Path) -> AuditTrail:
    """Three hundred lines, the first of which has the number 1."""
    log = FileAuditLog(tmp_path)
    log.append([entry(number) for number in range(1, 301)])
    log.close()
    return FileAuditTrail(tmp_path)


def numbers(page: AuditPage) -> list[int]:
    return [line.number for line in page.lines]


def read_all(trail: AuditTrail, query: AuditQuery, most: int = 50) -> list[int]:
    """All lines that pages have, one page after the other."""
    found: list[int] = []
    before: int | None = None
    for _ in range(2000):
        page = trail.page(query, most, before)
        assert len(page.lines) <= most
        found += numbers(page)
        if page.older is None:
            return found
        before = page.older
    raise AssertionError("the pages do not end")


def test_a_directory_without_a_log_has_no_lines(tmp_path: Path) -> None:
    trail = FileAuditTrail(tmp_path)
    assert trail.page(AuditQuery(), 10) == AuditPage((), None, None)
    assert list(trail.export(AuditQuery())) == []
    assert trail.last_check() is None
    assert not trail.is_being_verified()
    assert list(tmp_path.iterdir()) == []


def test_the_newest_lines_come_first_and_every_line_is_on_one_page(trail: AuditTrail) -> None:
    first = trail.page(AuditQuery(), 50)
    assert numbers(first) == list(range(300, 250, -1))
    assert first.lines[0].entry == entry(300)
    assert read_all(trail, AuditQuery()) == list(range(300, 0, -1))


@pytest.mark.parametrize("piece", [400, 1000, 5000])
def test_pages_are_the_same_however_the_file_is_read(
    trail: AuditTrail, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "_PIECE", piece)
    assert read_all(trail, AuditQuery(), 7) == list(range(300, 0, -1))
    since, until = at(100), at(199)
    assert read_all(trail, AuditQuery(since=since, until=until)) == list(range(199, 99, -1))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (AuditQuery(who="person:ana"), [number for number in range(300, 0, -1) if number % 3 == 0]),
        (AuditQuery(who="ana"), [number for number in range(300, 0, -1) if number % 3 == 0]),
        (AuditQuery(who="t0ken", act="delete"), [280, 210, 140, 70]),
        (AuditQuery(subject="lab.br/arq/2026/0042"), [42]),
        (AuditQuery(who="an"), []),
        (AuditQuery(act="publish", since=at(298)), [300, 299, 298]),
        (AuditQuery(until=at(2)), [2, 1]),
        (AuditQuery(until=at(0)), []),
        (AuditQuery(since=at(301)), []),
    ],
)
def test_lines_are_found_by_who_what_and_when(trail: AuditTrail, query: AuditQuery, wanted: list[int]) -> None:
    assert read_all(trail, query) == wanted
    exported = b"".join(trail.export(query))
    assert [f'"number":{number},'.encode() in exported for number in range(1, 301)] == [
        number in wanted for number in range(1, 301)
    ]


def test_a_page_reads_no_more_than_its_bound_and_says_how_far_it_looked(
    trail: AuditTrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "_PIECE", 1000)
    monkeypatch.setattr(adapter, "_MOST_READ", 5000)
    page = trail.page(AuditQuery(subject="lab.br/arq/2026/0001"), 50)
    assert page.lines == ()
    assert page.older is not None
    assert page.reached is not None
    assert at(260) < page.reached < at(300)
    assert read_all(trail, AuditQuery(subject="lab.br/arq/2026/0001")) == [1]


def test_any_place_in_the_file_is_a_place_to_begin(trail: AuditTrail) -> None:
    for before in (0, 1, 777, 10**17):
        page = trail.page(AuditQuery(), 5, before)
        assert all(line.entry is not None for line in page.lines)


def test_a_line_that_cannot_be_read_is_shown_as_such(trail: AuditTrail, tmp_path: Path) -> None:
    path = tmp_path / "audit" / "audit.log"
    path.write_bytes(path.read_bytes() + b"{broken\n" + b"half a line")
    lines = trail.page(AuditQuery(), 2).lines
    assert [line.entry is None for line in lines] == [True, False]


def test_a_whole_chain_is_told_and_when_it_was_verified(trail: AuditTrail, tmp_path: Path) -> None:
    assert trail.last_check() is None
    check = trail.verify(lambda: at(500))
    assert check == (at(500), 300, None)
    assert FileAuditTrail(tmp_path).last_check() == check


@pytest.mark.parametrize("place", [0, 10, 3000, -40, -2])
def test_flipping_a_byte_of_the_trail_is_found(trail: AuditTrail, tmp_path: Path, place: int) -> None:
    path = tmp_path / "audit" / "audit.log"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))
    check = trail.verify(lambda: at(500))
    assert check is not None
    assert check.problem is not None
    assert trail.last_check() == check


def test_one_verification_is_made_at_a_time(trail: AuditTrail, tmp_path: Path) -> None:
    seen: list[object] = []

    def now() -> Instant:
        other = FileAuditTrail(tmp_path)
        seen.append((other.is_being_verified(), other.verify(lambda: at(1))))
        return at(2)

    assert trail.verify(now) is not None
    assert seen == [(True, None)]
    assert not trail.is_being_verified()


def test_what_was_kept_of_a_verification_is_made_again_if_it_cannot_be_read(trail: AuditTrail, tmp_path: Path) -> None:
    (tmp_path / "audit" / "checked.json").write_text('{"at": 7}', encoding="utf-8")
    assert trail.last_check() is None
