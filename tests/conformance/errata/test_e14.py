"""E14: verbs are joined by `+` (R Table 8.4) and by a blank (R Table 8.8)."""

from __future__ import annotations

import pytest

from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation, VerbList

EXPECTED = Relation.from_modifier("!:(oai_dc)")


@pytest.mark.parametrize("joint", ["+", " ", "  ", "+ +"])
def test_both_are_read(joint: str) -> None:
    assert VerbList.parse(f"GetLastEdition{joint}GetMetadata(oai_dc)") == (EXPECTED, False)


@pytest.mark.parametrize("joint", ["+", "%20", "%2B", "%2b"])
def test_both_are_read_in_a_query_encoded_or_not(joint: str) -> None:
    url = PersistentUrl.parse(f"/LK47B6W/362SFKH?ibiurl.verblist=GetLastEdition{joint}GetMetadata(oai_dc)")
    assert url.relation == EXPECTED


def test_a_blank_is_written() -> None:
    assert str(VerbList(EXPECTED, True)) == "GetLastEdition GetMetadata(oai_dc) GetFileList"


@pytest.mark.parametrize(
    "text",
    ["GetLastEdition GetMetadata(oai_dc)", "getlastedition GETMETADATA(OAI_DC)", "GetLASTEdition+getMetaData(Oai_Dc)"],
)
def test_verbs_are_read_in_any_case_and_written_as_in_the_table(text: str) -> None:
    assert VerbList.parse(text).verbs == ("GetLastEdition", "GetMetadata(oai_dc)")
