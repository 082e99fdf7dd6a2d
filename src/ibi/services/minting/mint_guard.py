"""Guards minting: no other instance may answer at the server's own address, and its log must be whole.

Two copies of one machine have the same data directory, name and clock, and cannot see each other's locks. They differ
in the address that both believe to be theirs: it leads to one of them at most (E58).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

import structlog

from ibi.errors import IbiError
from ibi.minting.errors import AnotherInstance
from ibi.minting.mint_log import LogBroken
from ibi.minting.minter import Rules
from ibi.model.minting import Identity
from ibi.ports.clocks import Ticks


def identity_card(identity: Identity, rules: Rules, instance: str) -> dict[str, object]:
    """The facts as JSON. `instance` distinguishes this minter from a copy that answers in the same name."""
    return {
        "host": identity.host,
        "ip": identity.ip,
        "host_port": identity.host_port,
        "ip_port": identity.ip_port,
        "prefixes": {"rep": identity.repository_prefix, "ibip": identity.ibip_prefix},
        "is_global": identity.is_global,
        "sandbox": identity.sandbox,
        "instance": instance,
        "granularity": "auto" if rules.granularity is None else str(rules.granularity),
    }


_FIRST_DELAY: Final = 1.0
_DELAY: Final = 60.0
"""Seconds between two checks. The first ones are closer together, since two copies may start at the same time."""
_LOG_CHECK: Final = 24 * 3600.0
"""Seconds between two readings of the whole log."""
_BREATH: Final = 0.005
"""Seconds of pause after every few thousand lines of the log, which leave two thirds of the time to others."""


class Finding(Enum):
    """Which instance answers at the server's own address."""

    ITSELF = "this instance"
    ANOTHER = "another instance"
    UNKNOWN = "no minter of this name"


class Look(NamedTuple):
    """The result of one check of the own address."""

    finding: Finding
    reason: str = ""
    """Why there is no result, if so."""


class OwnAddress:
    """The public address of an identity, and the check whether it leads here."""

    def __init__(
        self,
        url: str,
        identity: Identity,
        ask: Callable[[str], Awaitable[Mapping[str, object]]],
    ) -> None:
        """`ask` gives what the minter at a URL says of itself; an `IbiError` if none answers."""
        self.url = url
        self._identity, self._ask = identity, ask

    async def look(self, epoch: Callable[[], str]) -> Look:
        """Check once. `epoch` returns the own one; it is called after the answer, since it may just have changed."""
        try:
            answer = await self._ask(self.url)
        except IbiError as error:
            return Look(Finding.UNKNOWN, str(error))
        return Look(self._judge(answer, await asyncio.to_thread(epoch)))

    def refusal(self) -> AnotherInstance:
        return AnotherInstance(prefix=self._identity.prefixes[0], url=self.url)

    def _judge(self, answer: Mapping[str, object], epoch: str) -> Finding:
        if answer.get("instance") == epoch:
            return Finding.ITSELF
        prefixes = answer["prefixes"]
        theirs = set(prefixes.values()) if isinstance(prefixes, dict) else set()
        return Finding.UNKNOWN if theirs.isdisjoint(self._identity.prefixes) else Finding.ANOTHER


class MintGuard:
    """Checks address and log while a server runs. After a possible copy, nothing is minted before the first check of
    the address."""

    def __init__(
        self,
        ticks: Ticks,
        address: OwnAddress | None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Without an `address` only the log is checked. `sleep` waits between two checks."""
        self._ticks, self._address, self._sleep = ticks, address, sleep
        self._log = structlog.get_logger("ibi.minting")
        self._last: Finding | None = None
        self._looked = asyncio.Event()
        self._refusals: dict[str, IbiError] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self.is_open = False
        """Whether minting may go on without awaiting `wait_for_check`."""

    @property
    def refusal(self) -> IbiError | None:
        """Why nothing is minted, if so."""
        return next(iter(self._refusals.values()), None)

    def start(self) -> None:
        """Called on the event loop that mints."""
        self._tasks = [asyncio.create_task(self._watch_address()), asyncio.create_task(self._watch_log())]

    async def stop(self) -> None:
        self._is_stopping = True
        self._looked.set()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def wait_for_check(self) -> None:
        """Wait for the first check of the address, two seconds at most; raises the refusal if there is one."""
        await self._looked.wait()
        if (refusal := self.refusal) is not None:
            raise refusal

    # The address.

    async def _watch_address(self) -> None:
        address = self._address
        if address is None or not await self._is_in_doubt():
            self._open()
        if address is None:
            return
        delay = _FIRST_DELAY
        while True:
            await self._look(address)
            self._open()
            await self._sleep(delay)
            delay = min(_DELAY, 2 * delay)

    async def _is_in_doubt(self) -> bool:
        try:
            return await asyncio.to_thread(self._ticks.is_in_doubt)
        except IbiError as error:  # the next label will be refused for the same reason
            self._log.error("the clock of this minter cannot be read", reason=str(error))
            return False

    def _open(self) -> None:
        self._looked.set()
        self.is_open = not self._refusals

    async def _look(self, address: OwnAddress) -> None:
        """Check the address. The last clear answer counts; silence changes nothing, and at the start allows minting."""
        try:
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
        except IbiError as error:
            self._log.error("the clock of this minter cannot be read", reason=str(error))

    def _tell(self, address: OwnAddress, look: Look) -> None:
        """Log changes since the last check."""
        if look.finding is not self._last:
            tell = self._log.error if look.finding is Finding.ANOTHER else self._log.info
            reason = {"reason": look.reason} if look.reason else {}
            tell("asked the own address who mints there", url=address.url, answer=look.finding.value, **reason)
        self._last = look.finding

    # The log.

    async def _watch_log(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self._ticks.check_log, self._breathe)
            except LogBroken as error:
                self._log.error("nothing is minted any more", reason=str(error))
                self._refusals["log"] = error
                self.is_open = False
            except _Stopping:
                return
            except IbiError as error:
                self._log.error("the mint log cannot be read", reason=str(error))
            else:
                self._refusals.pop("log", None)
                self.is_open = self._looked.is_set() and not self._refusals
            await self._sleep(_LOG_CHECK)

    def _breathe(self) -> None:
        """Pause, or stop; in the thread that reads the log."""
        if self._is_stopping:
            raise _Stopping
        time.sleep(_BREATH)


class _Stopping(Exception):
    """The server is stopping, and with it the reading of the log."""
