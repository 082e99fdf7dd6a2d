"""What the fields of a description offer, in the language of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ibi
from ibi.deposits.pages.field_choices import (
    IMPORT_REASONS,
    RELATION_WORDS,
    TERM_WORDS,
    VALUE_REASONS,
    find_language,
    language_choices,
    licence_choices,
    type_choices,
)
from ibi.items.model.description_values import RelationKind
from ibi.standard.languages import InvalidLanguageTag
from ibi.web.reader import PAGE_LANGUAGES

SOURCES = Path(ibi.__file__).parent


@pytest.mark.parametrize("language", PAGE_LANGUAGES)
def test_every_field_offers_choices_in_words_of_the_page(language: str) -> None:
    for choices in (
        type_choices(language),
        licence_choices(language, every=True),
        language_choices(language),
    ):
        assert len(choices) > 30
        assert len({each.value for each in choices}) == len(choices)
        assert all(each.label for each in choices)
    assert all(each.detail and each.group for each in licence_choices(language))


def test_a_licence_says_what_it_allows() -> None:
    first = {language: licence_choices(language)[0] for language in PAGE_LANGUAGES}
    assert first["en"].value == "CC-BY-4.0"
    assert first["en"].detail == "Anyone may use, change and share it. The authors must be credited."
    assert first["pt-BR"].group == "Para textos, imagens, dados e outras obras"


def test_every_relation_and_every_term_has_words() -> None:
    assert set(RELATION_WORDS) == set(RelationKind)
    assert len(set(RELATION_WORDS.values())) == len(RELATION_WORDS)
    assert len(set(TERM_WORDS.values())) == len(TERM_WORDS)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("pt-BR", "pt-BR"),
        ("English", "en"),
        ("inglês", "en"),
        ("PORTUGUES  (brasil)", "pt-BR"),
        ("alemán", "de"),
        ("xyz", "xyz"),
    ],
)
def test_a_language_is_found_by_its_tag_and_by_its_name(text: str, tag: str) -> None:
    assert str(find_language(text)) == tag


@pytest.mark.parametrize("text", ["", "Klingon of sorts", "x" * 10**6, "pt_BR;"])
def test_other_words_are_no_language(text: str) -> None:
    with pytest.raises(InvalidLanguageTag):
        find_language(text)


@pytest.mark.parametrize("reason", sorted({*IMPORT_REASONS, *VALUE_REASONS}))
def test_every_reason_that_is_translated_is_given_somewhere(reason: str) -> None:
    folders = (SOURCES / "importing" / "rules", SOURCES / "items" / "model", SOURCES / "standard")
    code = "".join(file.read_text() for folder in folders for file in sorted(folder.rglob("*.py")))
    code += (SOURCES / "items" / "rules" / "licences.py").read_text()
    code += (SOURCES / "deposits" / "pages" / "field_choices.py").read_text().partition("IMPORT_REASONS")[0]
    assert reason in re.sub(r'"\n\s*"', "", code)
