"""E13: R Table 8.1 allows a query two pairs; any number is read."""

from __future__ import annotations

import pytest

from ibi.standard.persistent_url import PersistentUrl

ITEM = "/8JMKD3MGP8W/35MME4E"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_a_query_has_any_number_of_pairs_and_their_order_is_kept(count: int) -> None:
    pairs = tuple((f"name{number}", str(number)) for number in range(count))
    query = "&".join(f"{name}={value}" for name, value in pairs)
    url = PersistentUrl.parse(f"{ITEM}?{query}")
    assert url.query == pairs
    assert url.query_string == query


def test_pairs_for_the_resolver_may_stand_anywhere_among_them() -> None:
    query = "a=1&ibiurl.verblist=GetMetadata&b=2&ibiurl.requireditemstatus=Original&c=3"
    url = PersistentUrl.parse(f"{ITEM}?{query}")
    assert (url.relation.modifier, url.required_original) == (":", True)
    assert url.query_string == "a=1&b=2&c=3"


def test_a_name_may_be_repeated_if_it_is_the_items_own() -> None:
    assert PersistentUrl.parse(f"{ITEM}?a=1&a=2").query == (("a", "1"), ("a", "2"))


def test_a_value_may_hold_an_equals_sign_and_a_name_may_have_no_value() -> None:
    url = PersistentUrl.parse(f"{ITEM}?a=b=c&wsdl&empty=")
    assert url.query == (("a", "b=c"), ("wsdl", None), ("empty", ""))
    assert url.query_string == "a=b=c&wsdl&empty="
