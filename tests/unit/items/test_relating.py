"""Editions, translations and metadata said afterwards, of items here and elsewhere."""

from __future__ import annotations

import pytest

from ibi.items.rules.errors import (
    DescribedMetadata,
    EditionLoop,
    MetadataOfItself,
    MetadataOfMetadata,
    SecondMetadataItem,
    SecondSuccessor,
    SecondTranslation,
    TranslationOfTranslation,
    TranslationsOfItsOwn,
)
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.relating import ClaimedElsewhere, NotRelated, Relating, WrongLanguage
from ibi.standard.languages import LanguageTag
from tests.support.deposit_samples import WHO, dump, kept_in, labels, put

EN = LanguageTag("en")
ELSEWHERE = labels(99).labels[0]


@pytest.fixture
def relating(kept: ItemRepository, made: Deposits) -> Relating:
    return Relating(kept, made)


def test_a_next_edition_elsewhere_is_said_and_withdrawn(
    kept: ItemRepository, made: Deposits, relating: Relating
) -> None:
    item = put(made)
    after = relating.record_next_edition(item.rep, ELSEWHERE, WHO)
    assert after.next_edition is not None
    assert after.next_edition.labels == (ELSEWHERE,)
    assert relating.record_next_edition(item.rep, ELSEWHERE, WHO) == after
    assert len(kept.content.read(str(item.rep)).versions) == 2  # saying the same twice writes nothing
    with pytest.raises(SecondSuccessor):
        relating.record_next_edition(item.rep, labels(98).labels[0], WHO)
    with pytest.raises(NotRelated):
        relating.withdraw_next_edition(item.rep, labels(98).labels[0], WHO)
    assert relating.withdraw_next_edition(item.rep, ELSEWHERE, WHO) == item


def test_two_items_here_both_say_it_and_both_take_it_back(
    kept: ItemRepository, made: Deposits, relating: Relating
) -> None:
    old, new = put(made), put(made)
    relating.record_next_edition(old.rep, new.labels.labels[1], WHO)
    assert [item.next_edition for item in dump(kept.catalog)] == [new.labels, None]
    assert [item.edition_of for item in dump(kept.catalog)] == [None, old.labels]
    with pytest.raises(EditionLoop):
        relating.record_next_edition(new.rep, old.rep, WHO)
    relating.withdraw_next_edition(old.rep, new.rep, WHO)
    assert dump(kept.catalog) == [old, new] == kept_in(kept.content, kept)


def test_a_refusal_of_one_half_leaves_the_other_alone(kept: ItemRepository, made: Deposits, relating: Relating) -> None:
    first, second, third = put(made), put(made), put(made)
    relating.record_next_edition(first.rep, second.rep, WHO)
    before = dump(kept.catalog)
    with pytest.raises(SecondSuccessor):
        relating.record_next_edition(first.rep, third.rep, WHO)
    with pytest.raises(ClaimedElsewhere):
        relating.record_next_edition(third.rep, second.rep, WHO)
    assert dump(kept.catalog) == before == kept_in(kept.content, kept)


def test_translations_here_and_elsewhere(kept: ItemRepository, made: Deposits, relating: Relating) -> None:
    source, english, nameless = put(made, language="pt"), put(made, language="en"), put(made)
    after = relating.record_translation(source.rep, EN, english.rep, WHO)
    assert after.translations == ((EN, english.labels),)
    assert kept.find(english.rep).translation_of == source.labels
    with pytest.raises(SecondTranslation):
        relating.record_translation(source.rep, EN, ELSEWHERE, WHO)
    with pytest.raises(WrongLanguage):
        relating.record_translation(source.rep, LanguageTag("es"), english.rep, WHO)
    with pytest.raises(TranslationOfTranslation):
        relating.record_translation(english.rep, LanguageTag("fr"), nameless.rep, WHO)
    relating.record_translation(source.rep, LanguageTag("fr"), nameless.rep, WHO)
    assert kept.find(nameless.rep).language == LanguageTag("fr")
    relating.withdraw_translation(source.rep, EN, english.rep, WHO)
    assert kept.find(english.rep) == english
    with pytest.raises(NotRelated):
        relating.withdraw_translation(source.rep, EN, english.rep, WHO)
    relating.record_translation(source.rep, EN, ELSEWHERE, WHO)
    assert dump(kept.catalog) == kept_in(kept.content, kept)


def test_two_groups_do_not_become_one_with_two_texts_in_a_language(
    kept: ItemRepository, made: Deposits, relating: Relating
) -> None:
    source, other = put(made, language="pt"), put(made, language="en")
    put(made, language="es", translation_of=source.labels)
    spanish = put(made, language="es", translation_of=other.labels)
    before = dump(kept.catalog)
    with pytest.raises(TranslationsOfItsOwn, match=str(spanish.rep)):
        relating.record_translation(source.rep, EN, other.rep, WHO)
    assert dump(kept.catalog) == before == kept_in(kept.content, kept)
    relating.withdraw_translation(other.rep, LanguageTag("es"), spanish.rep, WHO)
    relating.record_translation(source.rep, EN, other.rep, WHO)
    assert relating.record_translation(source.rep, EN, other.rep, WHO) == kept.find(source.rep)


def test_of_a_translation_whose_source_is_here_nothing_is_said_that_belongs_to_the_source(
    made: Deposits, relating: Relating
) -> None:
    source = put(made, language="pt")
    english = put(made, language="en", translation_of=source.labels)
    with pytest.raises(TranslationOfTranslation, match=str(source.rep)):
        relating.record_translation(english.rep, LanguageTag("fr"), ELSEWHERE, WHO)
    orphan = put(made, language="en", translation_of=labels(98))
    assert relating.record_translation(orphan.rep, LanguageTag("fr"), ELSEWHERE, WHO).translations


def test_metadata_elsewhere_is_said_and_withdrawn(kept: ItemRepository, made: Deposits, relating: Relating) -> None:
    item = put(made)
    after = relating.record_metadata_item(item.rep, ELSEWHERE, WHO)
    assert after.metadata_item is not None
    assert after.metadata_item.labels == (ELSEWHERE,)
    assert relating.record_metadata_item(item.rep, ELSEWHERE, WHO) == after
    assert len(kept.content.read(str(item.rep)).versions) == 2  # saying the same twice writes nothing
    with pytest.raises(SecondMetadataItem):
        relating.record_metadata_item(item.rep, labels(98).labels[0], WHO)
    with pytest.raises(NotRelated):
        relating.withdraw_metadata_item(item.rep, labels(98).labels[0], WHO)
    assert relating.withdraw_metadata_item(item.rep, ELSEWHERE, WHO) == item
    with pytest.raises(NotRelated):
        relating.withdraw_metadata_item(item.rep, ELSEWHERE, WHO)


def test_metadata_here_says_what_it_describes(kept: ItemRepository, made: Deposits, relating: Relating) -> None:
    item, about, other = put(made), put(made), put(made)
    assert relating.record_metadata_item(item.rep, about.labels.labels[1], WHO).metadata_item == about.labels
    assert kept.find(about.rep).describes == item.labels
    before = dump(kept.catalog)
    with pytest.raises(MetadataOfItself):
        relating.record_metadata_item(other.rep, other.labels.labels[1], WHO)
    with pytest.raises(MetadataOfMetadata):
        relating.record_metadata_item(about.rep, other.rep, WHO)
    with pytest.raises(DescribedMetadata):
        relating.record_metadata_item(other.rep, item.rep, WHO)
    with pytest.raises(ClaimedElsewhere):
        relating.record_metadata_item(other.rep, about.rep, WHO)
    assert dump(kept.catalog) == before == kept_in(kept.content, kept)
    relating.withdraw_metadata_item(item.rep, about.rep, WHO)
    assert dump(kept.catalog) == [item, about, other] == kept_in(kept.content, kept)


def test_metadata_that_was_deleted_makes_room(kept: ItemRepository, made: Deposits, relating: Relating) -> None:
    item = put(made)
    about = put(made, describes=item.labels)
    made.delete(about.rep, "wrong", WHO)
    assert relating.withdraw_metadata_item(item.rep, about.rep, WHO) == item
    again = put(made, describes=item.labels)
    assert kept.find(item.rep).metadata_item == again.labels
