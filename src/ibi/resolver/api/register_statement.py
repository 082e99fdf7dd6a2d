"""The signed register of a resolver, as it is published and as an Archive keeps it."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.membership.rules.signed_register import etag_of
from ibi.membership.service.signers import OwnKeys
from ibi.resolver.service.register_publication import RegisterPublication
from ibi.resolver.service.standby import KeptRegister
from ibi.standard.messages.holders import SIGNATURE
from ibi.standard.messages.signatures import LONGEST_WORD, sign_kept
from ibi.web.preconditions import is_tag_known
from ibi.web.request_errors import PathNotFound

PATH: Final = "/api/register"
MEDIA_TYPE: Final = "application/jose"


class RegisterStatementPage:
    """`/api/register`: the register of the resolver as a signed statement, for Archives that resolve without it
    (E94)."""

    def __init__(self, publication: RegisterPublication) -> None:
        self._publication = publication

    def routes(self) -> list[Route]:
        return [Route(PATH, self.get)]

    async def get(self, request: Request) -> Response:
        text, etag = await asyncio.to_thread(self._publication.current)
        headers = {"etag": etag, "cache-control": "no-cache"}
        if is_tag_known(request.headers.raw, etag):
            return Response(None, 304, headers)
        return Response(text, 200, headers, MEDIA_TYPE)


KEPT_PATH: Final = f"{PATH}/kept"


class KeptRegisterPage:
    """`/api/register/kept`: the register that this server keeps of its resolver. A lost register is recovered from it
    (E94)."""

    def __init__(self, register: KeptRegister | None, signing: OwnKeys | None = None) -> None:
        """`signing` is the key of the Archive that keeps the register. A challenge makes it prove that key."""
        self._register, self._signing = register, signing

    def routes(self) -> list[Route]:
        return [Route(KEPT_PATH, self.get)]

    async def get(self, request: Request) -> Response:
        text = await self._read(is_former=request.query_params.get("former", "") == "yes")
        if text is None:
            raise PathNotFound()
        headers = {"etag": etag_of(text), "cache-control": "no-cache"}
        challenge, signing = request.query_params.get("challenge", ""), self._signing
        if 0 < len(challenge) <= LONGEST_WORD and signing is not None:
            key = (await asyncio.to_thread(signing.ring)).key
            headers[SIGNATURE.decode()] = sign_kept(challenge, text, key)
        if is_tag_known(request.headers.raw, headers["etag"]):
            return Response(None, 304, headers)
        return Response(text, 200, headers, MEDIA_TYPE)

    async def _read(self, *, is_former: bool) -> str | None:
        register = self._register
        if register is None:
            return None
        if is_former:
            return await asyncio.to_thread(register.read_former)
        return None if register.register is None else register.register.text
