"""The port `WebhookStore`, tried on every adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.following.model.webhook import Webhook
from ibi.following.store.subscriptions import SqliteWebhooks
from ibi.items.model.change import ChangeKind

NOW = 1_800_000_000
ONE = Webhook(id="one", url="https://a.example/?k=1", secret=b"s" * 32, created=NOW, epoch="e", position=3)

ADAPTERS: dict[str, Callable[[Path], SqliteWebhooks]] = {"sqlite": SqliteWebhooks}


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteWebhooks]:
    made = ADAPTERS[request.param](tmp_path / "data")
    made.add(ONE)
    yield made
    made.close()


def test_webhooks_are_listed_in_their_order_and_removed(store: SqliteWebhooks) -> None:
    two = replace(ONE, id="two", prefix="lab.br/arq", kinds=frozenset({ChangeKind.DELETED}), is_named_by_operator=False)
    store.add(two)
    assert store.all() == (ONE, two)
    assert store.remove("one") == ONE
    assert store.remove("one") is None
    assert store.all() == (two,)


def test_a_delivery_moves_the_position_and_ends_a_failure(store: SqliteWebhooks) -> None:
    store.put_off("one", NOW + 5, "away", NOW)
    store.put_off("one", NOW + 15, "still away", NOW + 5)
    assert store.all() == (replace(ONE, due=NOW + 15, reason="still away", failing=NOW, attempts=2),)
    store.advance("one", "e", 4, NOW + 15)
    assert store.all() == (replace(ONE, position=4, delivered=NOW + 15),)


def test_what_is_not_wanted_moves_the_position_and_nothing_else(store: SqliteWebhooks) -> None:
    store.put_off("one", NOW + 5, "away", NOW)
    store.advance("one", "other", 9, None)
    failing = replace(ONE, due=NOW + 5, reason="away", failing=NOW, attempts=1)
    assert store.all() == (replace(failing, epoch="other", position=9),)


def test_a_webhook_is_disabled_with_a_reason_and_enabled_again(store: SqliteWebhooks) -> None:
    store.disable("one", "gone", NOW)
    assert store.all() == (replace(ONE, disabled=NOW, reason="gone"),)
    assert store.enable("one", "e", 3) == ONE
    assert store.enable("none", "e", 3) is None


def test_one_process_delivers_at_a_time(store: SqliteWebhooks, tmp_path: Path) -> None:
    other = SqliteWebhooks(tmp_path / "data")
    assert store.hold()
    assert not other.hold()
    store.release()
    assert other.hold()
    other.close()
