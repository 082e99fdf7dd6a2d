"""The application that resolves links while the resolver is away."""

from __future__ import annotations

from starlette.types import ASGIApp

from ibi.web.sites import StandbySite


class Standby:
    """The application that replaces the resolver, and whether it is needed."""

    def __init__(self, site: StandbySite, app: ASGIApp) -> None:
        self._site, self.app = site, app

    async def is_needed(self) -> bool:
        return await self._site.is_needed()
