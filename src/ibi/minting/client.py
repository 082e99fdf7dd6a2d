"""Ask the installation's public address which minter answers there, to detect another instance behind it.

The address comes from the settings of this installation, never from another party. It may lie in a private network or
on this machine. Link-local addresses, among them the metadata services of clouds, are refused as for every other
request. Nothing secret is sent, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Final

from ibi.net.address_guard import OPERATOR_NETWORKS, AddressGuard
from ibi.net.http_connection import HttpResponse
from ibi.net.server_url import ServerUrl
from ibi.net.single_request import SingleRequests
from ibi.standard.errors import IbiError
from ibi.standard.reply import Failure

PATIENCE: Final = 2.0
"""Seconds for the DNS lookup, the connection and the answer together."""

_PATH: Final = "/api/identity"
_MOST_BODY: Final = 64 * 1024
_OK: Final = 200


class NoIdentity(IbiError):
    """{url} does not say who mints there: {reason}."""

    code = "no-identity"


async def ask_identity(url: str, within: float = PATIENCE) -> Mapping[str, object]:
    """Return the server's statement about its minter. Raise `NoIdentity` if there is no valid one within that time."""
    server = ServerUrl.parse(url)
    try:
        async with asyncio.timeout(within):
            response = await _ask(server)
    except TimeoutError:
        raise NoIdentity(url=url, reason=f"no answer within {within:g} seconds") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no certificate can have
        raise NoIdentity(url=url, reason=getattr(error, "strerror", None) or type(error).__name__) from None
    if isinstance(response, Failure):
        raise NoIdentity(url=url, reason=response.value)
    if response.status != _OK:
        raise NoIdentity(url=url, reason=f"it answers with status {response.status}")
    return _identity_in(response.body, url)


def _identity_in(body: bytes, url: str) -> Mapping[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("prefixes"), dict):
        raise NoIdentity(url=url, reason="it answers with something else")
    return found


async def _ask(server: ServerUrl) -> HttpResponse | Failure:
    return await SingleRequests(AddressGuard()).send(
        server.origin,
        f"{server.path}{_PATH}",
        {"Accept": "application/json"},
        most=_MOST_BODY,
        networks=OPERATOR_NETWORKS,
    )
