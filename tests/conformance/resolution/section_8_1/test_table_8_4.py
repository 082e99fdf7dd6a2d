"""R Table 8.4: the list of verbs."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidRelation
from ibi.standard.languages import LanguageTag
from ibi.standard.relation import LastEdition, Metadata, Relation, Translation, VerbList


def test_the_example_of_the_table_is_read() -> None:
    verbs = VerbList.parse("GetLastEdition+GetMetadata")
    assert verbs == (Relation((LastEdition(), Metadata())), False)


@pytest.mark.parametrize(
    ("verb", "relation"),
    [
        ("GetTranslation", Relation((Translation(),))),
        ("GetTranslation(pt)", Relation((Translation(LanguageTag("pt")),))),
        ("GetTranslation(pt-BR)", Relation((Translation(LanguageTag("pt", "BR")),))),
        ("GetLastEdition", Relation((LastEdition(),))),
        ("GetMetadata", Relation((Metadata(),))),
        ("GetMetadata(oai_dc)", Relation((Metadata("oai_dc"),))),
    ],
)
def test_each_verb_is_read_and_written(verb: str, relation: Relation) -> None:
    assert VerbList.parse(verb) == (relation, False)
    assert relation.verbs == (verb,)


def test_the_list_of_files_is_a_verb() -> None:
    assert VerbList.parse("GetFileList") == (Relation.ITSELF, True)
    assert VerbList(Relation.ITSELF, True).verbs == ("GetFileList",)


def test_the_list_may_be_empty() -> None:
    assert VerbList.parse("") == (Relation.ITSELF, False)


@pytest.mark.parametrize(
    "text",
    [
        "GetEverything",
        "Get",
        "GetLastEdition()",
        "GetLastEdition(pt)",
        "GetFileList(pt)",
        "GetTranslation()",
        "GetTranslation(port)",
        "GetTranslation(pt_BR)",
        "GetTranslation(pt-BR",
        "GetMetadata()",
        "GetMetadata(oai dc)",
        "GetMetadata,GetLastEdition",
        "GetMetadata(oai_dc)GetLastEdition",
    ],
)
def test_what_the_table_does_not_derive_is_refused(text: str) -> None:
    with pytest.raises(InvalidRelation):
        VerbList.parse(text)
