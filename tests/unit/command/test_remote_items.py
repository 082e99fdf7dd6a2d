"""An item as a server tells it: with a token all of it, without one what is for everybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.command.remote_items import item_of, links_of
from ibi.items.model.item import Tombstone
from ibi.items.model.visibility import Visibility
from ibi.reading.delivery.metadata import item_record
from ibi.settings import load_settings
from ibi.standard.instant import Instant
from ibi.standard.networks import network
from ibi.standard.vocabulary import State
from tests.support.archive_app import BASE, NOW, REP, archive_app, kept
from tests.support.asgi_client import Answer


async def told(visibility: Visibility) -> Answer:
    return await archive_app(kept(REP, visibility=visibility)).get(f"/api/items/{REP}")


@pytest.mark.parametrize(
    "visibility",
    [Visibility((network("10.0.0.0/8"),)), Visibility(embargo=Instant(NOW.seconds + 60)), Visibility(listing=False)],
)
async def test_of_what_is_not_for_every_reader_the_description_is_shown(visibility: Visibility, tmp_path: Path) -> None:
    said = (await told(visibility)).json()
    item = item_of(said, load_settings({"data": tmp_path}, {}))
    assert item == kept(REP, visibility=visibility)[0].without_files()
    assert links_of(said, item)["url"] == f"{BASE}/col/{REP}/metadata"


async def test_of_what_is_for_every_reader_all_is_shown(tmp_path: Path) -> None:
    said = (await told(Visibility.PUBLIC)).json()
    assert item_of(said, load_settings({"data": tmp_path}, {})) == kept(REP)[0]


async def test_a_caller_that_shows_a_token_gets_all(tmp_path: Path) -> None:
    item = kept(REP, visibility=Visibility((network("10.0.0.0/8"),), listing=False))
    site = archive_app(item).site
    shown = item_record(site, item[0], in_full=True)
    shown["files"] = list(shown["files"])
    assert item_of(shown, load_settings({"data": tmp_path}, {})) == item[0]


async def test_a_copy_whose_original_was_deleted_says_so(tmp_path: Path) -> None:
    gone = Tombstone(NOW, "withdrawn by its author")
    said = (await archive_app(kept(REP, state=State.COPY, original_tombstone=gone)).get(f"/api/items/{REP}")).json()
    assert item_of(said, load_settings({"data": tmp_path}, {})).original_tombstone == gone
