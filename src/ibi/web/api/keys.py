"""`GET /api/keys`: the public keys with which the Archive and the resolver of this server sign (E81, E82).

Short: what they are used for is elsewhere. Public, as what is signed with them is: others compare it with what they
know of this server from elsewhere.
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.services.membership.signers import OwnKeys, key_facts
from ibi.services.promptness import beside
from ibi.services.sites import ArchiveSite, ResolverSite


class KeyPages:
    def __init__(self, archive: ArchiveSite | None, resolver: ResolverSite | None) -> None:
        self._archive, self._resolver = archive, resolver

    def routes(self) -> list[Route]:
        return [Route("/api/keys", self.get)]

    async def get(self, _: Request) -> Response:
        body = await beside(lambda: {"archive": self._archive_facts(), "resolver": self._resolver_facts()})
        return Response(msgspec.json.encode(body), 200, {"cache-control": "no-cache"}, "application/json")

    def _archive_facts(self) -> dict[str, object] | None:
        site = self._archive
        if site is None or site.signing is None:
            return None
        rep, ibip = site.profile.service.rep, site.profile.service.ibip
        names = {"rep": None if rep is None else rep.spelling, "ibip": None if ibip is None else ibip.spelling}
        return {**names, **_facts(site.signing)}

    def _resolver_facts(self) -> dict[str, object] | None:
        site = self._resolver
        return None if site is None or site.signing is None else {"url": site.public_url, **_facts(site.signing)}


def _facts(keys: OwnKeys) -> dict[str, object]:
    return key_facts(keys.ring())
