"""The two Archives of R's examples on loopback sockets: they answer with the bytes that the standard prints.

Nothing of the product is used to write their answers, or what they expect to be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.loopback_archives import EMPTY, LoopbackArchive, LoopbackArchives, Says, plain, target_of
from tests.support.whole_resolver import WholeResolver, whole_resolver

__all__ = ["M16C", "M16D", "PrintedNetwork", "printed_network"]

M16C = "sid.inpe.br/mtc-m18@80/2008/03.17.15.17"
M16D = "sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
HOST_C, HOST_D = "mtc-m16c.sid.inpe.br", "mtc-m16d.sid.inpe.br"
NAMES = {HOST_C: ("127.0.0.3",), HOST_D: ("127.0.0.4",)}
CONFIRMATION, NOTICE = b"confirmation yes", b"notice {acknowledgment received}"
HEADERS = b"\r\nUser-Agent: ibi\r\nAccept: text/plain\r\nAccept-Encoding: identity\r\n\r\n"


@dataclass(frozen=True)
class PrintedNetwork:
    resolver: WholeResolver
    c: LoopbackArchive
    d: LoopbackArchive

    def check_asked(self, *, of_c: Sequence[str] = (), of_d: Sequence[str] = ()) -> None:
        """Since they were included, the Archives have been sent these requests and nothing else, byte for byte: all but
        the port, which was free just now, is as it is printed. On two connections, the order of arrival is nobody's."""
        for archive, service, host, queries in ((self.c, M16C, HOST_C, of_c), (self.d, M16D, HOST_D, of_d)):
            sent = archive.wait(1 + len(queries))[1:]
            lines = [f"GET /{service}?{query} HTTP/1.1\r\nHost: {host}:{archive.port}" for query in queries]
            assert sorted(sent) == sorted(line.encode() + HEADERS for line in lines)


@contextmanager
def printed_network(
    of_c: Mapping[str, bytes], of_d: Mapping[str, bytes], public_url: str = "http://urlib.net"
) -> Iterator[PrintedNetwork]:
    """Both are registered and included. The answers are found by the query that is asked; there is none to others."""
    with LoopbackArchives() as sockets, whole_resolver(NAMES, public_url=public_url) as resolver:
        c = sockets.open(_says(M16C, of_c), host=NAMES[HOST_C][0])
        d = sockets.open(_says(M16D, of_d), host=NAMES[HOST_D][0])
        for service, host, archive in ((M16C, HOST_C, c), (M16D, HOST_D, d)):
            resolver.register(service, "127.0.0.0/8")
            said = resolver.include(service, f"{host}:{archive.port}")
            assert said == b"status.archive included status.confirmation successful"
        yield PrintedNetwork(resolver, c, d)


def _says(service: str, answers: Mapping[str, bytes]) -> Says:
    def says(request: bytes) -> bytes:
        path, _, query = target_of(request).decode().partition("?")
        assert path == f"/{service}"
        if query == "servicesubject=inclusionConfirmationRequest":
            return plain(CONFIRMATION)
        if "servicesubject=acknowledgment" in query:
            return plain(NOTICE)
        return plain(answers[query]) if query in answers else EMPTY

    return says
