"""Archives between which Copies are made: a store that takes them, and a source that says whatever a test wants.

The source is a server in a thread, over real HTTP: what it sends is what a stranger could send.
"""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha512
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ibi.copies.client.item_source import HttpItemSources
from ibi.copies.ports import FindSource
from ibi.copies.rules.copies import CopyRules
from ibi.copies.service.copying import Copying
from ibi.copies.store.copy_parts import CopyParts
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.item_json import encode_item
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.standard.instant import Instant
from tests.support.set_clocks import SetClocks
from tests.support.standards_archives import item

NOW = Instant.parse("2026-11-20T10:00:00Z")
REP, IBIP = "lab.br/arq/2009/07.21.14.43", "8JMKD3MGP8W/35MMLL8"
SERVICE = {"rep": "lab.br/arq/2020/01.01.00.00"}


def original(*labels: str, files: Mapping[str, bytes] | None = None, **others: Any) -> tuple[Item, dict[str, bytes]]:
    """An Original as another Archive has it, and the bytes of its files."""
    from tests.support.flat_items import replace

    contents = {"a.txt": b"0123456789"} if files is None else dict(files)
    recorded = tuple(File(path, len(body), sha512(body).hexdigest(), "text/plain") for path, body in contents.items())
    made = item(*(labels or (REP, IBIP)), at="2014-01-02T17:23:57Z", files=())
    return replace(made, **{"files": recorded, "target": next(iter(contents), None), **others}), contents


def object_said(one: Item, **changed: Any) -> dict[str, Any]:
    """What an honest Archive says of an Original, but for what is `changed`; None leaves a member out."""
    record = changed.pop("item_json", encode_item(one))
    said: dict[str, Any] = {
        "schema": 1,
        "labels": {label.form: label.spelling for label in one.labels.labels},
        "state": "Original",
        "head": 1,
        "at": "2014-01-02T17:23:57Z",
        "service": SERVICE,
        "item": record.decode(),
        "item_sha512": sha512(record).hexdigest(),
        **changed,
    }
    return {name: value for name, value in said.items() if value is not None}


def other_said(path: str, content: bytes, **changed: Any) -> dict[str, Any]:
    text = b64encode(content).decode("ascii")
    return {"path": path, "sha512": sha512(content).hexdigest(), "content": text, **changed}


def chain_said(one: Item, to: str = SERVICE["rep"], seed: bytes = b"f", links: int = 2) -> list[dict[str, Any]]:
    """Provenance as any Archive can make it: every link is signed, by keys that no other knows."""
    from ibi.items.rules.provenance import NO_CHAIN, countersign, encode_link, link_path, sign_release
    from ibi.standard.label import parse
    from ibi.standard.signing import SigningKey

    giver, key = parse("former.example/ibi/2020/01.01.00.00"), SigningKey(seed * 32)
    chain = sign_release(NO_CHAIN, one.labels, giver, parse(to), key.public, "0" * 128, NOW, key)
    chain = countersign(chain, key) if links > 1 else chain
    return [other_said(link_path(link.said.number), encode_link(link)) for link in chain.links]


Answer = Callable[["SourceRequest"], None]


class SourceRequest(BaseHTTPRequestHandler):
    """One request to the source; its `answer` writes whatever it wants."""

    protocol_version = "HTTP/1.1"
    answer: Answer

    def _serve(self) -> None:
        with suppress(OSError):
            type(self).answer(self)

    do_GET = do_POST = _serve

    def log_message(self, *_: object) -> None:
        """Tests say what went wrong."""

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self) -> bool:
        """There is no such item, as our Archives say it."""
        problem = {"type": "urn:ibi:problem:unknown-label", "detail": "It is not here.", "status": 404}
        self.send(json.dumps(problem).encode(), 404, Content_Type="application/problem+json")
        return True

    def send_json(self, said: object, status: int = 200) -> None:
        self.send(json.dumps(said).encode(), status, Content_Type="application/json")


@dataclass
class SourceArchive:
    """Says of one item what it is told to; counts what it sends of files."""

    said: object = None
    contents: dict[str, bytes] = field(default_factory=dict)
    special: Callable[[SourceRequest], bool] = lambda request: False
    """Answers a request in its own way, and says so."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    sent: int = 0
    cuts: list[int] = field(default_factory=list)
    """After how many bytes each answer with a file is cut."""
    url: str = ""

    def answer(self, request: SourceRequest) -> None:
        path = unquote(request.path)
        self.asked.append((path, request.headers.get("Range", "")))
        if self.special(request):
            return
        if path.endswith("/object"):
            request.send_json(self.said)
        elif "/files/" in path and (body := self.contents.get(path.partition("/files/")[2])) is not None:
            self._send_file(request, body)
        else:
            request.send(b"{}", 404)

    def _send_file(self, request: SourceRequest, body: bytes) -> None:
        asked = request.headers.get("Range", "")
        offset = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        request.send_response(206 if offset else 200)
        request.send_header("Content-Length", str(len(body) - offset))
        if offset:
            request.send_header("Content-Range", f"bytes {offset}-{len(body) - 1}/{len(body)}")
        request.end_headers()
        cut = self.cuts.pop(0) if self.cuts else len(body)
        rest = body[offset : offset + cut]
        request.wfile.write(rest)
        self.sent += len(rest)
        if offset + len(rest) < len(body):
            request.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what many tests want."""


@contextmanager
def source_archive(
    said: object = None, contents: Mapping[str, bytes] | None = None, **options: Any
) -> Iterator[SourceArchive]:
    archive = SourceArchive(said, dict(contents or {}), **options)
    handler = type("Handler", (SourceRequest,), {"answer": lambda request: archive.answer(request)})
    server = _Server(("127.0.0.1", 0), handler)
    archive.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield archive
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@dataclass
class Taker:
    """An Archive that makes Copies."""

    data: Path
    store: ArchiveStore
    copying: Copying

    def left(self) -> list[str]:
        """What lies in staging, of items and of the store, beside locks."""
        folders = [self.data / "copies" / "items", self.data / "copies" / "rooms", self.data / "store-staging"]
        found = [path for folder in folders if folder.is_dir() for path in folder.rglob("*")]
        return [str(path.relative_to(self.data)) for path in found if path.name != "lock" and path.is_file()]


@contextmanager
def taker(
    data: Path, rules: CopyRules | None = None, *, find_source: FindSource | None = None, guarded: bool = False
) -> Iterator[Taker]:
    rules = rules or CopyRules()
    sources = HttpItemSources(frozenset() if guarded else None, is_sandbox=rules.is_sandbox)
    with open_store(data) as store:
        copying = Copying(store, sources, CopyParts(data), SetClocks(NOW), rules, find_source=find_source)
        yield Taker(data, store, copying)
