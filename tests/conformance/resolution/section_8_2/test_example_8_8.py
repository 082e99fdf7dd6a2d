"""R Example 8.8: what the resolver captures from a persistent URL (R Table 8.8)."""

from __future__ import annotations

from ibi.standard.persistent_url import PersistentUrl

URL = PersistentUrl.parse(
    "http://urlib.net/LK47B6W/362SFKH+?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetMetadata"
)


def test_the_file_path_is_undefined() -> None:
    assert URL.file_path is None


def test_the_label_is_captured() -> None:
    assert URL.label.spelling == "LK47B6W/362SFKH"


def test_the_required_status_is_captured() -> None:
    assert URL.required_original


def test_the_verbs_of_the_modifier_come_before_those_of_the_query() -> None:
    assert str(URL.verb_list) == "GetTranslation GetMetadata"


def test_nothing_is_left_for_the_item() -> None:
    assert URL.query == ()
    assert URL.query_string == ""
