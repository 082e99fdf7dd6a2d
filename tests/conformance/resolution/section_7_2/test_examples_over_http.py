"""R Examples 7.2 to 7.4 through the whole resolver: an Archive is included, called back, asked, excluded, not asked.

`www.urlib.net` is printed for `urlib.net` (E30). The port of the address, which was free just now, is the test's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.loopback_archives import EMPTY, LoopbackArchive, LoopbackArchives, plain
from tests.support.whole_resolver import WholeResolver, whole_resolver

REP = "sid.inpe.br/mtc-m21/2012/06.05.15.34.39"
NAMES = {"mtc-m21.sid.inpe.br": ("127.0.0.5",)}
PAIRS = (
    "archiveaddress=mtc-m21.sid.inpe.br:{port}&"
    "archiveserviceibi=sid.inpe.br/mtc-m21/2012/06.05.15.34.39&"
    "archiveip=150.163.34.239&"
    "archiveprotocol=HTTP&"
    "archiveplatformversion=2014:11.09.02.16.15&"
    "archiveadmemailaddress=banon@dpi.inpe.br&"
    "registrationkey=1234567890"
)
EXAMPLE_7_2 = f"/J8LNKB5R7W/3FUQHC5?servicesubject=inclusionRequest&{PAIRS}"
EXAMPLE_7_3 = f"/J8LNKB5R7W/3FUQHC5?servicesubject=exclusionRequest&{PAIRS}"
EXAMPLE_7_4 = "/sid.inpe.br/mtc-m21/2012/06.05.15.34.39?servicesubject=inclusionConfirmationRequest"
CALL = (
    "GET {target} HTTP/1.1\r\nHost: mtc-m21.sid.inpe.br:{port}\r\nUser-Agent: ibi\r\n"
    "Accept: text/plain\r\nAccept-Encoding: identity\r\n\r\n"
)


def says(request: bytes) -> bytes:
    return plain(b"confirmation yes") if b"inclusionConfirmationRequest" in request else EMPTY


@pytest.fixture
def sockets() -> Iterator[LoopbackArchives]:
    with LoopbackArchives() as opened:
        yield opened


@pytest.fixture
def resolver() -> Iterator[WholeResolver]:
    with whole_resolver(NAMES) as running:
        running.register(REP, "127.0.0.0/8")
        yield running


def sent(resolver: WholeResolver, example: str, archive: LoopbackArchive) -> tuple[int, str | None, bytes]:
    answer, body = resolver.server.ask("GET", example.format(port=archive.port))
    return answer.status, answer.getheader("content-type"), body


def test_the_archive_is_included_called_back_asked_and_excluded(
    resolver: WholeResolver, sockets: LoopbackArchives
) -> None:
    archive = sockets.open(says, host="127.0.0.5")
    included = sent(resolver, EXAMPLE_7_2, archive)
    assert included == (200, "text/plain", b"status.archive included status.confirmation successful")
    assert archive.requests == [CALL.format(target=EXAMPLE_7_4, port=archive.port).encode()]
    assert resolver.get("/8JMKD3MGP7W/3EPGUE5")[0].status == 404
    assert b"servicesubject=urlRequest" in archive.wait(2)[1]
    excluded = sent(resolver, EXAMPLE_7_3, archive)
    assert excluded == (200, "text/plain", b"status.archive excluded")
    assert resolver.get("/8JMKD3MGP7W/3EPGUE5:")[0].status == 502  # nobody is left to ask
    assert len(archive.requests) == 2, "it was asked although it is excluded"


def test_an_archive_that_does_not_confirm_is_included_all_the_same(
    resolver: WholeResolver, sockets: LoopbackArchives
) -> None:
    archive = sockets.open(lambda _: plain(b"confirmation no"), host="127.0.0.5")
    included = sent(resolver, EXAMPLE_7_2, archive)
    assert included == (200, "text/plain", b"status.archive included status.confirmation unsuccessful")


@pytest.mark.parametrize("example", [EXAMPLE_7_2, EXAMPLE_7_3])
def test_another_key_does_nothing(resolver: WholeResolver, sockets: LoopbackArchives, example: str) -> None:
    archive = sockets.open(says, host="127.0.0.5")
    status, kind, body = sent(resolver, example.replace("=1234567890", "=1234567891"), archive)
    assert (status, kind, body[:7]) == (403, "text/plain", b"error {")
    assert archive.connections == 0
