"""Chains of what strangers offer: asked of public addresses only, and not waited for without end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ibi.copies.client import item_source
from ibi.copies.client.item_source import HttpItemSources
from ibi.standard.label import RepositoryName
from ibi.transfers import client as transfer_client
from ibi.transfers.client import HttpTransferPeers
from ibi.transfers.ports import NoTransferService, PeerRefused, PeerSilent, TokenRefused
from tests.support.raw_server import Talk, drips, is_silent, raw_server

LABEL = RepositoryName.parse("lab.br/arq/2009/07.21.14.43")


@contextmanager
def served(body: bytes, told: list[str], *, drips: bool = False, status: int = 403) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            told.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not drips:
                self.wfile.write(body)
                return
            for byte in body:
                if stopped.wait(0.02):
                    return
                self.wfile.write(bytes((byte,)))
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    stopped = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_chain_is_read_from_the_other_archive() -> None:
    told: list[str] = []
    with served(b'{"chain": ["a", "b"]}', told) as url:
        peers = HttpTransferPeers(sources=HttpItemSources(frozenset(), is_sandbox=True))
        assert peers.chain(url, LABEL) == ("a", "b")
    assert told == ["/api/items/lab.br/arq/2009/07.21.14.43/provenance"]


@pytest.mark.parametrize("path", ["", "/latest/meta-data", "/?x"])
def test_no_address_that_is_not_of_the_whole_internet_is_asked(path: str) -> None:
    told: list[str] = []
    peers = HttpTransferPeers(sources=HttpItemSources(frozenset()))
    with served(b'{"chain": []}', told) as url, pytest.raises(PeerRefused):
        peers.chain(f"{url}{path}", LABEL)
    assert told == []


@pytest.mark.parametrize("url", ["http://169.254.169.254", "http://[::1]:80", "http://[::ffff:127.0.0.1]", "http://0"])
def test_other_spellings_of_such_addresses_are_not_asked_either(url: str) -> None:
    with pytest.raises(PeerRefused):
        HttpTransferPeers(sources=HttpItemSources(frozenset())).chain(url, LABEL)


def test_the_own_port_is_not_asked() -> None:
    told: list[str] = []
    with served(b"{}", told) as url:
        own = frozenset({("127.0.0.1", int(url.rpartition(":")[2]))})
        with pytest.raises(PeerRefused):
            HttpTransferPeers(sources=HttpItemSources(own, is_sandbox=True)).chain(url, LABEL)
    assert told == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"chain": [1]}', b"[" * 100_000])
def test_what_is_no_chain_is_asked_for_again_later(body: bytes) -> None:
    with served(body, []) as url, pytest.raises(PeerSilent, match="no chain"):
        HttpTransferPeers(sources=HttpItemSources(frozenset(), is_sandbox=True)).chain(url, LABEL)


def test_an_answer_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_source, "_FOR_CHAIN", 0.1)
    with served(b" " * 10_000, [], drips=True) as url, pytest.raises(PeerSilent, match="too slowly"):
        HttpTransferPeers(sources=HttpItemSources(frozenset(), is_sandbox=True)).chain(url, LABEL)


@pytest.mark.parametrize(
    ("status", "token", "kind"),
    [(401, "x", TokenRefused), (403, "x", TokenRefused), (403, None, PeerRefused), (422, "x", PeerRefused)],
)
def test_an_offer_that_is_refused_for_its_token_is_told_apart(status: int, token: str | None, kind: type) -> None:
    with served(b"", [], status=status) as url, pytest.raises(PeerRefused) as refused:
        HttpTransferPeers(allow_plain=True).send_offer(url, "offer", token)
    assert type(refused.value) is kind


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b"error {no such label}"),
        (404, b"<h1>Not Found</h1>"),
        (404, b'{"message": "not found"}'),
        (404, b'{"type": "urn:ibi:problem:not-found", "detail": "There is nothing here."}'),
        (405, b""),
        (501, b""),
        (200, b"Welcome"),
        (200, b"[]"),
        (302, b""),
    ],
)
def test_a_server_that_knows_no_transfers_is_told_apart(status: int, body: bytes) -> None:
    with served(body, [], status=status) as url, pytest.raises(NoTransferService, match="takes no transfers"):
        HttpTransferPeers(allow_plain=True).send_offer(url, "offer")


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_server_that_is_busy_is_asked_again_later(status: int) -> None:
    with served(b"", [], status=status) as url, pytest.raises(PeerSilent):
        HttpTransferPeers(allow_plain=True).send_offer(url, "offer")


@pytest.mark.parametrize("talk", [is_silent, drips])
def test_an_offer_is_answered_within_a_time_or_not_at_all(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_client, "_FOR_OFFER", 0.2)
    with raw_server(talk) as url, pytest.raises(PeerSilent, match=r"timed out|does not answer within 0\.2 seconds"):
        HttpTransferPeers(allow_plain=True).send_offer(url, "offer")
