"""R Example 8.5: a persistent URL modified by a list of verbs."""

from __future__ import annotations

from ibi.standard.persistent_url import PersistentUrl

URL = "http://urlib.net/8JMKD3MGP8W/35MMLL8?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)"


def test_the_url_with_verbs_is_equivalent_to_the_second_of_example_8_4() -> None:
    assert PersistentUrl.parse(URL) == PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MMLL8!:(oai_dc)")


def test_the_verbs_are_read_in_their_order() -> None:
    assert PersistentUrl.parse(URL).relation.verbs == ("GetLastEdition", "GetMetadata(oai_dc)")


def test_the_pair_is_not_passed_on_to_the_item() -> None:
    assert PersistentUrl.parse(URL).query == ()
