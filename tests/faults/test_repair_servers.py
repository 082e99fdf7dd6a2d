"""Servers die while they repair an Original that both sides lost with a backup: never two, and one afterwards (E102).

Giver, receiver and resolver are processes of their own. Giver and receiver are restored from backups older than a
transfer; one of them is killed at a named step of the repair and started again. Another process asks all three who has
the Original. `SOAK_TRANSFER_KILLS=1` tries every step.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from tests.faults.test_transfer_servers import CHANGE, IS_SOAK, Archive, Network, Orders, until
from tests.faults.transfer_processes import PAUSE, order_death, original_by, state_at

LEARNS = [Orders("a", step) for step in CHANGE[1:]]
"""The giver writes its own release into the object; it is in doubt, and keeps no track."""
FETCHES = [Orders("b", step) for step in (*CHANGE[1:], "released content kept")]
TAKES = [Orders("b", "track kept"), *(Orders("b", step, 2) for step in CHANGE[1:])]
FEW = [Orders("a", "content kept"), Orders("b", "content kept"), Orders("b", "content kept", 2)]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with ExitStack() as opened:
        yield Network(tmp_path_factory.mktemp("repairs"), opened)


def restore(archive: Archive, who: str) -> None:
    """Put the directory back, and start its server, which does not go on with transfers yet."""
    archive.stop()
    shutil.rmtree(archive.command.data)
    archive.run("restore", str(archive.command.home / "backup"))
    (archive.command.home / PAUSE).touch()
    archive.start(who)


def has_moved(network: Network, label: str) -> bool:
    states = (state_at(network.a.place, label), state_at(network.b.place, label))
    place = network.b.proxy.url.removeprefix("http://")
    return states == ("Copy", "Original") and original_by(network.resolver, label) == place


def has_nothing_open(archive: Archive) -> bool:
    return " open: " not in archive.run("transfers", "list")


@pytest.mark.parametrize(
    "orders", [*LEARNS, *FETCHES, *TAKES] if IS_SOAK else FEW, ids=lambda each: "-".join(map(str, each))
)
def test_a_kill_during_the_repair_leaves_one_original(network: Network, orders: Orders) -> None:
    label = network.deposit()
    for each in (network.a, network.b):
        each.run("backup", str(each.command.home / "backup"))
    network.a.run("transfer", label, "--to", network.b.proxy.url, "--token", network.token)
    until(lambda: has_moved(network, label), "the Original")
    for who, each in (("a", network.a), ("b", network.b)):
        restore(each, who)
    victim = network.victim(orders)
    assert victim.server is not None
    dying = victim.server
    with network.watched(label) as seen:
        order_death(victim.orders(orders.who), orders.step, orders.visit, label)
        for each in (network.a, network.b):
            (each.command.home / PAUSE).unlink()
        until(lambda: dying.poll() is not None, "the kill")
        assert dying.poll() == -signal.SIGKILL
        victim.stop()
        victim.start(orders.who)
        until(lambda: has_moved(network, label), "the Original")
    assert len(seen) > 1
    assert not [each for each in seen if each["wrong"]], seen
    for each in (network.a, network.b):
        until(partial(has_nothing_open, each), "an item that is not open")
