"""E16: a path applies to the item that the modifier selects."""

from __future__ import annotations

from ibi.persistent_url import PersistentUrl


def test_a_path_may_follow_a_modifier() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH!/reference.bib")
    assert (url.relation.modifier, url.file_path) == ("!", "/reference.bib")
    assert str(url) == "http://urlib.net/LK47B6W/362SFKH!/reference.bib"


def test_a_path_may_stand_beside_verbs() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH/reference.bib?ibiurl.verblist=GetLastEdition")
    assert (url.relation.modifier, url.file_path) == ("!", "/reference.bib")


def test_a_path_and_the_list_of_files_are_both_kept_so_that_the_list_can_win() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH/reference.bib?ibiurl.verblist=GetFileList")
    assert (url.file_list, url.file_path) == (True, "/reference.bib")


def test_the_signs_of_a_modifier_inside_a_path_belong_to_the_path() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH/a!+(pt):(oai_dc)")
    assert (url.relation.modifier, url.file_path) == ("", "/a!+(pt):(oai_dc)")
