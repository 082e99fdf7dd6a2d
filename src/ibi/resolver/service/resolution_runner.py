"""Runs one resolution: sends its questions, passes the replies to it, and wakes it in time (R §8.2)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar
from weakref import finalize

import structlog

from ibi.jobs.limits import LimitExceeded
from ibi.jobs.promptness import beside
from ibi.membership.model.registration import Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.authority import ArchiveRef, Home, Homes
from ibi.membership.rules.membership import archive_ref
from ibi.resolver.rules.caching import LONGEST, OutcomeKey
from ibi.resolver.rules.memory import NewClaim
from ibi.resolver.rules.outcome import Outcome
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Trace
from ibi.standard.errors import IbiError
from ibi.standard.language_choice import Preference
from ibi.standard.messages.requests import Acknowledgment, UrlRequest
from ibi.standard.messages.values import IpAddress
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Answered, Failure, Reply

_LOG = structlog.get_logger("ibi.resolver")

T = TypeVar("T")


class PendingRequests:
    """The requests under way of one resolution. A wait costs the same however many there are."""

    __slots__ = ("_arrived", "_tasks", "_waiter")

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Reply], None] = {}
        self._arrived: deque[tuple[Asking, Reply]] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def start(self, asking: Asking, request: Coroutine[Any, Any, Reply]) -> None:
        task = asyncio.get_running_loop().create_task(request)
        self._tasks[task] = None
        task.add_done_callback(partial(self._finish, asking))

    def _finish(self, asking: Asking, task: asyncio.Task[Reply]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        self._arrived.append((asking, _reply(asking, task)))
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def arrivals(self, within: float) -> deque[tuple[Asking, Reply]]:
        """Return the replies since the last call. If there are none, wait for one, so many seconds at most."""
        if not self._arrived:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            alarm = loop.call_later(max(0.0, within), self._wake)
            try:
                await self._waiter
            finally:
                alarm.cancel()
                self._waiter = None
        arrived, self._arrived = self._arrived, deque()
        return arrived

    def cancel(self) -> None:
        """Cancel all requests: the caller has gone away, or has its outcome."""
        for task in self._tasks:
            task.cancel()


def _reply(asking: Asking, task: asyncio.Task[Reply]) -> Reply:
    """Return the reply of a task. A failure of the gateway counts as silence, so that the answers of other Archives
    still reach the reader."""
    error = task.exception()
    if error is None:
        return task.result()
    _LOG.error("an Archive could not be asked", archive=asking.archive.address, exc_info=error)
    return Failure.UNREACHABLE


_LEAST: Final = 0.001
"""Shortest wait in seconds: a clock that stands still must not keep the processor busy."""


def _nothing() -> None:
    """Do nothing: by default there is no slot to free."""


def _freely() -> Callable[[], None]:
    return _nothing


async def _at_any_pace() -> None:
    """Do nothing: by default questions are not delayed."""


class Gateway(Protocol):
    """The connection to Archives. Never raises for an error of an Archive."""

    def at_once(self, archive: ArchiveRef, request: UrlRequest) -> Reply | None:
        """Return the reply of an Archive in the same process; None for any other."""

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply: ...

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool: ...


class ReplyWatcher(Protocol):
    """Counts the replies of Archives, with their durations."""

    def on_replied(self, archive: ArchiveRef, reply: Reply, seconds: float) -> None: ...


class Step(Protocol):
    """Makes one step of a resolution where it may wait for storage."""

    def __call__(self, call: Callable[[], T], /) -> Awaitable[T]: ...


class ResolutionRunner:
    """Sends the questions of `run`, passes the replies to it, and wakes it in time. `max_age` is the number of seconds
    for which all replies about the item may be cached."""

    def __init__(
        self,
        run: Resolution,
        gateway: Gateway,
        deadline: float,
        clock: Callable[[], float],
        watcher: ReplyWatcher,
        admit: Callable[[], Callable[[], None]] = _freely,
        pace: Callable[[], Awaitable[None]] = _at_any_pace,
    ) -> None:
        """`pace` is awaited before each question to an Archive elsewhere.

        `admit` is called before the first remote Archive is asked. It returns the function to call at the end, and may
        refuse by raising.
        """
        self.run, self.max_age = run, LONGEST
        self._gateway, self._deadline, self._clock, self._watcher = gateway, deadline, clock, watcher
        self._pending: PendingRequests | None = None
        self._admit, self._over, self._pace = admit, _nothing, pace

    def begin(self) -> None:
        """Ask the first Archives. If all of them answer at once, there is an outcome afterwards."""
        try:
            self._send()
        except BaseException:
            self._hang_up()
            raise
        if self.run.outcome is not None:
            self._hang_up()

    async def run_to_end(self) -> None:
        """Run until there is an outcome. Requests still under way are then cancelled."""
        try:
            while self.run.outcome is None:
                await self._wait()
                self._send()
        finally:
            self._hang_up()

    async def run_slowly(self, step: Step) -> None:
        """Do the same as `begin` and `run_to_end` where the steps of the resolution wait for storage: `step` makes each
        of them."""
        try:
            await self._send_slowly(step)
            while self.run.outcome is None:
                arrived, now = await self._arrivals()
                await step(partial(self._take_all, arrived, now))
                await self._send_slowly(step)
        finally:
            self._hang_up()

    async def _send_slowly(self, step: Step) -> None:
        while askings := self.run.requests():
            waited_for = []
            for asking in askings:
                reply, now = self._ask_at_once(asking)
                if reply is None:
                    waited_for.append(asking)
                else:
                    await step(partial(self._take, asking, reply, now))
            self._start_all(waited_for)

    @property
    def was_admitted(self) -> bool:
        """True if a remote Archive was asked."""
        return self._over is not _nothing

    def _hang_up(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
        self._over()

    def _send(self) -> None:
        """Send the questions that are due. Immediate answers may end the resolution, or lead to further questions."""
        while askings := self.run.requests():
            self._start_all([asking for asking in askings if not self._is_answered_at_once(asking)])

    def _start_all(self, askings: Iterable[Asking]) -> None:
        for asking in askings:
            if self.run.outcome is None:
                self._start(asking)

    def _is_answered_at_once(self, asking: Asking) -> bool:
        reply, now = self._ask_at_once(asking)
        if reply is None:
            return False
        self._take(asking, reply, now)
        return True

    def _ask_at_once(self, asking: Asking) -> tuple[Reply | None, float]:
        began = self._clock()
        reply = self._gateway.at_once(asking.archive, asking.request)
        if reply is None:
            return None, began
        now = self._clock()
        self._watcher.on_replied(asking.archive, reply, now - began)
        return reply, now

    def _start(self, asking: Asking) -> None:
        if self._pending is None:
            # Called once, also if this resolution is abandoned.
            self._over = finalize(self, self._admit())
            self._pending = PendingRequests()
        self._pending.start(asking, self._ask(asking, max(0.0, self._deadline - self._clock())))

    async def _ask(self, asking: Asking, within: float) -> Reply:
        await self._pace()
        began = self._clock()
        reply = await self._gateway.ask(asking.archive, asking.request, within=within)
        self._watcher.on_replied(asking.archive, reply, self._clock() - began)
        return reply

    async def _wait(self) -> None:
        self._take_all(*await self._arrivals())

    async def _arrivals(self) -> tuple[Sequence[tuple[Asking, Reply]], float]:
        """Return the replies that have come, and the time; none if the resolution is to go on without."""
        if self._pending is None:
            self._pending = PendingRequests()
        arrived = await self._pending.arrivals(max(_LEAST, self.run.wake_at - self._clock()))
        return arrived, self._clock()

    def _take_all(self, arrived: Sequence[tuple[Asking, Reply]], now: float) -> None:
        for asking, reply in arrived:
            self._take(asking, reply, now)
        if not arrived:
            self.run.advance(now)

    def _take(self, asking: Asking, reply: Reply, now: float) -> None:
        if isinstance(reply, Answered):
            if reply.answer is not None and self.run.outcome is None:
                self.max_age = min(self.max_age, reply.max_age)
            self.run.answer(
                asking,
                reply.answer,
                now,
                final=reply.final,
                transferred_to=reply.transferred_to,
                copies_at=reply.copies_at,
                max_age=reply.max_age,
            )
        else:
            self.run.failure(asking, reply, now)


class ReaderRequest(NamedTuple):
    """A reader's request. With `is_refused` remote Archives must not be asked. With `wants_anew` the reader does not
    want the cached outcome."""

    url: PersistentUrl
    clients: tuple[IpAddress, ...]
    preferences: Sequence[Preference]
    base: str
    is_refused: bool = False
    wants_anew: bool = False

    @property
    def client(self) -> IpAddress | None:
        return self.clients[0] if self.clients else None

    @property
    def has_address(self) -> bool:
        """True if Archives learn the address of the reader. Otherwise they learn the resolver's own address, and their
        answers serve no other reader (E76)."""
        return self.client is not None and not self.client.is_unspecified


class PendingResolution(NamedTuple):
    """A resolution under way and its request."""

    reader: ReaderRequest
    archives: tuple[ArchiveRef, ...]
    wish: OutcomeKey
    began: float


class ForeignUrls(StrEnum):
    """The treatment of URLs on hosts that their Archive did not declare (E31)."""

    HOLDER = "holder"
    """URLs of the item's holder are followed. Those of other Archives are shown for confirmation."""
    CONFIRM = "confirm"
    """Every such URL is shown for confirmation."""
    REFUSE = "refuse"


class Resolved(NamedTuple):
    """The outcome of a resolution, its duration, and the seconds for which it may be cached.

    With `to_confirm` the URL is on a host that the Archive did not declare: the reader has to confirm it (E31). `age`
    is set for a reader who wanted a new outcome and gets the cached one: the seconds since it was found.
    """

    outcome: Outcome
    seconds: float
    max_age: int = 0
    was_kept: bool = False
    age: int | None = None
    to_confirm: bool = False
    began: float = 0.0
    """The time from which those of the trace are counted."""
    resolution: Resolution | None = None

    @property
    def outcome_name(self) -> str:
        """`Redirect`, `NotFound` and so on; a URL that the reader has to confirm has a name of its own."""
        return "UrlToConfirm" if self.to_confirm else type(self.outcome).__name__

    @property
    def trace(self) -> Trace:
        """The trace, made on demand; that of a cached outcome has no questions."""
        return Trace(()) if self.resolution is None else self.resolution.trace


Unfinished: TypeAlias = Callable[[], Awaitable[Resolved]]
"""The rest of a resolution that has to wait for remote Archives; to be called once."""


class Watcher(ReplyWatcher, Protocol):
    """Counts outcomes, refusals and claims."""

    def on_resolved(self, resolved: Resolved) -> None: ...

    def on_turned_away(self, refusal: LimitExceeded) -> None: ...

    def on_claimed(self, claim: NewClaim) -> None: ...


class NoWatcher:
    """Counts nothing."""

    def on_resolved(self, resolved: Resolved) -> None: ...

    def on_turned_away(self, refusal: LimitExceeded) -> None: ...

    def on_claimed(self, claim: NewClaim) -> None: ...

    def on_replied(self, archive: ArchiveRef, reply: Reply, seconds: float) -> None: ...


NO_WATCHER: Final = NoWatcher()


_NEVER: Hashable = object()


class ArchiveDirectory:
    """The registered Archives, that of this process, and the homes of labels: the same until one changes, anywhere."""

    def __init__(self, registry: Registry | None, own: ArchiveRef | None) -> None:
        """`own` is the Archive of this process: always included, first, and counted as registered."""
        self._registry, self._own = registry, own
        self._version: Hashable = _NEVER
        self._archives: tuple[ArchiveRef, ...] = ()
        self._homes = Homes()
        self._known: dict[Hashable, tuple[Registration, Home]] = {}
        self._reading: asyncio.Task[None] | None = None
        if registry is not None and not registry.prompt:  # before the event loop asks
            self._set(registry.recent_version(), registry.all())

    def archives(self) -> tuple[ArchiveRef, ...]:
        """Return the Archives. After a change of a slow register, return the old ones until it has been read again."""
        registry = self._registry
        version = None if registry is None else registry.recent_version()
        if version != self._version:
            # The version is read first, so it is never newer than the content: a change in between is read next time.
            if registry is None or registry.prompt:
                self._set(version, () if registry is None else registry.all())
            elif self._reading is None:
                self._reading = asyncio.get_running_loop().create_task(self._read(registry, version))
        return self._archives

    async def _read(self, registry: Registry, version: Hashable) -> None:
        try:
            self._set(version, await beside(registry.all))
        except IbiError as error:  # the old Archives stay until the next question
            _LOG.error("the register cannot be read", reason=str(error))
        finally:
            self._reading = None

    def _set(self, version: Hashable, registered: Iterable[Registration]) -> None:
        self._known = {each.labels[0]: self._know(each) for each in registered}
        self._archives = tuple(self._own_and_included(home.archive for _, home in self._known.values()))
        self._homes, self._version = Homes(self._prefixes_by_home()), version

    def _know(self, registration: Registration) -> tuple[Registration, Home]:
        """Return a registration with its home. Unchanged ones are reused: an Archive that comes and goes must not cost
        as much as all."""
        before = self._known.get(registration.labels[0])
        if before is not None and before[0] is registration:
            return before
        return registration, Home(registration.service, self._ref(registration), registration.successor)

    def homes(self) -> Homes:
        """Return the homes of labels, also those that are switched off. Call it after `archives`: it describes the same
        state of the register."""
        return self._homes

    def _ref(self, registration: Registration) -> ArchiveRef | None:
        """Return the Archive of a registration. It is `own` if they are the same, so that it is asked once, without a
        network."""
        own = self._own
        is_own = own is not None and not set(own.service.labels).isdisjoint(registration.labels)
        return own if is_own else archive_ref(registration)

    def _own_and_included(self, refs: Iterable[ArchiveRef | None]) -> Iterator[ArchiveRef]:
        if self._own is not None:
            yield self._own
        yield from (ref for ref in refs if ref is not None and ref is not self._own)

    def _prefixes_by_home(self) -> Iterator[tuple[Home, Iterable[str]]]:
        """Yield each home with its prefixes, its own Archive first, then by date of registration."""
        own = self._own
        if own is not None:
            yield Home(own.service, own), own.home_prefixes
        for registration, home in self._known.values():
            if home.archive is None or home.archive is not own:
                yield home, registration.home_prefixes
