"""One resolver as the web serves it: what resolves, how it calls itself, and whom it thanks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from ibi.model.visibility import IpNetwork
from ibi.ports.beliefs import Beliefs
from ibi.services.membership.registration_admin import RegistrationAdmin
from ibi.services.resolving.acknowledgments import Acknowledgments
from ibi.services.resolving.resolver_service import ResolverService

_PORTS: Final = {"http": "80", "https": "443"}


async def _nothing_to_close() -> None:
    """For a resolver that speaks to nobody outside this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverSite:
    """All that the resolver's pages need. URLs are settings: what a request calls this host is not believed.

    `desk` keeps its register of Archives; without one none can be included. `beliefs` tell of false claims. `close`
    ends what `resolving` goes through. `proxies` are the networks whose word on who their client is counts.
    """

    resolving: ResolverService
    acknowledgments: Acknowledgments
    public_url: str
    desk: RegistrationAdmin | None = None
    beliefs: Beliefs | None = None
    proxies: tuple[IpNetwork, ...] = ()
    close: Callable[[], Awaitable[None]] = _nothing_to_close
    base: str = field(init=False)
    """Where persistent URLs begin as acknowledgments write them: with the port (E26)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        scheme, _, rest = self.public_url.partition("://")
        authority, slash, path = rest.partition("/")
        if not authority.rpartition("]")[2].rpartition(":")[2].isdigit():
            authority += f":{_PORTS[scheme.lower()]}"
        object.__setattr__(self, "base", f"{scheme}://{authority}{slash}{path}/")

    def start(self) -> None:
        """Begin what is done beside requests; on the event loop."""
        if self.desk is not None:
            self.desk.start()

    async def stop(self) -> None:
        """Let thanks go out that are due, and hang up."""
        await self.acknowledgments.drain()
        if self.desk is not None:
            await self.desk.close()
        await self.close()
