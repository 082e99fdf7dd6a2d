"""One Original after all, each Archive in a process of its own: one burns down without a backup, or loses a dispute
(E97, E98)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from ibi.items.model.content import Bytes, Change
from ibi.items.opening.archive_store import open_store
from ibi.items.service.item_repository import PendingItem
from ibi.items.service.stored_item import name_of
from ibi.standard.label import parse
from ibi.storage.connection import STATE
from ibi.storage.machine import MachineClocks
from tests.scenarios.test_two_servers_membership import KEY
from tests.scenarios.test_without_centre import ask, until
from tests.support.ibi_command import IbiCommand


class NetworkArchive:
    """An Archive that a resolver has on its register, on a port that stays."""

    def __init__(self, home: Path, number: int, resolver: IbiCommand) -> None:
        home.mkdir()
        self.command = IbiCommand(home, log=home.parent / f"{home.name}.log")
        self.variables = {
            "IBI_MINT_HOST": f"arq{number}.urlib.net",
            "IBI_MINT_IP": f"150.163.34.{100 + number}",
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
            "IBI_COPIES_NETWORKS": "127.0.0.0/8",
        }
        begun = json.loads(self.run("archive", "init", "--json"))
        self.service = str(begun["rep"])
        labels = (self.service, str(begun["ibip"]))
        register = ("resolver", "register", *labels, "--allow-weak-key", "--allow-network", "127.0.0.0/8")
        done = resolver(*register, IBI_REGISTRATION_KEY=KEY)
        assert done.code == 0, done
        self.url, self.port = "", "0"

    def run(self, *arguments: str, code: int = 0) -> str:
        done = self.command(*arguments, **self.variables)
        assert done.code == code, done
        return done.out if code == 0 else done.err

    def deposit(self, text: str) -> str:
        (self.command.home / "text.txt").write_text(text)
        return str(json.loads(self.run("deposit", "text.txt", "--title", text, "--json"))["rep"])

    def state(self, label: str) -> str:
        return str(json.loads(ask(self.url, f"/api/items/{label}")[3])["state"])

    @contextmanager
    def up(self, resolver: str, **variables: str) -> Iterator[Popen[str]]:
        self.variables |= {"IBI_RESOLVER": resolver, **variables}
        arguments, log = ("--port", self.port, "--log-level", "info"), self.command.log
        assert log is not None
        before = log.stat().st_size if log.exists() else 0
        with self.command.up(*arguments, **self.variables) as (server, self.url):
            self.port = self.url.rpartition(":")[2].strip("/")
            until(lambda: "included this Archive" in self.command.log_text[before:])
            yield server


class Network:
    """A resolver and some Archives."""

    def __init__(self, home: Path, archives: int, opened: ExitStack) -> None:
        (home / "resolver").mkdir()
        self.resolver = IbiCommand(home / "resolver", log=home / "resolver.log")
        _, self.url = opened.enter_context(self.resolver.up())
        self.archives = [NetworkArchive(home / f"arq{number}", number, self.resolver) for number in range(archives)]

    def administer(self, *arguments: str, code: int = 0) -> str:
        done = self.resolver("resolver", *arguments)
        assert done.code == code, done
        return done.out if code == 0 else done.err

    def known_deletions(self) -> int:
        """How many items the resolver knows to be deleted, from answers and from the feed."""
        with closing(sqlite3.connect(self.resolver.data / STATE.file_name)) as connection:
            return int(connection.execute("SELECT count(DISTINCT label) FROM believed_deletions").fetchone()[0])

    def leads_to(self, label: str, archive: NetworkArchive) -> bool:
        status, location, *_ = ask(self.url, f"/{label}")
        return status in (302, 303, 307) and (location or "").startswith(archive.url)

    def trace(self, label: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.resolver("trace", label, "--json").out)
        return found


def kill(server: Popen[str]) -> None:
    server.kill()
    server.wait(30)


def test_the_successor_of_a_lost_archive_takes_over_what_it_has_copies_of(tmp_path: Path) -> None:
    with ExitStack() as opened:
        network = Network(tmp_path, 2, opened)
        lost, heir = network.archives
        opened.enter_context(heir.up(network.url))
        with lost.up(network.url) as server:
            first, second, dropped = map(lost.deposit, ("first", "second", "third"))
            heir.run("copy", first, second, dropped, "--from", lost.url)
            assert network.leads_to(first, lost)
            named = ("set", lost.service, "--successor", heir.service)
            refused = network.administer(*named, "--lost", code=1)
            assert f"{lost.service} is not taken for lost" in refused.replace("'", "")
            assert lost.url.removeprefix("http://").rstrip("/") in refused
            refused = heir.run("transfers", "take-lost", first, code=1)
            assert f"`ibi resolver set LOST_SERVICE_IBI --successor {heir.service} --lost`" in refused
            kill(server)
        assert ask(network.url, f"/{second}")[0] >= 300
        network.administer(*named)
        assert "not named" in heir.run("transfers", "take-lost", "--of", lost.service, code=1)
        network.administer("set", lost.service, "--lost")
        assert "lost, and succeeded by" in network.administer("list")
        assert heir.state(first) == "Copy"
        heir.run("drop", dropped)
        other = str(json.loads(lost.run("archive", "status", "--json"))["ibip"])
        for name in (lost.service, other, f"{network.url}/{other}"):
            assert heir.run("transfers", "take-lost", "--of", name, "--dry-run").count("Copy") == 2
        assert heir.run("transfers", "take-lost", "--of", lost.service).count("taken") == 2
        assert "taken" in heir.run("transfers", "list")
        assert heir.run("transfers", "take-lost", "--of", lost.service) == ""
        assert heir.state(first) == heir.state(second) == "Original"
        until(lambda: network.leads_to(first, heir) and network.leads_to(second, heir))
        heir.run("update", first, "--title", "Changed after the fire")
        assert "2 chains checked, all sound." in heir.run("verify", "--provenance")
        # It was not lost after all, and learns at its start what was given away in its place.
        with lost.up(network.url):
            until(lambda: lost.state(first) == "Copy" and lost.state(second) == "Copy")
            assert network.leads_to(first, heir)
            assert "2 chains checked, all sound." in lost.run("verify", "--provenance")
            assert "lost, and" not in network.administer("list")
            assert lost.state(dropped) == "Original"


def plant(label: str, original: NetworkArchive, liar: NetworkArchive) -> None:
    """Have an old state of another's item in an Archive, as its Original."""
    with open_store(original.command.data) as there, open_store(liar.command.data) as here:
        item = there.find(parse(label))
        change = Change("Ana", "put back elsewhere", MachineClocks().read().wall)
        here.add(PendingItem(name_of(item), lambda _: item, {item.files[0].path: Bytes(b"first")}, change))


def test_the_loser_of_a_settled_dispute_becomes_a_copy_of_the_winner(tmp_path: Path) -> None:
    with ExitStack() as opened:
        network = Network(tmp_path, 2, opened)
        home, liar = network.archives
        opened.enter_context(home.up(network.url))
        label = home.deposit("first")
        plant(label, home, liar)
        opened.enter_context(liar.up(network.url))
        (home.command.home / "text.txt").write_text("second")
        home.run("update", label, str(home.command.home / "text.txt"))
        assert network.leads_to(label, home)
        until(lambda: liar.service in network.administer("disputes"))
        assert "no dispute over it was settled" in liar.run("transfers", "yield", label, code=1)
        assert liar.state(label) == "Original"
        network.administer("settle", label, "--holder", home.service)
        assert "no dispute over it was settled" in home.run("transfers", "yield", label, code=1)
        assert home.service in liar.run("transfers", "yield", label)
        assert (liar.state(label), home.state(label)) == ("Copy", "Original")
        assert ask(liar.url, f"/col/{label}/doc/text.txt")[3] == b"second"
        assert "it is a Copy" in liar.run("transfers", "yield", label, code=1)
        assert "yield" in liar.run("audit", label)


def test_a_deleted_item_stays_deleted_while_its_home_is_silent(tmp_path: Path) -> None:
    with ExitStack() as opened:
        network = Network(tmp_path, 2, opened)
        home, heir = network.archives
        opened.enter_context(heir.up(network.url))
        with home.up(network.url, IBI_ARCHIVE_COPIES_AT=heir.service) as server:
            asked, unasked, kept = map(home.deposit, ("first", "second", "third"))
            heir.run("copy", asked, unasked, kept, "--from", home.url)
            for label in (asked, unasked, kept):
                assert network.leads_to(label, home)
            for label in (asked, unasked):
                home.run("delete", label, "--reason", "withdrawn")
            heir.run("refresh", unasked)
            ibips = [json.loads(ask(home.url, f"/api/items/{each}")[3])["labels"]["ibip"] for each in (asked, unasked)]
            # Each by both of its labels.
            until(lambda: ask(network.url, f"/{asked}")[0] == 410 and network.known_deletions() == 4)
            kill(server)
        until(lambda: network.leads_to(kept, heir))
        assert [ask(network.url, f"/{label}")[0] for label in (asked, unasked, *ibips)] == [410] * 4
        assert ask(heir.url, f"/col/{unasked}/metadata")[0] == 200
        assert ask(network.url, f"/{unasked}")[0] == 410


def test_followers_go_along_when_an_archive_moves(tmp_path: Path) -> None:
    with ExitStack() as opened:
        network = Network(tmp_path, 2, opened)
        home, follower = network.archives
        opened.enter_context(follower.up(network.url))
        with home.up(network.url):
            old = home.url
            first = home.deposit("first")
            follower.run("follow", "--all", "--from", old)
            until(lambda: ask(follower.url, f"/api/items/{first}")[0] == 200)
        home.port = "0"
        with home.up(network.url):
            assert home.url != old
            second = home.deposit("second")
            until(lambda: ask(follower.url, f"/api/items/{second}")[0] == 200)
            assert home.url in follower.run("follow", "list")
            assert old not in follower.run("follow", "list")
            # An Archive that is asked leaves the link to its resolver, which is asked then.
            for server in (home.url, follower.url, network.url):
                assert follower.run("resolve", home.service, "--server", server).startswith(home.url)
            assert "its URL was chosen" in follower.run("trace", home.service, "--server", follower.url)
            home.run("key", "replace")
            assert "replace key" in home.run("audit")
