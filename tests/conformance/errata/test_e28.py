"""E28: which languages exist."""

from __future__ import annotations

import pytest

from ibi.errors import InvalidPersistentUrl, InvalidRelation
from ibi.languages import COUNTRIES, LANGUAGES
from ibi.persistent_url import PersistentUrl
from ibi.relation import Relation


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
