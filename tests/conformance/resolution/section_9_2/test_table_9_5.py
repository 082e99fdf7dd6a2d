"""R Table 9.5: the relations, as qualifiers of names in an answer."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ibi.standard.errors import InvalidRelation
from ibi.standard.languages import LanguageTag
from ibi.standard.relation import LastEdition, Metadata, Relation, Translation

QUALIFIED = ("contenttype", "ibi", "state", "timestamp", "url")
NOT_RELATIONS = (".archiveservice", ".nextedition", ".platformsoftware")


@pytest.mark.parametrize(
    ("qualifier", "relation"),
    [
        (".lastedition.metadata", Relation((LastEdition(), Metadata()))),
        (".lastedition", Relation((LastEdition(),))),
        (".translation(en)", Relation((Translation(LanguageTag("en")),))),
        (".metadata(oai_dc)", Relation((Metadata("oai_dc"),))),
    ],
)
def test_the_examples_in_the_table_are_read_and_written(qualifier: str, relation: Relation) -> None:
    assert Relation.from_qualifier(qualifier) == relation
    assert relation.qualifier == qualifier


def test_the_grammar_derives_exactly_fifteen_shapes() -> None:
    words = (".lastedition", ".translation", ".metadata")
    shapes = {"".join(some) for length in range(6) for some in itertools.product(words, repeat=length)}
    assert len({shape for shape in shapes if is_relation(shape)}) == 15


def is_relation(qualifier: str) -> bool:
    try:
        return Relation.from_qualifier(qualifier).qualifier == qualifier
    except InvalidRelation:
        return False


@pytest.mark.parametrize(
    "qualifier",
    [
        *NOT_RELATIONS,
        "lastedition",
        ".",
        ".last edition",
        ".metadata.",
        ".metadata()",
        ".translation(english)",
        ".translation(en",
        ".lastedition(2)",
        ".metadata.lastedition",
    ],
)
def test_what_the_table_does_not_derive_is_refused(qualifier: str) -> None:
    with pytest.raises(InvalidRelation):
        Relation.from_qualifier(qualifier)


def test_every_qualified_name_of_example_9_2_is_a_relation() -> None:
    names = [line.split()[0] for line in example_9_2().splitlines()]
    cut = [name.partition(".") for name in names]
    qualifiers = {dot + qualifier for prefix, dot, qualifier in cut if prefix in QUALIFIED} - set(NOT_RELATIONS)
    assert all(is_relation(qualifier) for qualifier in qualifiers)
    assert qualifiers == {
        "",
        ".lastedition",
        ".lastedition.metadata",
        ".lastedition.metadata(oai_dc)",
        ".metadata",
        ".metadata(oai_dc)",
        ".metadata.translation",
        ".translation(en)",
        ".translation(pt)",
    }


def example_9_2() -> str:
    return (Path(__file__).parent / "example_9_2.txt").read_text(encoding="ascii")
