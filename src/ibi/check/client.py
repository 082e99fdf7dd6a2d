"""Send the requests of `ibi.check.rules` over HTTP. Each answer is limited in size and time, and the whole run in time.

The administrator names the server under test, so its address is not restricted. URLs in the answers of that server are
not trusted. The checker fetches them only from the addresses of the server, or from addresses that the address guard
allows, and follows few redirects.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address, ip_network
from math import inf
from ssl import SSLError, SSLSocket, cert_time_to_seconds
from typing import Final
from urllib.parse import urljoin

from ibi import __version__
from ibi.check.rules.checking import NOT_DIALLED, Awaited, HeardRequest, Probe, ProbeResponse
from ibi.check.rules.examination import TimeIsOver
from ibi.check.rules.probe_archive import ProbeArchive
from ibi.net.address_guard import AddressGuard, addresses_of
from ibi.net.blocking_http import BlockingConnection, BrokenAnswer, Waits
from ibi.net.server_url import ServerUrl, request_target, server_of
from ibi.standard.errors import IbiError
from ibi.standard.reply import Failure

_FOR_A_REQUEST: Final = 5.0
_FOR_AWAITED: Final = 2.0
"""Maximum wait in seconds: for an acknowledgment, or for the end of the requests."""
_QUIET: Final = 0.3
"""Seconds without a request after which no further request is expected."""
_MOST_HEARD: Final = 1_000
_MOST_AT_ONCE: Final = 32


class ProbeInbox:
    """The received requests, in their order."""

    def __init__(self) -> None:
        self._heard: list[HeardRequest] = []
        self._changed = threading.Condition()

    def add(self, request: HeardRequest) -> None:
        with self._changed:
            if len(self._heard) < _MOST_HEARD:
                self._heard.append(request)
            self._changed.notify_all()

    def heard(self) -> list[HeardRequest]:
        with self._changed:
            return list(self._heard)

    def wait(self, begin: int, awaited: Awaited) -> None:
        """Wait for an acknowledgment, or for the end of the requests, as `awaited` says; return at the timeout in any
        case. The first `begin` requests came earlier and do not count."""
        with self._changed:
            if awaited is Awaited.ACKNOWLEDGMENT:
                self._changed.wait_for(lambda: self._is_thanked(begin), _FOR_AWAITED)
            if awaited is Awaited.QUIET:
                end = time.monotonic() + _FOR_AWAITED
                while self._changed.wait(_QUIET) and time.monotonic() < end:
                    pass

    def _is_thanked(self, begin: int) -> bool:
        return any(each.subject == "acknowledgment" for each in self._heard[begin:])


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, inbox: ProbeInbox) -> None:
        super().__init__((host, port), _Handler)
        self.inbox = inbox
        self.archive: ProbeArchive | None = None
        self.turns = threading.BoundedSemaphore(_MOST_AT_ONCE)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: a client that disconnects does not concern the checker."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _FOR_A_REQUEST
    protocol_version = "HTTP/1.1"

    def _take(self) -> None:
        path, _, query = self.path.partition("?")
        request = HeardRequest(self.command, path, query)
        with self.server.turns:
            archive = self.server.archive
            body = None if archive is None else archive.answer(request)
            if query:
                self.server.inbox.add(request)
        self._reply(200 if body is not None else 404, body or b"")

    do_GET = do_POST = do_PUT = do_HEAD = _take  # the names that the library calls

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the report has the requests."""


@contextmanager
def listening(service: str, host: str, port: int, address: str | None) -> Iterator[tuple[ProbeInbox, str]]:
    """Listen as the Archive with that service. Yield the inbox of the Archive, and the address to give to the resolver.

    `address` is the host and port at which the resolver reaches the Archive; by default the listening address.
    """
    inbox = ProbeInbox()
    with _Server(host, port, inbox) as server:
        told = address or f"{host}:{server.server_address[1]}"
        server.archive = ProbeArchive(service, told)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="ibi-check", daemon=True)
        thread.start()
        try:
            yield inbox, told
        finally:
            server.shutdown()
            thread.join()


FOR_ALL: Final = 50.0
"""Seconds for a whole run."""
FOR_ONE: Final = 8.0
"""Seconds for one request, from the DNS lookup to the last byte."""
_MOST_BODY: Final = 256 * 1024
_LONGEST_REST: Final = 5
"""Maximum wait in seconds that a busy server (429, 503) may ask for. Each request is repeated only once."""
_BUSY: Final = frozenset({429, 503})
_AGENT: Final = f"ibi-check/{__version__} (robot; conformance check)"
"""Archives that recognise robots do not count the checker's downloads."""


def _connect(server: ServerUrl, addresses: Sequence[str], seconds: float) -> BlockingConnection:
    """Connect to one of the given addresses. The time limit includes the answers."""
    return BlockingConnection(server, addresses, Waits(connect=inf, head=inf, silence=inf, in_all=seconds))


def certificate_end(server: ServerUrl, seconds: float = FOR_ONE) -> int:
    """Return the end of a server's certificate, in seconds since 1970. Raise `OSError` if no certificate is
    accepted."""
    addresses = _look_up(server.origin.host.strip("[]"), seconds)
    with closing(_connect(server, addresses, seconds)) as connection:
        shown = connection.socket.getpeercert() if isinstance(connection.socket, SSLSocket) else None
        if not shown:
            raise OSError("it shows no certificate")
        return int(cert_time_to_seconds(str(shown["notAfter"])))


class ProbeSender:
    """Sends one request after the other. Meanwhile `listener` records the requests that reach the checker's Archive."""

    def __init__(
        self,
        server: ServerUrl,
        listener: ProbeInbox | None = None,
        *,
        for_all: float | None = None,
        for_one: float | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server, self._inbox, self._monotonic = server, listener, monotonic
        self._for_one = FOR_ONE if for_one is None else for_one
        self._end = monotonic() + (FOR_ALL if for_all is None else for_all)
        self._addresses = _look_up(server.origin.host.strip("[]"), self._for_one)
        self._guard = AddressGuard()

    def __call__(self, probe: Probe) -> ProbeResponse:
        """Send the probe. Raise `TimeIsOver` if the time for the whole run is used up, unless the probe is a last
        one."""
        if self._monotonic() >= self._end and not probe.is_last:
            raise TimeIsOver
        begin = 0 if self._inbox is None else len(self._inbox.heard())
        received = self._send(probe)
        if self._inbox is None:
            return received
        self._inbox.wait(begin, probe.awaited)
        heard = tuple(self._inbox.heard()[begin:])
        return replace(received, heard=heard)

    def _send(self, probe: Probe) -> ProbeResponse:
        base = str(self._server.origin)
        url = probe.target if "://" in probe.target[:10] else f"{base}{probe.target}"
        for left in range(probe.redirects, -1, -1):
            received = self._patient_request(probe, url)
            if not left or not received.is_redirect:
                return received
            url = urljoin(url, received.location)
        raise AssertionError("the loop returns")

    def _patient_request(self, probe: Probe, url: str) -> ProbeResponse:
        """Send the request, and repeat it once if the server is busy and says for how long."""
        received = self._request(probe, url)
        rest = received.header("retry-after") or ""
        if received.status not in _BUSY or not (rest.isascii() and rest.isdecimal()) or int(rest[:9]) > _LONGEST_REST:
            return received
        if self._monotonic() + int(rest) >= self._end:
            return received
        time.sleep(int(rest))
        return self._request(probe, url)

    def _request(self, probe: Probe, url: str) -> ProbeResponse:
        try:
            where = server_of(url)
            addresses = self._addresses_of(where)
        except IbiError as error:
            return ProbeResponse(failure=str(error), url=url)
        if isinstance(addresses, Failure):
            return ProbeResponse(failure=f"{NOT_DIALLED}: {addresses.value}", url=url)
        return self._exchange(probe, url, where, addresses)

    def _addresses_of(self, where: ServerUrl) -> Sequence[str] | Failure:
        """Return all addresses of the server under test; for any other server, the addresses that the guard allows."""
        if where.origin.host == self._server.origin.host:
            return self._addresses
        own = tuple(ip_network(address) for address in self._addresses if "%" not in address)
        checked = self._guard.check_blocking(
            where.origin.authority, where.origin.effective_port, own, lambda host: _look_up(host, self._for_one)
        )
        return checked if isinstance(checked, Failure) else checked.addresses

    def _exchange(self, probe: Probe, url: str, where: ServerUrl, addresses: Sequence[str]) -> ProbeResponse:
        left = self._for_one if probe.is_last else self._end - self._monotonic()
        seconds = max(0.05, min(self._for_one, left))
        try:
            with closing(_connect(where, addresses, seconds)) as connection:
                return _ask(connection, probe, url)
        except TimeoutError:
            if seconds < self._for_one and not probe.is_last:
                raise TimeIsOver from None  # the server had less time than one request may take
            return ProbeResponse(failure=f"no answer within {seconds:.0f} seconds", url=url)
        except (OSError, BrokenAnswer, ValueError) as error:
            return ProbeResponse(failure=_reason(error), url=url)


def _ask(connection: BlockingConnection, probe: Probe, url: str) -> ProbeResponse:
    fields = {"User-Agent": _AGENT, "Accept": "*/*", "Connection": "close", **dict(probe.headers)}
    answer = connection.ask(probe.method, request_target(url), fields)
    client = _seen_address(connection.socket)
    try:
        body = answer.read(_MOST_BODY)
    except ConnectionResetError:
        return ProbeResponse(failure="the answer breaks off", url=url)
    return ProbeResponse(answer.status, answer.headers, body, url=url, client=client)


def _seen_address(connection: socket.socket) -> str:
    """Return this end's address as the server sees it; empty if there may be address translation between them."""
    own, other = (str(end[0]).partition("%")[0] for end in (connection.getsockname(), connection.getpeername()))
    return own if own == other or ip_address(own).is_loopback or ip_address(own).is_global else ""


def _look_up(host: str, seconds: float) -> list[str]:
    """Return all addresses of a host name; none if DNS takes longer than `seconds`."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(addresses_of(host)), daemon=True)
    thread.start()
    thread.join(seconds)
    return list(found)


def _reason(error: Exception) -> str:
    if isinstance(error, SSLError):
        return f"TLS: {error.reason or error}"
    if isinstance(error, BrokenAnswer):
        return f"it does not speak HTTP: {error.parameters['reason']}"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text if isinstance(error, OSError) else f"it does not speak HTTP: {text}"
