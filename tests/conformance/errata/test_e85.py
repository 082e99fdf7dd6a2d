"""E85: a Copy is what is the same everywhere, byte for byte, and nothing that is the other Archive's own."""

from __future__ import annotations

from pathlib import Path

from ibi.items.model.item_json import encode_item
from ibi.standard.label import parse
from ibi.standard.vocabulary import State
from tests.support.copy_world import IBIP, REP, chain_said, object_said, original, source_archive, taker


def test_a_copy_has_the_record_the_files_and_the_provenance_of_its_original(tmp_path: Path) -> None:
    one, contents = original(owner="person:ana", transferable=False)
    said = object_said(one, others=chain_said(one))
    with source_archive(said, contents) as source, taker(tmp_path) as here:
        copy = here.copying.bring(parse(IBIP), source.url).item
        kept = here.store.content.read(REP).head.files
        with here.store.open_record(REP, "item.json", 1) as record:
            assert record.read_all() == encode_item(one)
    assert (copy.state, copy.labels, copy.owner, copy.transferable) == (State.COPY, one.labels, None, True)
    assert kept.keys() == {"item.json", "local.json", "doc/a.txt", "provenance/1.json", "provenance/2.json"}
