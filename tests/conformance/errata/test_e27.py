"""E27: the order of request pairs differs between examples: written sorted by name, compared as sets."""

from __future__ import annotations

from itertools import permutations

from ibi.standard.messages import parse_request

PAIRS = [
    "clientinformation.ipaddress=150.163.2.175",
    "parsedibiurl.filepath=/x",
    "parsedibiurl.ibi=LK47B6W/362SFKH",
    "parsedibiurl.verblist=GetLastEdition",
    "servicesubject=urlRequest",
]


def test_every_order_is_the_same_request() -> None:
    assert {parse_request("&".join(order)) for order in permutations(PAIRS)} == {parse_request("&".join(PAIRS))}


def test_the_pairs_are_written_in_the_order_of_their_names() -> None:
    assert parse_request("&".join(reversed(PAIRS))).to_query() == "&".join(PAIRS)


def test_a_name_comes_before_a_longer_one_that_begins_with_it() -> None:
    acknowledgment = (
        "clientinformation.ipaddress=150.163.2.175&contenttype=Data&servicesubject=acknowledgment&state=Copy&"
        "url=http://host/x&url.persistent=http://urlib.net/LK47B6W/362SFKH&urlkey=1424636122"
    )
    assert parse_request(acknowledgment).to_query() == acknowledgment
