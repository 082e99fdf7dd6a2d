"""Archives asked over HTTP: many at once, each within its budget, none trusted (R §6.1, §8.2)."""

from __future__ import annotations

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_address
from secrets import token_urlsafe
from typing import Final

from ibi.label import Label
from ibi.messages.membership import InclusionConfirmationRequest
from ibi.messages.requests import Acknowledgment, UrlRequest
from ibi.model.visibility import unmap_address
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.membership import CallBack
from ibi.resolver.trace import Failure, Reply
from ibi.signing import PublicKey
from ibi.transport.address_guard import AddressGuard
from ibi.transport.archive_connections import (
    ArchiveLine,
    Budgets,
    Call,
    CircuitBreaker,
    ConnectionAllowance,
)
from ibi.transport.archive_replies import is_confirmation, is_notice, proven_key, reply_of
from ibi.transport.http_connection import HttpResponse
from ibi.transport.single_request import default_tls

_FORGOTTEN_AFTER: Final = 600.0
"""Seconds without a request after which an Archive's connections and breaker are forgotten; longer than any rest."""
_PROBED_FOR: Final = 3_600.0
"""Seconds without a request after which an Archive that rests is forgotten: until then it is probed, so that the next
reader need not find out that it is away."""

_OUT_OF_ORDER: Final = frozenset({429, 502, 503, 504})
"""Statuses that tell of the server and not of the item: asking for one bad item must not make an Archive rest."""

_CHALLENGE_BYTES: Final = 24
_BUDGETS: Final = Budgets()


class ArchiveHttp:
    """Asks Archives at the addresses they are registered with, and nowhere else. It never raises for what they do.

    One is used in one event loop. `tls` is for Archives of HTTPS; without it the machine's authorities are trusted.
    """

    def __init__(
        self,
        guard: AddressGuard,
        *,
        budgets: Budgets = _BUDGETS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._guard, self._budgets = guard, budgets
        self._tls: Callable[[], ssl.SSLContext] = default_tls if tls is None else lambda: tls
        self._allowance = ConnectionAllowance(budgets.connections_in_all)
        self._lines: dict[ArchiveRef, ArchiveLine] = {}
        self._calls: OrderedDict[Call, None] = OrderedDict()
        self._overdue: asyncio.TimerHandle | None = None
        self._tidying: asyncio.TimerHandle | None = None
        self._probes: dict[ArchiveLine, asyncio.TimerHandle] = {}
        self._written: tuple[UrlRequest | None, str] = (None, "")

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        """Return what the Archive answers within so many seconds.

        Callers that ask the same of it at the same time share one request, each with a time of its own. The request
        goes on when they stop waiting, as long as its budget allows.
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
        """Thank the Archive for the URL that was chosen, and return whether it received that (R §8.2)."""
        line = self._line(archive)
        if not line.breaker.is_closed:
            return False
        return is_notice(await self._exchange(line, acknowledgment.to_query()))

    async def confirm(self, archive: ArchiveRef) -> CallBack:
        """Whether the Archive answers as R §7.2 wants when it is called back, and from which address: also one that is
        at rest, since it just said that it is back."""
        answered: asyncio.Future[HttpResponse | Failure] = asyncio.get_running_loop().create_future()
        query = InclusionConfirmationRequest().to_query()
        call = self._call(
            self._line(archive), query, lambda came: None if answered.done() else answered.set_result(came)
        )
        came = await answered
        peer = None if call.peer is None else unmap_address(ip_address(call.peer))
        return CallBack(confirmed=True, ip=peer) if is_confirmation(came) else CallBack(False, peer, _reason(came))

    async def prove(self, archive: ArchiveRef) -> PublicKey | None:
        """The key of which the Archive, called back with a challenge, proves that it has it; None if it does not."""
        challenge = token_urlsafe(_CHALLENGE_BYTES)
        came = await self._exchange(self._line(archive), InclusionConfirmationRequest(challenge).to_query())
        return proven_key(came, challenge)

    async def close(self) -> None:
        """Close all connections. Every call under way ends as unreachable."""
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

    # --- one request ---

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
        """Send a request and tell `done` what comes, at the latest when its budget is spent."""

        def settled(response: HttpResponse | Failure) -> None:
            del self._calls[call]
            if call.had_no_time:
                line.breaker.unused(_now())
            else:
                (note or _note)(line.breaker, response)
            self._probe_later(line)
            done(response)

        deadline = _now() + self._budgets.total
        call = Call(line, line.request(query), deadline, settled)
        self._calls[call] = None
        if self._overdue is None:
            self._overdue = asyncio.get_running_loop().call_at(deadline, self._give_up_overdue)
        line.send(call)
        return call

    def _query(self, request: UrlRequest) -> str:
        """Written once for all the Archives that are asked the same."""
        if self._written[0] is not request:
            self._written = request, request.to_query()
        return self._written[1]

    # --- an Archive that rests ---

    def _probe_later(self, line: ArchiveLine) -> None:
        """See to it that an Archive that rests is asked when its rest is over, whether readers come or not."""
        due = line.breaker.probe_at
        if due is None or line in self._probes or self._lines.get(line.archive) is not line:
            return
        delay = max(0.0, due - _now())
        self._probes[line] = asyncio.get_running_loop().call_later(delay, self._probe, line)

    def _probe(self, line: ArchiveLine) -> None:
        """Ask what any Archive can answer and nothing depends on: R §7.2, message 3."""
        del self._probes[line]
        if line.breaker.probe_at is None or self._lines.get(line.archive) is not line:
            return  # it is back, or was forgotten
        line.breaker.begin_probe()
        self._call(line, InclusionConfirmationRequest().to_query(), _ignore, _note_probe)

    # --- time ---

    def _give_up_overdue(self) -> None:
        """All have the same budget: the oldest call is the first to be overdue, and one timer serves all."""
        now = _now()
        while self._calls and (oldest := next(iter(self._calls))).deadline <= now:
            oldest.give_up(Failure.TIMED_OUT)
        self._overdue = None
        if self._calls:
            self._overdue = asyncio.get_running_loop().call_at(next(iter(self._calls)).deadline, self._give_up_overdue)

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
        now = _now()
        self._allowance.close_idle_since(now - self._budgets.idle)
        for archive, line in tuple(self._lines.items()):
            longest = _FORGOTTEN_AFTER if line.breaker.is_closed else _PROBED_FOR
            if line.is_unused and now - line.last_used > longest:
                del self._lines[archive]
        self._tidying = None
        if self._lines:
            self._tidy_later()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _reason(came: HttpResponse | Failure) -> Failure:
    """Why what came is no confirmation."""
    if isinstance(came, Failure):
        return came
    return Failure.MALFORMED if came.status == 200 else Failure.REFUSED


def _expire(future: asyncio.Future[Reply]) -> None:
    if not future.done():
        future.set_result(Failure.TIMED_OUT)


def _ignore(_: HttpResponse | Failure) -> None:
    """What is to be known of a probe the breaker has noted."""


def _is_out_of_order(response: HttpResponse | Failure) -> bool:
    """An answer that is refused or cannot be read shows that the Archive is there."""
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
