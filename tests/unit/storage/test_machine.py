"""What this machine says of itself."""

from __future__ import annotations

import socket
import time
import uuid
from pathlib import Path

import pytest

from ibi.storage.machine import MachineClocks, machine_id


def test_the_clocks_are_those_of_the_machine() -> None:
    clocks = MachineClocks()
    before, first = time.time_ns(), clocks.read()
    second, after = clocks.read(), time.time_ns()
    assert before <= first.wall.units(9) <= second.wall.units(9) <= after
    assert first.uptime < second.uptime
    assert first.boot == second.boot == MachineClocks().read().boot != ""


def test_the_seconds_are_those_of_the_time_of_day() -> None:
    clocks = MachineClocks()
    before, seconds, after = clocks.read(), clocks.seconds(), clocks.read()
    assert before.wall.seconds <= seconds <= after.wall.seconds


def test_where_boots_are_not_numbered_each_process_is_its_own(tmp_path: Path) -> None:
    clocks = MachineClocks(tmp_path / "missing")
    assert clocks.read().boot == clocks.read().boot
    assert clocks.read().boot != MachineClocks(tmp_path / "missing").read().boot


def test_a_machine_has_one_id_and_does_not_tell_its_own() -> None:
    assert machine_id() == machine_id()
    assert len(machine_id()) == 64
    own = Path("/etc/machine-id")
    if own.exists():
        assert own.read_text(encoding="ascii").strip() not in machine_id()


def test_the_id_is_the_systems(tmp_path: Path) -> None:
    one, other, empty = tmp_path / "one", tmp_path / "other", tmp_path / "empty"
    one.write_text("0123456789abcdef\n")
    other.write_text("fedcba9876543210\n")
    empty.write_text("uninitialized\n")
    assert machine_id((one,)) == machine_id((tmp_path / "missing", empty, one, other)) != machine_id((other,))


def test_without_one_it_is_the_hardwares(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = set()
    for node, name in [(0x0242AC110002, "a"), (0x0242AC110002, "b"), (0x0242AC110003, "a")]:
        monkeypatch.setattr(uuid, "getnode", lambda node=node: node)
        monkeypatch.setattr(socket, "gethostname", lambda name=name: name)
        ids.add(machine_id(()))
    assert len(ids) == 3


def test_a_number_drawn_for_want_of_a_network_card_is_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another in each process: the data directory would look copied at each start."""
    ids = set()
    for drawn in (0x010000000001, 0x030000000002):
        monkeypatch.setattr(uuid, "getnode", lambda drawn=drawn: drawn)
        ids.add(machine_id(()))
    assert len(ids) == 1
