"""An Archive that is the resolver of the others as well, in one process, and that is put back from a backup older than
a transfer: it asks the Archives of its own register, and one Original is left (E90, E102)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from ibi.standard.label import parse
from ibi.storage.state import open_state
from ibi.transfers.store.releases import SqliteChainStore
from tests.scenarios.test_both_restored import RestoredNetwork, has_nothing_open
from tests.scenarios.test_lost_archive import NetworkArchive
from tests.scenarios.test_without_centre import ask, until
from tests.support.ibi_command import IbiCommand

RELEASES = ("told_chains", "told_chain_names", "told_chain_services")
"""Tables of what a resolver was told of releases."""


class CentralArchive(NetworkArchive):
    """An Archive whose server is the resolver of the network."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self.command = IbiCommand(home, log=home.parent / f"{home.name}.log")
        self.variables = {
            "IBI_MINT_HOST": "arq0.urlib.net",
            "IBI_MINT_IP": "150.163.34.100",
            "IBI_COPIES_NETWORKS": "127.0.0.0/8",
        }
        self.service = str(json.loads(self.run("archive", "init", "--json"))["rep"])
        self.url, self.port = "", "0"


class CentralNetwork(RestoredNetwork):
    """A giver that is the resolver too, and Archives that are registered at it."""

    def __init__(self, home: Path, archives: int, opened: ExitStack) -> None:
        self._opened, self._servers = opened, dict[str, ExitStack]()
        self.giver = CentralArchive(home / "central")
        self.resolver = self.giver.command
        self.start(self.giver)
        self._home, self.archives = home, list[NetworkArchive]([self.giver])
        for _ in range(1, archives):
            self.add()

    def add(self) -> NetworkArchive:
        """Register one more Archive, and start it. The first of them is the receiver."""
        number = len(self.archives)
        added = NetworkArchive(self._home / f"arq{number}", number, self.resolver)
        self.archives.append(added)
        self.receiver = self.archives[1]
        self.start(added)
        return added

    def start(self, archive: NetworkArchive) -> None:
        if not isinstance(archive, CentralArchive):
            super().start(archive)
            return
        self._servers[archive.service] = self._opened.enter_context(ExitStack())
        up = archive.command.up("--port", archive.port, "--log-level", "info", **archive.variables)
        _, archive.url = self._servers[archive.service].enter_context(up)
        archive.port = archive.url.rpartition(":")[2].strip("/")
        self.url = archive.url


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def told_to(resolver: NetworkArchive, label: str) -> tuple[str, ...]:
    """The chain of an item that a resolver believes."""
    with closing(SqliteChainStore(resolver.command.data)) as store:
        return store.chain(parse(label))


def settle(network: CentralNetwork, label: str) -> None:
    """Wait for one Original, at the receiver, and for nothing that is open."""
    until(lambda: network.has_settled(label))
    for each in (network.giver, network.receiver):
        assert json.loads(each.run("verify", "--provenance", "--json").splitlines()[0])["problems"] == []
        until(partial(has_nothing_open, each))


@pytest.mark.parametrize("is_follower", [False, True], ids=["", "follows"])
@pytest.mark.parametrize("restored", [(0,), (0, 1)], ids=["giver", "both"])
def test_one_original_is_left_where_the_giver_is_the_resolver(
    tmp_path: Path, opened: ExitStack, restored: tuple[int, ...], *, is_follower: bool
) -> None:
    network = CentralNetwork(tmp_path, 3 if len(restored) > 1 else 2, opened)
    giver, receiver, *holders = network.archives
    label = giver.deposit("first")
    if is_follower:
        receiver.run("follow", label, "--from", giver.url)
        until(lambda: ask(receiver.url, f"/api/items/{label}")[0] == 200)
    network.back_up(giver, receiver)
    network.give(label)
    for each in holders:
        each.run("copy", label, "--from", receiver.url)
    network.restore(*(network.archives[number] for number in restored))
    settle(network, label)
    assert json.loads(ask(giver.url, "/readyz?verbose")[3])["ready"] is True
    receiver.run("update", label, "--title", "Changed after it")


def test_a_command_does_not_end_the_doubt_before_the_server_has_asked(tmp_path: Path, opened: ExitStack) -> None:
    network = CentralNetwork(tmp_path, 2, opened)
    giver, receiver = network.archives
    label = giver.deposit("first")
    network.back_up(giver)
    network.give(label)
    network.put_back(giver)
    for _ in range(2):
        giver.run("transfers", "list")
        status = json.loads(giver.run("archive", "status", "--json"))
        assert (status["in_doubt"], receiver.url.rstrip("/") in status["unheard"]) == ("items", True)
        assert "takes no change at the moment" in giver.run("update", label, "--title", "Changed", code=1)
    network.start(giver)
    settle(network, label)


def test_one_original_is_left_where_the_receiver_is_the_resolver(tmp_path: Path, opened: ExitStack) -> None:
    network = CentralNetwork(tmp_path, 3, opened)
    network.receiver, network.giver, holder = network.archives
    label = network.giver.deposit("first")
    network.back_up(network.giver, network.receiver)
    network.give(label)
    holder.run("copy", label, "--from", network.receiver.url)
    network.restore(network.receiver, network.giver)
    settle(network, label)


def test_a_lone_sandbox_is_in_no_doubt_wherever_its_directory_is_used(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path, log=tmp_path / "log")
    (tmp_path / "text.txt").write_text("first")
    with command.up():
        label = json.loads(command("deposit", "text.txt", "--title", "first", "--json").out)["rep"]
    with command.up("--log-level", "warning", IBI_LOCK_DIR=str(tmp_path / "another machine")) as (_, url):
        assert json.loads(ask(url, "/readyz")[3]) == {"ready": True, "reasons": []}
        assert "unconfirmed" not in json.loads(ask(url, f"/api/items/{label}")[3])
    assert "may have been put back" not in command.log_text


def test_releases_that_only_the_own_resolver_has_are_learned(tmp_path: Path, opened: ExitStack) -> None:
    network = CentralNetwork(tmp_path, 2, opened)
    giver, receiver = network.archives
    label = giver.deposit("first")
    network.back_up(giver, receiver)
    network.give(label)
    until(lambda: len(told_to(giver, label)) == 2)
    network.stop(giver)
    with closing(open_state(giver.command.data)) as state, state.read() as session:
        newer = {table: session.execute(f"SELECT * FROM {table}").fetchall() for table in RELEASES}
    assert all(newer.values())
    network.put_back(giver, receiver)
    with closing(open_state(giver.command.data)) as state, state.change() as session:
        for table, found in newer.items():
            marks = ", ".join("?" * len(found[0]))
            session.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
    network.start(giver)
    until(lambda: giver.state(label) == "Copy")
    network.start(receiver)
    settle(network, label)


def test_a_receiver_tells_a_restored_resolver_that_does_not_know_it_any_more(tmp_path: Path, opened: ExitStack) -> None:
    network = CentralNetwork(tmp_path, 1, opened)
    giver = network.giver
    label = giver.deposit("first")
    network.back_up(giver)
    receiver = network.add()
    network.give(label)
    network.restore(giver)
    until(lambda: giver.state(label) == "Copy")
    assert receiver.state(label) == "Original"
    assert "unconfirmed" not in json.loads(ask(giver.url, f"/api/items/{label}")[3])
