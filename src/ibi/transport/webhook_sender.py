"""Delivers webhooks: one signed POST to an address that the address guard lets be dialled.

Private networks are dialled for webhooks that were added on the machine itself, and for others only where the settings
name them. A redirect is no success, and what the receiver answers is not looked at beyond its status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ssl import SSLContext
from typing import Final
from urllib.parse import urlsplit

from ibi.model.visibility import IpNetwork
from ibi.model.webhook import Delivery, Webhook
from ibi.origin import DEFAULT_PORTS, Origin
from ibi.ports.webhooks import GONE
from ibi.resolver.trace import Failure
from ibi.transport.address_guard import OPERATOR_NETWORKS, AddressGuard
from ibi.transport.http_connection import HttpResponse, connection_failure
from ibi.transport.single_request import connect, default_tls, post

_WITHIN: Final = 15.0
"""Seconds for one delivery, as Standard Webhooks recommends."""
_MOST_ANSWER: Final = 256 * 1024
_GONE: Final = 410


class HttpWebhookSender:
    """The port `WebhookSender` over HTTP. For an event loop."""

    def __init__(
        self,
        guard: AddressGuard,
        networks: Sequence[IpNetwork] = (),
        *,
        tls: SSLContext | None = None,
        within: float = _WITHIN,
    ) -> None:
        """`networks` are dialled beside public addresses for webhooks that the API added. `tls` is for HTTPS; without
        it the machine's authorities are trusted."""
        self._guard, self._networks, self._tls, self._within = guard, networks, tls, within

    async def send(self, webhook: Webhook, delivery: Delivery, second: int) -> str | None:
        try:
            async with asyncio.timeout(self._within):
                response = await self._post(webhook, delivery, second)
        except TimeoutError:
            return f"no answer within {self._within:g} seconds"
        except (OSError, ValueError) as error:  # the latter for names that no certificate can have
            return connection_failure(error).value
        if isinstance(response, Failure):
            # A receiver may answer anything, as long as it takes the delivery.
            return response.value
        if response.status == _GONE:
            return GONE
        return None if 200 <= response.status < 300 else f"HTTP status {response.status}"

    async def _post(self, webhook: Webhook, delivery: Delivery, second: int) -> HttpResponse | Failure:
        url, origin = urlsplit(webhook.url), Origin.of_url(webhook.url)
        networks = OPERATOR_NETWORKS if webhook.is_named_by_operator else self._networks
        checked = await self._guard.check_address(origin.authority, DEFAULT_PORTS[origin.scheme], networks)
        if isinstance(checked, Failure):
            return checked
        tls = (self._tls or default_tls()) if origin.scheme == "https" else None
        connection = await connect(checked, _MOST_ANSWER, tls)
        target = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
        fields = delivery.signed_fields(webhook.secret, second)
        return await post(connection, origin.authority, target, delivery.body, fields)
