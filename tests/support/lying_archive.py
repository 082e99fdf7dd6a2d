"""A home Archive that is slow or dead on purpose, and Archives beside it that claim what is not theirs.

`HomeProxy` stands between a resolver and a home, which is a process of its own: the home's registered address is the
proxy's. `LyingArchive` claims the items it was told to claim, in the way it was told; `HonestArchive` has what it says.
All of them are on loopback, in a thread of the tests (`tests/support/loopback_archives.py`); nothing of the product
is used here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl

from tests.support.loopback_archives import EMPTY, LoopbackArchive, LoopbackArchives, plain, target_of

EVIL: Final = "127.0.0.66"
"""Where every URL of a lying Archive is, so that one look at a redirect is enough."""
BOGUS: Final = "evil.org/bogus/2013/01.01.00.00"
"""An item of the lying Archive, to which it points."""


class Lie(StrEnum):
    """What a lying Archive says of an item."""

    ORIGINAL = "has the Original of whatever is asked for"
    COPY = "has a Copy of whatever is asked for"
    POINTER = "knows another item that is the next edition, the translation or the metadata"
    DELETED = "deleted it"


@dataclass(frozen=True)
class Asked:
    """A request of a resolver for URLs."""

    label: str
    verbs: str

    @classmethod
    def of(cls, request: bytes) -> Asked:
        pairs = dict(parse_qsl(target_of(request).decode("ascii").partition("?")[2], keep_blank_values=True))
        return cls(pairs.get("parsedibiurl.ibi", ""), pairs.get("parsedibiurl.verblist", ""))

    @property
    def form(self) -> str:
        return "rep" if self.label.count("/") > 1 else "ibip"


def qualifier(verbs: str) -> str:
    """Of the names in an answer: `GetLastEdition GetMetadata(oai_dc)` is `.lastedition.metadata(oai_dc)`."""
    return "".join(f".{verb.removeprefix('Get')}" for verb in verbs.split()).lower()


# --- between the resolver and the home -------------------------------------------------------------------------------


@dataclass
class HomeProxy:
    """Forwards requests one by one, each after the delay of the label that it asks for."""

    sockets: LoopbackArchives
    delays: dict[str, float] = field(default_factory=dict)
    """Seconds by label, in lower case; what is not here is not delayed."""
    upstream: int = 0
    """The port of the home on 127.0.0.1."""
    listener: LoopbackArchive = field(init=False)
    _closed: socket.socket | None = None

    def __post_init__(self) -> None:
        self.listener = self.sockets.open(talk=self._forward)

    @property
    def port(self) -> int:
        return self.listener.port

    @property
    def address(self) -> str:
        return self.listener.address

    def die(self) -> None:
        """Refuse every connection from now on, and end those there are."""
        self.sockets.shut(self.listener)
        self._closed = socket.socket()  # holds the port, without listening, so that no other process gets it
        self._closed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._closed.bind((self.listener.host, self.port))

    def revive(self) -> None:
        assert self._closed is not None
        self._closed.close()
        self._closed = None
        self.sockets.reopen(self.listener)

    def close(self) -> None:
        if self._closed is not None:
            self._closed.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        home_reader, home_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        with closing(home_writer):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self.delays.get(Asked.of(request).label.lower(), 0.0))
                home_writer.write(request)
                head = await home_reader.readuntil(b"\r\n\r\n")
                writer.write(head + await home_reader.readexactly(_length(head)))
                await writer.drain()


def _length(head: bytes) -> int:
    lines = head.decode("ascii").lower().split("\r\n")
    return next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))


# --- beside the home -------------------------------------------------------------------------------------------------


class LoopbackMember:
    """An Archive on loopback that confirms its inclusion; `says` answers requests for URLs."""

    def __init__(self, sockets: LoopbackArchives, service: str, host: str) -> None:
        self.service = service
        self.listener = sockets.open(self._respond, host=host)

    @property
    def address(self) -> str:
        return self.listener.address

    def says(self, asked: Asked) -> bytes:
        raise NotImplementedError

    def head(self, asked: Asked) -> list[str]:
        """What every answer begins with."""
        return [
            f"archiveaddress {self.address}",
            f"ibi {{{asked.form} {asked.label}}}",
            f"ibi.archiveservice {{rep {self.service}}}",
            "ibi.platformsoftware {}",
        ]

    def _respond(self, request: bytes) -> bytes:
        if b"inclusionConfirmationRequest" in request:
            return plain(b"confirmation yes")
        if b"servicesubject=urlRequest" not in request:
            return plain(b"notice {acknowledgment received}")
        return self.says(Asked.of(request))


class LyingArchive(LoopbackMember):
    """Claims the items in `lies`, and has nothing else but its own bogus item."""

    def __init__(self, sockets: LoopbackArchives, service: str) -> None:
        self.lies: dict[str, Lie] = {}
        """By label, in lower case."""
        super().__init__(sockets, service, EVIL)

    def says(self, asked: Asked) -> bytes:
        lie = Lie.ORIGINAL if asked.label.lower() == BOGUS else self.lies.get(asked.label.lower())
        if lie is None:
            return EMPTY
        # In headers it names itself too: as the new holder, as one that has Copies.
        headers = (f"IBI-Transferred-To: {self.service}".encode(), f"IBI-Copies: {self.service}".encode())
        return plain(self._claim(asked, lie), *headers, b"Cache-Control: max-age=3600")

    def _claim(self, asked: Asked, lie: Lie) -> bytes:
        lines = self.head(asked)
        wanted = qualifier(asked.verbs)
        if lie is Lie.DELETED:
            lines += ["state Deleted", "timestamp 2020-05-06T07:08:09Z"]
        elif lie is Lie.POINTER and (pointer := _pointer(wanted)):
            lines.append(f"ibi.{pointer} {{rep {BOGUS}}}")
        else:
            state = "Copy" if lie is Lie.COPY else "Original"
            for each in dict.fromkeys(("", wanted)):
                kind = "Metadata" if "metadata" in each else "Data"
                url = f"http://{self.address}/taken{each}/{asked.label}"
                lines += [f"contenttype{each} {kind}", f"state{each} {state}", f"url{each} {url}"]
        return "\r\n".join(lines).encode()


def _pointer(wanted: str) -> str | None:
    """The relation of the first item on the way to what is wanted; a format of metadata is no item."""
    if not wanted or wanted.startswith(".metadata("):
        return None
    first = wanted.split(".")[1]
    return "nextedition" if first == "lastedition" else first


class HonestArchive(LoopbackMember):
    """Has the items in `holds`, and whatever is asked for of them: as the Original, or as a Copy."""

    def __init__(self, sockets: LoopbackArchives, service: str, host: str, state: str = "Original") -> None:
        self.holds: set[str] = set()
        """Labels, in lower case."""
        self.state = state
        self.transferred_to: str | None = None
        """The Archive that it names as the new holder of all it has, or had."""
        self.max_age = 0
        self.next_editions: dict[str, str] = {}
        """By label, in lower case: items that may be at other Archives."""
        super().__init__(sockets, service, host)

    def says(self, asked: Asked) -> bytes:
        headers = () if self.transferred_to is None else (f"IBI-Transferred-To: {self.transferred_to}".encode(),)
        if asked.label.lower() not in self.holds:
            return plain(b"", *headers)
        lines, wanted = self.head(asked), qualifier(asked.verbs)
        if wanted.startswith(".lastedition") and (later := self.next_editions.get(asked.label.lower())):
            lines.append(f"ibi.nextedition {{rep {later}}}")
            wanted = ""
        for each in dict.fromkeys(("", wanted)):
            kind = "Metadata" if "metadata" in each else "Data"
            url = f"http://{self.address}/held{each}/{asked.label}"
            lines += [f"contenttype{each} {kind}", f"state{each} {self.state}", f"url{each} {url}"]
        return plain("\r\n".join(lines).encode(), *headers, f"Cache-Control: max-age={self.max_age}".encode())


def inclusion(service: str, address: str, key: str) -> str:
    """The query by which an Archive has itself included (R Example 7.2)."""
    pairs: Mapping[str, str] = {
        "servicesubject": "inclusionRequest",
        "archiveaddress": address,
        "archiveserviceibi": service,
        "archiveip": address.partition(":")[0],
        "archiveprotocol": "HTTP",
        "archiveplatformversion": "2014:11.09.02.16.15",
        "archiveadmemailaddress": "banon@dpi.inpe.br",
        "registrationkey": key,
    }
    return "&".join(f"{name}={value}" for name, value in pairs.items())
