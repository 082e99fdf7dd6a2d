"""E96: relations between items of two Archives, and the language of a source that is kept elsewhere."""

from __future__ import annotations

from pathlib import Path

from ibi.items.rules.related_items import Named, Relatives
from ibi.standard.languages import LanguageTag
from ibi.standard.persistent_url import PersistentUrl
from tests.support.claim_world import claim_world

EN, PT = (LanguageTag.parse(tag, registered=True) for tag in ("en", "pt"))


async def test_a_translation_leads_to_its_source_in_another_archive_by_language(tmp_path: Path) -> None:
    with claim_world(tmp_path) as world:
        a, b = world.archive("a"), world.archive("b")
        source = b.put(language="en")
        translation = a.put(language="pt", translation_of=source.labels)
        wanted = PersistentUrl.parse(f"http://urlib.net/{translation.rep}+(en)").relation
        assert list(Relatives(a.store.catalog).find_related(a.now(translation), wanted)) == []
        await world.run()
        ((_, found),) = Relatives(a.store.catalog).find_related(a.now(translation), wanted)
        assert found == Named(source.labels)


async def test_a_source_leads_to_a_translation_in_another_archive_once_it_is_accepted(tmp_path: Path) -> None:
    with claim_world(tmp_path) as world:
        a, b = world.archive("a"), world.archive("b")
        source = b.put(language="en")
        translation = a.put(language="pt", translation_of=source.labels)
        await world.run()
        wanted = PersistentUrl.parse(f"http://urlib.net/{source.rep}+(pt)").relation
        assert list(Relatives(b.store.catalog).find_related(b.now(source), wanted)) == []
        b.claims().accept(source.rep, translation.rep, "lia")
        ((_, found),) = Relatives(b.store.catalog).find_related(b.now(source), wanted)
        assert found == Named(translation.labels)
