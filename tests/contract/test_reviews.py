"""The port `ReviewStore`, tried on every adapter."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.deposits.model import Review, ReviewAct, ReviewEntry, ReviewState
from ibi.deposits.ports import ReviewStore
from ibi.deposits.rules.drafts import NotUnderReview
from ibi.deposits.store.reviews import SqliteReviews
from ibi.storage.connection import STATE
from ibi.storage.errors import StateDamaged

ADAPTERS: dict[str, Callable[[Path], SqliteReviews]] = {"sqlite": SqliteReviews}
NOW = 1_800_000_000
DRAFT, OTHER = "draft-aaaaaaaaaaaaaaaa", "draft-bbbbbbbbbbbbbbbb"


def review(draft: str = DRAFT, state: ReviewState = ReviewState.SUBMITTED, key: str | None = None) -> Review:
    return Review(
        draft=draft,
        owner="person:ana",
        depositor="ana",
        title="Uma tese",
        state=state,
        submitted=NOW,
        changed=NOW,
        seal="s",
        key=key,
    )


def entry(act: ReviewAct = ReviewAct.SUBMITTED, text: str = "") -> ReviewEntry:
    return ReviewEntry(act, NOW, "person:ana", "ana", text)


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReviewStore]:
    made = ADAPTERS[request.param](tmp_path / "data")
    yield made
    made.close()


def test_a_review_is_kept_with_its_entries_in_their_order(store: ReviewStore) -> None:
    assert (store.find(DRAFT), store.entries(DRAFT), store.is_waiting(DRAFT)) == (None, (), False)
    first = store.change(DRAFT, lambda before: (review(), entry()))
    assert first == replace(review(), turn=1)
    store.change(DRAFT, lambda before: (replace(first, changed=NOW + 1), entry(ReviewAct.COMMENTED, "Good\nso far")))
    assert [(each.act, each.text, each.number) for each in store.entries(DRAFT)] == [
        (ReviewAct.SUBMITTED, "", 1),
        (ReviewAct.COMMENTED, "Good\nso far", 2),
    ]
    assert store.find(DRAFT) == replace(first, changed=NOW + 1)
    assert store.is_waiting(DRAFT)


def test_what_is_refused_changes_nothing(store: ReviewStore) -> None:
    def refuse(before: Review | None) -> tuple[Review, ReviewEntry]:
        assert before is None
        raise NotUnderReview(draft=DRAFT, state="x")

    with pytest.raises(NotUnderReview):
        store.change(DRAFT, refuse)
    assert (store.find(DRAFT), store.entries(DRAFT)) == (None, ())


def test_the_queue_is_in_the_order_of_submission_and_a_second_one_is_last(store: ReviewStore) -> None:
    for draft in (DRAFT, OTHER):
        store.change(draft, lambda before, draft=draft: (review(draft), entry()))  # type: ignore[misc]
    assert [each.draft for each in store.list(ReviewState.SUBMITTED, 0, 10)] == [DRAFT, OTHER]
    back = replace(review(), state=ReviewState.RETURNED, turn=1)
    store.change(DRAFT, lambda before: (back, entry(ReviewAct.RETURNED, "why")))
    assert not store.is_waiting(DRAFT)
    assert [each.draft for each in store.list(ReviewState.RETURNED, 0, 10)] == [DRAFT]
    store.change(DRAFT, lambda before: (review(), entry()))
    waiting = store.list(ReviewState.SUBMITTED, 0, 10)
    assert [each.draft for each in waiting] == [OTHER, DRAFT]
    assert store.list(ReviewState.SUBMITTED, waiting[0].turn, 10) == waiting[1:]
    assert store.list(ReviewState.SUBMITTED, 0, 1) == waiting[:1]
    assert store.count_waiting() == 2


def test_a_key_finds_the_review_of_its_account(store: ReviewStore) -> None:
    store.change(DRAFT, lambda before: (review(key="k"), entry()))
    found = store.find_key("person:ana", "k")
    assert found is not None
    assert found.draft == DRAFT
    assert (store.find_key("person:bia", "k"), store.find_key("person:ana", "x")) == (None, None)


def test_what_is_forgotten_is_gone_with_all_that_was_said(store: ReviewStore) -> None:
    store.change(DRAFT, lambda before: (review(), entry()))
    store.forget(DRAFT)
    assert (store.find(DRAFT), store.entries(DRAFT)) == (None, ())


def test_entries_are_never_changed_not_even_by_hand(tmp_path: Path) -> None:
    store = SqliteReviews(tmp_path)
    store.change(DRAFT, lambda before: (review(), entry(ReviewAct.COMMENTED, "as it was")))
    store.close()
    with (
        sqlite3.connect(tmp_path / STATE.file_name) as connection,
        pytest.raises(sqlite3.IntegrityError, match="never changed"),
    ):
        connection.execute("UPDATE review_entries SET text = 'other'")


def test_what_was_committed_is_there_after_a_kill(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from tests.contract.test_reviews import DRAFT, OTHER, entry, review
from ibi.deposits.store.reviews import SqliteReviews
store = SqliteReviews(Path({str(tmp_path)!r}))
store.change(DRAFT, lambda before: (review(), entry()))
store.change(OTHER, lambda before: os.kill(os.getpid(), signal.SIGKILL))
"""
    subprocess.run([sys.executable, "-c", script], check=False, timeout=60, cwd=Path(__file__).parents[2])
    store = SqliteReviews(tmp_path)
    assert [each.draft for each in store.list(ReviewState.SUBMITTED, 0, 10)] == [DRAFT]
    store.close()


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    SqliteReviews(tmp_path).close()
    (tmp_path / STATE.file_name).write_bytes(b"x" * 5000)
    with pytest.raises(StateDamaged, match="state-copies"):
        SqliteReviews(tmp_path)
