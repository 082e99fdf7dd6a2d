"""A delivery: one signed request, to an address that may be dialled."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ibi.following.client.webhook_sender import HttpWebhookSender
from ibi.following.model.webhook import Delivery, Webhook
from ibi.following.ports.webhooks import GONE
from ibi.net.address_guard import AddressGuard
from tests.support.raw_archive import LOOPBACK, http, never, raw_archive

HOOK = Webhook(id="one", url="", secret=b"s" * 32, created=0, epoch="e", position=0)
DELIVERY = Delivery("msg_e-1", b'{"type":"item.put"}')


def sent(says: Any, *, within: float = 10, networks: Any = (), **members: Any) -> tuple[str | None, list[bytes]]:
    received: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(len(DELIVERY.body)))
        writer.write(says)

    async def run() -> str | None:
        async with raw_archive(talk if isinstance(says, bytes) else says) as archive:
            hook = replace(HOOK, url=f"http://127.0.0.1:{archive.port}/hook?key=1", **members)
            guard = AddressGuard(frozenset({("127.0.0.1", archive.port)}) if says == b"own" else frozenset())
            return await HttpWebhookSender(guard, networks, within=within).send(hook, DELIVERY, 1_800_000_000)

    return asyncio.run(run()), received


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "204 No Content"])
def test_a_delivery_is_taken_by_any_success(status: str) -> None:
    failure, (request,) = sent(http(b"", status=status))
    assert failure is None
    head, _, body = request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /hook?key=1 HTTP/1.1\r\n")
    assert body == DELIVERY.body
    signature = DELIVERY.signed_fields(HOOK.secret, 1_800_000_000)["webhook-signature"].encode()
    for line in (b"webhook-id: msg_e-1", b"webhook-timestamp: 1800000000", b"webhook-signature: " + signature):
        assert line in head.split(b"\r\n")


@pytest.mark.parametrize(
    ("says", "failure"),
    [
        (http(b"", status="500 Oops"), "HTTP status 500"),
        (http(b"", "Location: http://127.0.0.1/", status="307 Temporary Redirect"), "HTTP status 307"),
        (http(b"", status="410 Gone"), GONE),
        (b"nonsense\r\n\r\n", "its answer could not be read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "its answer was too large"),
        (b"own", "its address is that of this server"),
    ],
)
def test_what_is_no_success_is_told(says: bytes, failure: str) -> None:
    assert sent(says)[0] == failure


def test_a_receiver_that_is_silent_is_not_waited_for() -> None:
    assert sent(never, within=0.05)[0] == "no answer within 0.05 seconds"


def test_a_private_address_of_the_api_is_dialled_only_where_the_settings_name_it() -> None:
    failure, received = sent(http(), is_named_by_operator=False)
    assert failure == "its address is one that is not dialled"
    assert received == []
    assert sent(http(), is_named_by_operator=False, networks=LOOPBACK)[0] is None
