"""R Example 9.3: FILTRARLISTADEURL leaves of Example 9.2 what GetTranslation needs."""

from __future__ import annotations

from pathlib import Path

from ibi.archive.rules.answer import filter_url_list
from ibi.standard.messages import parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.relation import Relation
from tests.support.standards_archives import CCSDS_643, MTC_M16C

EXAMPLE_9_2 = Path(__file__).with_name("example_9_2.txt").read_bytes()
BODY = "\r\n".join(
    [
        "archiveaddress mtc-m16c.sid.inpe.br",
        "contenttype.translation(en) Data",
        "contenttype.translation(pt) Data",
        "ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.13.23 ibip 8JMKD3MGP8W/35MME4E}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "ibi.translation(en) {rep sid.inpe.br/mtc-m18@80/2009/07.21.13.23}",
        "ibi.translation(pt) {rep sid.inpe.br/mtc-m18@80/2009/08.25.19.43}",
        "state.translation(en) Original",
        "state.translation(pt) Original",
        "timestamp.translation(en) 2009-07-21T13:23:45Z",
        "timestamp.translation(pt) 2011-09-22T14:45:11Z",
        "url.translation(en) http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.13.23/doc/"
        "CCSDS%20643.0-B-1.pdf",
        "url.translation(pt) http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/08.25.19.43/doc/RTC-07.pdf",
        "urlkey 1426387214-9164566186556927",
    ]
).encode()
WANTED = Relation.from_verbs("GetTranslation")


def test_the_list_of_example_9_2_is_filtered_byte_for_byte() -> None:
    filtered = filter_url_list(parse_url_list(Pairs.decode(EXAMPLE_9_2)), WANTED)
    assert filtered is not None
    assert filtered.encode() == BODY


def test_the_list_is_the_same_when_it_is_assembled_from_the_items() -> None:
    filtered = filter_url_list(MTC_M16C.assemble(CCSDS_643, key="1426387214-9164566186556927"), WANTED)
    assert filtered is not None
    assert filtered.encode() == BODY


def test_filtering_twice_changes_nothing_more() -> None:
    once = filter_url_list(parse_url_list(Pairs.decode(EXAMPLE_9_2)), WANTED)
    assert filter_url_list(once, WANTED) == once
