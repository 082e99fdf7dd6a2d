"""R Table 8.2: the modifiers of a persistent URL."""

from __future__ import annotations

import itertools

import pytest

from ibi.standard.errors import InvalidRelation
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import LastEdition, Metadata, Relation, Step, Translation

U, T, M = LastEdition(), Translation(), Metadata()

# The modifier, and what it returns: read from the right, as the table's third column does
ROWS: list[tuple[str, tuple[Step, ...]]] = [
    (":", (M,)),
    (":+", (M, T)),
    ("!", (U,)),
    ("!+", (U, T)),
    ("!:", (U, M)),
    ("!+:", (U, T, M)),
    ("!:+", (U, M, T)),
    ("!+:+", (U, T, M, T)),
    ("+", (T,)),
    ("+!", (T, U)),
    ("+:", (T, M)),
    ("+!:", (T, U, M)),
    ("+:+", (T, M, T)),
    ("+!:+", (T, U, M, T)),
]


def test_the_table_has_fourteen_rows() -> None:
    assert len({modifier for modifier, _ in ROWS}) == 14


@pytest.mark.parametrize(("modifier", "steps"), ROWS)
def test_each_modifier_of_the_table_is_read_and_written(modifier: str, steps: tuple[Step, ...]) -> None:
    relation = Relation.from_modifier(modifier)
    assert relation == Relation(steps)
    assert relation.modifier == modifier


@pytest.mark.parametrize(("modifier", "steps"), ROWS)
def test_each_modifier_of_the_table_stands_after_a_label(modifier: str, steps: tuple[Step, ...]) -> None:
    url = PersistentUrl.parse(f"http://urlib.net/8JMKD3MGP8W/35MME4E{modifier}")
    assert url.relation == Relation(steps)
    assert str(url) == f"http://urlib.net/8JMKD3MGP8W/35MME4E{modifier}"


def test_all_other_compositions_of_the_three_are_refused() -> None:
    permitted = {modifier for modifier, _ in ROWS} | {""}
    for length in range(7):
        for signs in itertools.product("!+:", repeat=length):
            modifier = "".join(signs)
            if modifier in permitted:
                assert Relation.from_modifier(modifier).modifier == modifier
            else:
                with pytest.raises(InvalidRelation):
                    Relation.from_modifier(modifier)


def test_metadata_without_parameter_are_in_a_free_format_and_with_one_in_that_format() -> None:
    assert Relation.from_modifier(":").metadata_format is None
    assert Relation.from_modifier(":(oai_dc)").metadata_format == "oai_dc"
