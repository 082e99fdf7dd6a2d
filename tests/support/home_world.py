"""A resolver, homes behind proxies and lying Archives, as they are in the world: each server a process of its own.

The Archives are registered in this order: an old liar, the homes, the new holder of transferred items, a mirror that
the homes name for Copies, a new liar. The living home is as slow as each label says; the other one dies when it is told
to.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from ibi.command.root import app
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.minting.opening import LocalLabels, LocalMinter
from ibi.minting.rules.minter import Rules
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.label.generate import mount_suffix_of_ibip, mount_suffix_of_repository_name
from ibi.standard.messages import LabelForms
from ibi.storage.machine import MachineClocks, machine_id
from ibi.storage.state import open_state
from tests.support.deposit_samples import WHO, put
from tests.support.ibi_command import IbiCommand
from tests.support.loopback_archives import LoopbackArchives
from tests.support.lying_archive import HomeProxy, HonestArchive, LoopbackMember, LyingArchive, inclusion
from tests.support.membership_app import J
from tests.support.one_sided_transfers import Transfers

KEY: Final = "7730914258"
OLD_LIAR: Final = "evil.org/old/2009/07.21.14.01"
NEW_LIAR: Final = "evil.org/new/2009/07.21.14.02"
HOLDER: Final = "holder.org/arq/2009/07.21.14.03"
MIRROR: Final = "mirror.org/arq/2009/07.21.14.04"
BROWSER: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_AT_ONCE: Final = 24
"""Links that are asked for at a time: fewer than the connections that there may be to one Archive."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def location(self) -> str | None:
        return self.headers.get("location")

    @property
    def problem(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


def get(address: str, path: str, accept: str = "*/*") -> Answer:
    host, _, port = address.partition(":")
    with closing(HTTPConnection(host, int(port), timeout=60)) as connection:
        connection.request("GET", path, headers={"Accept": accept})
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


@dataclass
class Home:
    """An Archive in a process of its own, registered at the address of its proxy; items are put into it beside it, as a
    command does."""

    command: IbiCommand
    proxy: HomeProxy
    host: str
    ip: str
    service: LabelForms = field(init=False)
    server: subprocess.Popen[str] | None = None

    @property
    def variables(self) -> dict[str, str]:
        return {"IBI_MINT_HOST": self.host, "IBI_MINT_IP": self.ip, "IBI_PUBLIC_URL": f"http://{self.proxy.address}"}

    def begin(self) -> None:
        made = json.loads(in_process(self.command, "archive", "init", "--json", **self.variables))
        self.service = LabelForms(RepositoryName.parse(made["rep"]), Ibip.parse(made["ibip"]))

    @contextmanager
    def opened(self) -> Iterator[HomeStore]:
        locks = self.command.home / "locks"
        with (
            closing(SqliteTicks(self.command.data, machine=machine_id(), lock_directory=locks)) as ticks,
            open_store(self.command.data) as store,
        ):
            identity = ticks.identity()
            assert identity is not None
            minter = LocalMinter(ticks, identity, Rules(), MachineClocks(), lambda: None)
            yield HomeStore(store, minter, self.service)


class HomeStore:
    """Items and labels of a home, as commands beside its server make them."""

    def __init__(self, store: ArchiveStore, minter: LocalMinter, service: LabelForms) -> None:
        self._store, self._minter, self._service = store, minter, service
        self._began = MachineClocks().read().wall
        self._labels = LocalLabels(minter.mint, "token:1")
        self._deposits = Deposits(store, self._labels, MachineClocks(), service=service)

    def deposit(self, labels: LabelForms | None = None, **described: object) -> Item:
        """A small item; under `labels` if those were reserved for it before."""
        made = self._deposits if labels is None else Deposits(self._store, _Reserved(labels), MachineClocks())
        return put(made, **described)  # type: ignore[arg-type]

    def delete(self, item: Item) -> None:
        self._deposits.delete(item.rep, "a mistake", WHO)

    def give_away(self, item: Item, to: Label, *, keep_copy: bool) -> None:
        Transfers(self._store, MachineClocks(), service=self._service).release(item.rep, to, WHO, keep_copy=keep_copy)

    def reserve(self) -> LabelForms:
        """For a deposit. Dates are rounded down: the first ones may be older than the record of what was given out."""
        while (forms := self._labels.reserve()).labels[0].instant <= self._began:
            pass
        return forms

    def give_out(self) -> LabelForms:
        """As `ibi mint` does, for use anywhere."""
        (minted,) = self._minter.mint(1, "cli:ana", None).labels()
        assert minted.ibip is not None
        return LabelForms(RepositoryName.parse(minted.rep), Ibip.parse(minted.ibip))

    def never_minted(self, seconds_ahead: int = 0) -> LabelForms:
        """A label of this very moment, or of a later one."""
        now = MachineClocks().read().wall
        date = Instant(now.seconds + seconds_ahead, now.fraction)
        rep, ibip = self._service.labels
        return LabelForms(
            RepositoryName.parse(f"{rep.prefix}/{mount_suffix_of_repository_name(date)}"),
            Ibip.parse(f"{ibip.prefix}/{mount_suffix_of_ibip(date)}"),
        )


class _Reserved:
    """The port `LabelMinter` of one deposit whose labels are known."""

    def __init__(self, labels: LabelForms) -> None:
        self._labels = labels

    def reserve(self, key: str | None = None) -> LabelForms:
        return self._labels


def belief_rows(data: Path) -> dict[str, set[tuple[object, ...]]]:
    """What the resolver of a data directory believes of items and Archives, read from its file."""
    queries = {
        "successors": "SELECT label, chain FROM believed_successions",
        "holders": "SELECT label, owner FROM believed_holdings",
        "copies": "SELECT home, services FROM named_copies",
        "false claims": "SELECT name, owner, home, kind FROM false_claims",
    }
    # By the library that the product uses: another one in the same process would undo its locks.
    with closing(open_state(data)) as opened, opened.read() as session:
        return {name: set(session.execute(query).fetchall()) for name, query in queries.items()}


def in_process(command: IbiCommand, *arguments: str, **variables: str) -> str:
    """What a command prints that is run in this process: there are many, and each would take half a second to start."""
    unset = {name: None for name in command.environment() if name.startswith("IBI_")}
    runner = CliRunner(env={**unset, "IBI_LOCK_DIR": str(command.home / "locks"), **variables})
    umask = os.umask(0o022)
    try:
        done = runner.invoke(app, [*arguments, "--data", str(command.data)], catch_exceptions=False)
    finally:
        os.umask(umask)  # a command shuts out others, and this process goes on
    assert done.exit_code == 0, done.output
    return done.stdout


class ResolverWorld:
    """A resolver in a process of its own, and who is registered there."""

    def __init__(self, path: Path, sockets: LoopbackArchives, stack: ExitStack) -> None:
        self.path, self.sockets, self.stack = path, sockets, stack
        self.resolver = self.command("resolver")
        self.address = ""
        self._server: subprocess.Popen[str] | None = None
        self._registered = 0

    def command(self, name: str) -> IbiCommand:
        (self.path / name).mkdir()
        return IbiCommand(self.path / name, log=self.path / f"{name}.log")

    # --- the register ---

    def register(self, *labels: str) -> None:
        """Register an Archive later than all others: who was there first is told by the second."""
        while int(time.time()) == self._registered:
            time.sleep(0.01)
        self.register_too(*labels)

    def register_too(self, *labels: str) -> None:
        network = ("--allow-network", "127.0.0.0/8")
        in_process(self.resolver, "resolver", "register", *labels, *network, IBI_REGISTRATION_KEY=KEY)
        self._registered = int(time.time())

    def change(self, service: str, *flags: str) -> None:
        in_process(self.resolver, "resolver", "set", service, *flags)

    def include(self, service: str, address: str) -> None:
        told = get(self.address, f"{J}?{inclusion(service, address, KEY)}")
        assert (told.status, told.body[:23]) == (200, b"status.archive included"), told

    def add(self, archive: LoopbackMember) -> None:
        self.register(archive.service)
        self.include(archive.service, archive.address)

    # --- the process ---

    def start_resolver(self, **settings: str) -> None:
        port = self.address.partition(":")[2] or "0"
        # A machine that is busy with other tests takes its time: what is late there is not what is tried here. And all
        # these readers come from one network.
        settings = {"IBI_RESOLVE_BUDGET": "10", "IBI_RESOLVE_MISSES_PER_NETWORK": "0", **settings}
        started = self.resolver.up("--port", port, "--log-level", "warning", **settings)
        self._server, url = self.stack.enter_context(started)
        self.address = url.removeprefix("http://")

    def kill_resolver(self, **settings: str) -> None:
        """SIGKILL, and a new process on the same data at the same address."""
        assert self._server is not None
        self._server.send_signal(signal.SIGKILL)
        self._server.wait(30)
        self.start_resolver(**settings)

    # --- asking ---

    def ask(self, path: str, accept: str = "*/*") -> Answer:
        return get(self.address, path, accept)

    def ask_all(self, paths: Sequence[str], accept: str = "*/*") -> list[Answer]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda path: self.ask(path, accept), paths))

    def beliefs(self) -> dict[str, set[tuple[object, ...]]]:
        return belief_rows(self.resolver.data)

    def metrics(self, name: str) -> dict[str, float]:
        """The values of a metric, by what stands in its braces."""
        text = self.ask("/metrics").body.decode()
        found = re.findall(rf"^{name}\{{(.*?)\}} (\S+)$", text, re.MULTILINE)
        return {labels: float(value) for labels, value in found}


class HomeWorld(ResolverWorld):
    """With two homes, which are processes too, and Archives beside them. Everything runs once `begin` has returned."""

    def __init__(self, path: Path, sockets: LoopbackArchives, stack: ExitStack) -> None:
        super().__init__(path, sockets, stack)
        self.living = self._home("living", "150.163.34.10")
        self.dying = self._home("dying", "150.163.34.11")
        self.old_liar = LyingArchive(sockets, OLD_LIAR)
        self.new_liar = LyingArchive(sockets, NEW_LIAR)
        self.holder = HonestArchive(sockets, HOLDER, "127.0.0.55")
        self.mirror = HonestArchive(sockets, MIRROR, "127.0.0.44", state="Copy")

    def _home(self, name: str, ip: str) -> Home:
        proxy = HomeProxy(self.sockets)
        self.stack.callback(proxy.close)
        return Home(self.command(name), proxy, f"{name}.urlib.net", ip)

    @property
    def homes(self) -> tuple[Home, Home]:
        return self.living, self.dying

    def begin(self) -> None:
        self.start_resolver()
        self.add(self.old_liar)
        for home in self.homes:
            home.begin()
            self.register(*(label.spelling for label in home.service.labels))
        with ThreadPoolExecutor() as pool:
            for started in [pool.submit(self._start_home, home) for home in self.homes]:
                started.result()
        for archive in (self.holder, self.mirror, self.new_liar):
            self.add(archive)

    def _start_home(self, home: Home) -> None:
        member = {
            "IBI_RESOLVER": f"http://{self.address}",
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
            "IBI_ARCHIVE_COPIES_AT": MIRROR,
        }
        up = home.command.up("--log-level", "info", **home.variables, **member)
        home.server, url = self.stack.enter_context(up)
        home.proxy.upstream = int(url.rpartition(":")[2])
        until = time.monotonic() + 60
        while "included this Archive" not in home.command.log_text:
            assert time.monotonic() < until, home.command.log_text
            time.sleep(0.02)

    def switch_off(self, home: Home) -> None:
        """Stopped cleanly, it has itself excluded."""
        assert home.server is not None
        home.server.send_signal(signal.SIGTERM)
        home.server.wait(30)


@contextmanager
def home_world(path: Path) -> Iterator[HomeWorld]:
    with LoopbackArchives() as sockets, ExitStack() as stack:
        world = HomeWorld(path, sockets, stack)
        world.begin()
        yield world


@contextmanager
def resolver_world(path: Path) -> Iterator[ResolverWorld]:
    with LoopbackArchives() as sockets, ExitStack() as stack:
        world = ResolverWorld(path, sockets, stack)
        world.start_resolver()
        yield world
