"""How many connections one client may have."""

from __future__ import annotations

import json
import logging
import socket
from contextlib import ExitStack
from ipaddress import ip_network
from random import Random

import pytest
import structlog

from ibi.server import connection_bounds as connection_bound
from ibi.server.connection_bounds import Admission, Claim, ConnectionBound, Place
from tests.support.archive_app import REP
from tests.support.one_port import OnePort
from tests.support.running_server import RunningServer, running

QUIET = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
REQUEST = f"GET /{REP} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def admissions(bound: ConnectionBound, *addresses: str) -> list[Admission]:
    return [bound.enter(address).admission for address in addresses]


IN, WAITED_FOR, OUT = Admission.IN, Admission.WAITED_FOR, Admission.OUT


def test_an_address_that_has_as_many_connections_as_it_may_gets_no_other() -> None:
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


def test_a_connection_may_have_to_wait_before_it_is_read() -> None:
    delays: dict[str, float | None] = {"192.0.2.1": 0.5, "192.0.2.2": None}
    bound = ConnectionBound(10, [ip_network("10.0.0.0/8")])
    bound.pace(lambda address: delays.get(str(address), 0.0))
    slow, refused, other, proxy = map(bound.enter, ("192.0.2.1", "192.0.2.2", "192.0.2.3", "10.0.0.1"))
    assert [(each.admission, each.delay) for each in (slow, refused, other, proxy)] == [
        (IN, 0.5),
        (OUT, 0.0),
        (IN, 0.0),
        (IN, 0.0),
    ]
    for each in (slow, refused, other, proxy):
        bound.leave(each)
    assert len(bound) == 0


# --- on a socket ------------------------------------------------------------------------------------------------------


def connected(server: RunningServer, source: str = "127.0.0.1") -> socket.socket:
    host, port = server.url.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30, source_address=(source, 0))


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
            if waited_for:
                refused.sendall(REQUEST)
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


def test_a_delay_is_asked_for_only_while_others_wait() -> None:
    bound, waiting = ConnectionBound(10), list[str]()
    bound.pace(lambda _: 0.5, waiting)
    assert bound.enter("192.0.2.1").delay == 0.0
    waiting.append("a miss")
    assert bound.enter("192.0.2.1").delay == 0.5


def test_a_connection_that_waits_is_answered_in_the_end() -> None:
    bound, asked = ConnectionBound(10), list[object]()

    def delay(address: object) -> float:
        asked.append(address)
        return 0.01

    port = OnePort(log=QUIET, bound=bound)
    bound.pace(delay)
    with running(port.app) as server, connected(server) as slow:
        assert answered(slow).startswith(b"HTTP/1.1 302 ")
    assert asked


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


# --- of all clients together ------------------------------------------------------------------------------------------


class Held:
    """A connection with a claim of its own, that tells when it had to give way."""

    def __init__(self, claim: Claim = Claim.IDLE) -> None:
        self.claim, self.has_given_way = claim, False

    def give_way(self) -> None:
        self.has_given_way = True


def entered(bound: ConnectionBound, address: str, *claims: Claim) -> list[Held]:
    held = [Held(claim) for claim in claims]
    assert [bound.enter(address, each).admission for each in held] == [IN] * len(held)
    return held


def test_a_client_with_few_gets_the_place_of_one_of_the_client_with_most() -> None:
    bound = ConnectionBound(10, total=3)
    one, many = entered(bound, "192.0.2.1", Claim.IDLE), entered(bound, "192.0.2.2", Claim.SERVED, Claim.IDLE)
    assert bound.enter("192.0.2.3", Held()).admission is IN
    assert [each.has_given_way for each in one + many] == [False, False, True]
    assert bound.number == 3


def test_the_client_with_most_gets_no_other_when_all_places_are_taken() -> None:
    refused: list[tuple[str, bool]] = []
    bound = ConnectionBound(10, total=2)
    bound.watch(lambda client, is_full: refused.append((client, is_full)), lambda _: None)
    entered(bound, "192.0.2.1", Claim.IDLE, Claim.IDLE)
    place = bound.enter("192.0.2.1", Held())
    assert (place.admission, place.is_full) == (WAITED_FOR, True)
    assert refused == [("192.0.2.1", True)]


@pytest.mark.parametrize(
    ("claims", "gives_way"),
    [
        ((Claim.SERVED, Claim.STUCK, Claim.ASKING, Claim.IDLE), 3),
        ((Claim.SERVED, Claim.STUCK, Claim.ASKING), 2),
        ((Claim.SERVED, Claim.STUCK), 1),
        ((Claim.SERVED, Claim.SERVED), 0),
    ],
)
def test_the_weakest_claim_gives_way(claims: tuple[Claim, ...], gives_way: int) -> None:
    bound = ConnectionBound(10, total=len(claims))
    held = entered(bound, "192.0.2.1", *claims)
    assert bound.enter("192.0.2.2", Held()).admission is IN
    assert [each.has_given_way for each in held] == [number == gives_way for number in range(len(held))]


def test_one_that_is_served_does_not_give_way_to_a_client_that_is_no_better_off() -> None:
    bound = ConnectionBound(10, total=1)
    (served,) = entered(bound, "192.0.2.1", Claim.SERVED)
    assert bound.enter("192.0.2.2", Held()).admission is WAITED_FOR
    assert not served.has_given_way


def test_a_proxy_gets_places_too_and_its_idle_connections_give_way() -> None:
    bound = ConnectionBound(1, [ip_network("10.0.0.0/8")], total=3)
    held = entered(bound, "10.0.0.1", Claim.SERVED, Claim.IDLE, Claim.SERVED)
    assert bound.enter("192.0.2.1", Held()).admission is IN
    assert [each.has_given_way for each in held] == [False, True, False]


def test_a_place_that_was_given_away_is_left_without_harm() -> None:
    bound = ConnectionBound(10, total=1)
    first = Held()
    place = bound.enter("192.0.2.1", first)
    second = bound.enter("192.0.2.2", Held())
    bound.leave(place)
    assert (bound.number, len(bound)) == (1, 1)
    bound.leave(second)
    assert (bound.number, len(bound)) == (0, 0)


def test_any_number_of_entries_and_exits_is_counted_right() -> None:
    random = Random(7)
    bound = ConnectionBound(5, total=20)
    places: list[Place] = []
    for _ in range(5000):
        if places and random.random() < 0.45:
            bound.leave(places.pop(random.randrange(len(places))))
        else:
            address = f"192.0.2.{random.randrange(12)}"
            places.append(bound.enter(address, Held(random.choice(list(Claim)))))
        assert bound.number <= 20
    for place in places:
        bound.leave(place)
    assert (bound.number, len(bound)) == (0, 0)
    assert entered(bound, "192.0.2.1", *[Claim.IDLE] * 5)


def test_connections_are_shed_when_no_descriptor_is_left() -> None:
    bound = ConnectionBound(10)
    held = entered(bound, "192.0.2.1", Claim.IDLE, Claim.IDLE, Claim.IDLE)
    bound.shed(2)
    assert [each.has_given_way for each in held] == [True, True, False]


# --- a page for browsers ----------------------------------------------------------------------------------------------

BROWSER = "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html,*/*;q=0.8\r\nAccept-Language: {}\r\n\r\n"


@pytest.mark.parametrize(
    ("languages", "language", "words"),
    [
        ("en-GB", b"en", "too many connections from the address of your network"),
        ("pt-PT, pt;q=0.8", b"pt-BR", "conexões demais a partir do endereço da sua rede"),
        ("es-AR", b"es", "demasiadas conexiones desde la dirección de su red"),
    ],
)
def test_a_browser_is_told_in_its_readers_language(languages: str, language: bytes, words: str) -> None:
    with running(OnePort(log=QUIET, bound=ConnectionBound(1)).app) as server, connected(server) as first:
        assert answered(first).startswith(b"HTTP/1.1 302 ")
        with connected(server) as refused:
            refused.sendall(BROWSER.format(languages).encode())
            head, _, body = heard(refused).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\ncontent-type: text/html; charset=utf-8" in head
    assert b"\r\ncontent-language: " + language + b"\r\n" in head
    assert b"\r\nretry-after: 5" in head
    assert b"\r\ncontent-length: %d\r\n" % len(body) in head
    assert b"\r\ncontent-security-policy: " in head
    assert words in body.decode()


def test_a_full_server_says_so_and_makes_room_for_others() -> None:
    with running(OnePort(log=QUIET, bound=ConnectionBound(10, total=1)).app) as server, ExitStack() as opened:
        first = opened.enter_context(connected(server))
        assert answered(first).startswith(b"HTTP/1.1 302 ")
        with connected(server) as refused:
            refused.sendall(REQUEST)
            assert b'"urn:ibi:problem:server-full"' in heard(refused)
        other = opened.enter_context(connected(server, "127.0.0.2"))
        assert answered(other).startswith(b"HTTP/1.1 302 ")
        assert heard(first) == b""
