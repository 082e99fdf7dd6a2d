"""Links that an Archive would leave to its resolver, and resolves itself while that is away (E94).

Short: `ibi.services.resolving.standby` decides when, and the resolver's own application answers.
"""

from __future__ import annotations

from starlette.types import ASGIApp

from ibi.services.sites import StandbySite


class Standby:
    """The application in the place of the resolver, and whether it is needed."""

    def __init__(self, site: StandbySite, app: ASGIApp) -> None:
        self._site, self.app = site, app

    async def is_needed(self) -> bool:
        return await self._site.is_needed()
