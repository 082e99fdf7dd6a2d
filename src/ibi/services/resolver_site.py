"""The context of a resolver's endpoints: its service, its URLs, and its acknowledgments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from ibi.model.visibility import IpNetwork
from ibi.origin import Origin
from ibi.ports.registry import Beliefs
from ibi.services.membership.registration_admin import RegistrationAdmin
from ibi.services.resolving.acknowledgments import Acknowledgments
from ibi.services.resolving.resolver_service import ResolverService


async def _nothing_to_close() -> None:
    """Default for a resolver that has no connections outside this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverSite:
    """All that the resolver's endpoints need. URLs come from the settings, never from a request's Host header.

    `registrations` keep the register of Archives; without them none can be included. `beliefs` know false claims.
    `close` ends the connections of `resolving`. `proxies` are the networks that are trusted to name their client.
    """

    resolving: ResolverService
    acknowledgments: Acknowledgments
    public_url: str
    registrations: RegistrationAdmin | None = None
    beliefs: Beliefs | None = None
    proxies: tuple[IpNetwork, ...] = ()
    close: Callable[[], Awaitable[None]] = _nothing_to_close
    base: str = field(init=False)
    """The beginning of persistent URLs in acknowledgments: with the port (E26)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        origin = Origin.of_url(self.public_url)
        path = self.public_url.partition("://")[2].partition("/")[1:]
        object.__setattr__(self, "base", f"{replace(origin, port=origin.effective_port)}{''.join(path)}/")

    def start(self) -> None:
        """Start the background work; on the event loop."""
        if self.registrations is not None:
            self.registrations.start()

    async def stop(self) -> None:
        """Send the acknowledgments that are due, and close the connections."""
        await self.acknowledgments.drain()
        if self.registrations is not None:
            await self.registrations.close()
        await self.close()
