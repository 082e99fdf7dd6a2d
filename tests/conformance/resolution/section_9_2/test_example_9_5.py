"""R Example 9.5: some relations and their meaning."""

from __future__ import annotations

import pytest

from ibi.standard.languages import LanguageTag
from ibi.standard.relation import LastEdition, Metadata, Relation, Step, Translation

PT_BR, EN = Translation(LanguageTag("pt", "BR")), Translation(LanguageTag("en"))

ROWS: list[tuple[str, tuple[Step, ...]]] = [
    ("", ()),
    (".lastedition", (LastEdition(),)),
    (".translation", (Translation(),)),
    (".translation(pt-BR)", (PT_BR,)),
    (".metadata", (Metadata(),)),
    (".metadata(oai_dc)", (Metadata("oai_dc"),)),
    (".lastedition.translation", (LastEdition(), Translation())),
    (".lastedition.translation(pt-BR)", (LastEdition(), PT_BR)),
    (".lastedition.metadata", (LastEdition(), Metadata())),
    (".lastedition.metadata(oai_dc)", (LastEdition(), Metadata("oai_dc"))),
    (".translation(pt-BR).lastedition", (PT_BR, LastEdition())),
    (".translation(en).metadata", (EN, Metadata())),
    (".metadata.translation(en)", (Metadata(), EN)),
]


@pytest.mark.parametrize(("qualifier", "steps"), ROWS)
def test_each_relation_of_the_example_is_read_and_written(qualifier: str, steps: tuple[Step, ...]) -> None:
    relation = Relation.from_qualifier(qualifier)
    assert relation == Relation(steps)
    assert relation.qualifier == qualifier


def test_the_empty_relation_is_the_item_itself() -> None:
    assert Relation.from_qualifier("") is Relation.from_qualifier("")
    assert Relation.from_qualifier("") == Relation.ITSELF
    assert Relation.ITSELF.is_itself


def test_the_order_of_the_steps_matters() -> None:
    metadata_of_translation = Relation.from_qualifier(".translation(en).metadata")
    translation_of_metadata = Relation.from_qualifier(".metadata.translation(en)")
    assert metadata_of_translation != translation_of_metadata


def test_walloon_is_a_language_like_any_other() -> None:
    assert Relation.from_qualifier(".translation(wa)", registered=True).languages == (LanguageTag("wa"),)
