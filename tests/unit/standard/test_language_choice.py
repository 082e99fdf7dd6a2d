"""Which of several texts suits a reader (SPEC §6)."""

from __future__ import annotations

import pytest

from ibi.standard.language_choice import Preference, chosen_language, preferences
from ibi.standard.languages import LanguageTag


def tag(text: str) -> LanguageTag | None:
    return LanguageTag.parse(text, registered=False) if text else None


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("pt-BR, en;q=0.5, pt;q=0.8", [("pt-br", 1.0), ("pt", 0.8), ("en", 0.5)]),
        ("en; q=0", [("en", 0.0)]),
        ("*", [("*", 1.0)]),
        ("en;q=2, fr;q=nan, de;q=-1, es;q=1_0", [("en", 1.0)]),
        ("", []),
        (",,;q=1,", []),
        ("é, <b>, en", [("é", 1.0), ("en", 1.0)]),
        ("x" * 100, []),
    ],
)
def test_the_header_is_read_as_far_as_it_makes_sense(header: str, read: list[tuple[str, float]]) -> None:
    assert [tuple(each) for each in preferences(header)] == read


@pytest.mark.parametrize(
    ("offered", "wanted", "own", "chosen"),
    [
        ("pt en", "en", "pt", "en"),
        ("pt en", "pt-BR, en;q=0.9", "en", "pt"),
        ("pt-BR en", "pt", "en", "pt-BR"),
        ("pt-BR pt-PT en", "pt", "en", "en"),
        ("pt-BR en", "pt-PT", "en", "pt-BR"),
        ("pt en", "pt;q=0, fr", "en", "en"),
        ("pt-BR en", "pt;q=0, pt-BR", "en", "en"),
        ("pt en", "fr", "pt", "pt"),
        ("pt en", "fr", "", ""),
        ("pt en", "", "pt", "pt"),
        ("pt-BR pt", "pt-BR", "", "pt-BR"),
        ("", "pt", "", ""),
    ],
)
def test_the_best_is_chosen(offered: str, wanted: str, own: str, chosen: str) -> None:
    tags = {tag(text) for text in offered.split()}
    assert chosen_language(tags, preferences(wanted), tag(own)) == tag(chosen)


def test_the_text_without_a_language_goes_before_the_items_own() -> None:
    assert chosen_language({None, tag("pt")}, (Preference("fr", 1.0),), tag("pt")) is None
    assert chosen_language({None, tag("pt")}, (Preference("pt", 1.0),), None) == tag("pt")
