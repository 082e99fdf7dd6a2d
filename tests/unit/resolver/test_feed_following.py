"""A resolver follows the feed of an Archive elsewhere: what it tells is forgotten, and all when it falls silent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from structlog.testing import capture_logs

from ibi.items.model.change import FollowedChange, FollowedPage
from ibi.jobs.runner import JobRunner
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.service.feed_following import SILENCE, WAIT, FollowedFeeds
from ibi.standard.label import RepositoryName
from tests.support.running_jobs import running
from tests.support.scripted_archives import archive
from tests.support.virtual_time import in_virtual_time, now

A = replace(archive("a"), feed="/api/changes")
LABEL = "lab.br/arq/2009/07.21.14.43"


class Feed:
    """A feed as its Archive serves it: answers at once if there is something, else after the wait."""

    def __init__(self) -> None:
        self.epoch, self.changes = "one", [FollowedChange("lab.br/arq/2008/01.01.00.00", related=False)]
        self.is_down, self.asked = False, 0
        self.waits = True
        self.error: Exception | None = None
        """It is raised once."""

    async def read_feed(self, _: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None:
        self.asked += 1
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        end = len(self.changes)
        for _turn in range(wait * 10 if self.waits else 0):
            if self.is_down or after is None or len(self.changes) > after or epoch != self.epoch:
                break
            await asyncio.sleep(0.1)
        if self.is_down or (after is not None and epoch != self.epoch):
            return None
        end = len(self.changes)
        told = () if after is None else tuple(self.changes[after:])
        return FollowedPage(self.epoch, end, end, told)


class Listener:
    def __init__(self) -> None:
        self.told: list[object] = []
        self.keeps_until = 0.0

    def forget_told(self, _: ArchiveRef, labels: Iterator[RepositoryName], now: float) -> None:
        self.told.append([str(label) for label in labels])

    def forget_relations(self, _: ArchiveRef, now: float) -> None:
        self.told.append("relations")

    def forget_archive(self, _: ArchiveRef, now: float) -> None:
        self.told.append("all")

    def rests_on(self, _: ArchiveRef, now: float) -> bool:
        return now < self.keeps_until


def followed(story: Any) -> list[object]:
    feed, listener = Feed(), Listener()

    async def run() -> None:
        async with running() as runner:
            feeds = FollowedFeeds(feed, listener, now, runner)
            assert not feeds.is_fresh(A, now())  # which begins to follow it
            await asyncio.sleep(0.05)
            await story(feeds, feed, listener)

    in_virtual_time(run())
    return listener.told


def test_what_changes_is_told_at_once_and_nothing_of_before() -> None:
    async def story(feeds: FollowedFeeds, feed: Feed, listener: Listener) -> None:
        assert feeds.is_fresh(A, now())
        assert not feeds.is_fresh(A, now() - 10)  # what began before it was followed may have missed something
        feed.changes.append(FollowedChange(LABEL, related=False))
        await asyncio.sleep(0.2)
        assert listener.told == [[LABEL]]
        feed.changes += [FollowedChange("no label", related=False), FollowedChange(LABEL, related=True)]
        await asyncio.sleep(0.2)
        assert listener.told[1:] == [[LABEL], "relations"]

    followed(story)


def test_a_feed_that_falls_silent_is_not_fresh_and_all_is_forgotten() -> None:
    async def story(feeds: FollowedFeeds, feed: Feed, listener: Listener) -> None:
        feed.is_down = True
        await asyncio.sleep(WAIT + 0.2)
        assert listener.told == ["all"]
        assert not feeds.is_fresh(A, now())
        feed.is_down = False
        await asyncio.sleep(2.5)
        assert feeds.is_fresh(A, now())

    followed(story)


def test_an_error_that_was_not_foreseen_is_logged_and_counted_and_the_feed_is_followed_again() -> None:
    async def story(feeds: FollowedFeeds, feed: Feed, listener: Listener) -> None:
        feed.error = RuntimeError("planted")
        feed.changes.append(FollowedChange(LABEL, related=False))
        await asyncio.sleep(0.2)
        assert listener.told == [[LABEL], "all"]
        assert not feeds.is_fresh(A, now())
        await asyncio.sleep(5)
        assert feeds.is_fresh(A, now())
        (health,) = feeds._runner.health()
        assert (health.failures, health.failing_since) == (1, None)

    with capture_logs() as logs:
        followed(story)
    (told,) = (each for each in logs if each["event"] == "a job failed")
    assert told["job"] == f"feed of {A.service.labels[0]}"


def test_another_epoch_forgets_all_and_goes_on() -> None:
    async def story(feeds: FollowedFeeds, feed: Feed, listener: Listener) -> None:
        feed.epoch, feed.changes = "two", [FollowedChange(LABEL, related=False)]
        await asyncio.sleep(2.0)
        assert listener.told == ["all"]
        assert feeds.is_fresh(A, now())
        feed.changes.append(FollowedChange(LABEL, related=False))
        await asyncio.sleep(0.2)
        assert listener.told == ["all", [LABEL]]

    followed(story)


def test_an_archive_of_which_nothing_is_kept_is_not_followed_any_more() -> None:
    async def story(feeds: FollowedFeeds, feed: Feed, listener: Listener) -> None:
        await asyncio.sleep(61 + SILENCE)
        asked = feed.asked
        assert listener.told == ["all"]
        await asyncio.sleep(60)
        assert feed.asked == asked

    followed(story)


def test_an_archive_is_followed_for_as_long_as_something_is_kept_of_it() -> None:
    """Also if all that is asked for was kept before: then there is nothing new to keep."""

    async def story(feeds: FollowedFeeds, feed: Feed, listener: Listener) -> None:
        listener.keeps_until = now() + 300
        await asyncio.sleep(300)
        assert listener.told == []
        feed.changes.append(FollowedChange(LABEL, related=False))
        await asyncio.sleep(0.2)
        assert listener.told == [[LABEL]]
        await asyncio.sleep(61 + SILENCE)
        assert listener.told == [[LABEL], "all"]

    followed(story)


def test_an_archive_without_a_feed_is_never_asked_for_it() -> None:
    feed = Feed()

    async def run() -> None:
        feeds = FollowedFeeds(feed, Listener(), now, JobRunner())
        assert not feeds.is_fresh(replace(A, feed=None), now())
        await asyncio.sleep(1)

    in_virtual_time(run())
    assert feed.asked == 0


def test_an_archive_that_does_not_wait_is_asked_once_a_second_and_its_changes_are_told() -> None:
    async def story(feeds: FollowedFeeds, feed: Feed, listener: Listener) -> None:
        feed.waits, listener.keeps_until = False, now() + 300
        await asyncio.sleep(WAIT + 10)
        asked = feed.asked
        await asyncio.sleep(30)
        assert 29 <= feed.asked - asked <= 31
        assert feeds.is_fresh(A, now())
        feed.changes.append(FollowedChange(LABEL, related=False))
        await asyncio.sleep(1.1)
        assert listener.told == [[LABEL]]
        feed.waits = True
        await asyncio.sleep(20)
        asked = feed.asked
        await asyncio.sleep(4 * WAIT)
        assert feed.asked - asked <= 5

    followed(story)
