"""What is sent to webhooks, and what a webhook may be."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest

from ibi.following.model.webhook import (
    Delivery,
    Webhook,
    change_delivery,
    read_webhook_kinds,
    read_webhook_prefix,
    read_webhook_url,
    restart_delivery,
    retry_seconds,
    shown_secret,
    shown_url,
)
from ibi.items.model.change import ChangeKind, ItemChange
from ibi.standard.errors import InvalidInput

CHANGE = ItemChange(7, "lab.br/arq/2009/07.21.14.43", ChangeKind.DELETED, "2026-01-01T00:00:00Z", 2, 1_800_000_000)
HOOK = Webhook(id="one", url="https://a.example", secret=b"s" * 32, created=0, epoch="e", position=0)


def test_a_signature_is_that_of_the_example_of_standard_webhooks() -> None:
    """The values of the reference libraries' tests: github.com/standard-webhooks/standard-webhooks."""
    secret = b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    delivery = Delivery("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    fields = delivery.signed_fields(secret, 1614265330)
    assert fields["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert fields["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert fields["webhook-timestamp"] == "1614265330"


def test_a_receiver_checks_a_delivery_with_the_secret_that_was_shown() -> None:
    delivery = change_delivery("x/y/2008/03.17.15.17", "http://a/api", "e", CHANGE, "2026-01-01T00:00:00Z")
    fields = delivery.signed_fields(HOOK.secret, 5)
    key = b64decode(shown_secret(HOOK.secret).removeprefix("whsec_"))
    expected = hmac.new(key, f"{fields['webhook-id']}.5.".encode() + delivery.body, sha256).digest()
    assert fields["webhook-signature"] == f"v1,{b64encode(expected).decode()}"


def test_a_delivery_tells_one_change_under_an_id_that_stays_the_same() -> None:
    one, again = (change_delivery("svc", "http://a/x", "e", CHANGE, "2026-01-01T00:00:00Z") for _ in range(2))
    assert one == again
    assert one.id == "msg_e-7"
    assert json.loads(one.body) == {
        "type": "item.deleted",
        "timestamp": "2026-01-01T00:00:00Z",
        "data": {
            "archive": "svc",
            "epoch": "e",
            "number": 7,
            "label": CHANGE.label,
            "kind": "deleted",
            "at": "2026-01-01T00:00:00Z",
            "version": 2,
            "url": "http://a/x",
        },
    }
    assert json.loads(restart_delivery("svc", "http://a/c", "f", 3, "t").body)["type"] == "feed.restarted"


def test_a_webhook_wants_its_prefix_and_kinds_alone() -> None:
    assert HOOK.wants(CHANGE)
    for prefix, kinds, wanted in [
        ("lab.br/arq", (), True),
        ("lab.br/other", (), False),
        (None, ("put",), False),
        (None, ("put", "deleted"), True),
    ]:
        hook = Webhook(
            id="one",
            url="https://a.example",
            secret=b"s",
            created=0,
            epoch="e",
            position=0,
            prefix=read_webhook_prefix(prefix),
            kinds=read_webhook_kinds(kinds),
        )
        assert hook.wants(CHANGE) is wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://a.example",
        "https://",
        "https://u:pw@a.example",
        "https://a.example/ x",
        "https://a.example/#f",
        "x" * 9,
    ],
)
def test_what_is_no_address_is_refused_without_repeating_a_password(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_webhook_url(text)
    assert "pw" not in str(refused.value)


def test_kinds_that_there_are_not_are_refused() -> None:
    with pytest.raises(InvalidInput, match="put, deleted, removed, moved"):
        read_webhook_kinds(("gone",))


def test_the_wait_doubles_up_to_an_hour() -> None:
    assert [retry_seconds(number) for number in (0, 1, 2, 30)] == [5, 10, 20, 3600]


def test_neither_a_secret_nor_a_query_is_shown() -> None:
    assert "ssss" not in repr(HOOK)
    assert shown_url("https://a.example/x?key=1") == "https://a.example/x?…"
