"""Webhooks are told of each change, in order and at least once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ibi.following.model.webhook import DISABLED_AFTER, Delivery, Webhook
from ibi.following.ports.webhooks import GONE
from ibi.following.service.webhook_worker import ArchivePlace, WebhookWorker
from ibi.following.store.subscriptions import SqliteWebhooks
from ibi.items.model.change import ChangeKind, ChangePage, ItemChange
from tests.support.running_jobs import running

NOW = 1_800_000_000
PLACE = ArchivePlace("lab.br/svc/2008/03.17.15.17", "http://a.example")


class Feed:
    """A feed that a test writes."""

    prompt = True

    def __init__(self) -> None:
        self.epoch = "e"
        self.changes: list[ItemChange] = []

    def put(self, label: str = "lab.br/arq/2009/07.21.14.43", kind: ChangeKind = ChangeKind.PUT) -> None:
        number = len(self.changes) + 1
        self.changes.append(ItemChange(number, label, kind, "2026-01-01T00:00:00Z", 1, NOW))

    def since(self, number: int, most: int) -> ChangePage:
        found = tuple(each for each in self.changes if each.number > number)[:most]
        return ChangePage(self.epoch, found, len(self.changes))


class Receiver:
    """Takes deliveries, unless it is told to fail."""

    def __init__(self) -> None:
        self.failures: Iterator[str | None] = iter(())
        self.received: list[dict[str, Any]] = []
        self.ids: list[str] = []

    async def send(self, webhook: Webhook, delivery: Delivery, second: int) -> str | None:
        failure = next(self.failures, None)
        self.ids.append(delivery.id)
        if failure is None:
            self.received.append(json.loads(delivery.body))
        return failure


class World:
    def __init__(self, data: Path, **members: Any) -> None:
        self.feed, self.receiver, self.now = Feed(), Receiver(), NOW
        self.store = SqliteWebhooks(data)
        values = {"id": "one", "url": "https://b.example", "secret": b"s", "created": NOW, "epoch": "e", "position": 0}
        self.store.add(Webhook(**{**values, **members}))
        self.worker = WebhookWorker(
            self.store,
            self.receiver,
            self.feed,  # type: ignore[arg-type]
            PLACE,
            now=lambda: self.now,
        )

    @property
    def hook(self) -> Webhook:
        return self.store.all()[0]

    def tell(self) -> bool:
        return asyncio.run(self.worker.tell(self.hook))

    @property
    def told(self) -> list[tuple[str, int]]:
        return [(each["type"], each["data"]["number"]) for each in self.receiver.received]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def test_all_changes_are_told_in_their_order(world: World) -> None:
    for _ in range(250):
        world.feed.put()
    world.feed.put(kind=ChangeKind.DELETED)
    world.tell()
    assert world.told == [*(("item.put", number) for number in range(1, 251)), ("item.deleted", 251)]
    assert (world.hook.position, world.hook.delivered) == (251, NOW)
    assert world.receiver.received[0]["data"]["url"] == "http://a.example/api/items/lab.br/arq/2009/07.21.14.43"


def test_a_failed_delivery_is_repeated_under_the_same_id_and_nothing_overtakes_it(world: World) -> None:
    world.feed.put()
    world.feed.put()
    world.receiver.failures = iter([None, "away"])
    assert not world.tell()
    assert (world.hook.position, world.hook.failing, world.hook.reason, world.hook.due) == (1, NOW, "away", NOW + 5)
    world.feed.put()
    assert world.tell()
    assert world.told == [("item.put", 1), ("item.put", 2), ("item.put", 3)]
    assert world.receiver.ids == ["msg_e-1", "msg_e-2", "msg_e-2", "msg_e-3"]
    assert (world.hook.failing, world.hook.attempts) == (None, 0)


def test_the_wait_doubles_and_long_failure_disables_with_the_reason(world: World) -> None:
    world.feed.put()
    world.receiver.failures = iter(["away"] * 3)
    world.tell()
    world.tell()
    assert world.hook.due == NOW + 10
    world.now += DISABLED_AFTER
    world.tell()
    assert (world.hook.disabled, world.hook.reason) == (world.now, "away")


def test_a_receiver_that_is_gone_is_told_no_more_at_once(world: World) -> None:
    world.feed.put()
    world.receiver.failures = iter([GONE])
    world.tell()
    assert world.hook.disabled == NOW


def test_what_is_not_wanted_is_passed_over(tmp_path: Path) -> None:
    world = World(tmp_path, prefix="lab.br/arq", kinds=frozenset({ChangeKind.DELETED}))
    world.feed.put()
    world.feed.put("lab.br/other/2009/07.21.14.43", ChangeKind.DELETED)
    world.feed.put(kind=ChangeKind.DELETED)
    world.feed.put()
    world.tell()
    assert world.told == [("item.deleted", 3)]
    assert world.hook.position == 4
    world.store.close()


def test_a_feed_that_began_again_is_one_message_and_then_goes_on(world: World) -> None:
    for _ in range(3):
        world.feed.put()
    world.feed.epoch = "new"
    world.tell()
    assert world.told == [("feed.restarted", 3)]
    world.feed.put()
    world.tell()
    assert world.told[1:] == [("item.put", 4)]


def test_a_worker_tells_what_comes_and_stops(world: World) -> None:
    async def run() -> None:
        async with running(*world.worker.jobs()), asyncio.timeout(30):
            world.feed.put()
            while not world.receiver.received:  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
        await world.worker.stop()

    asyncio.run(run())
    assert world.told == [("item.put", 1)]
