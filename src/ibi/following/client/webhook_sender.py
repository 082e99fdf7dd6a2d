"""Deliveries to webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from ssl import SSLContext
from typing import Final

from ibi.following.model.webhook import Delivery, Webhook
from ibi.following.ports.webhooks import GONE
from ibi.net.address_guard import OPERATOR_NETWORKS, AddressGuard
from ibi.net.server_url import request_target
from ibi.net.single_request import SingleRequests, settle
from ibi.standard.networks import IpNetwork
from ibi.standard.origin import Origin
from ibi.standard.reply import Failure

# Webhooks that were added on the machine itself may go to private networks; others only if the settings name the
# network. A redirect is no success. Of the receiver's answer only the status counts.

_WITHIN: Final = 15.0
"""Seconds for one delivery, as Standard Webhooks recommends."""
_MOST_RECEIPT: Final = 256 * 1024
_GONE: Final = 410


class HttpWebhookSender:
    """Implements the port `WebhookSender` over HTTP, for an event loop."""

    def __init__(
        self,
        guard: AddressGuard,
        networks: Sequence[IpNetwork] = (),
        *,
        tls: SSLContext | None = None,
        within: float = _WITHIN,
    ) -> None:
        """`networks` are allowed beside public addresses for webhooks that were added over the API. `tls` is for HTTPS;
        without it the machine's authorities are trusted."""
        self._requests, self._networks, self._within = SingleRequests(guard, tls), networks, within

    async def send(self, webhook: Webhook, delivery: Delivery, second: int) -> str | None:
        origin = Origin.of_url(webhook.url)
        request = self._requests.send(
            origin,
            request_target(webhook.url),
            delivery.signed_fields(webhook.secret, second),
            most=_MOST_RECEIPT,
            networks=OPERATOR_NETWORKS if webhook.is_named_by_operator else self._networks,
            body=delivery.body,
        )
        response = await settle(request, self._within)
        if response is Failure.TIMED_OUT:
            return f"no answer within {self._within:g} seconds"
        if isinstance(response, Failure):
            # A receiver may answer anything, as long as it takes the delivery.
            return response.value
        if response.status == _GONE:
            return GONE
        return None if 200 <= response.status < 300 else f"HTTP status {response.status}"
