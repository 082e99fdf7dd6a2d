"""The address of this machine, found without sending anything."""

from __future__ import annotations

import socket

import pytest

from ibi.net.own_address import find_own_address


def test_an_address_is_one_that_this_machine_can_listen_on() -> None:
    own = find_own_address()
    assert not own.is_unspecified
    family = socket.AF_INET if own.version == 4 else socket.AF_INET6
    with socket.socket(family) as listener:
        listener.bind((str(own), 0))


def test_a_machine_without_a_network_is_known_to_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable(socket.socket):
        def connect(self, address: object, /) -> None:
            raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "socket", Unreachable)
    assert str(find_own_address()) == "127.0.0.1"
