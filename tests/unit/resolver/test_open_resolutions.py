"""Resolutions that are under way on a real server: how many traces there are at a time, and what becomes of those for
which nobody waits any more."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from ibi.jobs.limits import ConcurrencyLimiter, link_limiter, trace_limiter
from ibi.membership.rules.authority import ArchiveRef, Homes
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.policy import Policy
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.misses import MissLimit
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.messages.requests import Acknowledgment, UrlRequest
from ibi.standard.reply import Answered, Reply
from ibi.web.sites import ResolverSite
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.minting_app import made
from tests.support.page_reader import Page
from tests.support.resolver_app import BROWSER, PUBLIC_URL, REP, A, B
from tests.support.running_server import RunningServer, running

QUIET = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
LONG = 30.0


class SlowArchives:
    """Two Archives elsewhere that have nothing, and say so when they are allowed to."""

    def __init__(self) -> None:
        self.asked = self.over = 0
        self.changed = threading.Condition()
        self._may_answer: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def archives(self) -> tuple[ArchiveRef, ...]:
        return A, B

    def homes(self) -> Homes:
        return Homes.of_archives((A, B))

    def at_once(self, archive: ArchiveRef, request: UrlRequest) -> None:
        return None

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        if self._may_answer is None:
            self._loop, self._may_answer = asyncio.get_running_loop(), asyncio.Event()
        self._count(asked=1)
        try:
            await self._may_answer.wait()
            return Answered(None, 0)
        finally:
            self._count(over=1)

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        return True

    def let_answer(self) -> None:
        assert self._loop is not None
        assert self._may_answer is not None
        self._loop.call_soon_threadsafe(self._may_answer.set)

    def wait_until(self, *, asked: int = 0, over: int = 0) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.asked >= asked and self.over >= over, LONG)

    def _count(self, asked: int = 0, over: int = 0) -> None:
        with self.changed:
            self.asked += asked
            self.over += over
            self.changed.notify_all()


@contextmanager
def served(archives: SlowArchives, *, grace: int = 10, **options: Any) -> Iterator[RunningServer]:
    site = ResolverSite(
        resolving=ResolverService(archives, archives, memory=Memory(MemoryBeliefs()), **options),
        acknowledgments=Acknowledgments(archives),
        public_url=PUBLIC_URL,
    )
    with running(made(resolver=site, log=QUIET).app, grace=grace) as server:
        yield server


def connected(server: RunningServer) -> socket.socket:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=LONG)


REQUEST = f"GET /{REP} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
TRACE = f"/{REP}?ibiurl.trace=json"


# --- traces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "bound"), [(trace_limiter(2, 9), "server"), (trace_limiter(9, 2), "network")], ids=["server", "network"]
)
def test_traces_at_a_time_are_bounded_and_the_rest_comes_again_later(turns: ConcurrencyLimiter, bound: str) -> None:
    archives = SlowArchives()
    with served(archives, traces=turns, policy=Policy(budget=60)) as server, ThreadPoolExecutor(2) as pool:
        under_way: list[Future[Any]] = [pool.submit(server.ask, "GET", TRACE) for _ in range(2)]
        archives.wait_until(asked=4)
        refused, told = server.ask("GET", TRACE)
        assert (refused.status, refused.getheader("retry-after")) == (503, "60")
        assert refused.getheader("cache-control") == "no-store"
        assert (told["type"], told["retry_after"]) == ("urn:ibi:problem:too-many-traces", 60)
        page, content = server.ask("GET", TRACE, headers={"accept": BROWSER, "accept-language": "es"})
        assert (page.status, page.getheader("retry-after")) == (503, "60")
        assert "espere 60 segundos e inténtelo de nuevo" in Page(content).text
        explained, content = server.ask(
            "GET", f"/explain?q={REP}&trace=1", headers={"accept": BROWSER, "accept-language": "pt-BR"}
        )
        assert (explained.status, explained.getheader("retry-after")) == (503, "60")
        assert "espere 60 segundos e tente de novo" in Page(content).text
        assert archives.asked == 4
        lines = server.ask("GET", "/metrics")[1].decode().splitlines()
        assert f'ibi_traces_refused_total{{bound="{bound}"}} 3.0' in lines
        archives.let_answer()
        assert [each.result(LONG)[0].status for each in under_way] == [200, 200]
        assert server.ask("GET", TRACE)[0].status == 200
    assert len(turns) == 0


def test_a_reader_that_hangs_up_gets_no_more_turns_for_it() -> None:
    """A trace is under way until it ends, and not until somebody has had enough of it."""
    archives, turns = SlowArchives(), trace_limiter(9, 1)
    with served(archives, traces=turns, policy=Policy(budget=60)) as server:
        with connected(server) as connection:
            connection.sendall(REQUEST.replace(REP.encode(), TRACE[1:].encode()))
            archives.wait_until(asked=2)
        assert server.ask("GET", TRACE)[0].status == 503
        archives.let_answer()
        archives.wait_until(over=2)
        assert server.ask("GET", TRACE)[0].status == 200
    assert len(turns) == 0


# --- links that wait --------------------------------------------------------------------------------------------------


def test_links_that_wait_are_bounded_and_the_rest_comes_again_later() -> None:
    archives, links = SlowArchives(), link_limiter(9, 1)
    other = f"/{REP[:-2]}44"
    with served(archives, links=links, policy=Policy(budget=60)) as server, ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(server.ask, "GET", f"/{REP}")
        archives.wait_until(asked=2)
        refused, told = server.ask("GET", other)
        assert (refused.status, refused.getheader("retry-after")) == (503, "60")
        assert refused.getheader("cache-control") == "no-store"
        assert (told["type"], told["retry_after"]) == ("urn:ibi:problem:too-many-links", 60)
        page, content = server.ask("GET", other, headers={"accept": BROWSER, "accept-language": "pt-BR"})
        assert page.status == 503
        assert "espere 60 segundos e tente de novo" in Page(content).text
        assert archives.asked == 2
        lines = server.ask("GET", "/metrics")[1].decode().splitlines()
        assert 'ibi_links_refused_total{bound="network"} 2.0' in lines
        archives.let_answer()
        assert under_way.result(LONG)[0].status == 404
        assert server.ask("GET", f"/{REP}")[0].status == 404
    assert len(links) == 0


def test_links_that_cannot_be_read_wait_for_their_turn_as_misses_do() -> None:
    def clock() -> float:
        return 100.0  # no allowance comes back meanwhile

    misses, held = MissLimit(1, clock=clock), list[None]()
    with served(SlowArchives(), misses=misses, clock=clock) as server:
        misses.watch(lambda: held.append(None))
        statuses = [server.ask("GET", f"/a/{number}")[0].status for number in range(2)]
    assert statuses == [400] * 2
    assert len(held) == 1


# --- what was begun while the request was read ------------------------------------------------------------------------


def test_what_no_reader_waits_for_ends_with_its_budget() -> None:
    archives = SlowArchives()
    with served(archives, policy=Policy(budget=0.3)) as server:
        for _ in range(5):
            with connected(server) as connection:
                connection.sendall(REQUEST)
                archives.wait_until(asked=1)
        archives.wait_until(asked=10, over=10)
        assert server.ask("GET", "/healthz")[0].status == 200
    assert archives.asked == archives.over == 10


def test_a_reader_that_has_said_all_may_wait_for_the_answer() -> None:
    archives = SlowArchives()
    with served(archives, policy=Policy(budget=60)) as server, connected(server) as connection:
        connection.sendall(REQUEST + REQUEST)
        archives.wait_until(asked=2)
        connection.shutdown(socket.SHUT_WR)
        archives.let_answer()
        heard = b"".join(iter(lambda: connection.recv(65536), b""))
    assert re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", heard) == [b"404", b"404"]


def test_a_server_that_stops_answers_and_asks_no_archive_any_more() -> None:
    archives = SlowArchives()
    with ThreadPoolExecutor(1) as pool:
        with served(archives, policy=Policy(budget=60), grace=1) as server:
            connection = connected(server)
            connection.sendall(REQUEST)
            archives.wait_until(asked=2)
            heard = pool.submit(lambda: b"".join(iter(lambda: connection.recv(65536), b"")))
        archives.wait_until(over=2)
        assert re.match(rb"HTTP/1\.1 503 ", heard.result(LONG))
        connection.close()


def test_one_request_is_one_resolution_and_one_request_counted() -> None:
    archives = SlowArchives()
    with served(archives, policy=Policy(budget=60)) as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.ask, "GET", f"/{REP}")
        archives.wait_until(asked=2)
        archives.let_answer()
        assert answer.result(LONG)[0].status == 404
        lines = server.ask("GET", "/metrics")[1].decode().splitlines()
    assert 'ibi_http_requests_total{method="GET",route="/{ibi}",status="404"} 1.0' in lines
    assert 'ibi_resolutions_total{kept="no",outcome="NotFound"} 1.0' in lines
    assert archives.asked == 2
