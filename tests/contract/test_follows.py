"""The port `FollowStore`, tried on every adapter."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ibi.following.model.subscription import (
    FeedEntry,
    Follow,
    FollowCounts,
    FollowedState,
    FollowKind,
    FollowTarget,
    SourceAddress,
    entries_behind,
)
from ibi.following.ports.subscriptions import Advance
from ibi.following.store.follows import SqliteFollows
from ibi.items.model.change import ChangeKind
from ibi.storage.errors import StateDamaged

NOW = 1_800_000_000
SOURCE = SourceAddress("http://a.example")
ALL = FollowTarget(FollowKind.ALL)
A, B = "lab.br/arq/2009/07.21.14.43", "lab.br/arq/2010/10.10.10.10"

ADAPTERS: dict[str, Callable[[Path], SqliteFollows]] = {"sqlite": SqliteFollows}


def a_follow(identity: str = "one", target: FollowTarget = ALL, **members: Any) -> Follow:
    return Follow(id=identity, target=target, source=SOURCE, created=NOW, **members)


def entry(number: int, label: str = A, kind: ChangeKind = ChangeKind.PUT, version: int = 1) -> FeedEntry:
    return FeedEntry(number, label, kind, f"2026-01-01T00:00:0{version}Z", version)


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteFollows]:
    made = ADAPTERS[request.param](tmp_path / "data")
    yield made
    made.close()


def begun(store: SqliteFollows, *entries: FeedEntry) -> None:
    store.add(a_follow())
    store.begin("one", "e", 0, len(entries), ())
    advance(store, *entries)


def advance(store: SqliteFollows, *entries: FeedEntry) -> None:
    end = entries[-1].number if entries else store.all()[0].position
    store.advance([Advance("one", "e", end, end, entries)], NOW)


def counts(store: SqliteFollows) -> FollowCounts:
    return store.counts()["one"]


def test_what_is_followed_is_listed_in_its_order_and_removed(store: SqliteFollows) -> None:
    prefix = a_follow("two", FollowTarget.of(FollowKind.PREFIX, "lab.br/arq"), token="secret")
    assert store.add(a_follow())
    assert store.add(prefix)
    assert store.all() == (a_follow(), prefix)
    assert store.remove("one") == a_follow()
    assert store.remove("one") is None
    assert store.all() == (prefix,)


def test_the_same_target_of_a_source_is_followed_once_and_takes_the_newer_token(store: SqliteFollows) -> None:
    assert store.add(a_follow())
    assert not store.add(a_follow("other", token="newer"))
    assert store.all() == (a_follow(token="newer"),)


def test_entries_and_position_are_taken_in_together_and_wait_in_the_order_of_the_feed(store: SqliteFollows) -> None:
    begun(store, entry(1, B), entry(2, A))
    (follow,) = store.all()
    assert (follow.epoch, follow.position, follow.end, follow.round) == ("e", 2, 2, 1)
    assert [item.entry for item in store.due(["one"], NOW, 10)] == [entry(1, B), entry(2, A)]
    assert [item.entry for item in store.due(["one"], NOW, 1)] == [entry(1, B)]
    assert store.due(["one"], NOW - 1, 10) == ()
    assert store.next_due(["one"]) == NOW
    assert entries_behind(follow, counts(store)) == 2


def test_entries_of_another_epoch_than_that_which_was_begun_are_not_taken_in(store: SqliteFollows) -> None:
    begun(store)
    store.advance([Advance("one", "other", 9, 9, [entry(9)]), Advance("gone", "e", 9, 9, [entry(9)])], NOW)
    assert store.all()[0].position == 0
    assert store.due(["one"], NOW, 10) == ()


def test_an_item_that_was_brought_waits_no_more_and_its_follow_is_current(store: SqliteFollows) -> None:
    begun(store, entry(1))
    assert store.all()[0].current is None
    store.finish(store.due(["one"], NOW, 1)[0], FollowedState.COPY, 1, entry(1).at)
    assert store.due(["one"], NOW, 1) == ()
    assert store.next_due(["one"]) is None
    assert counts(store) == FollowCounts({FollowedState.COPY: 1})
    store.advance([Advance("one", "e", 1, 1, ())], NOW + 5)
    assert (store.all()[0].current, store.all()[0].heard) == (NOW + 5, NOW + 5)


def test_a_change_that_is_told_while_an_item_is_brought_is_not_lost(store: SqliteFollows) -> None:
    begun(store, entry(1))
    (item,) = store.due(["one"], NOW, 1)
    advance(store, entry(2, version=2))
    store.finish(item, FollowedState.COPY, 1, entry(1).at)
    assert [each.entry for each in store.due(["one"], NOW, 1)] == [entry(2, version=2)]
    store.forget(item)
    store.put_off(item, NOW + 9, "late")
    assert [each.attempts for each in store.due(["one"], NOW, 1)] == [0]


def test_a_version_that_was_brought_before_is_not_wanted_again(store: SqliteFollows) -> None:
    begun(store, entry(1), entry(2, B))
    for item in store.due(["one"], NOW, 2):
        store.finish(item, FollowedState.COPY, 1, item.entry.at)
    store.begin("one", "new", 0, 2, ())
    store.advance([Advance("one", "new", 2, 2, [entry(1, B), entry(2, A, version=2)])], NOW)
    assert [each.entry for each in store.due(["one"], NOW, 9)] == [entry(2, A, version=2)]


def test_what_a_round_has_not_seen_is_looked_at(store: SqliteFollows) -> None:
    begun(store, entry(1), entry(2, B))
    for item in store.due(["one"], NOW, 2):
        store.finish(item, FollowedState.COPY, 1, item.entry.at)
    assert store.end_round("one") == 0
    store.begin("one", "new", 0, 1, ())
    store.advance([Advance("one", "new", 1, 1, [entry(1, B)])], NOW)
    assert store.end_round("one") == 1
    assert store.all()[0].until is None
    assert [each.entry.label for each in store.due(["one"], NOW, 9)] == [A]


def test_what_goes_without_having_come_does_not_wait(store: SqliteFollows) -> None:
    begun(store, entry(1, A, ChangeKind.DELETED))
    assert store.due(["one"], NOW, 9) == ()
    assert store.held_among("one", [A]) == frozenset()
    assert store.all()[0].position == 1


def test_a_deletion_of_what_is_held_waits(store: SqliteFollows) -> None:
    begun(store, entry(1))
    store.finish(store.due(["one"], NOW, 1)[0], FollowedState.COPY, 1, entry(1).at)
    assert store.held_among("one", [A]) == {A}
    advance(store, entry(2, A, ChangeKind.DELETED, 2))
    (item,) = store.due(["one"], NOW, 9)
    assert (item.entry.kind, item.state) == (ChangeKind.DELETED, FollowedState.COPY)


def test_what_was_dropped_here_is_not_wanted_again_until_it_is_followed_anew(store: SqliteFollows) -> None:
    begun(store, entry(1))
    store.finish(store.due(["one"], NOW, 1)[0], FollowedState.DROPPED, 0, "")
    advance(store, entry(2, version=2))
    assert store.due(["one"], NOW, 9) == ()
    store.add(a_follow())
    assert [each.state for each in store.due(["one"], NOW, 9)] == [FollowedState.WAITING]


def test_items_that_move_to_one_source_are_one_follow_of_it(store: SqliteFollows) -> None:
    begun(store, entry(1), entry(2, B))
    for item in store.due(["one"], NOW, 2):
        store.finish(item, FollowedState.COPY, 1, item.entry.at)
    there = SourceAddress("https://b.example", is_named_by_operator=False)
    for number, label in enumerate((A, B), 3):
        advance(store, entry(number, label, ChangeKind.MOVED))
        (item,) = store.due(["one"], NOW, 9)
        moved = Follow(id=f"new {number}", target=FollowTarget(FollowKind.MOVED), source=there, created=NOW)
        store.move(item, moved)
    assert [(each.id, each.source) for each in store.all()] == [("one", SOURCE), ("new 3", there)]
    assert counts(store) == FollowCounts({FollowedState.MOVED: 2})
    wanted = store.due(["new 3"], NOW, 9)
    assert {each.entry.label for each in wanted} == {A, B}
    assert {each.state for each in wanted} == {FollowedState.COPY}


def test_an_item_that_was_refused_is_tried_again_and_says_why(store: SqliteFollows) -> None:
    begun(store, entry(1))
    store.put_off(store.due(["one"], NOW, 1)[0], NOW + 30, "restricted")
    assert store.due(["one"], NOW + 29, 1) == ()
    assert store.due(["one"], NOW + 30, 1)[0].attempts == 1
    assert counts(store) == FollowCounts({FollowedState.WAITING: 1}, 1, 1, "restricted")


def test_a_source_that_fails_is_noted_since_when_and_why_until_it_is_heard(store: SqliteFollows) -> None:
    begun(store)
    store.note_failure(["one"], "away", NOW)
    store.note_failure(["one"], "still away", NOW + 5)
    assert (store.all()[0].failing, store.all()[0].reason) == (NOW, "still away")
    advance(store)
    assert (store.all()[0].failing, store.all()[0].reason) == (None, None)


def test_one_process_works_at_a_time(store: SqliteFollows, tmp_path: Path) -> None:
    other = SqliteFollows(tmp_path / "data")
    assert store.hold()
    assert store.hold()
    assert not other.hold()
    store.release()
    assert other.hold()
    other.close()


def test_the_file_is_for_its_owner_alone_and_not_begun_anew_when_it_is_lost(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        store = SqliteFollows(tmp_path)
        store.add(a_follow(token="secret"))
    finally:
        os.umask(mask)
    files = sorted(tmp_path.glob("state.sqlite*"))
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    store.close()
    for file in tmp_path.glob("state.sqlite*"):
        file.unlink()
    with pytest.raises(StateDamaged):
        SqliteFollows(tmp_path)
    assert "secret" not in repr(a_follow(token="secret"))
