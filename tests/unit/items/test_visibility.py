"""Who may see the bytes, from where and from when on."""

from __future__ import annotations

import pytest

from ibi.archive.rules.profile import Reader
from ibi.items.model.visibility import Visibility
from ibi.standard.document_errors import InvalidNetwork
from ibi.standard.instant import Instant
from ibi.standard.messages import ip_addresses
from ibi.standard.networks import network

NOW, BEFORE = Instant(1_600_000_000), Instant(1_599_999_999, "999")
CLOSED = Visibility((network("150.163.0.0/16"), network("2001:db8::/32")))


@pytest.mark.parametrize(
    ("client", "inside"),
    [
        ("150.163.2.175", True),
        ("150.164.0.1", False),
        ("2001:db8::1", True),
        ("2001:db9::1", False),
        ("::ffff:150.163.2.175", True),
        ("172.16.44.200 150.163.68.1", True),
    ],
)
def test_a_client_is_inside_with_any_of_its_addresses(client: str, inside: bool) -> None:
    assert CLOSED.is_open_to(ip_addresses(client), NOW) is inside
    reader = Reader(ip_addresses(client), NOW)
    assert reader.may_see(CLOSED) is inside
    assert reader.depends_on_client


def test_an_embargo_holds_for_every_reader_until_its_very_moment() -> None:
    closed = Visibility(CLOSED.networks, NOW)
    for client in ("150.163.2.175", "8.8.8.8"):
        reader = Reader(ip_addresses(client), BEFORE)
        assert not reader.may_see(closed)
        assert (reader.good_until, reader.depends_on_client) == (NOW, False)
    assert closed.is_open_to(ip_addresses("150.163.2.175"), NOW)


def test_what_is_public_is_for_all_readers() -> None:
    reader = Reader(ip_addresses("8.8.8.8"), NOW)
    assert reader.may_see(Visibility.PUBLIC)
    assert (reader.good_until, reader.depends_on_client) == (None, False)


@pytest.mark.parametrize(
    "text", ["", "150.163", "150.163.0.1/16", "host.br", "1.2.3.4/33", "::1%eth0", "::ffff:1.2.0.0/112"]
)
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(InvalidNetwork):
        network(text)


# --- more visible than before -----------------------------------------------------------------------------------------

SOON, LATER = Instant(NOW.seconds + 60), Instant(NOW.seconds + 120)


def seen_from(*networks: str, embargo: Instant | None = None, listing: bool = True) -> Visibility:
    return Visibility(tuple(map(network, networks)), embargo, listing)


@pytest.mark.parametrize(
    ("before", "after", "shows_more"),
    [
        (seen_from(), seen_from(), False),
        (seen_from(), seen_from("10.0.0.0/8", embargo=SOON, listing=False), False),
        (seen_from("10.0.0.0/8"), seen_from(), True),
        (seen_from("10.0.0.0/8"), seen_from("10.1.0.0/16", "10.2.3.4"), False),
        (seen_from("10.0.0.0/8"), seen_from("10.0.0.0/7"), True),
        (seen_from("10.0.0.0/8"), seen_from("10.1.0.0/16", "2001:db8::/32"), True),
        (seen_from("10.0.0.0/9", "10.128.0.0/9"), seen_from("10.0.0.0/8"), False),
        (seen_from("2001:db8::/33", "2001:db8:8000::/33", "10.0.0.0/8"), seen_from("2001:db8::/32"), False),
        (seen_from(embargo=LATER), seen_from(embargo=LATER), False),
        (seen_from(embargo=SOON), seen_from(embargo=LATER), False),
        (seen_from(embargo=LATER), seen_from(embargo=SOON), True),
        (seen_from(embargo=LATER), seen_from(), True),
        (seen_from(embargo=LATER), seen_from("10.0.0.0/8"), True),
        (seen_from(embargo=NOW), seen_from(), False),
        (seen_from(listing=False), seen_from(), True),
        (seen_from(listing=False), seen_from(listing=False), False),
    ],
)
def test_more_visible_is_what_some_reader_sees_more_of(
    before: Visibility, after: Visibility, *, shows_more: bool
) -> None:
    assert after.shows_more_than(before, NOW) is shows_more
