"""Thanks in the background: nobody waits for them, none is lost by a clean stop, and a flood is bounded."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.service import acknowledgments
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.standard.messages.requests import Acknowledgment
from tests.support.scripted_archives import archive
from tests.support.virtual_time import in_virtual_time, now

A = archive("a")
THANKS = Acknowledgment.from_query(
    "clientinformation.ipaddress=192.0.2.1&contenttype=Data&servicesubject=acknowledgment&state=Original"
    "&url=http://a.example.org/x&url.persistent=http://r.example.org:80/lab.br/arq/2009/07.21.14.43"
    "&urlkey=1414141414-12345678901234"
)


class Slow:
    """Takes so long over each."""

    def __init__(self, seconds: float, *, receives: bool = True) -> None:
        self.seconds, self.receives, self.done = seconds, receives, 0
        self.under_way = self.most = 0

    async def acknowledge(self, _: ArchiveRef, __: Acknowledgment) -> bool:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.seconds)
        self.under_way -= 1
        self.done += 1
        return self.receives


def test_a_clean_stop_lets_those_go_out_that_are_waiting() -> None:
    slow, told = Slow(0.5), list[str]()

    async def run() -> float:
        sending = Acknowledgments(slow, watch=told.append)
        for _ in range(40):
            sending.send(A, THANKS)
        began = now()
        await sending.drain()
        return now() - began

    assert in_virtual_time(run()) == pytest.approx(1.5)  # forty, sixteen at a time
    assert (slow.done, slow.most) == (40, 16)
    assert told == ["received"] * 40


def test_a_stop_does_not_wait_for_ever() -> None:
    slow = Slow(3600)

    async def run() -> float:
        sending = Acknowledgments(slow, grace=2.0)
        sending.send(A, THANKS)
        began = now()
        await sending.drain()
        return now() - began

    assert in_virtual_time(run()) == pytest.approx(2.0)


def test_those_that_wait_are_bounded_by_how_long_their_urls_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledgments, "_MOST_CHARACTERS", 3 * (len(THANKS.url) + len(THANKS.persistent_url)))
    told, slow = list[str](), Slow(0.1)

    async def run() -> None:
        sending = Acknowledgments(slow, watch=told.append)
        for _ in range(2):
            for _ in range(5):
                sending.send(A, THANKS)
            await sending.drain()

    in_virtual_time(run())
    # What was sent takes no room any more.
    assert told == [*["dropped"] * 2, *["received"] * 3] * 2
    assert slow.done == 6


def test_those_that_were_not_received_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledgments, "_MOST_WAITING", 3)
    told = list[str]()

    async def run() -> None:
        sending = Acknowledgments(Slow(0.1, receives=False), watch=told.append)
        for _ in range(5):
            sending.send(A, THANKS)
        await sending.drain()

    in_virtual_time(run())
    assert told == ["dropped", "dropped", "lost", "lost", "lost"]


def test_one_that_fails_unforeseen_keeps_no_other_back() -> None:
    class Failing(Slow):
        async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
            if self.done == 0:
                self.done = 1
                raise RuntimeError("unforeseen")
            return await super().acknowledge(archive, acknowledgment)

    told = list[str]()

    async def run() -> None:
        sending = Acknowledgments(Failing(0.0), watch=told.append)
        sending.send(A, THANKS)
        sending.send(A, THANKS)
        await sending.drain()

    with capture_logs() as logs:
        in_virtual_time(run())
    assert sorted(told) == ["lost", "received"]
    assert [each["log_level"] for each in logs] == ["error"]


class Ready:
    """Hears at once, as an Archive in the same process does; knows which task told it."""

    def __init__(self) -> None:
        self.senders = list[object]()

    async def acknowledge(self, _: ArchiveRef, __: Acknowledgment) -> bool:
        self.senders.append(asyncio.current_task())
        return True


def test_those_that_come_together_are_sent_by_one() -> None:
    ready = Ready()

    async def run() -> None:
        sending = Acknowledgments(ready)
        before = len(asyncio.all_tasks())
        for _ in range(8):
            sending.send(A, THANKS)
        assert len(asyncio.all_tasks()) == before + 1
        await sending.drain()

    in_virtual_time(run())
    assert len(ready.senders) == 8
    assert len(set(ready.senders)) == 1


def test_a_long_row_lets_others_have_their_turn() -> None:
    ready, seen = Ready(), [0]

    async def run() -> None:
        sending = Acknowledgments(ready)
        for _ in range(5000):
            sending.send(A, THANKS)
        while len(ready.senders) < 5000:
            await asyncio.sleep(0)
            seen.append(len(ready.senders))
        await sending.drain()

    in_virtual_time(run())
    assert max(after - before for before, after in pairwise(seen)) <= 16 * 8


def test_one_that_comes_after_a_row_is_sent_too() -> None:
    ready = Ready()

    async def run() -> None:
        sending = Acknowledgments(ready)
        for _ in range(3):
            sending.send(A, THANKS)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert len(ready.senders) == 3
        await sending.drain()

    in_virtual_time(run())


@pytest.mark.parametrize(("received", "told"), [(True, "received"), (False, "lost")])
def test_an_archive_that_hears_at_once_is_told_at_once(received: bool, told: str) -> None:
    slow, heard, seen = Slow(0.5), list[tuple[ArchiveRef, Acknowledgment]](), list[str]()

    def at_once(archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool | None:
        if archive != A:
            return None
        heard.append((archive, acknowledgment))
        return received

    async def run() -> None:
        sending = Acknowledgments(slow, at_once=at_once, watch=seen.append)
        sending.send(A, THANKS)
        assert (heard, seen) == ([(A, THANKS)], [told])
        sending.send(archive("b"), THANKS)
        assert seen == [told]  # that one is told in the background
        await sending.drain()

    in_virtual_time(run())
    assert (len(heard), slow.done, seen) == (1, 1, [told, "received"])
