"""R Table 8.3: the pairs of a persistent URL that the resolution system interprets."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import LastEdition, Relation

ITEM = "http://urlib.net/LK47B6W/362SFKH"


def test_both_pairs_are_optional() -> None:
    url = PersistentUrl.parse(ITEM)
    assert not url.required_original
    assert url.relation == Relation.ITSELF
    assert not url.file_list


def test_the_required_status_original_asks_for_the_original() -> None:
    assert PersistentUrl.parse(f"{ITEM}?ibiurl.requireditemstatus=Original").required_original


@pytest.mark.parametrize("status", ["Copy", "Deleted", "Originals", ""])
def test_no_other_status_can_be_required(status: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"{ITEM}?ibiurl.requireditemstatus={status}")


def test_the_verb_list_is_a_modifier() -> None:
    assert PersistentUrl.parse(f"{ITEM}?ibiurl.verblist=GetLastEdition").relation == Relation((LastEdition(),))


def test_other_pairs_are_ignored_by_the_resolution_system_and_kept_for_the_item() -> None:
    url = PersistentUrl.parse(f"{ITEM}?query=ice%20core&ibiurl.verblist=GetLastEdition&page=2")
    assert url.relation == Relation((LastEdition(),))
    assert url.query == (("query", "ice%20core"), ("page", "2"))
