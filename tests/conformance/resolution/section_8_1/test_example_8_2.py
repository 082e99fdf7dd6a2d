"""R Example 8.2: persistent URLs that point to metadata."""

from __future__ import annotations

from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Metadata, Relation


def test_a_colon_asks_for_metadata_in_a_free_format() -> None:
    url = PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MME4E:")
    assert url.relation == Relation((Metadata(),))
    assert str(url) == "http://urlib.net/8JMKD3MGP8W/35MME4E:"


def test_a_colon_with_a_parameter_asks_for_metadata_in_that_format() -> None:
    url = PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MME4E:(oai_dc)")
    assert url.relation == Relation((Metadata("oai_dc"),))
    assert str(url) == "http://urlib.net/8JMKD3MGP8W/35MME4E:(oai_dc)"
