"""A network of Archives in real processes: one that comes and goes, a home that is away, a resolver that is gone.

An Archive that includes and excludes itself ten times a second must cost the links to others nothing. Links to items of
a home that is away go to the Archive that it named as a holder of Copies, in time, also by a resolver that was started
afterwards. Without their resolver, the Archives of a federation lead to each other's items themselves.
`python -m bench.network [NAME …]` measures this suite alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields, replace
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from threading import local
from typing import NamedTuple
from urllib.parse import urlsplit

from bench.catalogue import Place
from bench.content import DISK
from bench.deposits import request, token_of
from bench.figure import Figure, figure_table
from bench.resolving import CONNECTIONS, ITEMS, MANY, data_directory, outcomes, wait_for_redirect
from bench.serving import IBI, Client, Running, Spent, free_port, running
from ibi.membership.opening.membership import membership_request, resolver_gateway
from ibi.membership.rules.authority import StandIn
from ibi.membership.rules.signed_register import read_register
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.settings import load_settings
from ibi.standard.label import RepositoryName
from ibi.standard.messages.answers import ExclusionStatus, InclusionStatus
from ibi.standard.messages.membership import ExclusionRequest

__all__ = ["figures"]

PATIENCE = 120.0
"""Seconds for something that takes a few."""
UNFOLLOWED = 12.0
"""Seconds, and some more, for which an answer is kept without the feed of its Archive (E32)."""
TOGGLES = 10
"""Inclusions a second, and as many exclusions."""
PAIRS, REQUESTS = 6, 20_000
TOGGLED_ALONE, IDLE = 5.0, 0.05
"""Seconds for which inclusions and exclusions come without links; and of CPU, in one second of an idle server."""
KEPT_AIM, TOGGLED_AIM = 99.9, 1.1
"""Per cent of the links to others that stay kept, and times the CPU of a redirect in quiet."""
COPIES, READERS = 300, 8
AWAY_AIM = 1000.0
"""Milliseconds, for 99 of 100 links to items whose home is away."""
RESTING = 6.0
"""Seconds after which an Archive rests that was asked in vain: a request has five."""
CENTRE_AIM = 2.5
"""Seconds for every link of a federation whose resolver is gone."""


def figures() -> list[Figure]:
    return [figure for suite in SUITES.values() for figure in measured(suite)]


def measured(suite: Callable[[Path], Iterator[Figure]]) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home:
        return list(suite(Path(home)))


class Site:
    """A data directory of its own with an Archive, and a port on which its server can be found again."""

    def __init__(self, home: Path, name: str) -> None:
        self.data, self.port = home / name / "ibi-data", free_port()
        self.url, self.service = f"http://127.0.0.1:{self.port}", ""
        # What each link costs is measured here, and not how many one network may have.
        self.settings = {"IBI_MINT_HOST": f"{name}.bench.inpe.br", "IBI_RESOLVE_MISSES_PER_NETWORK": "0"}
        self.settings |= {"IBI_LOCK_DIR": str(home / name / "locks"), "IBI_LOG_LEVEL": "error"}

    def begin(self) -> None:
        self.data.parent.mkdir(parents=True, exist_ok=True)
        self.service = str(json.loads(self.run("archive", "init", "--json"))["rep"])

    def run(self, *arguments: str, **variables: str) -> str:
        command = [*IBI, *arguments, "--data", str(self.data)]
        environment = {**os.environ, **self.settings, **variables}
        done = subprocess.run(
            command, cwd=self.data.parent, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def join(self, resolver: Site) -> None:
        """Be registered with a resolver, by which the server is included once it runs."""
        key = f"{secrets.randbelow(10**10):010}-{secrets.randbelow(10**10):010}"
        told = ("--allow-network", "127.0.0.0/8", "--admin-mail", "ana@example.org")
        resolver.run("resolver", "register", self.service, *told, IBI_REGISTRATION_KEY=key)
        self.settings |= {"IBI_RESOLVER": resolver.url, "IBI_ARCHIVE_REGISTRATION_KEY": key}
        self.settings |= {"IBI_ARCHIVE_ADMIN_EMAIL": "ana@example.org", "IBI_ARCHIVE_IP": "127.0.0.1"}

    @contextmanager
    def up(self, **settings: str) -> Iterator[Running]:
        command = (*IBI, "up", "--port", str(self.port), "--data", str(self.data))
        with running(command, self.data.parent, {**self.settings, **settings}) as server:
            yield server

    def is_included(self, resolver: Site) -> bool:
        return bool(get(resolver.url, f"/api/archives/{self.service}")["confirmed"])


def get(url: str, path: str) -> dict[str, object]:
    where = urlsplit(url)
    with closing(HTTPConnection(str(where.hostname), where.port, timeout=PATIENCE)) as connection:
        connection.request("GET", path)
        found: dict[str, object] = json.loads(connection.getresponse().read())
        return found


def until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.05)


# --- an Archive that comes and goes ----------------------------------------------------------------------------------


def toggled(home: Path) -> Iterator[Figure]:
    """Kept links to the items of one Archive while another joins and leaves, as fast as it likes."""
    data_directory(home / "large")
    resolver, large, small = (Site(home, name) for name in ("resolver", "large", "small"))
    links = [f"/{label.spelling}".encode() for label in Place(Path(), ITEMS).labels(MANY, RepositoryName)]
    with ExitStack() as opened:
        for site in (resolver, large, small):
            site.begin()
        server = opened.enter_context(resolver.up())
        for site in (large, small):
            site.join(resolver)
            opened.enter_context(site.up())
            until(partial(site.is_included, resolver), "its inclusion")
        toggle, turns = opened.enter_context(toggling(small)), cycle(links)
        wait_for_redirect(server)
        client = opened.enter_context(Client(server, CONNECTIONS, 302))
        client.ask(links)
        time.sleep(UNFOLLOWED)  # what was kept before the feed was followed has run out
        client.ask(links)
        yield from beside_toggling(server, lambda: client.ask(list(islice(turns, REQUESTS))), toggle)


def beside_toggling(server: Running, ask: Callable[[], Spent], toggle: Callable[[], int]) -> Iterator[Figure]:
    """What an inclusion and an exclusion cost by themselves is not what links cost."""
    ask()
    quiet, busy, hits, seconds = list[float](), list[tuple[Spent, int]](), dict[str, float](), 0.0
    for _ in range(PAIRS):
        quiet.append(ask().cpu_each)
        before, began, made = outcomes(server), time.perf_counter(), toggle()
        spent = ask()
        pairs = toggle() - made
        seconds += time.perf_counter() - began
        for kept, value in outcomes(server).items():
            hits[kept] = hits.get(kept, 0.0) + value - before[kept]
        busy.append((spent, pairs))
    share, own = 100 * hits["yes"] / max(1.0, sum(hits.values())), cost_of_pair(server, toggle)
    links = [replace(spent, cpu=spent.cpu - pairs * own) for spent, pairs in busy]
    each, rate = median(spent.cpu_each for spent in links), sum(pairs for _, pairs in busy) / seconds
    ratio = median(one.cpu_each / other for one, other in zip(links, quiet, strict=True))
    words = "beside an Archive that includes and excludes itself"
    note = f"{median(spent.rate for spent in links):,.0f} /s; without the {1000 * own:.1f} ms of CPU for each pair"
    is_met = ratio <= TOGGLED_AIM
    yield Figure(f"kept redirects {words}", each, "µs CPU", ratio, f"≤ {TOGGLED_AIM:g}×", is_met, note)
    yield Figure(f"kept links that stay kept {words}", share, "%", None, f"≥ {KEPT_AIM:g} %", share >= KEPT_AIM)
    yield Figure("inclusions, and as many exclusions", rate, "/s", None, f"≥ {TOGGLES}", rate >= TOGGLES - 0.5)


def cost_of_pair(server: Running, toggle: Callable[[], int]) -> float:
    """Seconds of CPU that the resolver spends on one inclusion and one exclusion, once it has thanked for all links."""

    def is_idle() -> bool:
        before = server.cpu()
        time.sleep(1.0)
        return server.cpu() - before < IDLE

    until(is_idle, "idleness")
    before, made = server.cpu(), toggle()
    time.sleep(TOGGLED_ALONE)
    pairs = toggle() - made
    return (server.cpu() - before) / max(1, pairs)


@contextmanager
def toggling(site: Site) -> Iterator[Callable[[], int]]:
    """Another process that includes an Archive and excludes it. What is given begins that and ends it in turns, and
    tells how often it was done so far."""
    command = [sys.executable, "-m", "bench.network", "toggle", str(site.data), site.url]
    environment = {**os.environ, **site.settings}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:

        def turn() -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            print(file=process.stdin, flush=True)
            return int(process.stdout.readline())

        try:
            yield turn
        finally:
            process.communicate(timeout=PATIENCE)


async def toggle_until_told(data: Path, url: str) -> None:
    """Each line that comes begins it or ends it, and is answered by how often it was done."""
    settings, record = load_settings({"data": str(data)}, os.environ), ArchiveRecordFile(data).read()
    assert record is not None
    assert settings.resolver is not None
    gateway, inclusion = (
        resolver_gateway(settings, settings.resolver),
        membership_request(settings, url, record.service),
    )
    assert inclusion is not None
    exclusion = ExclusionRequest(**{each.name: getattr(inclusion, each.name) for each in fields(inclusion)})
    lines = asyncio.Queue[str]()
    asyncio.get_running_loop().add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline()))
    number, due = 0, None
    while True:
        if due is None or not lines.empty():
            if not await lines.get():
                return
            due = time.monotonic() if due is None else None
            print(number, flush=True)
            continue
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        due = max(due + 1 / TOGGLES, time.monotonic() - 1 / TOGGLES)
        included = await gateway.send(inclusion)
        assert isinstance(included, InclusionStatus), included
        assert included.confirmed, included
        excluded = await gateway.send(exclusion)
        assert isinstance(excluded, ExclusionStatus), excluded
        number += 1


# --- a home that is away ---------------------------------------------------------------------------------------------


class Waited(NamedTuple):
    """How long each link took, in seconds, and how many did not lead to the holder of Copies."""

    seconds: list[float]
    failed: int


def away(home: Path) -> Iterator[Figure]:
    """Links to items whose home ended, or is silent, while another Archive has Copies of them."""
    resolver, holder, original = (Site(home, name) for name in ("resolver", "holder", "home"))
    for site in (resolver, holder, original):
        site.begin()
    for site in (holder, original):
        site.join(resolver)
    original.settings["IBI_ARCHIVE_COPIES_AT"] = holder.service
    with ExitStack() as opened:
        running_resolver = opened.enter_context(ExitStack())
        running_resolver.enter_context(resolver.up())
        opened.enter_context(holder.up())
        with original.up() as server:
            labels = deposit(server, original)
            until(partial(original.is_included, resolver), "its inclusion")
            until(partial(holder.is_included, resolver), "its inclusion")
            holder.run("copy", *labels, "--from", original.url)
            until(partial(leads_to, resolver, original, labels[0]), "its home")
            os.kill(server.pid, signal.SIGKILL)
            yield figure("the home refuses connections", resolver, holder, labels)
        restart(running_resolver, resolver)
        yield figure("the home refuses connections, resolver started afterwards", resolver, holder, labels)
        with original.up() as server:
            until(partial(leads_to, resolver, original, labels[0]), "its home")
            with stopped(server):
                yield figure("the home has fallen silent", resolver, holder, labels)
                time.sleep(RESTING)
                yield figure("the home rests", resolver, holder, labels)
                restart(running_resolver, resolver)
                yield figure("the home is silent, resolver started afterwards", resolver, holder, labels)


def restart(server: ExitStack, site: Site) -> None:
    server.close()
    server.enter_context(site.up())


@contextmanager
def stopped(server: Running) -> Iterator[None]:
    """It takes connections still, since its system does, and says nothing."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def deposit(server: Running, site: Site) -> list[str]:
    sent = request(token_of(site.data), b"/batch", range(50))
    with Client(server) as client:
        client.send([sent] * (COPIES // 50))
    listed = site.run("list", "--json").splitlines()
    labels = [str(json.loads(line)["rep"]) for line in listed]
    return [label for label in labels if label != site.service]


def figure(words: str, resolver: Site, holder: Site, labels: Sequence[str]) -> Figure:
    waited = waits(resolver, labels, holder)
    p99 = 1000 * sorted(waited.seconds)[len(labels) * 99 // 100]
    told = stands_in(resolver, labels[0])
    note = f"{len(labels)} links, longest {1000 * max(waited.seconds):.0f} ms; {waited.failed} not led to the Copy"
    is_met = p99 < AWAY_AIM and not waited.failed and told == StandIn.COPY.value
    if told != StandIn.COPY.value:
        note = f"{note}; the trace says {told}"
    return Figure(f"links to Copies, {words}: p99", p99, "ms", None, f"< {AWAY_AIM:g}", is_met, note)


def waits(resolver: Site, labels: Sequence[str], expected: Site) -> Waited:
    """Each link once, by several readers at a time, who want nothing that is kept."""
    kept = local()

    def follow(label: str) -> tuple[float, bool]:
        began = time.perf_counter()
        if not hasattr(kept, "connection"):
            kept.connection = HTTPConnection("127.0.0.1", resolver.port, timeout=PATIENCE)
        kept.connection.request("GET", f"/{label}", headers={"Cache-Control": "no-cache"})
        answer = kept.connection.getresponse()
        answer.read()
        is_right = answer.status == 302 and str(answer.getheader("location")).startswith(expected.url)
        return time.perf_counter() - began, is_right

    with ThreadPoolExecutor(READERS) as readers:
        found = list(readers.map(follow, labels))
    return Waited([seconds for seconds, _ in found], sum(not is_right for _, is_right in found))


def leads_to(resolver: Site, expected: Site, label: str) -> bool:
    return not waits(resolver, [label], expected).failed


def stands_in(resolver: Site, label: str) -> str | None:
    """What the trace says of the one that was chosen."""
    hops = get(resolver.url, f"/{label}?ibiurl.trace=json")["hops"]
    assert isinstance(hops, list)
    chosen = [each for hop in hops for each in hop["archives"] if each["verdict"] == "chosen"]
    return chosen[0]["stands_in"] if chosen else None


# --- a resolver that is gone -----------------------------------------------------------------------------------------


def without_centre(home: Path) -> Iterator[Figure]:
    """The demonstrated federation, as a person starts it; then its resolver is killed."""
    command = (*IBI, "up", "--demo=federation", "--port", "0", "--data", str(home / "data"))
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=log, text=True) as demo,
    ):
        assert demo.stdout is not None
        try:
            said = "".join(iter(demo.stdout.readline, "Ctrl-C stops all of them.\n"))
            sites = dict(re.findall(r"^  (resolver|amazonia|cerrado|pampa) +(http://\S+)/ ", said, re.MULTILINE))
            links = re.findall(r"^  (?:copied|moved|disputed) .*\n +http://[^/\s]+(/\S+)$", said, re.MULTILINE)
            assert (len(sites), len(links)) == (4, 3), said
            resolver = sites.pop("resolver")
            until(partial(all_know_all, home / "data" / "federation", sites), "the register")
            children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text(encoding="ascii").split()
            os.kill(int(children[0]), signal.SIGKILL)  # it is started first
            found = [
                (follow_until_found(url, link), f"{link} by {name}") for name, url in sites.items() for link in links
            ]
            assert seek(resolver, links[0]) is None, "the resolver is there still"
        finally:
            demo.send_signal(signal.SIGINT)
            demo.communicate(timeout=PATIENCE)
    slowest, which = max(found)
    note = f"{len(found)} links, {len(links)} through each of {len(sites)} Archives; the slowest is {which}"
    yield Figure(
        "links of the demo federation without its resolver: slowest",
        slowest,
        "s",
        None,
        f"≤ {CENTRE_AIM:g}",
        slowest <= CENTRE_AIM,
        note,
    )


def all_know_all(home: Path, sites: dict[str, str]) -> bool:
    """Whether each Archive has fetched a register in which the others are, and the resolver."""
    files = [home / name / "membership" / "register.jws" for name in sites]
    return all(file.exists() and len(read_register(file.read_text().strip()).refs()) > len(sites) for file in files)


def follow_until_found(url: str, link: str) -> float:
    """Seconds until a reader has the bytes that a link leads to, who tries again if it leads nowhere."""
    began = time.perf_counter()
    while seek(url, link) is None:
        assert time.perf_counter() - began < PATIENCE, f"{url}{link} leads nowhere"
    return time.perf_counter() - began


def seek(url: str, path: str) -> bytes | None:
    """What is there, after all redirects; None if one leads to a server that is gone."""
    for _ in range(10):
        where = urlsplit(url)
        with (
            suppress(OSError, HTTPException),
            closing(HTTPConnection(str(where.hostname), where.port, timeout=PATIENCE)) as connection,
        ):
            connection.request("GET", path)
            answer = connection.getresponse()
            body, location = answer.read(), answer.getheader("location")
            if answer.status == 200:
                return body
            if location is not None:
                there = urlsplit(location)
                url, path = f"{there.scheme or where.scheme}://{there.netloc or where.netloc}", there.path
                continue
        return None
    return None


SUITES: dict[str, Callable[[Path], Iterator[Figure]]] = {
    "toggled": toggled,
    "away": away,
    "without-centre": without_centre,
}


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["toggle"]:
        asyncio.run(toggle_until_told(Path(arguments[1]), arguments[2]))
        return 0
    found: list[Figure] = []
    for name, suite in SUITES.items():
        if not arguments or name in arguments:
            found += measured(suite)
    print(figure_table(found))
    return 0 if all(figure.is_met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
