"""R Table 8.5: the verbs act as the modifiers that are their synonyms."""

from __future__ import annotations

import pytest

from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation

ITEM = "http://urlib.net/8JMKD3MGP8W/35MMLL8"


@pytest.mark.parametrize(("verb", "synonym"), [("GetMetadata", ":"), ("GetLastEdition", "!"), ("GetTranslation", "+")])
def test_a_verb_and_its_synonym_are_the_same_relation(verb: str, synonym: str) -> None:
    assert Relation.from_verbs(verb) == Relation.from_modifier(synonym)
    assert Relation.from_modifier(synonym).verbs == (verb,)
    assert PersistentUrl.parse(f"{ITEM}?ibiurl.verblist={verb}") == PersistentUrl.parse(f"{ITEM}{synonym}")


def test_the_list_of_files_has_no_synonym() -> None:
    url = PersistentUrl.parse(f"{ITEM}?ibiurl.verblist=GetFileList")
    assert (url.relation.modifier, url.file_list) == ("", True)


def test_the_position_of_the_list_of_files_does_not_matter_that_of_the_others_does() -> None:
    for verbs in ("GetFileList+GetTranslation+GetMetadata", "GetTranslation+GetFileList+GetMetadata"):
        url = PersistentUrl.parse(f"{ITEM}?ibiurl.verblist={verbs}")
        assert (url.relation.modifier, url.file_list) == ("+:", True)
    assert PersistentUrl.parse(f"{ITEM}?ibiurl.verblist=GetMetadata+GetTranslation").relation.modifier == ":+"
