from __future__ import annotations

import pytest

from ibi.citation.rules.names import Name, one_line, read_name
from ibi.items.model.metadata import Agent, Orcid


@pytest.mark.parametrize(
    ("text", "family", "given"),
    [
        ("Banon, Gerald Jean Francis", "Banon", "Gerald Jean Francis"),
        ("Gerald Banon", "Banon", "Gerald"),
        ("  Gerald \n Jean Francis   Banon ", "Banon", "Gerald Jean Francis"),
        ("José de Almeida Filho", "Almeida Filho", "José de"),
        ("Ludwig van Beethoven", "Beethoven", "Ludwig van"),
        ("Maria das Graças da Silva", "Silva", "Maria das Graças da"),
        ("Banco, Ana", "Banco", "Ana"),
        ("Silva, José, Jr.", "Silva", "José, Jr."),
        ("Иван Петров", "Петров", "Иван"),
    ],
)
def test_people(text: str, family: str, given: str) -> None:
    assert read_name(Agent(text)) == Name(family, given)


@pytest.mark.parametrize(
    "text",
    [
        "Instituto Nacional de Pesquisas Espaciais",
        "INPE",
        "IBGE DPE COPIS",
        "Universidade de São Paulo",
        "INPE, Divisão de Sensoriamento Remoto",
        "Universidade Federal, Departamento de Física",
        "The R Core Team",
        "Smith & Sons",
        "毛泽东",
        "김 철수",
    ],
)
def test_institutions_and_what_cannot_be_taken_apart(text: str) -> None:
    assert read_name(Agent(text)) == Name(text, is_person=False)


def test_who_has_an_orcid_is_a_person() -> None:
    orcid = Orcid("0000-0002-1825-0097")
    assert read_name(Agent("Josiah Press", orcid)) == Name("Press", "Josiah")
    assert read_name(Agent("Cher", orcid)) == Name("Cher")


@pytest.mark.parametrize(
    ("given", "initials"),
    [("Gerald Jean Francis", "G. J. F."), ("Jean-Paul", "J.-P."), ("Maria da", "M."), ("G.", "G."), ("-", "")],
)
def test_initials(given: str, initials: str) -> None:
    assert Name("X", given).initials == initials


@pytest.mark.parametrize("text", [",", ", ,", " , Ana", "Ana ,", ";;", "-", "\u200f"])
def test_whatever_a_name_is_it_is_called_something(text: str) -> None:
    name = read_name(Agent(text))
    assert name.family
    assert name.inverted
    assert name.straight


def test_nothing_ends_a_line_or_turns_it_around() -> None:
    assert one_line("a\r\nb\tc\u2028d\u2029e\x85f\u202eg  h") == "a b c d e f g h"
