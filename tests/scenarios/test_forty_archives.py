"""One resolver process among forty Archives, of which sixteen are dead, slow, lying or dripping: two thousand links.

No reader is sent anywhere wrong or left without an answer, whoever fails is soon left alone, and the process neither
collects connections nor memory. What a link leads to is worked out here from what the Archives were given to say.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.store.registry import SqliteRegistry
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import ArchiveProtocol, LabelForms
from tests.support.ibi_command import IbiCommand
from tests.support.loopback_archives import EMPTY, LoopbackArchives, Says, Talk, plain, target_of

HEALTHY, REFUSING, BLACK_HOLES, SLOW, DRIPPING = 24, 3, 3, 4, 2
SLOWNESS = 30.0
ITEMS = 12
"""Of each healthy Archive."""
LINKS = 2000
READERS = 16
"""At a time."""
PATIENCE = 60.0
"""Seconds of a reader; the resolver has two for a link."""
SMALL = {"IBI_RESOLVE_BUDGET": "2", "IBI_RESOLVE_HEDGE_DELAY": "0.05", "IBI_RESOLVE_MISSES_PER_NETWORK": "0"}
SMALL["IBI_RESOLVE_FOREIGN_URLS"] = "refuse"  # or a false claim is shown, and the trace is that of the second look
NOBODY = "lab.br/nobody/2009/02.01.00.00"
NOW = Instant.parse("2026-11-15T00:00:00Z")


# --- what there is ---------------------------------------------------------------------------------------------------


def label(archive: int, item: int) -> str:
    return f"lab.br/h{archive % HEALTHY}/2009/01.{item:02}.00.00"


@dataclass(frozen=True)
class Network:
    """Where the Archives are, by their names: `h0` and so on are the healthy ones."""

    addresses: Mapping[str, str]

    def url(self, archive: int, item: int, what: str = "text") -> str:
        return f"http://{self.addresses[f'h{archive % HEALTHY}']}/{what}/{item}"

    def places(self, archive: int, item: int) -> tuple[str, ...]:
        """Who has the text: of the fifth item the next Archive but two has a Copy."""
        return (self.url(archive, item), *([self.url(archive + 3, item)] if item == 5 else []))


def service(name: str) -> str:
    return f"lab.br/{name}/2008/03.17.15.17"


def answer(name: str, address: str, ibi: str, *pairs: str) -> bytes:
    head = f"archiveaddress {address}\r\nibi {{rep {ibi}}}\r\nibi.archiveservice {{rep {service(name)}}}"
    return plain("\r\n".join([head, "ibi.platformsoftware {}", *pairs]).encode())


def located(relation: str, url: str, state: str = "Original", kind: str = "Data") -> list[str]:
    return [f"url{relation} {url}", f"contenttype{relation} {kind}", f"state{relation} {state}"]


def of_item(network: Network, archive: int, item: int, verbs: str) -> list[str]:
    """Whatever the holder says of it: the first has its next edition, the third its translation in another Archive."""
    if item == 6:
        return ["state Deleted", "timestamp 2014-04-04T17:36:01Z"]
    pairs = located("", network.url(archive, item))
    pairs += located(".metadata", network.url(archive, item, "metadata"), kind="Metadata")
    pairs.append("urlkey 1426203276-5985125171467764")
    if item == 1:
        pairs.append(f"ibi.nextedition {{rep {label(archive + 1, 2)}}}")
    elif "GetLastEdition" in verbs:
        pairs += located(".lastedition", network.url(archive, item))
    if item == 3:
        pairs.append(f"ibi.translation(pt) {{rep {label(archive + 2, 4)}}}")
    return pairs


def healthy(network: Network, number: int) -> Says:
    def says(request: bytes) -> bytes:
        pairs = parse_qs(urlsplit(target_of(request).decode()).query)
        if "acknowledgment" in pairs["servicesubject"]:
            return plain(b"notice {acknowledgment received}")
        ibi, verbs = pairs["parsedibiurl.ibi"][0], "".join(pairs.get("parsedibiurl.verblist", []))
        found = re.fullmatch(r"lab\.br/h(\d+)/2009/01\.(\d\d)\.00\.00", ibi)
        if found is None or int(found[2]) > ITEMS:
            return EMPTY
        holder, item, name = int(found[1]), int(found[2]), f"h{number}"
        if holder == number:
            return answer(name, network.addresses[name], ibi, *of_item(network, number, item, verbs))
        if item == 5 and (holder + 3) % HEALTHY == number:
            return answer(name, network.addresses[name], ibi, *located("", network.url(number, item), "Copy"))
        return EMPTY

    return says


# --- who is no help --------------------------------------------------------------------------------------------------


async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(SLOWNESS)
    writer.write(EMPTY)


async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


def asked(request: bytes) -> str:
    return parse_qs(urlsplit(target_of(request).decode()).query).get("parsedibiurl.ibi", [""])[0]


def liars(network: Network) -> dict[str, Says | Talk]:
    def here(name: str) -> str:
        return f"http://{network.addresses[name]}/lie"

    def wrong_item(request: bytes) -> bytes:
        ibi = "lab.br/elsewhere/1999/01.01.00.00"
        return answer("wrong", network.addresses["wrong"], ibi, *located("", here("wrong")))

    def foreign_url(request: bytes) -> bytes:
        pairs = located("", "http://evil.example.net/lie") + located(".lastedition", "http://127.0.0.99/lie")
        return answer("foreign", network.addresses["foreign"], asked(request), *pairs)

    def false_original(request: bytes) -> bytes:
        """Claims one item of each healthy Archive, and nothing else: who has to be believed is asked no more."""
        if not asked(request).endswith("/01.07.00.00"):
            return EMPTY
        return answer("false", network.addresses["false"], asked(request), *located("", here("false")))

    async def malformed_and_giant(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(plain(b"url {{{ \x00 }" + b"x" * 100))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 2_000_000
        )

    return {"wrong": wrong_item, "foreign": foreign_url, "false": false_original, "giant": malformed_and_giant}


@contextmanager
def black_hole(host: str) -> Iterator[str]:
    """Where a connection is neither accepted nor refused: the queue of those who wait is full."""
    with ExitStack() as opened:
        listener = opened.enter_context(closing(socket.socket()))
        listener.bind((host, 0))
        listener.listen(0)
        for _ in range(3):
            waiting = opened.enter_context(closing(socket.socket()))
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"{host}:{listener.getsockname()[1]}"


@contextmanager
def refusing(host: str) -> Iterator[str]:
    with closing(socket.socket()) as bound:
        bound.bind((host, 0))
        yield f"{host}:{bound.getsockname()[1]}"


@contextmanager
def forty_archives() -> Iterator[Network]:
    addresses: dict[str, str] = {}
    network = Network(addresses)
    with LoopbackArchives() as sockets, ExitStack() as opened:
        says: dict[str, Says | Talk] = {f"h{number}": healthy(network, number) for number in range(HEALTHY)}
        says |= liars(network)
        says |= {f"slow{number}": slow for number in range(SLOW)} | {
            f"drip{number}": drips for number in range(DRIPPING)
        }
        for name, each in says.items():
            host = f"127.0.0.{len(addresses) + 2}"
            talks = asyncio.iscoroutinefunction(each)
            archive = sockets.open(talk=each, host=host) if talks else sockets.open(each, host=host)  # type: ignore[arg-type]
            addresses[name] = archive.address
        for number in range(REFUSING):
            addresses[f"refusing{number}"] = opened.enter_context(refusing(f"127.0.1.{number + 2}"))
        for number in range(BLACK_HOLES):
            addresses[f"hole{number}"] = opened.enter_context(black_hole(f"127.0.2.{number + 2}"))
        assert len(addresses) == 40
        yield network


def join(network: Network, data: Path) -> None:
    """All registered and included, in the register of the server that runs."""
    with closing(SqliteRegistry(data)) as registry:
        for name, address in network.addresses.items():
            inclusion = Inclusion(
                *(address, ip_address("127.0.0.1"), ArchiveProtocol.HTTP, "1", "ana@example.org", NOW, True)
            )
            forms, loopback = LabelForms.of(parse(service(name))), (ip_network("127.0.0.0/8"),)
            registry.add(Registration(forms, "$argon2id$", NOW, None, frozenset(), loopback, inclusion))


# --- links and what they lead to -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    target: str
    status: int
    locations: tuple[str, ...] = ()
    or_else: tuple[int, ...] = ()
    """The statuses if an Archive answers something that cannot be read (E47): one of them does, now and then."""


def a_link(network: Network, random: Random) -> Link:
    archive, item = random.randrange(HEALTHY), random.choice((2, 4, 5, 8, 9, 10, 11, 12))
    original = "?ibiurl.requireditemstatus=Original"
    match random.choices(range(9), (8, 2, 2, 2, 2, 1, 1, 3, 1))[0]:
        case 0:
            return Link(label(archive, item), 302, network.places(archive, item))
        case 1:
            return Link(f"{label(archive, item)}{original}", 302, (network.url(archive, item),))
        case 2:
            return Link(f"{label(archive, 1)}!", 302, (network.url(archive + 1, 2),))
        case 3:
            return Link(f"{label(archive, 3)}+(pt)", 302, (network.url(archive + 2, 4),))
        case 4:
            return Link(f"{label(archive, 8)}:", 302, (network.url(archive, 8, "metadata"),))
        case 5:
            return Link(label(archive, 6), 410)
        case 6:
            return Link(f"{label(archive, 7)}{original}", 302, (network.url(archive, 7),))  # the home decides (E66)
        case 7:
            unknown = f"lab.br/nobody{random.randrange(50)}/2009/01.01.00.{random.randrange(60):02}"
            return Link(unknown, 404, or_else=(502,))
        case _:
            return Link(f"{label(archive, 9)}+(fr)", 404)


async def get(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str) -> tuple[int, str | None, bytes]:
    writer.write(f"GET /{target} HTTP/1.1\r\nHost: resolver\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
    body = await reader.readexactly(int(fields["content-length"]))
    found = re.search(r"^location: (.*)\r$", head, re.IGNORECASE | re.MULTILINE)
    return int(head.split()[1]), found[1] if found else None, body


@dataclass
class Readers:
    """`READERS` of them, each with one link at a time, and nobody longer than its patience."""

    address: tuple[str, int]
    pid: int
    healthy: frozenset[str]
    wrong: list[tuple[Link, int, str | None, bytes]] = field(default_factory=list)
    excused: int = 0
    followed: int = 0
    descriptors: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    async def follow(self, links: list[Link]) -> None:
        left = iter(links)
        async with asyncio.TaskGroup() as group:
            for _ in range(READERS):
                group.create_task(self._reader(left))

    async def _reader(self, left: Iterator[Link]) -> None:
        reader, writer = await asyncio.open_connection(*self.address)
        for link in left:
            async with asyncio.timeout(PATIENCE):
                status, location, body = await get(reader, writer, link.target)
            right = status in (link.status, *link.or_else) and (
                location in link.locations if link.locations else location is None
            )
            if not right and location is None and self._says_who_was_silent(body):
                self.excused += 1
            elif not right:
                self.wrong.append((link, status, location, body[:300]))
            self.followed += 1
            if self.followed % 50 == 0:
                self.descriptors.append(descriptors(self.pid))
                self.memory.append(resident(self.pid))
        writer.close()

    def _says_who_was_silent(self, body: bytes) -> bool:
        """On a machine that is busy elsewhere even a healthy Archive may be late: the reader is then told of it."""
        silent = {archive["address"] for archive in json.loads(body).get("archives_silent", ())}
        return not self.healthy.isdisjoint(silent)


def descriptors(pid: int) -> int:
    """How many files and connections are open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def resident(pid: int) -> int:
    """kB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1])


def replies(metrics: str) -> dict[str, Counter[str]]:
    """What each Archive replied, by its address."""
    counted: dict[str, Counter[str]] = {}
    line = re.compile(r'^ibi_archive_replies_total\{archive="(.*?)",reply="(.*?)"\} (\S+)', re.MULTILINE)
    for address, reply, number in line.findall(metrics):
        counted.setdefault(address, Counter())[reply] += int(float(number))
    return counted


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what a process holds is read from /proc")
def test_two_thousand_links_among_forty_archives(tmp_path: Path) -> None:
    random = Random(8)
    command = IbiCommand(tmp_path)
    with forty_archives() as network, command.up(**SMALL) as (server, url):
        join(network, command.data)
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port
        at_home = frozenset(network.addresses[f"h{number}"] for number in range(HEALTHY))
        readers = Readers((parts.hostname, parts.port), server.pid, at_home)
        links = [a_link(network, random) for _ in range(LINKS)]
        asyncio.run(readers.follow(links))
        assert readers.wrong == []
        assert (readers.followed, readers.excused <= LINKS // 50) == (LINKS, True), readers.excused
        check_flat(readers)

        async def last() -> tuple[str, dict[str, Any]]:
            reader, writer = await asyncio.open_connection(*readers.address)
            metrics = (await get(reader, writer, "metrics"))[2].decode()
            trace = json.loads((await get(reader, writer, f"{NOBODY}?ibiurl.trace=json"))[2])
            writer.close()
            return metrics, trace

        metrics, trace = asyncio.run(last())
    check_rests(network, replies(metrics))
    check_told(network, trace)


def check_flat(readers: Readers) -> None:
    """From link 500 on nothing is added but what caches keep. Connections come and go with how busy the machine is;
    what leaks would never go."""
    quarter = len(readers.memory) // 4
    assert min(readers.descriptors[-quarter:]) <= max(readers.descriptors[:quarter]) + 30, readers.descriptors
    assert readers.memory[-1] <= readers.memory[quarter] + 25_000, readers.memory


def check_rests(network: Network, counted: Mapping[str, Counter[str]]) -> None:
    """Whoever cannot be asked is asked a few times, and then left alone for a while; the others never are."""
    for name, address in network.addresses.items():
        of_this = counted[address]
        if name.startswith(("refusing", "hole", "slow", "drip")):
            failed = of_this["unreachable"] + of_this["timed_out"]
            assert of_this["resting"] > failed, (name, of_this)
            assert not of_this["found"], (name, of_this)
        else:
            assert not of_this["resting"], (name, of_this)
    assert counted[network.addresses["giant"]]["unreadable"]
    assert counted[network.addresses["giant"]]["too_large"]


def check_told(network: Network, trace: dict[str, Any]) -> None:
    """A trace says of every Archive what became of it."""
    (hop,) = trace["hops"]
    by_address = {one["address"]: one for one in hop["archives"]}
    assert {by_address[network.addresses[f"h{number}"]]["verdict"] for number in range(HEALTHY)} == {"empty"}
    for name, rule in {"wrong": "is_about_the_item", "foreign": "is_on_a_declared_host"}.items():
        assert by_address[network.addresses[name]]["broken_rule"].startswith(rule)
