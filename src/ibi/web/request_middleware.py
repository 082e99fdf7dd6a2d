"""Pure ASGI middleware around every request, and the counters of one server.

The middleware gives each request a name, a log line and a count, and gives every answer its common headers.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, count
from logging import DEBUG, INFO, WARNING
from math import inf
from typing import Any, Final

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.minting.service.queue import MintGroup
from ibi.people.model.account import Actor
from ibi.people.service.refusals import Refusal, RefusalLog
from ibi.standard.errors import IbiError
from ibi.standard.networks import IpNetwork
from ibi.standard.safe_text import printable
from ibi.storage.errors import TooManyOpenFiles
from ibi.storage.machine import is_exhaustion
from ibi.web.logging import mask_links
from ibi.web.metrics import PolledFigures, WorkerMetrics
from ibi.web.readiness import Readiness, clock_refusal
from ibi.web.request import HARDENING, reader_address, truncate_address
from ibi.web.request_errors import InternalError, ServerStopping


class CounterTally(Collector):
    """A counter by the values of its labels, for one thread.

    The counters of the Prometheus library take a lock for each count. At every request, that would cost more than the
    rest of the counting. The output is the same, line for line.
    """

    def __init__(self, name: str, words: str, labels: Sequence[str], *, registry: CollectorRegistry) -> None:
        self._name, self._words, self._labels = name, words, tuple(labels)
        self._counts: dict[tuple[object, ...], int] = {}
        self._began: dict[tuple[object, ...], float] = {}
        registry.register(self)

    def add(self, *values: object) -> None:
        """Count one more for these values of the labels, in their order."""
        try:
            self._counts[values] += 1
        except KeyError:
            self._counts[values] = 1
            self._began[values] = time.time()

    def total(self) -> int:
        return sum(self._counts.values())

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(self._name, self._words, labels=self._labels)
        for values, number in self._counts.items():
            family.add_metric([*map(str, values)], number, created=self._began[values])
        yield family

    describe = collect  # the registry checks that no name is used twice


class HistogramTally(Collector):
    """A histogram for one thread: the number of values up to each of the `buckets`, and the sum of all."""

    def __init__(self, name: str, words: str, buckets: Sequence[float], *, registry: CollectorRegistry) -> None:
        self._name, self._words, self._bounds = name, words, (*map(float, buckets), inf)
        self._counts, self._sum = [0] * len(self._bounds), 0.0
        self._began = time.time()
        registry.register(self)

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._words)
        totals = accumulate(self._counts)
        written = map(floatToGoString, self._bounds)
        buckets = [*zip(written, totals, strict=True)]
        family.add_metric([], buckets, self._sum)
        family.add_sample(f"{self._name}_created", {}, self._began)
        yield family

    describe = collect


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_WAITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Metrics:
    """Counters of one server, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        self._labels = Counter("ibi_labels_minted", "Labels minted by this server.", registry=registry)
        self._requests = Counter(
            "ibi_mint_requests", "Requests for labels, by what became of them.", ["outcome"], registry=registry
        )
        self._group = Histogram(
            "ibi_mint_group_requests", "Requests that shared one commit.", buckets=_GROUPS, registry=registry
        )
        self._commit = Histogram("ibi_mint_commit_seconds", "Time a commit took.", buckets=_WAITS, registry=registry)
        self._failures = Counter("ibi_mint_commit_failures", "Commits that failed.", registry=registry)
        self._latency = Histogram(
            "ibi_mint_seconds",
            "Time from a request for labels to their being ready, waits for their dates included.",
            buckets=_WAITS,
            registry=registry,
        )
        self.clock_refused = Gauge(
            "ibi_clock_refused", "1 while nothing is minted because of this machine's clock.", registry=registry
        )
        self._answers = CounterTally(
            "ibi_http_requests",
            "Requests by route, method and status.",
            ["route", "method", "status"],
            registry=registry,
        )
        self._connections_refused = Counter(
            "ibi_connections_refused",
            "Connections refused because their client, or the server, had too many.",
            ["reason"],
            registry=registry,
        )
        self._connections_broken = Counter(
            "ibi_connections_broken",
            "Connections broken because too much waited for them, or others needed their places.",
            ["reason"],
            registry=registry,
        )
        for reason in ("client", "server"):
            self._connections_refused.labels(reason)
        for reason in ("unread", "displaced"):
            self._connections_broken.labels(reason)
        self._descriptors_exhausted = Counter(
            "ibi_descriptors_exhausted", "Seconds in which no file could be opened.", registry=registry
        )
        self._uploads_refused = Counter(
            "ibi_uploads_refused",
            "Files sent to drafts and refused, by the code of the error.",
            ["code"],
            registry=registry,
        )
        self._misdirected = Counter(
            "ibi_misdirected_requests", "Requests refused because they named a host not served here.", registry=registry
        )
        self._minted = self._requests.labels("minted")

    def count_group(self, group: MintGroup) -> None:
        """Count a commit that was made, or that failed."""
        self._group.observe(group.requests)
        self._commit.observe(group.seconds)
        if group.minted:
            self._labels.inc(group.minted)
        if group.failure is not None:
            self._failures.inc()

    def count_served(self, seconds: float) -> None:
        self._minted.inc()
        self._latency.observe(seconds)

    def count_refused(self, error: IbiError) -> None:
        self._requests.labels(error.code).inc()

    def count_connection_refused(self, reason: str) -> None:
        self._connections_refused.labels(reason).inc()

    def count_connection_broken(self, reason: str) -> None:
        self._connections_broken.labels(reason).inc()

    def count_descriptors_exhausted(self) -> None:
        self._descriptors_exhausted.inc()

    def count_upload_refused(self, code: str) -> None:
        self._uploads_refused.labels(code).inc()

    def count_misdirected(self) -> None:
        self._misdirected.inc()

    def answered(self) -> int:
        """Return the number of counted answers. It changes with each answer."""
        return self._answers.total()

    def count_answer(self, route: str | None, method: str, status: int) -> None:
        """Count an answer. `route` is the pattern of the route, or None if no route matched."""
        self._answers.add(route or _OTHER, method if method in _METHODS else _OTHER, status)


class MetricsPage:
    def __init__(
        self,
        metrics: Metrics,
        readiness: Readiness,
        figures: Sequence[PolledFigures] = (),
        workers: WorkerMetrics | None = None,
    ) -> None:
        """`workers` adds up the counts of all processes of the server."""
        self._metrics, self._readiness, self._figures, self._workers = metrics, readiness, figures, workers

    async def get(self, _: Request) -> Response:
        refusal = clock_refusal(await self._readiness.reported_reasons())
        self._metrics.clock_refused.set(refusal is not None)
        for figures in self._figures:
            await figures.refresh()
        workers = self._workers
        return Response(
            generate_latest(self._metrics.registry) if workers is None else await workers.text(),
            headers={"cache-control": "no-store"},
            media_type=CONTENT_TYPE_LATEST,
        )


REQUEST = "ibi.request"
"""The scope key of the request's name, which the log and the client use."""

REQUEST_HEADER = b"x-request-id"
"""The last header of an answer, with the name of the request."""

_LONGEST_PATH = 200
_HARDENED = frozenset(name for name, _ in HARDENING)
_EMPTY = (b"content-length", b"0")
_OF_NOTHING = tuple(each for each in HARDENING if each[0] == b"referrer-policy")
"""Headers of an answer without a body, such as a redirect: a browser can load, run or mistake nothing in it."""


class AnswerBroken(Exception):
    """Raised when the rest of an answer must not be sent; the reason is logged already. The server closes the
    connection before the promised length, so that no reader takes the answer for whole."""


def request_names() -> Iterator[str]:
    """Return names of requests: a random prefix and a counter.

    Fresh randomness for each request would cost more than routing it.
    """
    chance = secrets.token_hex(4)
    return (f"{chance}{number:08x}" for number in count(1))


def harden_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with the common ones, except the name of its request."""
    given = list(given)
    needed = _OF_NOTHING if _EMPTY in given else HARDENING
    present = _HARDENED.intersection([key for key, _ in given])
    added = [each for each in needed if each[0] not in present] if present else needed
    return [*given, *added]


class RequestMiddleware:
    """Pure ASGI middleware around all routes. It keeps details of internal errors inside."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        log: FilteringBoundLogger,
        routes: Mapping[Any, str],
        names: Iterator[str],
        failure: Callable[[IbiError, Scope], Response],
    ) -> None:
        """`routes` has the pattern of each endpoint, for counting. `names` are those of requests.

        `failure` makes the answer to an unexpected error, and does not fail itself.
        """
        self._app, self._metrics, self._log, self._routes, self._names = app, metrics, log, routes, names
        self._failure = failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = scope[REQUEST] = next(self._names)
        answer = _Answer(send, name)
        began = time.perf_counter()
        try:
            await self._app(scope, receive, answer.send)
        except (ClientDisconnect, AnswerBroken):
            return  # the reader has gone, or must get no more
        except asyncio.CancelledError:
            # The server is stopping and has waited long enough.
            if answer.status is not None:
                raise
            await self._failure(ServerStopping(), scope)(scope, receive, answer.send)
        except Exception as error:
            # The last resort: the client learns that something failed, the log has the traceback.
            self._log.error("request failed", request=name, **_log_fields(scope), exc_info=True)
            if answer.status is not None:
                raise  # half the answer is sent: the server breaks the connection, so that no reader takes it for whole
            told = TooManyOpenFiles() if is_exhaustion(error) else InternalError(request=name)
            await self._failure(told, scope)(scope, receive, answer.send)
        finally:
            self._account(scope, answer.status, name, time.perf_counter() - began)

    def _account(self, scope: Scope, status: int | None, name: str, seconds: float) -> None:
        if status is None:
            return
        self._metrics.count_answer(self._routes.get(scope.get("endpoint")), scope["method"], status)
        level = DEBUG if status < 400 else INFO if status < 500 else WARNING
        if self._log.is_enabled_for(level):
            told = {**_log_fields(scope), "status": int(status), "seconds": round(seconds, 6)}
            self._log.log(level, "request", request=name, **told)


class _Answer:
    """Passes an answer on, with the headers of every answer."""

    __slots__ = ("_name", "_send", "status")

    def __init__(self, send: Send, name: str) -> None:
        self._send, self._name = send, name.encode("ascii")
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = harden_headers(message.get("headers", ()))
            headers.append((REQUEST_HEADER, self._name))
            message = {**message, "headers": headers}
        await self._send(message)


def _log_fields(scope: Scope) -> dict[str, object]:
    """Return the facts about a request for the log. Query and headers are left out: they may hold secrets."""
    client = scope.get("client")
    return {
        "method": scope["method"],
        "path": mask_links(scope["path"])[:_LONGEST_PATH],
        "client": truncate_address(client[0]) if client else "unknown",
    }


DENIED: Final = "ibi.denied"
"""The scope key of the error of a refused request, if it is known."""
_STATUSES: Final = frozenset({401, 403})

Identify = Callable[[Scope], Awaitable[Actor | None]]


class RefusalWatch:
    """Pure ASGI middleware that reports refused requests to the audit log, from any page or endpoint.

    A request counts as refused by its status, 401 or 403, or by a 404 that hides another account's object. The line is
    written after the answer was sent. `identify` returns the sender of a request, or None for a stranger. `proxies` are
    the networks that are trusted to name their client.
    """

    def __init__(
        self,
        app: ASGIApp,
        refusals: RefusalLog,
        identify: Identify,
        proxies: tuple[IpNetwork, ...] = (),
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self._app, self._refusals, self._identify, self._proxies = app, refusals, identify, proxies
        self._log = log or structlog.get_logger("ibi.web")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, watch)
        if status in _STATUSES or DENIED in scope:
            await self._tell(scope, status)

    async def _tell(self, scope: Scope, status: int) -> None:
        try:
            who = await self._identify(scope)
            await asyncio.to_thread(self._refusals.note, self._refusal(scope, status, who))
        except IbiError as error:  # for example without the store: the request was refused anyway
            self._log.error("a refusal was not written down", code=error.code, detail=str(error))

    def _refusal(self, scope: Scope, status: int, who: Actor | None) -> Refusal:
        error: IbiError | None = scope.get(DENIED)
        path = mask_links(printable(scope["path"]))
        label = None if error is None else error.parameters.get("label")
        why = str(status) if error is None else error.code
        address = reader_address(scope, self._proxies)
        where = "unknown" if address is None else str(address)
        network = where if address is None else truncate_address(where)
        subject = label if isinstance(label, str) else f"path:{path}"
        return Refusal(subject, f"{scope['method'][:20]} {path}: {why}", where, network, who)
