"""E32, the Archive's side: what may be kept by others and for how long, and what is counted."""

from __future__ import annotations

import pytest

from ibi.archive.rules.answer import StaticAnswer, static_answer
from ibi.items.model.visibility import Visibility
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import Acknowledgment, ContentType, State, UrlKey, ip_addresses, parse_request
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.networks import network
from ibi.usage.rules.counting import Recent
from tests.support.archive_catalog import PlainCatalog
from tests.support.flat_items import replace
from tests.support.standards_archives import MTC_M16D, NOW, REPORT

KEYS = UrlKeys(b"s" * 32)


def answer(visibility: Visibility, modifier: str = "") -> StaticAnswer:
    item = MTC_M16D.catalog.find(parse(REPORT))
    assert item is not None
    catalog = PlainCatalog(replace(item, visibility=visibility, metadata_item=None))
    return static_answer(MTC_M16D.profile, catalog, MTC_M16D.request(REPORT, modifier), NOW, KEYS)


def test_an_answer_for_every_reader_may_be_kept() -> None:
    assert answer(Visibility.PUBLIC).max_age(NOW, 300) == 300


@pytest.mark.parametrize("allowed", ["150.163.0.0/16", "10.0.0.0/8"])
def test_an_answer_that_depends_on_the_clients_address_may_not(allowed: str) -> None:
    assert answer(Visibility((network(allowed),))).max_age(NOW, 300) == 0


def test_an_answer_about_metadata_of_a_restricted_item_may_be_kept() -> None:
    assert answer(Visibility((network("10.0.0.0/8"),)), ":").max_age(NOW, 300) == 300


def test_an_answer_is_not_kept_beyond_the_end_of_an_embargo() -> None:
    ends = Instant(NOW.seconds + 100)
    assert answer(Visibility(embargo=ends)).max_age(NOW, 300) == 100
    assert answer(Visibility(embargo=ends)).max_age(NOW, 50) == 50
    assert answer(Visibility(embargo=NOW)).max_age(NOW, 300) == 300
    assert answer(Visibility(embargo=ends)).max_age(Instant(NOW.seconds, "5"), 300) == 99


def test_a_key_and_a_client_count_once_in_thirty_seconds() -> None:
    recent = Recent()
    assert [recent.is_first(("key", "client"), second) for second in (0, 29, 30, 59, 60)] == [
        True,
        False,
        True,
        False,
        True,
    ]
    assert recent.is_first(("key", "another"), 60)


@pytest.mark.parametrize(
    ("pair", "is_robot"),
    [("", False), ("&clientinformation.robot=yes", True), ("&clientinformation.robot=perhaps", False)],
)
def test_what_a_resolver_says_of_robots_is_an_extra_pair(pair: str, is_robot: bool) -> None:
    person = Acknowledgment(
        ip_addresses("150.163.2.175"),
        ContentType.DATA,
        "http://host/x",
        "http://urlib.net/LK47B6W/362SFKH",
        UrlKey("1424636122"),
        State.COPY,
    )
    read = parse_request(person.to_query() + pair)
    assert isinstance(read, Acknowledgment)
    assert read == (person.for_robot() if is_robot else person)
    # Of people it says what R Table 8.11 has, and nothing else.
    assert "robot" not in person.to_query()
