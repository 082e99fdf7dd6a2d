"""Pages and inboxes of strangers: found, bounded, and never on an address that is not to be dialled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from threading import Thread

import pytest

from ibi.claims.client import NotificationClient, ResolverPages, inbox_in
from ibi.claims.model import FoundItem, Unreached
from ibi.net.address_guard import AddressGuard
from ibi.standard.label import Label, parse

ITEM = parse("b.br/arq/2009/07.21.13.23")
LOOPBACK = (ip_network("127.0.0.0/8"),)
BASE = "https://b.example/col/x/metadata"


class Handler(BaseHTTPRequestHandler):
    """Answers by the path: a record, redirects, and what is too much."""

    posted: list[tuple[str, str, bytes]]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/page":
            self._send(200, b'{"labels":{}}', ("Content-Type", "application/json"), ("Link", "</inbox>; rel=x"))
        elif path == "/inbox-page":
            link = '</inbox>; rel="http://www.w3.org/ns/ldp#inbox", </a>; rel="item"'
            self._send(200, b"<p>", ("Content-Type", "text/html"), ("Link", link))
        elif path == "/gone":
            self._send(410, b"{}", ("Content-Type", "application/json"))
        elif path == "/round":
            self._send(302, b"", ("Location", "/round"))
        elif path == "/inside":
            self._send(302, b"", ("Location", "http://169.254.169.254/latest/meta-data"))
        elif path == "/large":
            self._send(200, b"x" * (9 << 20), ("Content-Type", "application/json"))
        elif path == f"/{ITEM}:":
            self._send(302, b"", ("Location", "/page"))
        else:
            self._send(404, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.posted.append((self.path, self.headers["content-type"], body))
        status = int(self.path.removeprefix("/"))
        self._send(status, b"", ("Retry-After", "77"))

    def _send(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def served() -> Iterator[str]:
    Handler.posted = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(10)


@pytest.fixture
def server() -> Iterator[str]:
    with served() as url:
        yield url


def client(page: str, *, loopback: bool = True, own: frozenset[tuple[str, int]] = frozenset()) -> NotificationClient:
    async def find(_: Label) -> str:
        return page

    return NotificationClient(AddressGuard(own), find, LOOPBACK if loopback else ())


@pytest.mark.parametrize(
    ("link", "inbox"),
    [
        (b"", None),
        (b'<https://b.example/inbox>; rel="http://www.w3.org/ns/ldp#inbox"', "https://b.example/inbox"),
        (b'</inbox>; rel="cite-as http://www.w3.org/ns/ldp#inbox"', "https://b.example/inbox"),
        (b"<i>; rel=http://www.w3.org/ns/ldp#inbox", "https://b.example/col/x/i"),
        (
            b'<a>; title="<b>; rel=x, y"; rel=next, <i>; REL="http://www.w3.org/ns/ldp#inbox"',
            "https://b.example/col/x/i",
        ),
        (b'<javascript:alert(1)>; rel="http://www.w3.org/ns/ldp#inbox"', None),
        (b'<i>; title="rel=http://www.w3.org/ns/ldp#inbox"', None),
        (b"<" * 10_000, None),
        (b'<a>; x="' * 3_000, None),
    ],
)
def test_the_inbox_is_read_from_the_links_of_a_page(link: bytes, inbox: str | None) -> None:
    assert inbox_in(link, BASE) == inbox


async def test_the_record_and_the_inbox_of_an_item_are_found(server: str) -> None:
    found = await client(f"{server}/page").find_item(ITEM)
    assert found == FoundItem(f"{server}/page", None, b'{"labels":{}}')
    found = await client(f"{server}/inbox-page").find_item(ITEM)
    assert found == FoundItem(f"{server}/inbox-page", f"{server}/inbox", None)
    found = await client(f"{server}/gone").find_item(ITEM)
    assert isinstance(found, FoundItem)
    assert found.is_deleted


@pytest.mark.parametrize("path", ["/round", "/inside", "/large", "/nothing"])
async def test_pages_that_lead_astray_are_not_read(server: str, path: str) -> None:
    assert isinstance(await client(f"{server}{path}").find_item(ITEM), Unreached)


async def test_nothing_is_dialled_that_is_not_public_or_allowed(server: str) -> None:
    guarded = client(f"{server}/page", loopback=False)
    assert isinstance(await guarded.find_item(ITEM), Unreached)
    assert isinstance(await guarded.deliver(f"{server}/201", b"{}"), Unreached)
    assert isinstance(await guarded.read_page(f"{server}/page"), Unreached)
    assert Handler.posted == []
    port = int(server.rpartition(":")[2])
    own = client(f"{server}/page", own=frozenset({("127.0.0.1", port)}))
    assert isinstance(await own.deliver(f"{server}/201", b"{}"), Unreached)
    assert Handler.posted == []


async def test_a_notification_is_delivered_or_comes_again_or_is_refused(server: str) -> None:
    sender = client("")
    for status, outcome in (
        (201, None),
        (202, None),
        (400, Unreached("the inbox answers with status 400", True, 77)),
        (429, Unreached("the inbox answers with status 429", False, 77)),
        (503, Unreached("the inbox answers with status 503", False, 77)),
        (307, Unreached("the inbox answers with status 307", False, 77)),
    ):
        assert await sender.deliver(f"{server}/{status}", b'{"a":1}') == outcome
    path, kind, body = Handler.posted[0]
    assert (path, kind.partition(";")[0], body) == ("/201", "application/ld+json", b'{"a":1}')


async def test_an_address_that_cannot_be_read_is_final() -> None:
    for inbox in ("http://user:secret@b.example/inbox", "ftp://b.example/", "http://127.1/inbox", "inbox"):
        failed = await client("").deliver(inbox, b"{}")
        assert isinstance(failed, Unreached), inbox


async def test_a_resolver_says_where_the_page_of_an_item_is(server: str) -> None:
    assert await ResolverPages(server)(ITEM) == f"{server}/page"
    assert isinstance(await ResolverPages(server)(parse("b.br/arq/2010/07.21.13.23")), Unreached)
    assert isinstance(await ResolverPages("http://127.0.0.1:9")(ITEM), Unreached)
