"""R Algorithm 2, MONTARLISTADEURL: the list for each of the cases that its lines tell apart, on live items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ibi.items.rules import life_cycle
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import Deletion, UrlList
from ibi.standard.relation import Relation
from tests.support.archive_catalog import PlainCatalog
from tests.support.standards_archives import CCSDS_643, CCSDS_650, MTC_M16C, MTC_M16D, REPORT, StandardsArchive

EXAMPLE_9_2 = Path(__file__).with_name("example_9_2.txt").read_bytes()
KEY = "1426387214-9164566186556927"


def test_example_9_2_is_assembled_byte_for_byte_from_the_items() -> None:
    answer = MTC_M16C.assemble(CCSDS_643, key=KEY)
    assert answer is not None
    assert answer.encode() == EXAMPLE_9_2


def test_the_list_is_the_same_whichever_form_of_the_label_is_asked_for() -> None:
    assert MTC_M16C.assemble("sid.inpe.br/mtc-m18@80/2009/07.21.13.23") == MTC_M16C.assemble(CCSDS_643)


def test_lines_3_and_4_an_item_that_does_not_exist_here_is_answered_with_nothing() -> None:
    assert MTC_M16C.assemble(REPORT) is None


def test_lines_9_and_10_software_without_an_ibi_is_an_empty_list() -> None:
    archive = StandardsArchive(replace(MTC_M16D.profile, platform_software=None), MTC_M16D.catalog)
    assert archive.pair("ibi.platformsoftware", REPORT) == "ibi.platformsoftware {}"


def test_lines_11_to_15_of_what_was_deleted_only_the_ibi_the_state_and_the_date_are_told() -> None:
    item = MTC_M16D.catalog.find(parse(REPORT))
    assert item is not None
    deleted = life_cycle.delete(item, Instant.parse("2016-01-02T03:04:05Z"), "withdrawn by the author")
    answer = StandardsArchive(MTC_M16D.profile, PlainCatalog(deleted)).assemble(REPORT, key=KEY)
    assert isinstance(answer, Deletion)
    assert answer.encode().decode().split("\r\n") == [
        "archiveaddress mtc-m16d.sid.inpe.br",
        "ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "state Deleted",
        "timestamp 2016-01-02T03:04:05Z",
    ]


def test_lines_17_and_18_the_next_edition_is_told_whenever_there_is_one() -> None:
    assert MTC_M16C.pair("ibi.nextedition", CCSDS_650) == ("ibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}")
    assert MTC_M16C.pair("ibi.nextedition", CCSDS_643) == ""


def test_lines_19_and_20_there_is_a_key_if_there_is_a_url() -> None:
    answer = MTC_M16C.assemble(CCSDS_650, key=KEY)
    assert isinstance(answer, UrlList)
    assert answer.url_key is not None


def test_line_21_the_smallest_legal_set_of_relations_is_the_empty_one_alone() -> None:
    archive = StandardsArchive(replace(MTC_M16C.profile, relations=frozenset()), MTC_M16C.catalog)
    answer = archive.assemble(CCSDS_643)
    assert isinstance(answer, UrlList)
    assert [entry.relation for entry in answer.entries] == [Relation.ITSELF]


def test_line_22_metadata_without_an_ibi_has_a_url_and_no_ibi() -> None:
    # CCSDS 650 has no metadata item in the fixture.
    assert MTC_M16C.pair("ibi.metadata", CCSDS_650) == ""
    assert MTC_M16C.pair("url.metadata", CCSDS_650).startswith("url.metadata http://mtc-m16c.sid.inpe.br/col/")
    assert MTC_M16C.pair("state.metadata", CCSDS_650) == "state.metadata Original"


def test_line_25_without_a_url_nothing_is_said_of_one() -> None:
    answer = MTC_M16D.assemble(REPORT, path="/no-such-file.txt")
    assert isinstance(answer, UrlList)
    assert "url" not in answer.to_pairs()
    assert "state" not in answer.to_pairs()
    assert "ibi" in answer.to_pairs()
