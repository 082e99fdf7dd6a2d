"""Translations are a star around one source, one for each language."""

from __future__ import annotations

import pytest

from ibi.items.rules import life_cycle
from ibi.items.rules import related_items as translations
from ibi.items.rules.errors import SecondTranslation, TranslationLanguageMissing, TranslationOfTranslation
from ibi.standard.document_errors import InvalidItem
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from tests.support.archive_catalog import PlainCatalog
from tests.support.standards_archives import forms, item

PT, EN, FR = LanguageTag("pt"), LanguageTag("en"), LanguageTag("fr")
SOURCE, ENGLISH, FRENCH, OTHER = (f"lab.br/arq/2020/01.02.03.{minute:02}" for minute in range(4))
AT = "2020-01-02T03:04:05Z"
source = item(SOURCE, at=AT, files=("a",), language=PT, translations=((EN, forms(ENGLISH)),))
english = item(ENGLISH, at=AT, files=("a",), language=EN, translation_of=forms(SOURCE))
french = item(FRENCH, at=AT, files=("a",), language=FR, translation_of=forms(SOURCE))
EVERYBODY = {PT: forms(SOURCE), EN: forms(ENGLISH), FR: forms(FRENCH)}


def test_every_member_knows_the_group_even_those_the_source_has_not_heard_of() -> None:
    catalog = PlainCatalog(source, english, french)
    for member in (source, english, french):
        assert translations.group(catalog, member) == EVERYBODY


def test_members_know_of_one_another_where_the_source_is_elsewhere() -> None:
    catalog = PlainCatalog(english, french)
    assert translations.group(catalog, english) == {EN: forms(ENGLISH), FR: forms(FRENCH)}


def test_a_member_may_say_which_language_its_source_elsewhere_has() -> None:
    told = translations.record_translation(PlainCatalog(english), english, PT, forms(SOURCE))
    assert translations.group(PlainCatalog(told), told) == {PT: forms(SOURCE), EN: forms(ENGLISH)}


def test_a_second_text_in_one_language_is_refused() -> None:
    catalog = PlainCatalog(source, english)
    with pytest.raises(SecondTranslation, match=ENGLISH):
        translations.check_source(catalog, forms(SOURCE), EN, None)
    with pytest.raises(SecondTranslation, match=SOURCE):
        translations.record_translation(catalog, source, PT, forms(OTHER))
    translations.check_source(catalog, forms(SOURCE), FR, None)
    translations.check_source(catalog, forms(SOURCE), EN, forms(ENGLISH))


def test_a_country_makes_another_language() -> None:
    translations.check_source(PlainCatalog(source), forms(SOURCE), LanguageTag("en", "US"), None)


def test_a_translation_is_no_source() -> None:
    with pytest.raises(TranslationOfTranslation, match=SOURCE):
        translations.check_source(PlainCatalog(source, english), forms(ENGLISH), FR, None)


def test_a_translation_needs_a_language() -> None:
    with pytest.raises(TranslationLanguageMissing):
        translations.check_source(PlainCatalog(), forms(SOURCE), None, None)


def test_what_was_said_is_said_once_and_can_be_withdrawn() -> None:
    catalog = PlainCatalog(source)
    assert translations.record_translation(catalog, source, EN, forms(ENGLISH)) == source
    told = translations.record_translation(catalog, source, FR, forms(FRENCH))
    assert told.translation(FR) == forms(FRENCH)
    assert translations.withdraw_translation(told, FR) == source


def test_an_item_is_its_own_text_in_its_own_language_only() -> None:
    catalog = PlainCatalog(source)
    assert translations.record_translation(catalog, source, PT, forms(SOURCE)) == source
    with pytest.raises(InvalidItem):
        translations.record_translation(catalog, source, FR, forms(SOURCE))


def test_a_chain_that_two_archives_made_without_knowing_is_one_group_to_every_member() -> None:
    late = item(OTHER, at=AT, files=("a",), language=LanguageTag("es"), translation_of=forms(ENGLISH))
    catalog = PlainCatalog(source, english, french, late)
    everybody = {**EVERYBODY, LanguageTag("es"): forms(OTHER)}
    for member in (source, english, french, late):
        assert translations.group(catalog, member) == everybody


def test_a_loop_is_one_group_too() -> None:
    one = item(SOURCE, at=AT, files=("a",), language=PT, translation_of=forms(ENGLISH))
    catalog = PlainCatalog(one, english)
    for member in (one, english):
        assert translations.group(catalog, member) == {PT: forms(SOURCE), EN: forms(ENGLISH)}


def test_of_two_texts_in_one_language_each_takes_itself_for_that_text() -> None:
    second = item(OTHER, at=AT, files=("a",), language=EN, translation_of=forms(SOURCE))
    catalog = PlainCatalog(source, english, second)
    assert translations.group(catalog, source)[EN] == forms(ENGLISH)
    assert translations.group(catalog, second)[EN] == forms(OTHER)


def test_a_text_that_was_deleted_leaves_its_language_to_another() -> None:
    gone = life_cycle.delete(english, Instant.parse("2021-01-01T00:00:00Z"), "a bad translation")
    catalog = PlainCatalog(source, gone)
    assert translations.group(catalog, source) == {PT: forms(SOURCE)}
    translations.check_source(catalog, forms(SOURCE), EN, None)
    told = translations.record_translation(catalog, source, EN, forms(OTHER))
    assert told.translation(EN) == forms(OTHER)
