"""E33 through the whole resolver: octets of a link, and of a `url` that an Archive sends, arrive as they were sent.

Links are written to a socket byte by byte, past any client library. The Archive is none of ours.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.resolver.rules.caching import Cache
from tests.support.loopback_archives import LoopbackArchive, LoopbackArchives, plain, target_of
from tests.support.whole_resolver import WholeResolver, whole_resolver

SERVICE = "lab.br/arq/2008/03.17.15.17"
LINK = b"/lab.br/arq/2009/07.21.14.43"
URL = b"http://127.0.0.1/col/lab.br/arq/2009/07.21.14.43/doc/a.pdf"


class Scene:
    """A resolver, and one Archive that has every item at `url`."""

    def __init__(self, resolver: WholeResolver, sockets: LoopbackArchives) -> None:
        self.url = URL
        self.resolver = resolver
        self.archive: LoopbackArchive = sockets.open(self.says)
        resolver.register(SERVICE, "127.0.0.0/8", hosts=("127.0.0.1",))
        resolver.include(SERVICE, self.archive.address)
        place = urlsplit(resolver.server.url)
        self.connection = socket.create_connection((place.hostname, place.port), timeout=10)

    def says(self, request: bytes) -> bytes:
        target = target_of(request)
        if b"inclusionConfirmationRequest" in target:
            return plain(b"confirmation yes")
        if b"servicesubject=acknowledgment" in target:
            return plain(b"notice {acknowledgment received}")
        relation = b".metadata" if b"GetMetadata" in target else b""
        named = (b"contenttype%b Data", b"state%b Original", b"url%b %%b")
        pairs = [b"ibi {rep lab.br/arq/2009/07.21.14.43}", *(each % relation for each in named)]
        pairs[-1] %= self.url
        return plain(b"\r\n".join([*pairs, b"urlkey 1427244889-5349022633744855"]))

    def follow(self, target: bytes) -> tuple[int, bytes]:
        """Status and `Location` of the answer to that very target. The reader is sent on before the Archive is thanked:
        its thanks are waited for, so that they are not taken for those of the next link."""
        before = len(self.archive.requests)
        self.connection.sendall(b"GET %b HTTP/1.1\r\nHost: urlib.net\r\nAccept: text/plain\r\n\r\n" % target)
        head = b""
        while b"\r\n\r\n" not in head:
            received = self.connection.recv(1 << 16)
            assert received, (target, head)
            head += received
        lines = head.split(b"\r\n\r\n")[0].split(b"\r\n")
        fields = dict(line.lower().split(b": ", 1)[:1] + line.split(b": ", 1)[1:] for line in lines[1:])
        assert not int(fields[b"content-length"]) or head.endswith(b"}"), head
        status = int(lines[0].split(b" ")[1])
        if status == 302:
            self._wait_for(b"acknowledgment", before)
        return status, fields.get(b"location", b"")

    def asked(self, subject: bytes, target: bytes) -> dict[bytes, bytes]:
        """The undecoded pairs of the request on that subject that following the link sends."""
        before = len(self.archive.requests)
        status, _ = self.follow(target)
        assert status == 302, status
        (found,) = map(target_of, self._wait_for(subject, before))
        pairs = (pair.partition(b"=") for pair in found.partition(b"?")[2].split(b"&"))
        return {name: value for name, _, value in pairs}

    def _wait_for(self, subject: bytes, before: int) -> list[bytes]:
        """The requests on that subject since so many had come; at least one."""
        wanted = b"servicesubject=" + subject

        def found() -> list[bytes]:
            return [each for each in self.archive.requests[before:] if wanted in each]

        with self.archive.changed:
            assert self.archive.changed.wait_for(found, 10)
            return found()


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with LoopbackArchives() as sockets, whole_resolver(cache=Cache(0, 0)) as resolver:
        made = Scene(resolver, sockets)
        with made.connection:
            yield made


@pytest.fixture(autouse=True)
def _usual_url(scene: Scene) -> None:
    scene.url = URL


PATHS = [
    b"/Relat%f3rio%20Final.pdf",
    b"/Relat%F3rio",
    b"/Relat%c3%b3rio",
    b"/%c3%b3%f3%e7%E3o",
    b"/100%25%20a",
    b"/a%25f3",
    b"/a%2Fb",
    b"/%ff%fe%80",
]


@pytest.mark.parametrize("path", PATHS)
def test_the_path_of_a_link_arrives_as_it_was_spelled(scene: Scene, path: bytes) -> None:
    assert scene.asked(b"urlRequest", LINK + path)[b"parsedibiurl.filepath"] == path


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (b"/Relat\xf3rio", b"/Relat%F3rio"),
        (b"/Relat\xc3\xb3rio", b"/Relat%C3%B3rio"),
        (b"/\xc3\xb3\xf3%f3", b"/%C3%B3%F3%f3"),
        (b"/a+b&c=d", b"/a%2Bb%26c%3Dd"),
    ],
)
def test_raw_octets_of_a_link_arrive_as_themselves(scene: Scene, path: bytes, value: bytes) -> None:
    assert scene.asked(b"urlRequest", LINK + path)[b"parsedibiurl.filepath"] == value


@given(st.binary(min_size=1, max_size=20).filter(lambda name: name not in (b".", b"..")))
def test_any_octets_of_a_file_name_arrive(scene: Scene, name: bytes) -> None:
    name = bytes(byte for byte in name if byte > 0x20 and byte not in b"\x7f/\\") + b"x"
    path = b"/" + b"".join(b"%%%02x" % byte for byte in name)
    assert unquote_to_bytes(scene.asked(b"urlRequest", LINK + path)[b"parsedibiurl.filepath"]) == b"/" + name


@pytest.mark.parametrize(
    ("sent", "location"),
    [
        (b"Relat\xf3rio%20Final.pdf", b"Relat%F3rio%20Final.pdf"),
        (b"Relat\xc3\xb3rio.pdf", b"Relat%C3%B3rio.pdf"),
        (b"\xc3\xb3\xf3\xff.pdf", b"%C3%B3%F3%FF.pdf"),
        (b"Relat%f3rio%20Final.pdf", b"Relat%f3rio%20Final.pdf"),
        (b"a\xa0b\x85c.pdf", b"a%A0b%85c.pdf"),
        (b"a\xc2\xa0b.pdf", b"a%C2%A0b.pdf"),
    ],
)
def test_raw_octets_of_a_url_become_themselves_encoded(scene: Scene, sent: bytes, location: bytes) -> None:
    doc = URL.removesuffix(b"a.pdf")
    scene.url = doc + sent
    assert scene.follow(LINK) == (302, doc + location)
    assert scene.asked(b"acknowledgment", LINK)[b"url"] == doc + location
    assert scene.resolver.trace(LINK.decode())["url"] == (doc + location).decode()


@pytest.mark.parametrize("query", [b"q=%f3", b"q=%C3%B3&%f3=1", b"a=b%26c", b"q=\xf3", b"q=\xc3\xb3%F3"])
def test_octets_of_a_query_go_on_to_the_item(scene: Scene, query: bytes) -> None:
    status, location = scene.follow(LINK + b"?" + query)
    assert status == 302
    encoded = query.replace(b"\xc3\xb3", b"%C3%B3").replace(b"\xf3", b"%F3")
    assert location == URL + b"?" + encoded


@pytest.mark.parametrize(
    "link",
    [
        LINK,
        LINK.replace(b"lab.br", b"LAB.br"),
        b"/ibi" + LINK,
        b"/IBI:" + LINK[1:],
        b"/upn:XXX:" + LINK,
        LINK + b"-TDI",
        LINK + b"/a%2fRelat%f3rio%20Final.pdf",
        LINK + b":",
        LINK + b"/a?ibiurl.verblist=GetMetadata",
        LINK + b"?ibiurl.requireditemstatus=Original",
        LINK + b"?x=%f3&ibiurl.language=pt",
        b"/%6cab.br/arq/2009/07.21.14.43",
    ],
)
def test_an_acknowledgment_has_the_link_as_it_arrived(scene: Scene, link: bytes) -> None:
    """R Table 8.11, E26. Its delimiters are encoded for the journey, and nothing else (E25)."""
    value = scene.asked(b"acknowledgment", link)[b"url.persistent"]
    for sign in b"?&=+":
        value = value.replace(b"%%%02X" % sign, bytes((sign,)))
    assert value == b"http://urlib.net:80" + link
