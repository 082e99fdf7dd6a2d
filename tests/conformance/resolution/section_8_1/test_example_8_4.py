"""R Example 8.4: persistent URLs with one or more elementary modifiers."""

from __future__ import annotations

from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import LastEdition, Metadata, Relation


def test_an_exclamation_mark_asks_for_the_last_edition() -> None:
    url = PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MMLL8!")
    assert url.relation == Relation((LastEdition(),))


def test_modifiers_are_composed_by_writing_them_one_after_another() -> None:
    url = PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MMLL8!:(oai_dc)")
    assert url.relation == Relation((LastEdition(), Metadata("oai_dc")))
    assert str(url) == "http://urlib.net/8JMKD3MGP8W/35MMLL8!:(oai_dc)"
