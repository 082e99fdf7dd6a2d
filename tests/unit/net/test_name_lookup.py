"""Names are looked up once for all who ask, kept for a moment, and hold nobody up."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence

import pytest

from ibi.net.address_guard import NameLookup
from tests.support.raw_archive import until


class Server:
    """A name server: `now` is its clients' clock."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked, self.now = list(answers), [], 0.0  # type: ignore[var-annotated]
        self.lookup = NameLookup(self.addresses_of, kept_for=30.0, monotonic=lambda: self.now)

    def addresses_of(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0)


async def test_an_answer_is_kept_for_as_long_as_it_says() -> None:
    server = Server(["192.0.2.1"], ["192.0.2.2"])
    assert await server.lookup.addresses("a.example") == ["192.0.2.1"]
    server.now = 29.9
    assert await server.lookup.addresses("a.example") == ["192.0.2.1"]
    server.now = 30.0
    assert await server.lookup.addresses("a.example") == ["192.0.2.2"]
    assert server.asked == ["a.example"] * 2


async def test_an_unknown_name_is_not_kept() -> None:
    server = Server([], ["192.0.2.1"])
    assert await server.lookup.addresses("a.example") == []
    assert await server.lookup.addresses("a.example") == ["192.0.2.1"]


async def test_those_who_ask_at_once_share_the_lookup() -> None:
    server = Server(["192.0.2.1"])
    found = await asyncio.gather(*(server.lookup.addresses("a.example") for _ in range(20)))
    assert found == [["192.0.2.1"]] * 20
    assert server.asked == ["a.example"]


async def test_a_lookup_that_fails_in_its_own_way_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(host: str) -> Sequence[str]:
        raise RuntimeError(host)

    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    assert await NameLookup(broken).addresses("a.example") == ()
    await until(lambda: bool(told))


async def test_a_lookup_for_which_there_is_no_thread_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    server = Server(["192.0.2.1"])
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert await server.lookup.addresses("a.example") == ()
    assert await server.lookup.addresses("a.example") == ["192.0.2.1"]


async def test_names_beyond_those_at_once_wait_for_their_turn() -> None:
    go, most, lock, running = threading.Event(), [0], threading.Lock(), [0]

    def slow(host: str) -> Sequence[str]:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        go.wait(60)
        with lock:
            running[0] -= 1
        return [host]

    lookup = NameLookup(slow)
    tasks = [asyncio.create_task(lookup.addresses(f"{number}.example")) for number in range(50)]
    await asyncio.sleep(0)
    go.set()
    assert await asyncio.gather(*tasks) == [[f"{number}.example"] for number in range(50)]
    assert 1 <= most[0] <= 16


async def test_names_whose_servers_say_nothing_keep_no_other_from_being_found() -> None:
    go, hanging, now = threading.Event(), threading.Event(), [0.0]

    def addresses_of(host: str) -> Sequence[str]:
        if host.startswith("dead") and hanging.is_set():
            go.wait(60)
            return []
        return ["192.0.2.1"]

    lookup = NameLookup(addresses_of, monotonic=lambda: now[0])
    assert await lookup.addresses("good.example") == ["192.0.2.1"]
    now[0] += 3600
    hanging.set()
    dead = [asyncio.create_task(lookup.addresses(f"dead{number}.example")) for number in range(40)]
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(lookup.addresses("good.example"), 30) == ["192.0.2.1"]
    finally:
        go.set()
    assert await asyncio.gather(*dead) == [[]] * 40


async def test_a_name_that_is_no_longer_resolved_waits_with_the_unknown_ones() -> None:
    go, hanging, now = threading.Event(), threading.Event(), [0.0]

    def addresses_of(host: str) -> Sequence[str]:
        if hanging.is_set() and host != "good.example":
            go.wait(60)
        return [] if now[0] and host == "lost.example" else ["192.0.2.1"]

    lookup = NameLookup(addresses_of, monotonic=lambda: now[0])
    assert await lookup.addresses("lost.example") == ["192.0.2.1"]
    now[0] += 3600
    assert await lookup.addresses("lost.example") == []
    hanging.set()
    new = [asyncio.create_task(lookup.addresses(f"{number}.example")) for number in range(16)]
    await asyncio.sleep(0)
    lost = asyncio.create_task(lookup.addresses("lost.example"))
    await asyncio.sleep(0)
    assert lookup._others.waiting == deque(["lost.example"])
    go.set()
    await asyncio.gather(*new, lost)


async def test_one_who_tires_of_waiting_leaves_the_answer_to_the_others() -> None:
    go = threading.Event()

    def slow(host: str) -> Sequence[str]:
        go.wait(60)
        return ["192.0.2.1"]

    lookup = NameLookup(slow)
    tired, patient = (asyncio.create_task(lookup.addresses("a.example")) for _ in range(2))
    await asyncio.sleep(0)
    tired.cancel()
    go.set()
    assert await patient == ["192.0.2.1"]
