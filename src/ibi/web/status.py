"""The state of the server: health, readiness, the minter's identity, the Archive, and its use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Final

from msgspec import UNSET, structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.jobs.promptness import beside
from ibi.membership.service.signers import OwnKeys, signing_keys
from ibi.minting.resources import (
    IdentityResource,
    KeysOfArchive,
    KeysOfResolver,
    KeysResource,
    MinterClock,
    MinterIdentity,
    PartOfReadiness,
    ReadinessResource,
    ReadyNotice,
    UnreadyReason,
)
from ibi.minting.rules.minter import MAX_COUNT
from ibi.minting.service.queue import MintQueue
from ibi.people.model.account import Scope
from ibi.standard.errors import IbiError, InvalidLabel
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import LONGEST_WORD, sign_proof
from ibi.usage.ports import UsageLog
from ibi.usage.resources import ItemUsage, UsageTotals
from ibi.web.authentication import Callers
from ibi.web.body import JSON, NO_STORE, short_json
from ibi.web.errors import UNTOLD, retry_after
from ibi.web.readiness import Readiness, clock_refusal
from ibi.web.request import by_method
from ibi.web.request_errors import InvalidParameter, PathNotFound, check_parameters
from ibi.web.sites import ArchiveDoubt, ItemServices, ResolverSite


async def healthz(_: Request) -> Response:
    return Response(b'{"status":"alive"}', HTTPStatus.OK, NO_STORE, JSON)


class HealthPage:
    def __init__(
        self,
        readiness: Readiness,
        find_doubt: Callable[[], ArchiveDoubt | None],
        notices: Sequence[Callable[[], Awaitable[ReadyNotice | None]]],
    ) -> None:
        self._readiness, self._find_doubt, self._find_notices = readiness, find_doubt, notices

    async def readyz(self, request: Request) -> Response:
        """Return the readiness.

        A server with an Archive in doubt is ready and reports the doubt: it answers readers and takes new items. With
        `?verbose`, the answer has all checks and notices.
        """
        reasons = await self._readiness.reasons()
        doubt = self._find_doubt()
        said = ReadinessResource(ready=True, reasons=[])
        if doubt is not None:
            said = structs.replace(said, in_doubt=doubt.in_doubt, unheard=doubt.unheard)
        if "verbose" in request.query_params:
            notices = await self._notices(in_doubt=doubt is not None)
            said = structs.replace(said, checks=await self._checks(), notices=notices)
        return not_ready(reasons, said) if reasons else short_json(said)

    async def _checks(self) -> list[PartOfReadiness]:
        parts = await self._readiness.parts()
        return [PartOfReadiness(each.name, not each.errors, [one.code for one in each.errors]) for each in parts]

    async def _notices(self, *, in_doubt: bool) -> list[ReadyNotice]:
        found = [notice for find in self._find_notices if (notice := await find()) is not None]
        if in_doubt:
            detail = "This Archive may have been put back from a backup, and hears others first."
            found.append(ReadyNotice("in-doubt", "restored", detail))
        return found


_SILENT: Final = ReadinessResource(ready=True, reasons=[])


def not_ready(reasons: Sequence[IbiError], said: ReadinessResource = _SILENT) -> Response:
    """Return the answer of a server that is not ready, with the other facts in `said`."""
    body = structs.replace(said, ready=False, reasons=[_reason(each) for each in reasons])
    wait = min(retry_after(each) for each in reasons)
    headers = {**NO_STORE, "retry-after": str(wait)}
    return short_json(body, HTTPStatus.SERVICE_UNAVAILABLE, headers)


def _reason(error: IbiError) -> UnreadyReason:
    """Return one reason. A message about this machine's files goes to the log only."""
    detail = str(error) if error.kind.is_told else UNTOLD
    return UnreadyReason(error.code, detail, retry_after(error))


class IdentityPage:
    def __init__(self, queue: MintQueue, readiness: Readiness) -> None:
        self._queue, self._readiness = queue, readiness

    async def get(self, _: Request) -> Response:
        clock = await self._clock()  # first: it finds out which instance this is
        rules = self._queue.rules
        identity = MinterIdentity.of(self._queue.identity, rules, self._readiness.epoch)
        return short_json(
            IdentityResource(
                **structs.asdict(identity),
                wait_bound=float(rules.wait_bound),
                longest_wait=float(rules.patience),
                max_count=MAX_COUNT,
                clock=clock,
            )
        )

    async def _clock(self) -> MinterClock:
        refusal = clock_refusal(await self._readiness.reasons())
        if refusal is None:
            return MinterClock(accepted=True, code=None, reason=None)
        return MinterClock(accepted=False, code=refusal.code, reason=str(refusal))


MOST_TOTALS: Final = 10_000
"""Number of items in one answer."""


class StandingPage:
    """The endpoint of the state of the Archive."""

    def __init__(self, callers: Callers, services: ItemServices | None) -> None:
        self._callers, self._site, self._services = callers, callers.site, services

    def routes(self) -> list[Route]:
        return [Route("/api/archive", by_method(GET=self.get), methods=["GET"])]

    async def get(self, request: Request) -> Response:
        await self._callers.token(request, Scope.READ)
        site, service = self._site, self._site.profile.service
        standing = {} if self._services is None else await self._callers.run_short(self._services.standing)
        doubt = site.find_doubt()
        return short_json(
            {
                "begun": True,
                "rep": None if service.rep is None else service.rep.spelling,
                "ibip": None if service.ibip is None else service.ibip.spelling,
                "public_url": site.public_url,
                "content_url": site.content_url,
                "resolver": site.resolver,
                **standing,
                "in_doubt": None if doubt is None else doubt.in_doubt,
                "unheard": [] if doubt is None else doubt.unheard,
            }
        )


class UseTotalsPage:
    """The endpoint of the use of all items."""

    def __init__(self, callers: Callers, usage: UsageLog | None) -> None:
        self._callers, self._site, self._usage = callers, callers.site, usage

    def routes(self) -> list[Route]:
        return [Route("/api/usage", by_method(GET=self.get), methods=["GET"])]

    async def get(self, request: Request) -> Response:
        """Return the use of every item that was used, by repository name, a page at a time."""
        await self._callers.token(request, Scope.READ)
        log, after = self._usage, _after(request)
        if log is None:
            raise PathNotFound()
        found = await self._callers.run_short(
            lambda: list(
                islice(((rep, usage) for rep, usage in log.totals() if after is None or rep > after), MOST_TOTALS + 1)
            )
        )
        items = [ItemUsage.of(rep.spelling, usage) for rep, usage in found[:MOST_TOTALS]]
        links = {"self": f"{self._site.public_url}/api/usage"}
        if len(found) > MOST_TOTALS:
            links["next"] = f"{links['self']}?after={found[MOST_TOTALS - 1][0].spelling}"
        return short_json(UsageTotals(items=items, links=links))


def _after(request: Request) -> RepositoryName | None:
    check_parameters(request.query_params, ("after",))
    text = request.query_params.get("after")
    try:
        return None if text is None else RepositoryName.parse(text)
    except InvalidLabel as error:
        raise InvalidParameter(field="after", reason=str(error).rstrip(".")) from None


class KeyPages:
    def __init__(self, archive: tuple[LabelForms, OwnKeys] | None, resolver: ResolverSite | None, run: str) -> None:
        """`archive` is the service of the Archive, with its keys. `run` names the run of the resolver."""
        self._archive, self._resolver, self._run = archive, resolver, run

    def routes(self) -> list[Route]:
        return [Route("/api/keys", self.get)]

    async def get(self, request: Request) -> Response:
        check_parameters(request.query_params, ("challenge",))
        challenge = request.query_params.get("challenge")
        if challenge is not None and not 0 < len(challenge) <= LONGEST_WORD:
            raise InvalidParameter(field="challenge", reason=f"it has 1 to {LONGEST_WORD} characters")
        body = await beside(lambda: KeysResource(self._archive_keys(), self._resolver_keys(challenge)))
        return short_json(body, headers={"cache-control": "no-cache"})

    def _archive_keys(self) -> KeysOfArchive | None:
        if self._archive is None:
            return None
        service, signing = self._archive
        return KeysOfArchive(
            **structs.asdict(signing_keys(signing.ring())),
            rep=None if service.rep is None else service.rep.spelling,
            ibip=None if service.ibip is None else service.ibip.spelling,
        )

    def _resolver_keys(self, challenge: str | None) -> KeysOfResolver | None:
        site = self._resolver
        if site is None or site.signing is None:
            return None
        ring = site.signing.ring()
        proof = UNSET if challenge is None else sign_proof(challenge, ring.key)
        return KeysOfResolver(**structs.asdict(signing_keys(ring)), url=site.public_url, proof=proof, run=self._run)
