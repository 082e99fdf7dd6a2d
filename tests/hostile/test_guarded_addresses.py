"""No registration, inclusion, name or answer makes the resolver dial where it must not: nobody there hears a thing.

The address guard as the whole product has it; networks that the registration allows stand for the public Internet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from ibi.membership.client.archive_connections import Budgets
from ibi.net.address_guard import addresses_of
from tests.support.loopback_archives import EMPTY, LoopbackArchive, LoopbackArchives, plain
from tests.support.membership_app import J
from tests.support.whole_resolver import WholeResolver, membership, whole_resolver

SERVICE = "lab.br/arq/2009/07.21.14.43"
OTHER = "lab.br/arq/2009/07.21.14.44"
ITEM = "/8JMKD3MGP7W/3EPGUE5"
FORBIDDEN = "its address is one that is not dialled"
NO_KEEPING = Budgets(idle=0.01, lifetime=0.0)
"""Every request dials anew."""


def confirming(request: bytes) -> bytes:
    return plain(b"confirmation yes") if b"inclusionConfirmationRequest" in request else EMPTY


@pytest.fixture
def sockets() -> Iterator[LoopbackArchives]:
    with LoopbackArchives() as opened:
        yield opened


@pytest.fixture
def inner(sockets: LoopbackArchives) -> LoopbackArchive:
    """Something inside that would answer, and counts who comes."""
    return sockets.open(confirming)


def failures(resolver: WholeResolver, link: str = ITEM) -> list[str | None]:
    return [one["failure"] for hop in resolver.trace(link)["hops"] for one in hop["archives"]]


ODD = (
    "127.1:{port}",
    "127.0.1:{port}",
    "127.00.0.1:{port}",
    "0127.0.0.1:{port}",
    "0177.0.0.1:{port}",
    "0x7f.0.0.1:{port}",
    "0x7f000001:{port}",
    "2130706433:{port}",
    "127.0.0.1.:{port}",
    "localhost:{port}",
    "LOCALHOST:{port}",
    "localhost.:{port}",
    "localhost.localdomain:{port}",
    "0.0.0.0:{port}",
    "0:{port}",
    "[::]:{port}",
    "[::1]:{port}",
    "[0:0:0:0:0:0:0:1]:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "[::ffff:7f00:1]:{port}",
    "[::127.0.0.1]:{port}",
    "[64:ff9b::7f00:1]:{port}",
    "[2002:7f00:1::]:{port}",
    "[::1%25lo]:{port}",
    "127.0.0.1:{port}",
    "127.0.0.1:0{port}",
    "127.0.0.1:%2B{port}",
    "example.org@127.0.0.1:{port}",
    "127.0.0.1:{port}/example.org",
    "127.0.0.1:{port}%23example.org",
    "127.0.0.1:{port}%3F",
    "127.0.0.1%0d%0aHost:x:{port}",
    "%31%32%37.0.0.1:{port}",
    "127.0.0.1%00.example.org:{port}",
    "127。0。0。1:{port}",
    "①②⑦.0.0.1:{port}",
)


@pytest.fixture(scope="module")
def looking_up() -> Iterator[tuple[WholeResolver, LoopbackArchive]]:
    """Names are looked up in earnest: it is this machine that would read `127.1` or `localhost`."""
    with LoopbackArchives() as sockets, whole_resolver(addresses_of) as resolver:
        resolver.register(SERVICE)
        yield resolver, sockets.open(confirming)


@pytest.mark.parametrize("spelling", ODD)
def test_an_odd_spelling_of_an_inner_address_is_refused_or_not_dialled(
    looking_up: tuple[WholeResolver, LoopbackArchive], spelling: str
) -> None:
    resolver, inner = looking_up
    escaped = "".join(c if c.isascii() else "".join(f"%{byte:02x}" for byte in c.encode()) for c in spelling)
    query = membership("inclusionRequest", SERVICE, escaped.format(port=inner.port))
    resolver.exclude(SERVICE, "example.org")
    answer, said = resolver.server.ask("GET", f"{J}?{query}")
    if answer.status == 200:
        assert said == b"status.archive included status.confirmation unsuccessful"
        # A name that this machine does not know is as good.
        assert failures(resolver) in ([FORBIDDEN], ["it could not be reached"], ["its name was not found"])
    else:
        assert (answer.status, said[:7]) == (400, b"error {")
        assert failures(resolver) == [], "it is asked although it was refused"
    assert resolver.get(ITEM)[0].status == 502
    assert inner.connections == 0


@pytest.mark.parametrize("network", ["127.1", "127.0.0.1/8", "localhost", "0/0 ", "::ffff:127.0.0.0/104/8"])
def test_an_odd_network_is_refused_with_the_registration(
    looking_up: tuple[WholeResolver, LoopbackArchive], network: str
) -> None:
    with pytest.raises(AssertionError, match="urn:ibi:problem"):
        looking_up[0].register(OTHER, network)


@pytest.mark.parametrize("host", ["0x7f.1", "127.1", "127.0.0.1.", "example.org@127.0.0.1", "127.0.0.1/", "[::1"])
def test_an_odd_host_is_refused_with_the_registration(
    looking_up: tuple[WholeResolver, LoopbackArchive], host: str
) -> None:
    with pytest.raises(AssertionError, match="urn:ibi:problem"):
        looking_up[0].register(OTHER, hosts=[host])


def lookups(*answers: Sequence[str]) -> Callable[[str], Sequence[str]]:
    """A name server that says something else each time, and the last thing from then on."""
    left = list(answers)
    return lambda host: left.pop(0) if len(left) > 1 else left[0]


def test_a_name_that_is_looked_up_again_and_leads_inside_is_not_dialled_there(
    sockets: LoopbackArchives, inner: LoopbackArchive
) -> None:
    """Allowed when it was included, and inside when a reader comes: what was allowed once is judged anew."""
    outer = sockets.open(confirming, host="127.0.0.2")
    inside = sockets.open(confirming, host="127.0.0.3")
    names = lookups(["127.0.0.2"], ["127.0.0.3"])
    with whole_resolver(names, names_kept_for=0.0, budgets=NO_KEEPING) as resolver:
        resolver.register(SERVICE, "127.0.0.2/32")
        address = f"archive.example.org:{outer.port}"
        assert resolver.include(SERVICE, address) == b"status.archive included status.confirmation successful"
        assert failures(resolver) == [FORBIDDEN]
        assert resolver.get(ITEM)[0].status == 502
    assert (outer.connections, inside.connections, inner.connections) == (1, 0, 0)


def test_a_name_of_an_allowed_and_an_inner_address_is_a_trap(sockets: LoopbackArchives) -> None:
    outer = sockets.open(confirming, host="127.0.0.2")
    for answer in (["127.0.0.2", "127.0.0.3"], ["127.0.0.3", "127.0.0.2"], ["127.0.0.2", "::1"]):
        with whole_resolver({"archive.example.org": answer}) as resolver:
            resolver.register(SERVICE, "127.0.0.2/32")
            said = resolver.include(SERVICE, f"archive.example.org:{outer.port}")
            assert said == b"status.archive included status.confirmation unsuccessful"
            assert failures(resolver) == [FORBIDDEN]
    assert outer.connections == 0


def test_what_was_judged_is_what_is_dialled(sockets: LoopbackArchives) -> None:
    """Between the look-up and the connection nobody looks up again: another answer a moment later comes too late."""
    asked: list[str] = []
    outer = sockets.open(confirming, host="127.0.0.2")

    def names(host: str) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.2"] if len(asked) == 1 else ["127.0.0.3"]

    with whole_resolver(names) as resolver:
        resolver.register(SERVICE, "127.0.0.2/32")
        said = resolver.include(SERVICE, f"archive.example.org:{outer.port}")
        assert said == b"status.archive included status.confirmation successful"
    assert (asked, outer.connections) == (["archive.example.org"], 1)


def test_an_archive_that_sends_elsewhere_is_not_followed(sockets: LoopbackArchives, inner: LoopbackArchive) -> None:
    def says(request: bytes) -> bytes:
        head = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n"
        return head % inner.port

    outer = sockets.open(says, host="127.0.0.2")
    with whole_resolver() as resolver:
        resolver.register(SERVICE, "127.0.0.0/8")
        assert resolver.include(SERVICE, outer.address).endswith(b"unsuccessful")
        assert failures(resolver) == ["it refused the request"]
    assert inner.connections == 0


def test_an_archive_whose_network_is_withdrawn_is_dialled_no_longer(sockets: LoopbackArchives) -> None:
    outer = sockets.open(confirming, host="127.0.0.2")
    with whole_resolver() as resolver:
        resolver.register(SERVICE, "127.0.0.2/32")
        assert resolver.include(SERVICE, outer.address).endswith(b" successful")
        assert resolver.get(ITEM)[0].status == 404
        heard = len(outer.requests)
        body, headers = b'{"disallow": ["127.0.0.2/32"]}', resolver.admin()
        answer, said = resolver.server.ask("PATCH", f"/api/archives/{SERVICE}", body, headers)
        assert answer.status == 200, said
        assert failures(resolver) == [FORBIDDEN]
        assert len(outer.requests) == heard
