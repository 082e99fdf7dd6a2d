"""A reader's request to the resolver, and what became of it: the values of `resolver_service`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, TypeAlias

from ibi.language_range import Preference
from ibi.messages.values import IpAddress
from ibi.persistent_url import PersistentUrl
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.caching import OutcomeKey
from ibi.resolver.memory import NewClaim
from ibi.resolver.outcome import Outcome
from ibi.resolver.resolution import Resolution
from ibi.resolver.trace import Reply, Trace
from ibi.services.limits import LimitExceeded
from ibi.services.resolving.resolution_runner import ReplyWatcher


class ReaderRequest(NamedTuple):
    """A reader's request."""

    url: PersistentUrl
    clients: tuple[IpAddress, ...]
    preferences: Sequence[Preference]
    base: str
    is_refused: bool = False
    """Whether remote Archives must not be asked."""

    @property
    def client(self) -> IpAddress | None:
        return self.clients[0] if self.clients else None


class PendingResolution(NamedTuple):
    """A resolution under way and its request."""

    reader: ReaderRequest
    archives: tuple[ArchiveRef, ...]
    wish: OutcomeKey
    began: float


class ForeignUrls(StrEnum):
    """How URLs on hosts that their Archive did not declare are treated (E31)."""

    HOLDER = "holder"
    """Those of the item's holder are followed, those of others shown for confirmation."""
    CONFIRM = "confirm"
    """All are shown for confirmation."""
    REFUSE = "refuse"


class Resolved(NamedTuple):
    """The outcome of a resolution, how long it took, and for how many seconds it may be cached.

    With `to_confirm` the URL is on a host that the Archive did not declare: the reader has to confirm it (E31).
    """

    outcome: Outcome
    seconds: float
    max_age: int = 0
    was_kept: bool = False
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
