"""What a link costs: of the processors' time, beside nginx that says `return 302` with the same headers.

With what was found before forgotten, every request is resolved: the Archive is asked, its answer judged, the reader
sent on, the Archive thanked. One in the same process is handed messages and hands them back; only with one in another
are they written and read. `python -m bench.resolving` measures this suite alone; with `profile` it shows where the time
of such a request goes.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from ipaddress import ip_address, ip_network
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from threading import Event, Thread

from bench.archive import CountedLabels, draft_of
from bench.catalogue import Place, filled, label_at, own
from bench.content import DISK
from bench.figure import Figure, figure_table
from bench.serving import IBI, Client, Running, Spent, nginx, running
from ibi.items.model.content import Bytes
from ibi.items.opening.archive_store import CATALOGUE, open_store
from ibi.items.service.deposits import Deposits
from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.membership.store.registry import SqliteRegistry
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.vocabulary import ArchiveProtocol
from ibi.storage.machine import MachineClocks

__all__ = ["figures"]

ITEMS = 100_000
ROUNDS = 6
REQUESTS = 2_000
CONNECTIONS = 16
PATIENCE = 60.0
"""Seconds for a server to lead to an item for the first time."""
AIM = 20.0
MANY = 10_000
MANY_AIM, BESIDE_AIM, NOTICED_AIM, HITS_AIM = 1.5, 1.3, 1.2, 99.0
"""Times the CPU of one kept link, of that in quiet, and per cent that stay kept."""
ITEM = f"/{label_at(1, RepositoryName).spelling}".encode()
UNKEPT = (sys.executable, "-m", "bench.resolving")
"""The command, with a resolver that keeps nothing of what it has found."""
LOCATION = "http://127.0.0.1:8765/col/sid.inpe.br/mtc-m18/2001/09.09.01.46.41/doc/relatorio.pdf"
NGINX = f"""
    location / {{
        add_header Cache-Control max-age=10 always; add_header Vary Accept always;
        add_header Access-Control-Allow-Origin * always; return 302 {LOCATION};
    }}
"""


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home:
        with ExitStack() as opened:
            found = list(measured(Path(home), opened))
        return [*found, *beside_deposits(Path(home) / "kept" / "ibi-data", Path(home) / "unkept" / "ibi-data")]


def measured(home: Path, opened: ExitStack) -> Iterator[Figure]:
    data_directory(home / "kept")
    shutil.copytree(home / "kept", home / "unkept")
    kept = opened.enter_context(up(home / "kept" / "ibi-data", IBI))
    unkept = opened.enter_context(up(home / "unkept" / "ibi-data"))
    (home / "alone").mkdir()
    alone = opened.enter_context(up(home / "alone" / "ibi-data"))
    include(home / "alone" / "ibi-data", home / "kept" / "ibi-data", kept)
    reference = opened.enter_context(nginx(home / "nginx", home, NGINX))
    for server in (kept, unkept, alone):
        wait_for_redirect(server)
    links = many_links()
    with Client(kept, CONNECTIONS, 302) as client:
        client.ask(links)
    clients = {server: opened.enter_context(Client(server, CONNECTIONS, 302)) for server in (kept, unkept, alone)}
    others = cycle(Place(Path(), ITEMS).labels(ITEMS, RepositoryName))

    def same(server: Running) -> Callable[[], Spent]:
        return lambda: clients[server].ask([ITEM] * REQUESTS)

    def new_ones() -> Spent:
        return clients[unkept].ask([f"/{label.spelling}".encode() for label in islice(others, REQUESTS)])

    def elsewhere() -> tuple[Spent, Spent]:
        before = kept.cpu()
        spent = same(alone)()
        return spent, Spent(spent.number, spent.wall, kept.cpu() - before)

    turns = cycle(links)

    def in_turn() -> Spent:
        return clients[kept].ask(list(islice(turns, REQUESTS)))

    plain = None if reference is None else opened.enter_context(Client(reference, CONNECTIONS, 302))
    rounds: dict[str, list[Spent]] = {}
    for _ in range(ROUNDS + 1):
        if plain is not None:
            rounds.setdefault("nginx", []).append(plain.ask([ITEM] * REQUESTS))
        rounds.setdefault("kept", []).append(same(kept)())
        rounds.setdefault("turns", []).append(in_turn())
        rounds.setdefault("resolved", []).append(same(unkept)())
        rounds.setdefault("new", []).append(new_ones())
        for name, spent in zip(("asking", "asked"), elsewhere(), strict=True):
            rounds.setdefault(name, []).append(spent)
    yield from compared({name: all_[1:] for name, all_ in rounds.items()})  # the first one warms up


def many_links() -> list[bytes]:
    return [f"/{label.spelling}".encode() for label in Place(Path(), ITEMS).labels(MANY, RepositoryName)]


def compared(rounds: dict[str, list[Spent]]) -> Iterator[Figure]:
    cpu = {name: median(spent.cpu_each for spent in all_) for name, all_ in rounds.items()}
    absent = "" if "nginx" in cpu else "no nginx on this machine to compare with"

    def figure(words: str, name: str, aim: float | None = None, note: str = "", more: float = 0.0) -> Figure:
        value = cpu[name] + more
        ratio = value / cpu["nginx"] if "nginx" in cpu else None
        met = aim is None or ratio is None or ratio <= aim
        told = "; ".join(filter(None, (f"{median(spent.rate for spent in rounds[name]):,.0f} /s", note, absent)))
        return Figure(words, value, "µs CPU", ratio, None if aim is None else f"≤ {aim:g}×", met, told)

    if "nginx" in cpu:
        yield Figure("redirect: nginx `return 302` (reference)", cpu["nginx"], "µs CPU", 1.0)
    yield figure("redirect that was kept", "kept")
    many, many_is_met = cpu["turns"] / cpu["kept"], cpu["turns"] <= MANY_AIM * cpu["kept"]
    yield Figure(
        "redirects that were kept, 10⁴ links in turn", cpu["turns"], "µs CPU", many, f"≤ {MANY_AIM:g}×", many_is_met
    )
    yield figure("redirect resolved each time, Archive in the same process", "resolved", AIM)
    yield figure("redirect of an item nobody asked for lately, the same", "new")
    both = f"{cpu['asking']:.1f} µs of the resolver, {cpu['asked']:.1f} µs of the Archive"
    yield figure("redirect resolved each time, Archive in another process", "asking", note=both, more=cpu["asked"])


def beside_deposits(data: Path, elsewhere: Path) -> Iterator[Figure]:
    """Kept links while another process deposits into the same directory as fast as it can, beside a quiet machine; and
    beside the same while it deposits into a directory `elsewhere`. Of the first, most is the third process where two
    processors are shared by client, server and deposits: it is an aim where there are more. The second is what changes
    cost that have to be noticed. No other server runs, and the text of files is not read."""
    links = many_links()
    turns = cycle(links)
    with up(data, IBI) as kept, Client(kept, CONNECTIONS, 302) as client:
        wait_for_redirect(kept)
        client.ask(links)

        def ask() -> list[Spent]:
            return [client.ask(list(islice(turns, REQUESTS))) for _ in range(ROUNDS)]

        spent: dict[Path | None, list[Spent]] = {None: [], data: [], elsewhere: []}
        rates: dict[Path, list[float]] = {data: [], elsewhere: []}
        before = outcomes(kept)
        for places in ((elsewhere, data), (data, elsewhere)) * 2:
            spent[None] += ask()
            for place in places:
                with depositing(place) as deposited:
                    began = time.perf_counter()
                    spent[place] += ask()
                    rates[place].append(deposited() / (time.perf_counter() - began))
        after = outcomes(kept)
    hits = 100 * (after["yes"] - before["yes"]) / max(1, sum(after.values()) - sum(before.values()))
    quiet, here, there = (median(each.cpu_each for each in spent[place]) for place in (None, data, elsewhere))
    rate = f"{min(rates[data]):,.0f} to {max(rates[data]):,.0f} deposits/s meanwhile"
    other = f"{min(rates[elsewhere]):,.0f} to {max(rates[elsewhere]):,.0f} deposits/s elsewhere"
    is_judged = (os.cpu_count() or 1) > 2
    aim = f"≤ {BESIDE_AIM:g}×" if is_judged else None
    is_met = here / quiet <= BESIDE_AIM or not is_judged
    yield Figure("kept redirects beside deposits", here, "µs CPU", here / quiet, aim, is_met, rate)
    name, is_met = "the same, and beside deposits elsewhere", here / there <= NOTICED_AIM
    yield Figure(name, here, "µs CPU", here / there, f"≤ {NOTICED_AIM:g}×", is_met, other)
    yield Figure("kept links that stay kept beside deposits", hits, "%", None, f"≥ {HITS_AIM:g} %", hits >= HITS_AIM)


def outcomes(server: Running) -> dict[str, float]:
    """How many redirects were kept, and how many were not, since the server started."""
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    found = {"yes": 0.0, "no": 0.0}
    for kept, value in re.findall(
        r'^ibi_resolutions_total\{kept="(yes|no)",outcome="Redirect"\} (\S+)$', text, re.MULTILINE
    ):
        found[kept] = float(value)
    for kept, value in re.findall(
        r'^ibi_resolutions_total\{outcome="Redirect",kept="(yes|no)"\} (\S+)$', text, re.MULTILINE
    ):
        found[kept] = float(value)
    return found


@contextmanager
def depositing(data: Path) -> Iterator[Callable[[], int]]:
    """Another process that deposits all the time; how many it has deposited since."""
    variables = {**os.environ, "IBI_LOCK_DIR": str(data.parent / "locks")}
    command = [sys.executable, "-m", "bench.resolving", "deposit", str(data)]
    with subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()

        def deposited() -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            print(file=process.stdin, flush=True)
            return int(process.stdout.readline())

        try:
            yield deposited
        finally:
            process.stdin.close()


def deposit_until_told(data: Path) -> None:
    """Deposit from eight threads, say that it began, and how many there are each time that a line comes."""
    number, ended = count(), Event()
    with open_store(data) as store:
        first = 1_500_000_000 + int(time.monotonic()) % 100_000 * 10_000  # no label of a process before this one
        made = Deposits(store, CountedLabels(first), MachineClocks())

        def deposit() -> None:
            while not ended.is_set():
                made.deposit(draft_of("text.txt"), {"text.txt": Bytes(b"%d" % next(number) + b"x" * 2000)}, "bench")

        threads = [Thread(target=deposit) for _ in range(8)]
        for thread in threads:
            thread.start()
        print(flush=True)
        begun = next(number)
        for _ in sys.stdin:
            print(next(number) - begun, flush=True)
        ended.set()
        for thread in threads:
            thread.join()


@contextmanager
def up(data: Path, program: Sequence[str] | None = None) -> Iterator[Running]:
    """A server that mints under a name of its own: with the same one, one Archive would be taken for the other."""
    # A resolver that gives up on an Archive because the machine is busy would spoil what is measured here.
    own = {"IBI_MINT_HOST": f"{data.parent.name}.inpe.br", "IBI_RESOLVE_BUDGET": "60"}
    own["IBI_RESOLVE_MISSES_PER_NETWORK"] = "0"  # what each costs is measured, and not how many one network may have
    # The text of files is read beside all else, for minutes after a start: what that takes is no part of a redirect.
    own["IBI_ARCHIVE_FULL_TEXT"] = "false"
    variables = {**own, "IBI_LOCK_DIR": str(data.parent / "locks"), "IBI_LOG_LEVEL": "error"}
    with running((*(program or UNKEPT), "up", "--port", "0", "--data", str(data)), Path.cwd(), variables) as server:
        yield server


def wait_for_redirect(server: Running) -> None:
    """Until an item is found: an Archive that was just included is asked some milliseconds later, and its first answer
    may take a while."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
            connection.request("GET", ITEM.decode())
            answer = connection.getresponse()
            said = answer.read(500)
        if answer.status == 302:
            return
        assert time.monotonic() < deadline, f"{answer.status}: {said!r}"
        time.sleep(0.05)


def data_directory(home: Path) -> Path:
    data = home / "ibi-data"
    data.mkdir(parents=True)
    filled(data / CATALOGUE, ITEMS)
    own(data)
    return data


def include(resolver: Path, archive: Path, at: Running) -> None:
    """As if it had been registered and had asked for it."""
    record = ArchiveRecordFile(archive).read()
    assert record is not None, "the server began no Archive"
    now = Instant.parse("2026-11-15T00:00:00Z")
    said = (f"127.0.0.1:{at.port}", ip_address("127.0.0.1"), ArchiveProtocol.HTTP, "1", "ana@example.org", now)
    loopback = (ip_network("127.0.0.0/8"),)
    with closing(SqliteRegistry(resolver)) as registry:
        registry.put(Registration(record.service, "$argon2id$", now, networks=loopback, inclusion=Inclusion(*said)))


# --- a server that keeps nothing -------------------------------------------------------------------------------------


def run_command() -> None:
    """The command as it is, but for the room of one cache."""
    from ibi.app.server import resolver
    from ibi.command import main
    from ibi.resolver.rules.caching import Cache

    vars(resolver)["Cache"] = partial(Cache, 0, 0)
    main()


@contextmanager
def profiled(path: str) -> Iterator[None]:
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        profile.dump_stats(path)


def show_profile() -> None:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home:
        path = f"{home}/profile"
        program = (*UNKEPT, "profiled", path)
        with up(data_directory(Path(home) / "one"), program) as server, Client(server, CONNECTIONS, 302) as client:
            client.ask([ITEM] * 5 * REQUESTS)
        pstats.Stats(path).sort_stats("cumulative").print_stats(r"ibi|uvicorn|asyncio", 75)


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["deposit"]:
        deposit_until_told(Path(arguments[1]))
        return 0
    if arguments[:1] == ["profile"]:
        show_profile()
        return 0
    if arguments[:1] == ["profiled"]:
        sys.argv[1:] = arguments[2:]
        with profiled(arguments[1]):
            run_command()
        return 0
    if arguments:
        run_command()
        return 0
    found = figures()
    print(figure_table(found))
    return 0 if all(figure.is_met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
