"""Guards minting: no other instance may answer at the server's own address, and its log must be whole.

Two copies of one machine have the same data directory, name and clock, and cannot see each other's locks. They differ
in one thing: the address that both take for theirs leads to one of them at most (E58).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from threading import Event
from typing import Final, NamedTuple

import structlog

from ibi.jobs.runner import Job, JobStopped
from ibi.minting.ports import Ticks
from ibi.minting.rules.errors import AnotherInstance, DoubtUnreadable
from ibi.minting.rules.mint_log import LogBroken
from ibi.standard.errors import IbiError
from ibi.standard.identity import Identity

_FIRST_DELAY: Final = 1.0
_DELAY: Final = 60.0
"""Seconds between two checks. The first ones are closer together, since two copies may start at the same time."""
_LOG_CHECK: Final = 24 * 3600.0
"""Seconds between two readings of the whole log."""
_BREATH: Final = 0.005
"""Seconds of pause after every few thousand lines of the log, which leave two thirds of the time to others."""


_LOG_RETRY: Final = 3600.0
"""Seconds of rest, at most, after the log could not be read."""
_LONGEST_LOOK: Final = 10.0
"""Seconds for one request to the own address."""
_LONGEST_REASON: Final = 300
_NO_MINTER: Final = "it answers with something else than what a minter says of itself"


class Finding(Enum):
    """The instance that answers at the server's own address."""

    ITSELF = "this instance"
    ANOTHER = "another instance"
    UNKNOWN = "no minter of this name"


class Look(NamedTuple):
    """The result of one check of the own address."""

    finding: Finding
    reason: str = ""
    """The reason if there is no result."""
    is_unreadable: bool = False
    """True if the answer cannot be read."""


class OwnAddress:
    """The public address of an identity, and the check whether it leads here."""

    def __init__(
        self,
        url: str,
        identity: Identity,
        ask: Callable[[str], Awaitable[Mapping[str, object]]],
    ) -> None:
        """`ask` returns the self-description of the minter at a URL; it raises an `IbiError` if none answers."""
        self.url = url
        self._identity, self._ask = identity, ask

    async def look(self, epoch: Callable[[], str]) -> Look:
        """Check once. `epoch` returns the own epoch. It is called after the answer, since the epoch may just have
        changed."""
        try:
            async with asyncio.timeout(_LONGEST_LOOK):
                answer = await self._ask(self.url)
        except TimeoutError:
            return Look(Finding.UNKNOWN, f"no answer within {_LONGEST_LOOK:g} seconds")
        except IbiError as error:
            return Look(Finding.UNKNOWN, str(error))
        except Exception as error:  # noqa: BLE001 - an unreadable answer names no minter
            return Look(
                Finding.UNKNOWN,
                f"its answer cannot be read: {type(error).__name__}: {error}"[:_LONGEST_REASON],
                is_unreadable=True,
            )
        return self._judge(answer, await asyncio.to_thread(epoch))

    def refusal(self) -> AnotherInstance:
        return AnotherInstance(prefix=self._identity.prefixes[0], url=self.url)

    def _judge(self, answer: object, epoch: str) -> Look:
        if not isinstance(answer, Mapping):
            return Look(Finding.UNKNOWN, _NO_MINTER, is_unreadable=True)
        if answer.get("instance") == epoch:
            return Look(Finding.ITSELF)
        prefixes = answer.get("prefixes")
        if not isinstance(prefixes, Mapping):
            return Look(Finding.UNKNOWN, _NO_MINTER, is_unreadable=True)
        theirs = {each for each in prefixes.values() if isinstance(each, str)}
        return Look(Finding.UNKNOWN if theirs.isdisjoint(self._identity.prefixes) else Finding.ANOTHER)


class MintGuard:
    """Checks address and log while a server runs. After a possible copy, nothing is minted before the first check of
    the address."""

    def __init__(
        self,
        ticks: Ticks,
        address: OwnAddress | None,
    ) -> None:
        """Without an `address` only the log is checked."""
        self._ticks, self._address = ticks, address
        self._log = structlog.get_logger("ibi.minting")
        self._last: Finding | None = None
        self._looked = asyncio.Event()
        self._refusals: dict[str, IbiError] = {}
        self._delay = _FIRST_DELAY
        self._stopping = Event()
        self.is_open = False
        """True if minting may go on without awaiting `wait_for_check`."""

    @property
    def refusal(self) -> IbiError | None:
        """The reason why nothing is minted, or None."""
        return next(iter(self._refusals.values()), None)

    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs, for the event loop that mints."""
        log = Job(
            "mint log",
            self._check_log,
            _LOG_CHECK,
            first_rest=_DELAY,
            longest_rest=_LOG_RETRY,
            begin=self._open_without_address,
            halt=self._looked.set,
            stopping=self._stopping,
        )
        return (log,) if self._address is None else (log, Job("own address", self._look_at_address, _DELAY))

    async def wait_for_check(self) -> None:
        """Wait for the first check of the address, some seconds at most. Raise the refusal if there is one."""
        await self._looked.wait()
        if (refusal := self.refusal) is not None:
            raise refusal

    def _open_without_address(self) -> None:
        if self._address is None:
            self._open()

    async def _look_at_address(self) -> float:
        assert self._address is not None
        try:
            if not self._looked.is_set() and not await asyncio.to_thread(self._ticks.is_in_doubt):
                self._open()
            await self._look(self._address)
        except Exception as error:
            if not self._looked.is_set():  # a possible copy must not mint
                self._refusals["doubt"] = DoubtUnreadable(reason=f"{type(error).__name__}: {error}"[:_LONGEST_REASON])
                self._log.error("nothing is minted until the address was asked", reason=str(error))
            raise
        else:
            self._refusals.pop("doubt", None)
        finally:  # nobody waits after a failure of any kind
            self._open()
        delay, self._delay = self._delay, min(_DELAY, 2 * self._delay)
        return delay

    def _open(self) -> None:
        self._looked.set()
        self.is_open = not self._refusals

    async def _look(self, address: OwnAddress) -> None:
        """Check the address. The last clear answer counts. Silence changes nothing, and at the start allows minting."""
        look = await address.look(self._ticks.epoch)
        self._tell(address, look)
        found = look.finding
        if found is Finding.ANOTHER:
            self._refusals["address"] = address.refusal()
            self.is_open = False
            await asyncio.to_thread(self._ticks.set_doubt, in_doubt=True)
        elif found is Finding.ITSELF or "address" not in self._refusals:
            self._refusals.pop("address", None)
            await asyncio.to_thread(self._ticks.set_doubt, in_doubt=False)

    def _tell(self, address: OwnAddress, look: Look) -> None:
        """Log changes since the last check."""
        if look.finding is not self._last:
            is_wrong = look.finding is Finding.ANOTHER or look.is_unreadable
            tell = self._log.error if is_wrong else self._log.info
            reason = {"reason": look.reason} if look.reason else {}
            tell("asked the own address who mints there", url=address.url, answer=look.finding.value, **reason)
        self._last = look.finding

    async def _check_log(self) -> None:
        try:
            await asyncio.to_thread(self._ticks.check_log, self._breathe)
        except LogBroken as error:
            self._log.error("nothing is minted any more", reason=str(error))
            self._refusals["log"] = error
            self.is_open = False
        else:
            self._refusals.pop("log", None)
            self.is_open = self._looked.is_set() and not self._refusals

    def _breathe(self) -> None:
        """Pause, or stop; in the thread that reads the log."""
        if self._stopping.is_set():
            raise JobStopped
        time.sleep(_BREATH)
