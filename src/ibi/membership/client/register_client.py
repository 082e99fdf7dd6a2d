"""The client of the signed register of a resolver."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from secrets import token_urlsafe
from ssl import SSLContext
from typing import Final
from urllib.parse import urlencode

import msgspec

from ibi.membership.model.membership import FetchedRegister, OfferedKey, ResolverStanding
from ibi.membership.rules.signed_register import OfferedRegister
from ibi.net.address_guard import NameLookup
from ibi.net.http_connection import HttpResponse
from ibi.net.server_url import ServerUrl
from ibi.net.single_request import SingleRequests, settle
from ibi.standard.errors import InvalidInput
from ibi.standard.messages.signatures import leads_to, read_kept, read_proof
from ibi.standard.reply import Failure
from ibi.standard.signing import LONGEST_STATEMENT, PublicKey

# The URL comes from the settings of this installation, so it may lie in a private network or on this machine. Redirects
# are not followed, and answers have a size limit. The signature decides whether an answer is believed.

_REGISTER_TIMEOUT: Final = 20.0
_JOSE: Final = {"Accept": "application/jose"}
_CHALLENGE_BYTES: Final = 24
_OUT_OF_ORDER: Final = frozenset({502, 503, 504})
_LONGEST_PAGE: Final = 64 * 1024


class _ResolverKeys(msgspec.Struct):
    key: str
    changes: list[str] = []
    proof: str = ""
    run: str = ""


class _KeysAnswer(msgspec.Struct):
    """The answer of `/api/keys`; the members about the Archive are ignored."""

    resolver: _ResolverKeys | None = None


class RegisterClient:
    """Asks a resolver for its register and key. `tls` is for an HTTPS resolver; without it the machine's authorities
    are trusted. `fetch`, `fetch_kept`, `offered_key` and `is_there` never raise an error for the resolver's
    behaviour."""

    def __init__(self, resolver: str, *, names: NameLookup | None = None, tls: SSLContext | None = None) -> None:
        self._server, self._requests = ServerUrl.parse(resolver), SingleRequests(names or NameLookup(), tls)

    async def fetch(self, etag: str | None) -> FetchedRegister:
        fields = _JOSE | ({} if etag is None else {"If-None-Match": etag})
        response = await settle(self._send("/api/register", fields, LONGEST_STATEMENT), _REGISTER_TIMEOUT)
        if not isinstance(response, HttpResponse) or response.status in _OUT_OF_ORDER:
            return FetchedRegister(is_there=False)
        if response.status != 200:
            return FetchedRegister(is_there=True, is_known=response.status == 304)
        return FetchedRegister(is_there=True, statement=response.body.decode("ascii", "replace").strip())

    async def fetch_kept(self) -> OfferedRegister:
        """Return the copy of its resolver's register that an Archive at this address keeps."""
        url = str(self._server)
        challenge = token_urlsafe(_CHALLENGE_BYTES)
        path = f"/api/register/kept?{urlencode({'challenge': challenge})}"
        response = await settle(self._send(path, _JOSE, LONGEST_STATEMENT), _REGISTER_TIMEOUT)
        if not isinstance(response, HttpResponse):
            return OfferedRegister(url, None, "it does not answer")
        if response.status != 200:
            return OfferedRegister(url, None, f"it keeps no register (status {response.status})")
        asked = self._send("/api/register/kept?former=yes", _JOSE, LONGEST_STATEMENT)
        before = await settle(asked, _REGISTER_TIMEOUT)
        former = None
        if isinstance(before, HttpResponse) and before.status == 200:
            former = before.body.decode("ascii", "replace").strip()
        statement = response.body.decode("ascii", "replace").strip()
        return OfferedRegister(url, statement, None, _read_keeper(response, challenge, statement), former)

    async def offered_key(self, known: PublicKey | None, within: float) -> OfferedKey:
        """Return whether the server at the resolver's address proves the `known` key or a named successor of it.
        Without a known key, return the key that it proves. No behaviour of the server raises an error."""
        try:
            return await self.ask_key(known, within)
        except (OSError, ValueError):
            return OfferedKey(ResolverStanding.SILENT)

    async def ask_key(self, known: PublicKey | None, within: float) -> OfferedKey:
        """Do the same as `offered_key`, but raise `OSError` or `ValueError` if there is no connection."""
        challenge = token_urlsafe(_CHALLENGE_BYTES)
        path, fields = f"/api/keys?{urlencode({'challenge': challenge})}", {"Accept": "application/json"}
        async with asyncio.timeout(within):
            response = await self._send(path, fields, _LONGEST_PAGE)
        if not isinstance(response, HttpResponse) or response.status in _OUT_OF_ORDER:
            return OfferedKey(ResolverStanding.SILENT)
        return judge_key(response, challenge, known)

    async def is_there(self, within: float) -> bool:
        """Return whether a server answers at the resolver's address in so many seconds. Any answer counts, because
        other software has no such page."""
        response = await settle(self._send("/healthz", {"Accept": "*/*"}, _LONGEST_PAGE), within)
        return isinstance(response, HttpResponse) and response.status not in _OUT_OF_ORDER

    async def _send(self, path: str, fields: Mapping[str, str], most: int) -> HttpResponse | Failure:
        origin = self._server.origin
        return await self._requests.send(origin, f"{self._server.path}{path}", fields, most=most)


def _read_keeper(response: HttpResponse, challenge: str, statement: str) -> PublicKey | None:
    """Return the key that the Archive proved; None if the proof fails."""
    try:
        return read_kept(response.keys.read_signature() or "", challenge, statement)
    except InvalidInput:
        return None


def judge_key(response: HttpResponse, challenge: str, known: PublicKey | None) -> OfferedKey:
    """Judge an answer to this challenge."""
    try:
        said = msgspec.json.decode(response.body, type=_KeysAnswer).resolver
        if response.status != 200 or said is None:
            return OfferedKey(ResolverStanding.UNPROVEN)
        named, changes = PublicKey.parse(said.key), tuple(said.changes)
        if known is not None and not leads_to(known, named, changes):
            return OfferedKey(ResolverStanding.OTHER_KEY, named, changes)
        if read_proof(said.proof, challenge) == named:
            return OfferedKey(ResolverStanding.THERE, named, changes, said.run)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InvalidInput):
        pass
    return OfferedKey(ResolverStanding.UNPROVEN)
