"""Serving an application: uvicorn inside this process, on a socket that is bound before anything starts."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from structlog.typing import FilteringBoundLogger
from uvicorn.server import HANDLED_SIGNALS

from ibi.server.connection_bounds import BufferBound, ConnectionBound
from ibi.server.protocol import GuardedProtocol
from ibi.standard.errors import IbiError
from ibi.standard.origin import bracketed
from ibi.storage.machine import are_exhausted, pending_connections, raise_limit
from ibi.web.request import truncate_address
from ibi.web.request_middleware import Metrics

_SLACK: Final = 8 * 1024 * 1024
"""Bytes beyond the initial size that are left alone."""
_HEAP_PAUSE: Final = 10.0
_LONG_PAUSE: Final = 30.0
"""Seconds until the next try after one that freed nothing."""
_SHARE: Final = 0.001
"""Share of all time that requests may wait for the collector."""
_MOST_WAIT: Final = 0.1
"""Longest time in seconds that requests may wait for the collector."""
_STATM: Final = Path("/proc/self/statm")


def _resident() -> int:
    """Return the bytes of this process that are in memory; 0 if the system does not report it."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _system_trim() -> Callable[[], object] | None:
    """Return the function that returns free memory to the system; None for a C library without one."""
    try:
        function = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return lambda: function(0)


_SYSTEM_TRIM: Final = _system_trim()


class Heap:
    """The memory of this process, checked now and then.

    After a burst of connections their memory is free, but only to this process: the interpreter and the C library keep
    it for the next time, and other services of the machine lack it. They are told to return it while the process has
    clearly more than at its start.
    """

    def __init__(
        self, resident: Callable[[], int] = _resident, trim: Callable[[], object] | None = _SYSTEM_TRIM
    ) -> None:
        self._resident, self._trim = resident, trim
        self._least, self._next = 0, 0.0
        self._next_collection = float("-inf")

    def is_due(self, now: float) -> bool:
        """Return whether `trim` should be called at this time, in seconds of any clock."""
        if self._trim is None or now < self._next:
            return False
        self._next = now + _HEAP_PAUSE
        size = self._resident()
        self._least = min(self._least or size, size)
        return size > self._least + _SLACK

    def collect(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Free the interpreter's reserves and the reference cycles that a burst of connections left.

        The interpreter's lock is held meanwhile. The longer a collection takes, the longer the pause until the next
        one. After one that takes too long, there are no more.
        """
        began = clock()
        if began >= self._next_collection:
            gc.collect()
            seconds = clock() - began
            self._next_collection = began + seconds / _SHARE if seconds < _MOST_WAIT else float("inf")

    def trim(self, now: float) -> None:
        """Return free memory to the system. This call blocks for some milliseconds without holding the interpreter's
        lock."""
        before = self._resident()
        if self._trim is not None:
            self._trim()
        if before - self._resident() < _SLACK // 8:
            self._next = now + _LONG_PAUSE


_LOG_PAUSE: Final = 60.0
"""Seconds between two lines of one kind."""


class LoadLog:
    """The log of refused and broken connections. For one event loop.

    The first line of each kind is logged at once, then one line a minute with the number since: a flood of connections
    must not become a flood of lines. A client is logged as its network, as everywhere in the log.
    """

    def __init__(self, log: FilteringBoundLogger, metrics: Metrics, now: Callable[[], float] = time.monotonic) -> None:
        self._log, self._metrics, self._now = log, metrics, now
        self._since: dict[str, tuple[float, int]] = {}

    def note_refused(self, client: str, is_full: bool) -> None:
        if is_full:
            self._metrics.count_connection_refused("server")
            self._tell("connections refused: the server has as many as its descriptors allow", client)
        else:
            self._metrics.count_connection_refused("client")
            self._tell("connections refused: their client has too many, see connections_per_client", client)

    def note_displaced(self, client: str) -> None:
        self._metrics.count_connection_broken("displaced")
        self._tell("connections closed: other clients needed their places", client)

    def note_unread(self, client: str) -> None:
        self._metrics.count_connection_broken("unread")
        self._tell("connections broken: too much waited for clients that do not read", client)

    def note_exhausted(self) -> None:
        self._metrics.count_descriptors_exhausted()
        self._tell("too many open files: raise the limit of descriptors (ulimit -n, LimitNOFILE)")

    def _tell(self, words: str, client: str | None = None) -> None:
        now = self._now()
        told, number = self._since.get(words, (float("-inf"), 0))
        number += 1
        if now - told < _LOG_PAUSE:
            self._since[words] = told, number
            return
        self._since[words] = now, 0
        more = {} if client is None else {"client": truncate_address(client.partition("/")[0])}
        self._log.warning(words, number=number, **more)


_TICKS = 10
"""Ticks of uvicorn in a second."""
_MOST_SHED = 16
"""Number of connections that give way in a second when no descriptor is left."""
_MOST_UNSENT = 256 * 1024
"""Unsent bytes of a connection that the system may hold. Without a bound, it would take megabytes that no client
reads."""
_ACCEPTED_PER_TURN = 8
"""Number of connections that the event loop accepts before it serves the others again.

uvloop accepts one for each listening descriptor: behind a hundred new clients, another one would wait for a hundred
turns.
"""
_COLLECTION = (20_000, 20, 20)
"""Thresholds of the garbage collector. A request makes hundreds of values, which are freed without it when the answer
is sent."""
_KEEP_ALIVE = 75
"""Seconds for which an idle connection stays open: longer than proxies keep theirs, so that they close first."""


class AddressInUse(IbiError):
    """Something else listens on {host} port {port} already: stop it, or take another port."""

    code = "address-in-use"


class AddressUnusable(IbiError):
    """It is not possible to listen on {host} port {port}: {reason}."""

    code = "address-unusable"


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise AddressUnusable(host=host, port=port, reason=_reason(error)) from None
    try:
        _bind(listener, address)
        begin_listening(listener)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressInUse(host=host, port=port) from None
        raise AddressUnusable(host=host, port=port, reason=_reason(error)) from None
    return listener


def _bind(listener: socket.socket, address: tuple[Any, ...]) -> None:
    if os.name == "posix":  # elsewhere the option would let two servers share one port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # connections inherit it from the listening socket
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT)
    listener.bind(address)


def bind_beside(listener: socket.socket) -> socket.socket:
    """Return another socket with the address of `listener`.

    It listens once `begin_listening` is called. The system then spreads connections over both. The first of them is
    bound alone, and so finds out whether another program has the port. All are bound before a process that root started
    gives up that privilege: only the same user may share a port.
    """
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    other = socket.socket(listener.family, listener.type, listener.proto)
    try:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        _bind(other, listener.getsockname())
    except OSError as error:
        other.close()
        host, port = listener.getsockname()[:2]
        raise AddressUnusable(host=host, port=port, reason=_reason(error)) from None
    return other


def begin_listening(bound: socket.socket) -> None:
    bound.listen(pending_connections(raise_limit()))


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def url_of(listener: socket.socket) -> str:
    """Return the URL at which a browser on this machine reaches the listener."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://{bracketed(host)}:{port}"


def _protocol(app: ASGIApp) -> type[asyncio.Protocol]:
    """Return the protocol class for an application, with its fast path and its bounds on connections, if it has
    them."""
    state = getattr(app, "state", None)
    found = {name: getattr(state, name, None) for name in ("at_once", "bound", "buffers", "refusals")}
    given = {name: value for name, value in found.items() if value is not None}
    return type("ServedProtocol", (GuardedProtocol,), {"buffers": BufferBound(), **given})


def _nothing() -> None:
    """The default: nothing is done every second."""


def _accepts_one_per_turn(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the loop is uvloop, which accepts one connection a turn. asyncio's own accepts all that wait."""
    return type(loop).__module__.partition(".")[0] == "uvloop"


def spare_collector() -> None:
    """Exempt all present values from the garbage collector: they live as long as the server."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTION)


_LAST_REQUESTS: Final = 3600.0
"""Seconds that a server has for its last requests when it hands over: for uploads of many gigabytes."""
_IDLE_BEFORE_END: Final = 3.0
"""Seconds for which connections without a request then stay open. Their clients may be sending one."""


class Server(uvicorn.Server):
    """uvicorn with the bounds of this package. Set `should_exit` to stop it from another thread."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        ready: Callable[[str], None] | None = None,
        grace: int = 10,
        every_second: Callable[[], object] = _nothing,
    ) -> None:
        """`every_second` is called on the event loop."""
        super().__init__(
            uvicorn.Config(
                app,
                http=_protocol(app),
                ws="none",
                lifespan="on",
                interface="asgi3",
                log_config=None,
                access_log=False,
                # Otherwise any process on this machine could forge the client's address.
                proxy_headers=False,
                server_header=False,
                backlog=pending_connections(raise_limit()),
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=grace,
            )
        )
        self._ready, self._heap, self._every_second = ready, Heap(), every_second
        self._is_handing_over = False
        self._listeners: list[socket.socket] = []
        """Duplicate descriptors of the listening sockets."""
        state = getattr(app, "state", None)
        self._load: LoadLog | None = getattr(state, "load", None)
        self._bound: ConnectionBound | None = getattr(state, "bound", None)

    async def on_tick(self, counter: int) -> bool:
        """Run regular checks. uvicorn calls this ten times a second."""
        if counter % _TICKS == 0:
            self._look_after_descriptors()
            self._look_after_memory()
            self._every_second()
        return await super().on_tick(counter)

    def _look_after_descriptors(self) -> None:
        """Notice that no descriptor is left: the event loop then drops new connections without an error."""
        if are_exhausted():
            if self._load is not None:
                self._load.note_exhausted()
            if self._bound is not None:
                self._bound.shed(_MOST_SHED)

    def _look_after_memory(self) -> None:
        loop = asyncio.get_running_loop()
        if self._heap.is_due(loop.time()):
            self._heap.collect()
            loop.run_in_executor(None, self._heap.trim, loop.time())

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        for each in sockets or ():
            # `dup` gives the duplicate the mode of this object, and the mode is that of the socket in all processes. A
            # worker that is being replaced would wait in its next `accept`, and answer nothing meanwhile.
            each.setblocking(False)
        if sockets and _accepts_one_per_turn(asyncio.get_running_loop()):
            self._listeners = [each.dup() for each in sockets for _ in range(_ACCEPTED_PER_TURN - 1)]
        try:
            await super().startup(None if sockets is None else [*sockets, *self._listeners])
        finally:
            if not self.started:
                for each in self._listeners:
                    each.close()
        spare_collector()
        if self.started and self._ready is not None:
            self._ready(url_of((sockets or [])[0]))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the server. The connections that only wait for their turn end first, so that they do not delay the
        stop."""
        if self._is_handing_over:
            await self._serve_last_requests(sockets or [])
        self._call_app("ending")
        await super().shutdown(None if sockets is None else [*sockets, *self._listeners])

    def hand_over(self) -> None:
        """Take no more connections, answer one more request of each present one, and end.

        Another server accepts from the same socket. Call this from any thread.
        """
        self._is_handing_over = self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._is_handing_over = False
        super().handle_exit(sig, frame)

    async def _serve_last_requests(self, sockets: list[socket.socket]) -> None:
        """Answer the requests of clients that do not know yet that their connection closes."""
        for server in self.servers:
            server.close()
        for each in (*sockets, *self._listeners):
            each.close()
        self._call_app("handing_over")
        loop, connections = asyncio.get_running_loop(), self.server_state.connections
        began = loop.time()
        while connections and self._is_handing_over and loop.time() < began + _LAST_REQUESTS:
            for connection in list(connections):
                if isinstance(connection, GuardedProtocol):
                    connection.retire(close_idle=loop.time() >= began + _IDLE_BEFORE_END)
            await asyncio.sleep(0.1)
            self._every_second()

    def _call_app(self, name: str) -> None:
        function = getattr(getattr(self.config.app, "state", None), name, None)
        if function is not None:
            function()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals without raising them again afterwards, unlike the original: a clean stop is a success."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
