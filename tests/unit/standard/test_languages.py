from __future__ import annotations

import pickle

import pytest

from ibi.standard.errors import InvalidInput
from ibi.standard.languages import COUNTRIES, LANGUAGES, InvalidLanguageTag, LanguageTag


@pytest.mark.parametrize("text", ["pt-BR", "PT-br", "pT-Br"])
def test_a_tag_is_read_in_any_case_and_written_canonically(text: str) -> None:
    tag = LanguageTag.parse(text, registered=True)
    assert tag == LanguageTag("pt", "BR")
    assert str(tag) == "pt-BR"


def test_a_country_is_optional() -> None:
    assert LanguageTag.parse("EN", registered=True) == LanguageTag("en", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p",
        "port",
        "pt-",
        "-BR",
        "pt-B",
        "pt-BRA",
        "pt_BR",
        "pt BR",
        " pt",
        "pt\n",
        "pt-BR-x",
        "p1",
        "pt-4B",
        "ſk",
        "pt-ßR",
        "İd",
    ],
)
@pytest.mark.parametrize("registered", [True, False])
def test_other_texts_are_refused(text: str, registered: bool) -> None:
    with pytest.raises(InvalidLanguageTag):
        LanguageTag.parse(text, registered=registered)


@pytest.mark.parametrize(("text", "offset", "said"), [("xx", 0, "no language xx"), ("pt-XX", 3, "no country XX")])
def test_an_unregistered_tag_is_refused_only_if_it_must_be_registered(text: str, offset: int, said: str) -> None:
    assert not LanguageTag.parse(text, registered=False).is_registered
    with pytest.raises(InvalidLanguageTag, match=said) as caught:
        LanguageTag.parse(text, registered=True)
    assert (caught.value.text, caught.value.offset) == (text, offset)
    assert isinstance(caught.value, InvalidInput)


@pytest.mark.parametrize(("language", "country"), [("PT", None), ("pt", "br"), ("pt-BR", None), ("", None), ("pt", "")])
def test_only_canonical_parts_make_a_tag(language: str, country: str | None) -> None:
    with pytest.raises(InvalidLanguageTag):
        LanguageTag(language, country)


def test_the_tables_hold_two_letters_each_in_their_case() -> None:
    assert all(len(code) == 2 and code.isascii() and code.islower() for code in LANGUAGES)
    assert all(len(code) == 2 and code.isascii() and code.isupper() for code in COUNTRIES)


def test_a_tag_survives_pickling() -> None:
    tag = LanguageTag("pt", "BR")
    assert pickle.loads(pickle.dumps(tag)) == tag
