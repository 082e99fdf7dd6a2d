"""What counts as use: once for each wish of each client, robots apart."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest

from ibi.items.ports.catalog import Catalog
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName, parse
from ibi.standard.messages import Acknowledgment, ContentType, State, UrlKey, ip_addresses
from ibi.standard.messages.identification import LIFETIME, UrlKeys
from ibi.standard.relation import Relation
from ibi.usage.model import Usage, UsageDay, UsageKind, day_of
from ibi.usage.rules.counting import (
    WINDOW,
    Recent,
    counted_acknowledgment,
    counted_download,
    counted_resolution,
    counts_as_download,
)
from tests.support.standards_archives import MTC_M16D, NOW, REPORT

KEYS = UrlKeys(b"s" * 32)
ITEM = MTC_M16D.catalog.find(parse(REPORT))
assert ITEM is not None


def acknowledgment(client: str = "150.163.2.175", random: int = 1) -> Acknowledgment:
    assert ITEM is not None
    key = KEYS.make(KEYS.subject(ITEM.labels, Relation.ITSELF), NOW.seconds, random)
    return Acknowledgment(
        ip_addresses(client),
        ContentType.DATA,
        "http://mtc-m16d.sid.inpe.br/x",
        "http://urlib.net/8JMKD3MGP7W/3EPGUE5",
        UrlKey(key.decode()),
        State.ORIGINAL,
    )


def rep_in(catalog: Catalog) -> Callable[[Label], RepositoryName | None]:
    def rep_of(label: Label) -> RepositoryName | None:
        item = catalog.find(label)
        return None if item is None else item.rep

    return rep_of


def count(given: Acknowledgment, recent: Recent, after: int = 0) -> object:
    return counted_acknowledgment(given, rep_in(MTC_M16D.catalog), KEYS, recent, Instant(NOW.seconds + after))


def test_robots_are_counted_apart() -> None:
    assert ITEM is not None
    recent = Recent()
    given = acknowledgment().for_robot()
    assert count(given, recent) == (UsageDay(ITEM.rep, day_of(NOW)), UsageKind.ROBOT_RESOLUTION)
    assert count(given, recent, 1) is None
    assert count(given.for_clients(ip_addresses("192.0.2.9")), recent) == (
        UsageDay(ITEM.rep, day_of(NOW)),
        UsageKind.ROBOT_RESOLUTION,
    )


def test_an_acknowledgment_counts_for_the_item_and_the_day() -> None:
    assert ITEM is not None
    assert count(acknowledgment(), Recent()) == (UsageDay(ITEM.rep, day_of(NOW)), UsageKind.RESOLUTION)


def test_the_same_key_and_client_count_once_in_thirty_seconds() -> None:
    """E32."""
    recent = Recent()
    outcomes = [count(acknowledgment(), recent, after) is not None for after in (0, 1, WINDOW - 1, WINDOW, WINDOW + 1)]
    assert outcomes == [True, False, False, True, False]


def test_another_client_with_the_same_key_counts_too() -> None:
    recent = Recent()
    assert count(acknowledgment("1.1.1.1"), recent) is not None
    assert count(acknowledgment("2.2.2.2"), recent) is not None
    assert count(acknowledgment("1.1.1.1", random=2), recent) is not None


def test_a_key_that_is_not_ours_or_not_good_any_more_counts_nothing() -> None:
    forged = replace(acknowledgment(), url_key=UrlKey("1426203276-5985125171467764"))
    assert count(forged, Recent()) is None
    assert count(acknowledgment(), Recent(), LIFETIME + 1) is None


def test_an_item_that_is_gone_counts_nothing() -> None:
    from tests.support.archive_catalog import PlainCatalog

    assert counted_acknowledgment(acknowledgment(), rep_in(PlainCatalog()), KEYS, Recent(), NOW) is None


def test_memory_is_bounded_and_forgets() -> None:
    recent = Recent(most=100)
    for number in range(1000):
        assert recent.is_first(number, 0)
        assert len(recent) <= 100
    for later in range(100):
        recent.is_first("later", WINDOW + later)
    assert len(recent) == 1


def test_a_reader_who_comes_after_a_flood_does_not_wait_until_all_of_it_is_forgotten() -> None:
    recent = Recent()
    for number in range(1000):
        recent.is_first(number, 0)
    assert recent.is_first("later", WINDOW)
    assert 900 < len(recent) < 1000
    assert recent.is_first(999, WINDOW), "what is not forgotten yet has no effect any more"
    assert not recent.is_first(999, WINDOW + 1)


def test_a_wish_itself_is_not_kept() -> None:
    """Sixty-four addresses are thousands of bytes, and there may be a hundred thousand such wishes."""
    recent, wish = Recent(), frozenset({"64 addresses"})
    gone = weakref.ref(wish)
    assert recent.is_first(wish, 0)
    del wish
    assert gone() is None
    assert not recent.is_first(frozenset({"64 addresses"}), 1)


def test_one_key_counts_for_many_clients_and_not_for_any_number_of_them() -> None:
    """A resolver shows an answer that it keeps to many readers, but nobody has read it a hundred thousand times."""
    recent = Recent(most_counted=10)
    clients = [f"10.0.{number // 250}.{number % 250}" for number in range(1000)]
    assert sum(count(acknowledgment(client), recent) is not None for client in clients) == 10
    assert count(acknowledgment("192.0.2.1"), recent, 3600) is None, "as long as the key is good"
    assert count(acknowledgment("192.0.2.1", random=2), recent, 3600) is not None


def test_a_double_click_takes_nothing_of_what_a_key_may_count() -> None:
    recent = Recent(most_counted=2)
    outcomes = [count(acknowledgment(client), recent) is not None for client in ("1.1.1.1",) * 5 + ("2.2.2.2",)]
    assert outcomes == [True, False, False, False, False, True]


def test_a_clock_that_is_set_back_does_not_keep_wishes_for_ever() -> None:
    recent = Recent()
    assert recent.is_first("wish", 1_000_000)
    assert recent.is_first("wish", 1_000)


@pytest.mark.parametrize(
    ("method", "status", "first_byte", "counts"),
    [
        ("GET", 200, 0, True),
        ("GET", 206, 0, True),
        ("GET", 206, 1, False),
        ("HEAD", 200, 0, False),
        ("GET", 304, 0, False),
        ("GET", 404, 0, False),
        ("GET", 416, 0, False),
    ],
)
def test_a_download_begins_at_the_first_byte(method: str, status: int, first_byte: int, counts: bool) -> None:
    assert counts_as_download(method, status, first_byte) is counts


def test_downloads_of_robots_are_counted_apart_and_double_clicks_once() -> None:
    assert ITEM is not None
    recent = Recent()
    day = UsageDay(ITEM.rep, day_of(NOW))
    assert counted_download(ITEM, "a", "client", recent, NOW, robot=False) == (day, UsageKind.DOWNLOAD)
    assert counted_download(ITEM, "a", "client", recent, NOW, robot=False) is None
    assert counted_download(ITEM, "b", "client", recent, NOW, robot=True) == (day, UsageKind.ROBOT_DOWNLOAD)


def test_a_resolution_of_our_own_counts_without_an_acknowledgment() -> None:
    assert ITEM is not None
    recent = Recent()
    day = UsageDay(ITEM.rep, day_of(NOW))
    assert counted_resolution(ITEM, "client", recent, NOW, robot=True) == (day, UsageKind.ROBOT_RESOLUTION)
    assert counted_resolution(ITEM, "client", recent, NOW, robot=True) is None
    assert counted_resolution(ITEM, "another", recent, NOW, robot=False) == (day, UsageKind.RESOLUTION)


def test_usage_adds_up() -> None:
    total = sum((Usage.one(kind) for kind in (*UsageKind, UsageKind.DOWNLOAD)), Usage())
    assert total == Usage(1, 2, 1, 1)


def test_a_day_is_one_of_utc() -> None:
    assert ITEM is not None
    assert UsageDay(ITEM.rep, day_of(Instant.parse("2015-03-15T23:59:59Z"))).date == "2015-03-15"
    assert UsageDay(ITEM.rep, day_of(Instant.parse("2015-03-16T00:00:00Z"))).date == "2015-03-16"
