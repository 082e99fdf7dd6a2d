"""E86: a Copy outlives its Original, and says so; a Copy that is dropped leaves nothing."""

from __future__ import annotations

from pathlib import Path

from ibi.items.rules.errors import UnknownItem
from ibi.standard.label import parse
from ibi.standard.vocabulary import State
from tests.support.copy_world import IBIP, REP, object_said, original, source_archive, taker


def test_a_copy_of_a_deleted_original_stays_until_it_is_dropped(tmp_path: Path) -> None:
    one, contents = original()
    with source_archive(object_said(one), contents) as source, taker(tmp_path) as here:
        here.copying.bring(parse(IBIP), source.url)
        gone = {"when": "2026-01-02T03:04:05Z", "why": "withdrawn"}
        source.said = object_said(one, item=None, item_sha512=None, state="Deleted", tombstone=gone)
        copy = here.copying.bring(parse(IBIP)).item
        assert (copy.state, copy.files) == (State.COPY, one.files)
        assert copy.original_tombstone is not None
        assert (str(copy.original_tombstone.when), copy.original_tombstone.why) == (gone["when"], gone["why"])
        here.copying.drop(parse(IBIP), "ana")
        assert here.store.catalog.find(parse(REP)) is None
        try:
            here.store.find(parse(REP))
        except UnknownItem:
            return
    raise AssertionError("the Copy is still there")
