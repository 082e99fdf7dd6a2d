"""HTTP requests to Archives: many at once, each within its budget, no Archive trusted (R §6.1, §8.2)."""

from __future__ import annotations

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from secrets import token_urlsafe
from typing import Final

from ibi.membership.client.archive_connections import ArchiveLine, Budgets, Call, CircuitBreaker, ConnectionAllowance
from ibi.membership.client.archive_replies import is_confirmation, is_notice, proven_key, reply_of
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import CallBack
from ibi.net.address_guard import AddressGuard
from ibi.net.http_connection import HttpResponse
from ibi.net.server_url import default_tls
from ibi.standard.label import Label
from ibi.standard.messages.membership import InclusionConfirmationRequest
from ibi.standard.messages.requests import Acknowledgment, UrlRequest
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import unmap_address
from ibi.standard.reply import Failure, Reply
from ibi.standard.signing import PublicKey

_FORGOTTEN_AFTER: Final = 600.0
"""Seconds without a request after which the connections and the breaker of an Archive are dropped; longer than any
rest."""
_PROBED_FOR: Final = 3_600.0
"""Seconds without a request after which a resting Archive is dropped. It is probed until then, so that the next reader
need not find out that it is down."""

_OUT_OF_ORDER: Final = frozenset({429, 502, 503, 504})
"""Statuses that concern the server and not the item: requests for one bad item must not make an Archive rest."""

_CHALLENGE_BYTES: Final = 24
_BUDGETS: Final = Budgets()


class ArchiveHttp:
    """Asks Archives at their registered addresses, and nowhere else. It never raises an error for their behaviour.

    Use an instance in one event loop only. `tls` is for HTTPS Archives; without it the machine's authorities are
    trusted.
    """

    def __init__(
        self,
        guard: AddressGuard,
        *,
        budgets: Budgets = _BUDGETS,
        tls: ssl.SSLContext | None = None,
        own_address: IpAddress | None = None,
    ) -> None:
        """`own_address` is sent if no reader's address is known. Without it, the unspecified address is sent."""
        self._guard, self._budgets, self._own_address = guard, budgets, own_address
        self._tls: Callable[[], ssl.SSLContext] = default_tls if tls is None else lambda: tls
        self._allowance = ConnectionAllowance(budgets.connections_in_all)
        self._lines: dict[ArchiveRef, ArchiveLine] = {}
        self._calls: OrderedDict[Call, None] = OrderedDict()
        self._overdue: asyncio.TimerHandle | None = None
        self._tidying: asyncio.TimerHandle | None = None
        self._probes: dict[ArchiveLine, asyncio.TimerHandle] = {}
        self._written: tuple[UrlRequest | None, str] = (None, "")

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        """Return the reply of the Archive within so many seconds.

        Concurrent callers with the same question share one request, each with a timeout of its own. The request goes on
        after they stop waiting, as long as its budget allows.
        """
        if within <= 0:
            return Failure.TIMED_OUT
        line = self._line(archive)
        query = self._query(request)
        future = line.flights.join(query, lambda finish: self._start(line, query, request.label, finish))
        if future.done():
            return future.result()
        expiry = asyncio.get_running_loop().call_later(within, _expire, future)
        try:
            return await future
        finally:
            expiry.cancel()

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        """Thank the Archive for the chosen URL, and return whether it received that (R §8.2)."""
        line = self._line(archive)
        if not line.breaker.is_closed:
            return False
        clients = acknowledgment.client_addresses
        sent = acknowledgment.for_clients(self._known(clients)) if _lacks_reader(clients) else acknowledgment
        return is_notice(await self._exchange(line, sent.to_query()))

    async def confirm(self, archive: ArchiveRef) -> CallBack:
        """Call the Archive back. Return whether it answers as R §7.2 requires, and the address that answered. A resting
        Archive is asked as well, because it has just announced itself."""
        answered: asyncio.Future[HttpResponse | Failure] = asyncio.get_running_loop().create_future()
        query = InclusionConfirmationRequest().to_query()
        call = self._call(
            self._line(archive), query, lambda came: None if answered.done() else answered.set_result(came)
        )
        came = await answered
        peer = None if call.peer is None else unmap_address(ip_address(call.peer))
        return CallBack(confirmed=True, ip=peer) if is_confirmation(came) else CallBack(False, peer, _reason(came))

    async def prove(self, archive: ArchiveRef) -> PublicKey | None:
        """Call the Archive back with a challenge. Return the key that it proves to have; None if it proves none."""
        challenge = token_urlsafe(_CHALLENGE_BYTES)
        came = await self._exchange(self._line(archive), InclusionConfirmationRequest(challenge).to_query())
        return proven_key(came, challenge)

    async def close(self) -> None:
        """Close all connections. Every running call ends as unreachable."""
        for timer in (self._overdue, self._tidying, *self._probes.values()):
            if timer is not None:
                timer.cancel()
        self._overdue = self._tidying = None
        self._probes.clear()
        lines, self._lines = tuple(self._lines.values()), {}
        for call in tuple(self._calls):
            call.give_up(Failure.UNREACHABLE)
        for line in lines:
            await line.close()

    def _start(self, line: ArchiveLine, query: str, asked: Label, finish: Callable[[Reply], None]) -> None:
        if not line.breaker.is_closed:
            finish(Failure.RESTING)
            return

        def read(response: HttpResponse | Failure) -> None:
            reply: Reply = Failure.MALFORMED
            try:
                reply = reply_of(response, asked)
            finally:
                finish(reply)

        self._call(line, query, read)

    async def _exchange(self, line: ArchiveLine, query: str) -> HttpResponse | Failure:
        response: asyncio.Future[HttpResponse | Failure] = asyncio.get_running_loop().create_future()
        self._call(line, query, lambda came: None if response.done() else response.set_result(came))
        return await response

    def _call(
        self,
        line: ArchiveLine,
        query: str,
        done: Callable[[HttpResponse | Failure], None],
        note: Callable[[CircuitBreaker, HttpResponse | Failure], None] | None = None,
    ) -> Call:
        """Send a request. `done` gets the outcome, at the latest when the budget is spent."""

        def settled(response: HttpResponse | Failure) -> None:
            self._calls.pop(call, None)
            try:
                if call.had_no_time:
                    line.breaker.unused(_now())
                else:
                    (note or _note)(line.breaker, response)
                self._probe_later(line)
            finally:  # even after an error the caller must get an outcome
                done(response)

        deadline = _now() + self._budgets.total
        call = Call(line, line.request(query), deadline, settled)
        self._calls[call] = None
        if self._overdue is None:
            self._overdue = asyncio.get_running_loop().call_at(deadline, self._give_up_overdue)
        line.send(call)
        return call

    def _query(self, request: UrlRequest) -> str:
        """Return the query, encoded once for all Archives that get the same question."""
        if self._written[0] is not request:
            asked_by = request.client_addresses
            sent = replace(request, client_addresses=self._known(asked_by)) if _lacks_reader(asked_by) else request
            self._written = request, sent.to_query()
        return self._written[1]

    def _known(self, clients: tuple[IpAddress, ...]) -> tuple[IpAddress, ...]:
        """Return the addresses without unspecified ones: for a reader behind a proxy, the proxy's address counts (R
        8.2, note 2). Our own address is used only if no reader's is left (E76)."""
        known = tuple(each for each in clients if not each.is_unspecified)
        if known or self._own_address is None:
            return known or clients
        return (self._own_address,)

    def _probe_later(self, line: ArchiveLine) -> None:
        """Schedule a probe for the end of an Archive's rest, even if no reader comes."""
        due = line.breaker.probe_at
        if due is None or line in self._probes or self._lines.get(line.archive) is not line:
            return
        delay = max(0.0, due - _now())
        self._probes[line] = asyncio.get_running_loop().call_later(delay, self._probe, line)

    def _probe(self, line: ArchiveLine) -> None:
        """Send the probe, a request that any Archive can answer without effect: R §7.2, message 3."""
        del self._probes[line]
        if line.breaker.probe_at is None or self._lines.get(line.archive) is not line:
            return  # it is back, or was dropped
        line.breaker.begin_probe()
        try:
            self._call(line, InclusionConfirmationRequest().to_query(), _ignore, _note_probe)
        except Exception as error:  # noqa: BLE001 - told to the loop; the Archive is probed again after a rest
            _note_probe(line.breaker, Failure.UNREACHABLE)
            self._probe_later(line)
            _tell_loop("an Archive could not be probed", error)

    def _give_up_overdue(self) -> None:
        """Give up all overdue calls. All have the same budget, so the oldest call is overdue first, and one timer is
        enough."""
        self._overdue, now = None, _now()
        try:
            while self._calls and (oldest := next(iter(self._calls))).deadline <= now:
                try:
                    oldest.give_up(Failure.TIMED_OUT)
                except Exception as error:  # noqa: BLE001 - told to the loop; the others are overdue, too
                    _tell_loop("a call could not be given up", error)
                finally:
                    self._calls.pop(oldest, None)
        finally:
            if self._calls:
                deadline = next(iter(self._calls)).deadline
                self._overdue = asyncio.get_running_loop().call_at(deadline, self._give_up_overdue)

    def _line(self, archive: ArchiveRef) -> ArchiveLine:
        line = self._lines.get(archive)
        if line is None:
            line = ArchiveLine(archive, self._guard, self._budgets, self._allowance, self._tls)
            self._lines[archive] = line
            self._tidy_later()
        line.last_used = _now()
        return line

    def _tidy_later(self) -> None:
        if self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(self._budgets.idle / 2, self._tidy)

    def _tidy(self) -> None:
        self._tidying, now = None, _now()
        try:
            self._allowance.close_idle_since(now - self._budgets.idle)
            for archive, line in tuple(self._lines.items()):
                longest = _FORGOTTEN_AFTER if line.breaker.is_closed else _PROBED_FOR
                if line.is_unused and now - line.last_used > longest:
                    del self._lines[archive]
        finally:
            if self._lines:
                self._tidy_later()


def _lacks_reader(clients: tuple[IpAddress, ...]) -> bool:
    return any(each.is_unspecified for each in clients)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _tell_loop(message: str, error: Exception) -> None:
    """Report an error to the loop as an unhandled one, so that it is logged and counted."""
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})


def _reason(came: HttpResponse | Failure) -> Failure:
    """Return why the response is no confirmation."""
    if isinstance(came, Failure):
        return came
    return Failure.MALFORMED if came.status == 200 else Failure.REFUSED


def _expire(future: asyncio.Future[Reply]) -> None:
    if not future.done():
        future.set_result(Failure.TIMED_OUT)


def _ignore(_: HttpResponse | Failure) -> None:
    """Ignore the response of a probe; the breaker has noted it."""


def _is_out_of_order(response: HttpResponse | Failure) -> bool:
    """Return whether the response shows that the server is out of order. A refused or unreadable answer shows that the
    Archive is there."""
    if isinstance(response, HttpResponse):
        return response.status in _OUT_OF_ORDER
    return response.was_not_reached


def _note(breaker: CircuitBreaker, response: HttpResponse | Failure) -> None:
    if _is_out_of_order(response):
        breaker.failed(_now())
    elif isinstance(response, Failure) and response.is_address:
        breaker.unused(_now())
    else:
        breaker.succeeded()


def _note_probe(breaker: CircuitBreaker, response: HttpResponse | Failure) -> None:
    if _is_out_of_order(response) or isinstance(response, Failure):
        _note(breaker, response)
    else:
        breaker.answered_probe()
