"""What the Archive costs: its answers, its deposits and its downloads, each beside the plainest thing that could do it.

What is compared is measured in turns. CPU is judged rather than time where it can be: on a machine that others use too,
the clock on the wall tells of the others. `python -m bench.archive` measures this suite alone.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from ipaddress import ip_address
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench.catalogue import SIZES, Place, filled, label_at, own
from bench.content import DISK, rate, three_files
from bench.figure import Figure, figure_table
from bench.serving import Client, Running, Spent, ibi_up, nginx, running
from ibi.archive.api import ArchiveService
from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.archive.service.answers import MOST_KEPT
from ibi.items.model.content import Bytes, Source, Stream
from ibi.items.model.item import Description, Draft, Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.opening.archive_store import CATALOGUE, STORE, open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.items.service.file_selection import unread_files
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.minting.rules.minter import Rules
from ibi.minting.service.queue import MintQueue
from ibi.server.fast_path import Dispatcher, DispatchMiddleware
from ibi.server.server import Server, listen, spare_collector
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.requests import UrlRequest
from ibi.storage.machine import MachineClocks
from ibi.web.sites import ArchiveSite
from tests.support.memory.content import MemoryContent
from tests.support.memory.ticks import MemoryTicks
from tests.support.memory.tokens import MemoryTokens
from tests.support.served import Served
from tests.support.sites import make_site

__all__ = ["figures"]

ROUNDS = 15
CALLS = 2_000
HTTP_ROUNDS = 6
REQUESTS = 4_000
CONNECTIONS = 16
DEPOSIT_ROUNDS = 5
MANY = 8
DEPOSIT_AIMS = 0.3, 0.75
LARGE = 256 << 20
ADDED_AIM = 5.0
"""µs of CPU that a kept answer may take beyond a constant."""
REQUEST_AIM = 1.4
LOG = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
CLIENT = (ip_address("192.0.2.77"),)
TITLE = DescriptiveMetadata(title=(Text("Relatório de atividades"),))


def figures(sizes: Sequence[int] = (10_000, 1_000_000)) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home:
        place = Path(home)
        return [*in_process(place), *over_http(place, sizes), *deposits(place)]


# --- one answer, in process ------------------------------------------------------------------------------------------


def in_process(home: Path) -> Iterator[Figure]:
    """A kept answer: of the service alone, and of the application with all that surrounds it. The best round of each:
    a few microseconds are told from one another only where nobody disturbs."""
    place = filled(home / "in-process.sqlite", 10_000)
    service = LabelForms.of(label_at(0, RepositoryName))
    scope = asked(service, label_at(1, RepositoryName))
    with closing(SqliteCatalog(place.path)) as catalog:
        site = site_of(catalog, service)
        alone = DispatchMiddleware(nothing, Dispatcher((ArchiveService(site, LOG),)))
        body = asyncio.run(answered(alone, scope))
        apps = (constant(body), alone, whole_app(site))
        rounds = [[asyncio.run(cpu_each(app, scope)) for app in apps] for _ in range(ROUNDS)]
    bare, served, whole = (min(times) for times in zip(*rounds, strict=True))
    added = [times[1] - times[0] for times in rounds]
    yield Figure("ASGI constant, in process (reference)", bare, "µs CPU", 1.0, note=f"{len(body)} bytes")
    yield Figure(
        "kept urlRequest answer beyond it, the service alone",
        served - bare,
        "µs CPU",
        served / bare,
        f"≤ + {ADDED_AIM:g} µs",
        served - bare <= ADDED_AIM,
        f"{min(added):.1f} to {max(added):.1f} µs in {ROUNDS} rounds, median {median(added):.1f}",
    )
    yield Figure("kept urlRequest answer beyond it, whole application", whole - bare, "µs CPU", whole / bare)


def site_of(catalog: SqliteCatalog, service: LabelForms) -> ArchiveSite:
    base = "http://mtc-m18.sid.inpe.br"
    profile = ArchiveProfile("mtc-m18.sid.inpe.br", service, ArchiveUrls(base, base))
    return make_site(profile, catalog, MemoryContent(), MachineClocks(), base, changes=catalog.recent_version)


def whole_app(site: ArchiveSite) -> ASGIApp:
    ticks, identity = MemoryTicks(), Identity("mtc-m18.sid.inpe.br", None)
    ticks.freeze(identity)
    queue = MintQueue(ticks, identity, Rules(), site.clocks)
    served = Served(queue=queue, ticks=ticks, tokens=MemoryTokens(), clocks=site.clocks, log=LOG, archive=site)
    return served.app()


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the service was not asked")


def constant(body: bytes) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", b"text/plain"),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"max-age=300"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


async def answered(app: ASGIApp, scope: Scope) -> bytes:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(dict(scope), receive_nothing, send)
    body: bytes = sent[-1]["body"]
    assert sent[0]["status"] == 200, sent
    assert b"\nurl " in body, sent
    return body


async def cpu_each(app: ASGIApp, scope: Scope) -> float:
    """µs of CPU an answer."""
    start = time.process_time()
    for _ in range(CALLS):
        await app(dict(scope), receive_nothing, take)
    return 1e6 * (time.process_time() - start) / CALLS


async def receive_nothing() -> Message:
    return {"type": "http.request", "body": b""}


async def take(message: Message) -> None:
    pass


def asked(service: LabelForms, label: Label) -> Scope:
    path, _, query = target(service, label).partition(b"?")
    return {
        "type": "http",
        "method": "GET",
        "path": path.decode(),
        "raw_path": path,
        "query_string": query,
        "headers": [(b"host", b"bench")],
        "client": ("192.0.2.1", 4711),
    }


def target(service: LabelForms, label: Label) -> bytes:
    """As a resolver asks."""
    return f"/{service.labels[0].spelling}?{UrlRequest(CLIENT, label).to_query()}".encode()


# --- over HTTP -------------------------------------------------------------------------------------------------------


def over_http(home: Path, sizes: Sequence[int]) -> Iterator[Figure]:
    """Real servers, one for each size of the catalogue, in processes of their own."""
    with ExitStack() as stack:
        places, servers = [], []
        for size in sizes:
            data = home / f"data-{size}" / "ibi-data"
            data.mkdir(parents=True)
            places.append(filled(data / CATALOGUE, size))
            own(data)
            if size == sizes[0]:
                large, kept_at = deposit_large(data)
            servers.append(stack.enter_context(ibi_up(data)))
        yield from kept_answers(home, places[0], servers[0])
        yield from look_ups(places, servers)
        yield from downloads(home, servers[0], large, kept_at)


def service_of(place: Place) -> LabelForms:
    record = ArchiveRecordFile(place.path.parent).read()
    assert record is not None, "the server began no Archive"
    return record.service


def kept_answers(home: Path, place: Place, server: Running) -> Iterator[Figure]:
    """The same server software around a constant of the same size."""
    question = target(service_of(place), label_at(1, RepositoryName))
    with ExitStack() as stack:
        client = stack.enter_context(Client(server, CONNECTIONS))
        size, _ = client.fetch(question)
        command = (sys.executable, "-m", "bench.archive", "constant", str(size))
        reference = stack.enter_context(Client(stack.enter_context(running(command, Path.cwd())), CONNECTIONS))
        rounds = in_turns([lambda: reference.ask([b"/"] * REQUESTS), lambda: client.ask([question] * REQUESTS)])
    (plain_rate, plain_cpu), (rate_, cpu) = map(medians, rounds)
    yield Figure("ASGI constant over HTTP (reference)", plain_rate, "answers/s", 1.0, note=f"{plain_cpu:.1f} µs CPU")
    yield Figure(
        "kept urlRequest answers over HTTP",
        rate_,
        "answers/s",
        rate_ / plain_rate,
        note=f"{cpu:.1f} µs CPU, {cpu - plain_cpu:+.1f} µs; {CONNECTIONS} connections",
    )


def look_ups(places: Sequence[Place], servers: Sequence[Running]) -> Iterator[Figure]:
    """Labels in turn, of which nobody has asked for the same lately: what is measured is no kept answer."""
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(server, CONNECTIONS)) for server in servers]

        def asker(place: Place, client: Client) -> Callable[[], Spent]:
            service = service_of(place)
            assert place.size > 2 * MOST_KEPT
            labels = cycle(place.labels(REQUESTS * (HTTP_ROUNDS + 1), RepositoryName))
            return lambda: client.ask([target(service, label) for label in islice(labels, REQUESTS)])

        rounds = in_turns([asker(place, client) for place, client in zip(places, clients, strict=True)])
    rates, cpus = zip(*map(medians, rounds), strict=True)
    for place, answers, cpu in zip(places, rates, cpus, strict=True):
        aimed, ratio = place is places[-1], cpu / cpus[0]
        yield Figure(
            f"look-up as a request, {SIZES.get(place.size, place.size)} items",
            cpu,
            "µs CPU",
            ratio,
            f"≤ {REQUEST_AIM:g}×" if aimed else None,
            not aimed or ratio <= REQUEST_AIM,
            f"{answers:,.0f} answers/s, {rates[0] / answers:.2f}× the time",
        )


def in_turns(works: Sequence[Callable[[], Spent]]) -> list[tuple[Spent, ...]]:
    rounds = [[work() for work in works] for _ in range(HTTP_ROUNDS + 1)]
    return list(zip(*rounds[1:], strict=True))  # the first one warms up


def medians(rounds: Sequence[Spent]) -> tuple[float, float]:
    """Answers a second, and µs of the server's CPU an answer."""
    return median(spent.rate for spent in rounds), median(spent.cpu_each for spent in rounds)


# --- downloads -------------------------------------------------------------------------------------------------------


def deposit_large(data: Path) -> tuple[Item, Path]:
    """An item of one large file, and where the store keeps that."""
    left = [LARGE]

    def read(length: int) -> bytes:
        length = min(length, left[0])
        left[0] -= length
        return os.urandom(length)

    with open_store(data) as store:
        item = Deposits(store, CountedLabels(2_000_000_000), MachineClocks()).deposit(
            draft_of("large.pdf"), {"large.pdf": Stream(read)}, "bench"
        )
    return item, data / STORE / str(item.rep) / "v1/content/doc/large.pdf"


def downloads(home: Path, server: Running, item: Item, kept_at: Path) -> Iterator[Figure]:
    """One after the other on one connection, by the same client, from the memory of the system."""
    name = f"download of {LARGE >> 20} MB"
    with nginx(home / "nginx", kept_at.parent) as reference, ExitStack() as stack:
        fetches = [fetcher(stack, server, f"/col/{item.rep.spelling}/doc/large.pdf")]
        if reference is not None:
            fetches.append(fetcher(stack, reference, f"/{kept_at.name}"))
        rounds = in_turns(fetches)
    (speed, cpu), *others = ((rate_ * LARGE / 1e6, 1e9 / LARGE * used / 1e6) for rate_, used in map(medians, rounds))
    for nginx_speed, nginx_cpu in others:
        yield Figure(f"{name}, nginx (reference)", nginx_speed, "MB/s", 1.0, note=f"{nginx_cpu:.2f} s CPU a GB")
    ratio = speed / others[0][0] if others else None
    absent = "" if others else "; no nginx on this machine to compare with"
    yield Figure(name, speed, "MB/s", ratio, note=f"{cpu:.2f} s CPU a GB{absent}")


def fetcher(stack: ExitStack, server: Running, path: str) -> Callable[[], Spent]:
    client = stack.enter_context(Client(server))

    def fetch() -> Spent:
        size, spent = client.fetch(path.encode())
        assert size == LARGE, size
        return spent

    return fetch


# --- deposits --------------------------------------------------------------------------------------------------------


class CountedLabels:
    """The port `Labels` without a wait: one second after the other, from the one given on."""

    def __init__(self, first: int) -> None:
        self._seconds = count(first)

    def reserve(self, key: str | None = None) -> LabelForms:
        instant = Instant(next(self._seconds))
        rep = RepositoryName.from_parts("mtc-m18.sid.inpe.br", 80, instant)
        return LabelForms(rep, Ibip.from_parts("150.163.34.243", 800, instant))


def draft_of(path: str) -> Draft:
    return Draft(description=Description(metadata=TITLE), files=unread_files([path]))


def deposits(home: Path) -> Iterator[Figure]:
    """Small items by one caller and by eight, beside the same bytes as three files with three fsyncs.

    As with labels, what many callers get together is compared with what one writer gets who waits for each sync; and
    with eight such writers, whose syncs the file system takes together by itself.
    """
    plain, numbers = home / "plain", count()
    plain.mkdir()
    with open_store(home / "deposits") as store:
        made = Deposits(store, CountedLabels(1_000_000_000), MachineClocks())

        def deposit() -> Item:
            sources: dict[str, Source] = {"text.txt": Bytes(b"%d" % next(numbers) + b"x" * 2000)}
            return made.deposit(draft_of("text.txt"), sources, "bench")

        contents = bytes_of(store, deposit())

        def write() -> None:
            three_files(plain, next(numbers), contents)

        with collecting_as_a_server():
            rounds = [deposit_round(write, deposit) for _ in range(DEPOSIT_ROUNDS)]
    yield from deposit_figures(rounds)


@contextmanager
def collecting_as_a_server() -> Iterator[None]:
    before = gc.get_threshold()
    spare_collector()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class Rates(NamedTuple):
    """Of one round, a second, and the CPU seconds of a deposit."""

    writer: float
    writers: float
    caller: float
    callers: float
    cost: float
    shared_cost: float


def deposit_round(write: Callable[[], object], deposit: Callable[[], object]) -> Rates:
    (writer, _), (caller, cost) = rate(write, 1), rate(deposit, 1)
    (writers, _), (callers, shared_cost) = rate(write, MANY), rate(deposit, MANY)
    return Rates(writer, writers, caller, callers, cost, shared_cost)


def deposit_figures(rounds: Sequence[Rates]) -> Iterator[Figure]:
    def ratio_of(name: str, rates: Callable[[Rates], tuple[float, float]], aim: float | None, cost: float) -> Figure:
        ratios = [own / other for own, other in map(rates, rounds)]
        note = f"{min(ratios):.2f} to {max(ratios):.2f}×" + (f"; {1e6 * cost:.0f} µs CPU each" if cost else "")
        value, met = median(rates(each)[0] for each in rounds), aim is None or median(ratios) >= aim
        return Figure(name, value, "times/s", median(ratios), None if aim is None else f"≥ {aim:g}×", met, note)

    costs = median(each.cost for each in rounds), median(each.shared_cost for each in rounds)
    alone, many = DEPOSIT_AIMS
    yield Figure(
        "three files, three fsyncs, 1 writer (reference)", median(each.writer for each in rounds), "times/s", 1
    )
    yield ratio_of("deposits of small items, 1 caller", lambda each: (each.caller, each.writer), alone, costs[0])
    yield ratio_of(f"deposits of small items, {MANY} callers", lambda each: (each.callers, each.writer), many, costs[1])
    yield ratio_of(f"three files, three fsyncs, {MANY} writers", lambda each: (each.writers, each.writer), None, 0)
    yield ratio_of(
        f"deposits of small items, {MANY} callers, beside {MANY} writers",
        lambda each: (each.callers, each.writers),
        None,
        0,
    )


def bytes_of(store: ArchiveStore, item: Item) -> list[bytes]:
    """The three files that an item of one file consists of."""
    contents = []
    for path in ("item.json", "local.json", "doc/text.txt"):
        with store.content.open(str(item.rep), path) as file:
            contents.append(file.read(0, file.size))
    return contents


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["constant"]:
        app = with_lifespan(constant(b"x" * int(arguments[1])))
        with listen("127.0.0.1", 0) as listener:
            Server(app, ready=lambda url: print(url, flush=True)).run([listener])
        return 0
    measured = figures(tuple(map(int, arguments)) or (10_000, 1_000_000))
    print(figure_table(measured))
    return 0 if all(figure.is_met for figure in measured) else 1


def with_lifespan(app: ASGIApp) -> ASGIApp:
    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await app(scope, receive, send)
            return
        for event in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{event}.complete"})

    return outer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
