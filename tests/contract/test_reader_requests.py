"""The port `RequestStore`, tried on every adapter."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.requests.model import ReaderInquiry, RequestKind, RequestState
from ibi.requests.ports import RequestStore
from ibi.requests.rules import RequestRules, TooManyRequests
from ibi.requests.store import SqliteRequests
from ibi.storage.connection import STATE
from ibi.storage.errors import StateDamaged

ADAPTERS: dict[str, Callable[[Path], SqliteRequests]] = {"sqlite": SqliteRequests}
NOW = 1_800_000_000
RULES = RequestRules(of_network=2, of_item=4, in_all=6)


def asked(
    network: str = "192.0.2.0", item: str = "a/b", made: int = NOW, owner: str | None = "person:ana"
) -> ReaderInquiry:
    return ReaderInquiry(
        kind=RequestKind.COPY,
        item=item,
        title="Uma tese",
        owner=owner,
        name="Rui",
        mail="rui@example.org",
        text="Para\nestudo",
        network=network,
        made=made,
        language="es",
    )


def add(store: RequestStore, request: ReaderInquiry) -> ReaderInquiry:
    return store.add(request, RULES.spans(request.made), RULES.check)


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RequestStore]:
    made = ADAPTERS[request.param](tmp_path / "data")
    yield made
    made.close()


def test_a_request_is_kept_found_and_changed(store: RequestStore) -> None:
    first = add(store, asked())
    assert first == replace(asked(), number=1)
    assert store.find(1) == first
    given = store.change(1, lambda each: replace(each, state=RequestState.GRANTED, digest=b"d" * 32, expires=NOW + 9))
    assert given is not None
    assert store.find_digest(b"d" * 32) == given
    assert (store.find(2), store.find_digest(b"x"), store.change(2, lambda each: each)) == (None, None, None)


def test_requests_are_listed_by_owner_the_newest_first(store: RequestStore) -> None:
    for number, owner in enumerate(("person:ana", "person:bia", None, "person:ana")):
        add(store, asked(f"192.0.{number}.0", owner=owner))
    assert [each.number for each in store.list(None, None, 10)] == [4, 3, 2, 1]
    assert [each.number for each in store.list("person:ana", None, 10)] == [4, 1]
    assert [each.number for each in store.list(None, 3, 1)] == [2]


def test_flooding_is_bounded_for_each_network_item_and_in_all(store: RequestStore) -> None:
    for _ in range(2):
        add(store, asked())
    with pytest.raises(TooManyRequests):
        add(store, asked())
    add(store, asked("198.51.100.0"))
    add(store, asked("203.0.113.0"))
    with pytest.raises(TooManyRequests):  # of this item
        add(store, asked("192.0.3.0"))
    add(store, asked("192.0.3.0", "a/c"))
    add(store, asked("192.0.3.0", "a/d"))
    with pytest.raises(TooManyRequests):  # in all
        add(store, asked("192.0.4.0", "a/e"))
    add(store, asked(made=NOW + 86_401))  # the next day
    assert len(store.list(None, None, 100)) == 7


def _flood(place: str, results: multiprocessing.Queue[int]) -> None:
    store, taken = SqliteRequests(Path(place)), 0
    for _ in range(3):
        try:
            add(store, asked())
            taken += 1
        except TooManyRequests:
            pass
    store.close()
    results.put(taken)


def test_flooding_is_bounded_across_worker_processes(tmp_path: Path) -> None:
    SqliteRequests(tmp_path).close()
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[int] = context.Queue()
    workers = [context.Process(target=_flood, args=(str(tmp_path), results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    taken = sum(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join(60)
    assert taken == RULES.of_network


def test_what_is_forgotten_is_not_in_the_files_any_more(tmp_path: Path) -> None:
    store = SqliteRequests(tmp_path)
    add(store, asked())
    add(store, replace(asked("198.51.100.0", made=NOW + 10), mail="stays@example.org"))
    assert store.forget(NOW + 1) == 1
    assert [each.mail for each in store.list(None, None, 9)] == ["stays@example.org"]
    files = b"".join(each.read_bytes() for each in tmp_path.glob(f"{STATE.file_name}*"))
    assert b"rui@example.org" not in files
    assert b"stays@example.org" in files
    store.close()


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    SqliteRequests(tmp_path).close()
    (tmp_path / STATE.file_name).write_bytes(b"x" * 5000)
    with pytest.raises(StateDamaged, match="state-copies"):
        SqliteRequests(tmp_path)
