"""How many connections one client may have."""

from __future__ import annotations

import json
import logging
import socket
from contextlib import ExitStack
from ipaddress import ip_network

import pytest
import structlog

from ibi.web import connection_bound
from ibi.web.connection_bound import Admission, ConnectionBound
from tests.archive_app import REP
from tests.one_port import OnePort
from tests.running_server import RunningServer, running

QUIET = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
REQUEST = f"GET /{REP} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def admissions(bound: ConnectionBound, *addresses: str) -> list[Admission]:
    return [bound.enter(address).admission for address in addresses]


IN, WAITED_FOR, OUT = Admission.IN, Admission.WAITED_FOR, Admission.OUT


def test_whoever_has_as_many_as_he_may_gets_no_other() -> None:
    bound = ConnectionBound(2)
    assert admissions(bound, *["192.0.2.1"] * 3, "192.0.2.2") == [IN, IN, WAITED_FOR, IN]


def test_a_place_that_is_left_is_free_again_and_nothing_stays() -> None:
    bound = ConnectionBound(1)
    first, refused = bound.enter("192.0.2.1"), bound.enter("192.0.2.1")
    bound.leave(refused)
    assert admissions(bound, "192.0.2.1") == [WAITED_FOR]
    bound.leave(first)
    assert len(bound) == 0
    last = bound.enter("192.0.2.1")
    assert last.admission is IN
    bound.leave(last)
    assert len(bound) == 0


def test_a_network_of_ipv6_is_one_client() -> None:
    bound = ConnectionBound(1)
    addresses = "2001:db8::1", "2001:db8::ffff:1%eth0", "2001:db8:0:1::1"
    assert admissions(bound, *addresses) == [IN, WAITED_FOR, IN]


def test_ipv4_inside_ipv6_is_ipv4() -> None:
    bound = ConnectionBound(1)
    assert admissions(bound, "::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2") == [IN, WAITED_FOR, IN]


def test_proxies_are_not_counted() -> None:
    bound = ConnectionBound(1, [ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")])
    assert set(admissions(bound, *["10.1.2.3"] * 5, *["2001:db8::1"] * 5, *["::ffff:10.0.0.1"] * 5)) == {IN}
    assert len(bound) == 0


def test_0_is_no_bound() -> None:
    bound = ConnectionBound(0)
    assert set(admissions(bound, *["192.0.2.1"] * 1000)) == {IN}


def test_who_has_no_address_is_not_counted() -> None:
    assert set(admissions(ConnectionBound(1), *["/run/ibi.sock"] * 3)) == {IN}


def test_few_of_the_refused_are_given_time_to_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_bound, "_MOST_WAITED_FOR", 1)
    bound = ConnectionBound(1)
    assert admissions(bound, *["192.0.2.1"] * 2) == [IN, WAITED_FOR]
    third = bound.enter("192.0.2.1")
    assert third.admission is OUT
    bound.leave(third)
    assert admissions(bound, "192.0.2.1") == [OUT]


# --- on a socket ------------------------------------------------------------------------------------------------------


def connected(server: RunningServer) -> socket.socket:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def heard(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def answered(connection: socket.socket) -> bytes:
    connection.sendall(REQUEST)
    return connection.recv(65536)


@pytest.mark.parametrize("waited_for", [0, 64])
def test_one_too_many_is_told_so_and_the_others_go_on(waited_for: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_bound, "_MOST_WAITED_FOR", waited_for)
    port = OnePort(log=QUIET, bound=ConnectionBound(3))
    with running(port.app) as server, ExitStack() as opened:
        connections = [opened.enter_context(connected(server)) for _ in range(3)]
        assert all(answered(each).startswith(b"HTTP/1.1 302 ") for each in connections)
        with connected(server) as refused:
            head, _, body = heard(refused).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"\r\nretry-after: 5" in head
        assert b"\r\nconnection: close" in head
        assert b"\r\ncontent-length: %d\r\n" % len(body) in head
        told = json.loads(body)
        assert (told["type"], told["status"]) == ("urn:ibi:problem:too-many-connections", 503)
        assert all(answered(each).startswith(b"HTTP/1.1 302 ") for each in connections)
        connections[0].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b'\nibi_connections_refused_total{reason="client"} 1.0\n' in heard(connections[0])
        # That one has gone: there is a place again.
        with connected(server) as another:
            assert answered(another).startswith(b"HTTP/1.1 302 ")


def test_what_a_refused_client_sends_is_not_answered() -> None:
    with running(OnePort(log=QUIET, bound=ConnectionBound(1)).app) as server, connected(server) as first:
        assert answered(first).startswith(b"HTTP/1.1 302 ")
        with connected(server) as refused:
            refused.sendall(REQUEST)
            assert heard(refused).count(b"HTTP/1.1 ") == 1


def test_nothing_is_left_of_connections_that_were() -> None:
    bound = ConnectionBound(100)
    with running(OnePort(log=QUIET, bound=bound).app) as server:
        for _ in range(20):
            server.ask("GET", "/healthz")
            with connected(server) as connection:
                connection.sendall(REQUEST[:10])
    assert len(bound) == 0
