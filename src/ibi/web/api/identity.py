"""`GET /api/identity`: the minter, its granularity, and whether its clock is trusted. Public."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.minting.minter import MAX_COUNT
from ibi.services.minting.identity_card import identity_card
from ibi.services.minting.mint_queue import MintQueue
from ibi.services.readiness import Readiness, clock_refusal


class IdentityPage:
    def __init__(self, queue: MintQueue, readiness: Readiness) -> None:
        self._queue, self._readiness = queue, readiness

    async def get(self, _: Request) -> Response:
        clock = await self._clock()  # first: it finds out which instance this is
        body = {**self._fixed_facts(), "clock": clock}
        headers = {"cache-control": "no-store"}
        return Response(msgspec.json.encode(body), HTTPStatus.OK, headers, "application/json")

    def _fixed_facts(self) -> dict[str, object]:
        rules = self._queue.rules
        return {
            **identity_card(self._queue.identity, rules, self._readiness.epoch),
            "wait_bound": float(rules.wait_bound),
            "longest_wait": float(rules.patience),
            "max_count": MAX_COUNT,
        }

    async def _clock(self) -> dict[str, object]:
        refusal = clock_refusal(await self._readiness.reasons())
        if refusal is None:
            return {"accepted": True, "code": None, "reason": None}
        return {"accepted": False, "code": refusal.code, "reason": str(refusal)}
