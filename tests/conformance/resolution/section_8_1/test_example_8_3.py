"""R Example 8.3: persistent URLs that point to a translation."""

from __future__ import annotations

import pytest

from ibi.standard.languages import LanguageTag
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation, Translation


def test_a_plus_asks_for_the_translation_that_the_reader_prefers() -> None:
    url = PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MME4E+")
    assert url.relation == Relation((Translation(),))
    assert url.relation.open_translations == (0,)


@pytest.mark.parametrize("language", ["pt", "en"])
def test_a_plus_with_a_parameter_asks_for_that_language_whatever_the_reader_prefers(language: str) -> None:
    url = PersistentUrl.parse(f"http://urlib.net/8JMKD3MGP8W/35MME4E+({language})")
    assert url.relation == Relation((Translation(LanguageTag(language)),))
    assert url.relation.open_translations == ()
    assert str(url) == f"http://urlib.net/8JMKD3MGP8W/35MME4E+({language})"
