"""E28: which languages exist."""

from __future__ import annotations

import pytest

from ibi.resolver.rules.outcome import Redirect
from ibi.standard.errors import InvalidPersistentUrl, InvalidRelation
from ibi.standard.language_choice import chosen_language, preferences
from ibi.standard.languages import COUNTRIES, LANGUAGES, TWO_LETTERS, InvalidLanguageTag, LanguageTag
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation
from tests.support.scripted_archives import archive, body, resolve


@pytest.mark.parametrize("tag", ["xx", "qq-BR", "pt-XX"])
def test_what_people_ask_for_must_exist(tag: str) -> None:
    with pytest.raises(InvalidPersistentUrl, match="there is no"):
        PersistentUrl.parse(f"/LK47B6W/362SFKH+({tag})")
    with pytest.raises(InvalidRelation, match="there is no"):
        Relation.from_verbs([f"GetTranslation({tag})"])


@pytest.mark.parametrize("tag", ["xx", "qq-BR", "pt-XX"])
def test_what_archives_answer_may_be_any_two_letters(tag: str) -> None:
    assert Relation.from_qualifier(f".translation({tag})").qualifier == f".translation({tag})"


@pytest.mark.parametrize("code", ["sk", "bh"])
def test_a_language_of_the_appendix_is_known_though_misprinted_or_withdrawn_since(code: str) -> None:
    assert code in LANGUAGES


def test_serbo_croatian_is_known_though_the_appendix_lacks_it() -> None:
    assert "sh" in LANGUAGES


def test_the_appendix_lacks_nothing_else() -> None:
    assert (len(LANGUAGES), len(COUNTRIES)) == (184 + 1, 249)


@pytest.mark.parametrize("tag", ["tup", "yrl", "gug-PY"])
def test_a_language_of_three_letters_is_read_and_written_everywhere(tag: str) -> None:
    """Old Tupi, Nheengatu and Paraguayan Guarani: ISO 639-1 has no two letters for them."""
    url = PersistentUrl.parse(f"/LK47B6W/362SFKH+({tag.upper()})")
    assert (url.relation.modifier, url.relation.verbs) == (f"+({tag})", (f"GetTranslation({tag})",))
    assert Relation.from_qualifier(f".translation({tag})").qualifier == f".translation({tag})"
    assert Relation.from_verbs([f"GetTranslation({tag})"]) == url.relation
    assert str(LanguageTag.parse(tag, registered=True)) == tag
    assert PersistentUrl.parse(f"/LK47B6W/362SFKH?ibiurl.language={tag}").language == tag


@pytest.mark.parametrize(
    ("given", "written"), [("por", "pt"), ("POR-br", "pt-BR"), ("fra", "fr"), ("fre", "fr"), ("pt", "pt")]
)
def test_a_language_that_has_two_letters_is_written_with_them(given: str, written: str) -> None:
    assert str(LanguageTag.parse(given, registered=True)) == written
    assert Relation.from_modifier(f"+({given})") == Relation.from_modifier(f"+({written})")


@pytest.mark.parametrize("text", ["t", "tupi", "tup-XX", "tup-", "tu1"])
def test_other_texts_are_no_language(text: str) -> None:
    with pytest.raises(InvalidLanguageTag):
        LanguageTag.parse(text, registered=True)


def test_each_language_of_two_letters_is_known_by_three() -> None:
    assert set(TWO_LETTERS.values()) == LANGUAGES - {"bh"}  # a family of languages, with no code of its own


def test_a_reader_of_a_language_of_three_letters_gets_it() -> None:
    tup, pt = LanguageTag("tup"), LanguageTag("pt")
    assert chosen_language([pt, tup], preferences("tup, pt;q=0.5"), pt) == tup
    assert chosen_language([pt, tup], preferences("tup-BR"), pt) == tup


def test_an_item_in_a_language_of_three_letters_is_found_in_an_answer() -> None:
    ask, says = archive("one"), {"url.translation(yrl)": "http://one.example.org/yrl"}
    says |= {"contenttype.translation(yrl)": "Data", "state.translation(yrl)": "Original"}
    answer = body(ask, "ibip LK47B6W/362SFKH", **says)
    for link, languages in (("LK47B6W/362SFKH+(yrl)", ""), ("LK47B6W/362SFKH+", "yrl")):
        outcome = resolve(link, {ask: lambda _: answer}, languages)
        assert isinstance(outcome, Redirect)
        assert outcome.url == "http://one.example.org/yrl"
