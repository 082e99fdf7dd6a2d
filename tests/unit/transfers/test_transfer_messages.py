"""What an offer may hold: any server can send one, and it is kept until a librarian answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ibi.net.server_url import ServerUrl
from ibi.standard.label import RepositoryName
from ibi.standard.signing import InvalidStatement, SigningKey
from ibi.transfers.rules.transfer_messages import Offer, read_offer, sign_offer
from tests.support.deposit_samples import labels

KEY = SigningKey(b"k" * 32)
GIVER = RepositoryName.parse("a.example/ibi/2020/01.01.00.00")
OFFER = Offer(labels(0), 1, GIVER, "http://a.example", "http://b.example", "0" * 128, 5)


@pytest.mark.parametrize(
    "change",
    [
        {"number": 0},
        {"number": 65},
        {"number": 1 << 70},
        {"begun": -1},
        {"begun": 1 << 63},
        {"token": "t" * 257},
        {"manifest": ""},
        {"manifest": "0" * 129},
        {"manifest": "x" * 128},
        {"to": "http://" + "b" * 2000},
        {"url": "http://a.example/" + "a" * 2000},
        {"acceptance": "a" * 8193},
    ],
)
def test_members_are_bounded(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidStatement):
        read_offer(sign_offer(replace(OFFER, **change), KEY))


@pytest.mark.parametrize("change", [{}, {"token": "t" * 256}, {"url": "https://[::1]:8765/"}, {"number": 64}])
def test_what_is_in_bounds_is_read(change: dict[str, Any]) -> None:
    offer, signer = read_offer(sign_offer(replace(OFFER, **change), KEY))
    assert signer == KEY.public
    ServerUrl.parse(offer.url)


@pytest.mark.parametrize(
    "url",
    [
        "http://x/?y",
        "http://x#y",
        "http://[::1",
        "http://x:99999",
        "http://x:y",
        "http://",
        "http:///x",
        "http://u:p@x",
        "http://x y",
        "http://x\n",
        "http://é.example",
        "ftp://x",
        "",
        "http://" + "x" * 400,
    ],
)
def test_an_address_that_no_server_can_have_is_refused(url: str) -> None:
    with pytest.raises(InvalidStatement):
        read_offer(sign_offer(replace(OFFER, url=url), KEY))
