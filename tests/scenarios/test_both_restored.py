"""Archives that are put back from backups older than a transfer between them, each server a process of its own: one
Original is left, whichever of them was restored (E102)."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from ibi.storage.state import empty_part
from tests.scenarios.test_lost_archive import Network, NetworkArchive
from tests.scenarios.test_without_centre import ask, until


class RestoredNetwork(Network):
    """A resolver and Archives, of which one gives an item to the next after both were backed up."""

    def __init__(self, home: Path, archives: int, opened: ExitStack) -> None:
        self._resolver = opened.enter_context(ExitStack())
        super().__init__(home, archives, self._resolver)
        self.giver, self.receiver = self.archives[:2]
        self._opened, self._servers = opened, dict[str, ExitStack]()
        for each in self.archives:
            self.start(each)

    def stop_resolver(self) -> None:
        self._resolver.close()

    def start_resolver(self) -> None:
        port = self.url.rpartition(":")[2].strip("/")
        self._resolver = self._opened.enter_context(ExitStack())
        self._resolver.enter_context(self.resolver.up("--port", port))

    def start(self, archive: NetworkArchive) -> None:
        self._servers[archive.service] = self._opened.enter_context(ExitStack())
        self._servers[archive.service].enter_context(archive.up(self.url))

    def stop(self, archive: NetworkArchive) -> None:
        self._servers[archive.service].close()

    def backup_of(self, archive: NetworkArchive) -> str:
        return str(archive.command.home / "backup")

    def back_up(self, *archives: NetworkArchive) -> None:
        for each in archives:
            each.run("backup", self.backup_of(each))

    def give(self, label: str) -> None:
        agreed = self.receiver.run("token", "create", "--scope", "edit").split()[0]
        assert "given" in self.giver.run("transfer", label, "--to", self.receiver.url, "--token", agreed)
        until(lambda: self.receiver.state(label) == "Original" and self.giver.state(label) == "Copy")
        until(lambda: self.leads_to(label, self.receiver))
        until(lambda: label.lower() in self.told_releases(self.giver))

    def told_releases(self, giver: NetworkArchive) -> set[str]:
        """The items that were given away, as the resolver was told. Links lead to the receiver sooner."""
        body = ask(self.url, f"/api/releases?of={giver.service}")[3]
        return {release["item"] for release in json.loads(body)["releases"]}

    def put_back(self, *archives: NetworkArchive) -> None:
        for each in archives:
            self.stop(each)
            shutil.rmtree(each.command.data)
            assert "`ibi transfers list` and `ibi doctor`" in each.run("restore", self.backup_of(each)).splitlines()[-1]

    def restore(self, *archives: NetworkArchive) -> None:
        self.put_back(*archives)
        for each in archives:
            self.start(each)

    def has_settled(self, label: str) -> bool:
        """Whether the receiver alone has the Original, by its own word and by that of the resolver."""
        if ask(self.receiver.url, f"/api/items/{label}")[0] != 200:
            return False
        documents = [json.loads(ask(each.url, f"/api/items/{label}")[3]) for each in (self.giver, self.receiver)]
        if any("unconfirmed" in document for document in documents):
            return False
        states = [document["state"] for document in documents]
        return states == ["Copy", "Original"] and self.leads_to(label, self.receiver)


def has_nothing_open(archive: NetworkArchive) -> bool:
    return " open: " not in archive.run("transfers", "list")


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("is_follower", [False, True], ids=["", "follows"])
@pytest.mark.parametrize("restored", [(), (0,), (1,), (0, 1)], ids=["neither", "giver", "receiver", "both"])
def test_one_original_is_left_whoever_is_restored_from_before_the_transfer(
    tmp_path: Path, opened: ExitStack, restored: tuple[int, ...], *, is_follower: bool
) -> None:
    network = RestoredNetwork(tmp_path, 2, opened)
    giver, receiver = network.archives
    label = giver.deposit("first")
    if is_follower:
        receiver.run("follow", label, "--from", giver.url)
        until(lambda: ask(receiver.url, f"/api/items/{label}")[0] == 200)
    network.back_up(giver, receiver)
    network.give(label)
    network.restore(*(network.archives[number] for number in restored))
    begun = time.monotonic()
    until(lambda: network.has_settled(label))
    assert time.monotonic() - begun < 60
    for each in network.archives:
        assert json.loads(each.run("verify", "--provenance", "--json").splitlines()[0])["problems"] == []
        until(partial(has_nothing_open, each))
        assert "transfer-open" not in each.command("doctor", **each.variables).out
    receiver.run("update", label, "--title", "Changed after it")


def test_an_original_that_came_back_changed_is_changed_after_a_restore_from_before_it_went(
    tmp_path: Path, opened: ExitStack
) -> None:
    network = RestoredNetwork(tmp_path, 2, opened)
    first, second = network.archives
    label = first.deposit("first")
    network.back_up(first)
    network.give(label)
    second.run("update", label, "--title", "Changed after it")
    agreed = first.run("token", "create", "--scope", "edit").split()[0]
    assert "given" in second.run("transfer", label, "--to", first.url, "--token", agreed)
    until(lambda: first.state(label) == "Original" and second.state(label) == "Copy")
    until(lambda: network.leads_to(label, first))
    network.restore(first)

    def is_back() -> bool:
        item = json.loads(ask(first.url, f"/api/items/{label}")[3])
        return item["state"] == "Original" and "unconfirmed" not in item and "Changed after it" in json.dumps(item)

    until(is_back)
    until(partial(has_nothing_open, first))
    assert second.state(label) == "Copy"


@pytest.mark.parametrize("is_follower", [False, True], ids=["", "follows"])
def test_a_receiver_restored_while_the_giver_is_stopped_has_its_original_once_the_giver_is_back(
    tmp_path: Path, opened: ExitStack, *, is_follower: bool
) -> None:
    """The resolver knows that the giver is switched off, and was not told of the transfer."""
    network = RestoredNetwork(tmp_path, 2, opened)
    giver, receiver = network.archives
    label = giver.deposit("first")
    if is_follower:
        receiver.run("follow", label, "--from", giver.url)
        until(lambda: ask(receiver.url, f"/api/items/{label}")[0] == 200)
    network.back_up(receiver)
    agreed = receiver.run("token", "create", "--scope", "edit").split()[0]
    assert "given" in giver.run("transfer", label, "--to", receiver.url, "--token", agreed)
    until(lambda: receiver.state(label) == "Original")
    network.stop(giver)
    network.put_back(receiver)
    network.stop_resolver()
    empty_part(network.resolver.data, "releases")
    network.start_resolver()
    network.start(receiver)
    until(lambda: json.loads(ask(receiver.url, "/readyz")[3]).get("unheard", []) == [])
    network.start(giver)
    until(lambda: network.has_settled(label))
    until(lambda: has_nothing_open(giver) and has_nothing_open(receiver))


def test_the_bytes_come_from_a_third_archive_where_the_giver_has_dropped_them(
    tmp_path: Path, opened: ExitStack
) -> None:
    network = RestoredNetwork(tmp_path, 3, opened)
    giver, receiver, third = network.archives
    label = giver.deposit("first")
    third.run("copy", label, "--from", giver.url)
    network.back_up(receiver)
    network.give(label)
    giver.run("drop", label)
    network.restore(receiver)
    until(lambda: ask(receiver.url, f"/api/items/{label}")[0] == 200 and receiver.state(label) == "Original")
    until(lambda: network.leads_to(label, receiver))
    assert third.state(label) == "Copy"
    until(partial(has_nothing_open, receiver))


def test_an_original_whose_bytes_are_nowhere_is_told_with_who_was_asked(tmp_path: Path, opened: ExitStack) -> None:
    network = RestoredNetwork(tmp_path, 2, opened)
    giver, receiver = network.archives
    label = giver.deposit("first")
    network.back_up(receiver)
    network.give(label)
    giver.run("drop", label)
    network.restore(receiver)
    until(lambda: "asked: " in receiver.run("transfers", "list"))
    told = receiver.run("transfers", "list")
    assert f"{label}  open: its Original belongs here, released by {giver.service}" in told
    assert giver.url.rstrip("/") in told
    assert f"`ibi copy {label} --from URL --token TOKEN`" in told
    (document,) = map(json.loads, receiver.run("transfers", "list", "--json").splitlines())
    assert (document["item"], document["direction"], document["stage"]) == (label, "open", "not-fetched")
    examined = receiver.command("doctor", **receiver.variables)
    assert (examined.code, "transfer-open" in examined.out, label in examined.out) == (1, True, True)


def test_ledgers_that_are_lost_leave_one_original(tmp_path: Path, opened: ExitStack) -> None:
    network = RestoredNetwork(tmp_path, 2, opened)
    giver, receiver = network.archives
    label = giver.deposit("first")
    network.give(label)
    for each in (giver, receiver):
        network.stop(each)
        empty_part(each.command.data, "transfers")
    for each in (giver, receiver):
        network.start(each)
    until(lambda: network.has_settled(label))
    assert " open: " not in giver.run("transfers", "list") + receiver.run("transfers", "list")


def test_nothing_is_said_to_be_an_original_while_the_resolver_is_away_and_one_is_when_it_is_back(
    tmp_path: Path, opened: ExitStack
) -> None:
    network = RestoredNetwork(tmp_path, 2, opened)
    giver, receiver = network.archives
    label = giver.deposit("first")
    network.back_up(giver, receiver)
    network.give(label)
    network.stop_resolver()
    network.put_back(giver, receiver)
    servers = [
        opened.enter_context(each.command.up("--port", each.port, **each.variables)) for each in (giver, receiver)
    ]
    assert len(servers) == 2
    until(lambda: network.url.rstrip("/") in json.loads(ask(giver.url, "/readyz")[3])["unheard"])
    assert json.loads(ask(giver.url, f"/api/items/{label}")[3])["unconfirmed"] is True
    assert ask(receiver.url, f"/api/items/{label}")[0] == 404
    network.start_resolver()
    until(lambda: network.has_settled(label))
