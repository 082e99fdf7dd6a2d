"""R Example 9.2: all an Archive knows of an item. `mtc-m16c ... br` is printed for `mtc-m16c.sid.inpe.br` (E30)."""

from __future__ import annotations

from pathlib import Path

from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import ContentType, LabelForms, State, UrlEntry, UrlList, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.relation import Relation

BODY = Path(__file__).with_name("example_9_2.txt").read_bytes()
QUALIFIERS = [
    "",
    ".lastedition",
    ".lastedition.metadata",
    ".lastedition.metadata(oai_dc)",
    ".metadata",
    ".metadata(oai_dc)",
    ".metadata.translation",
    ".translation(en)",
    ".translation(pt)",
]


def answer() -> UrlList:
    read = parse_url_list(Pairs.decode(BODY))
    assert isinstance(read, UrlList)
    return read


def test_the_list_has_forty_nine_pairs_and_is_written_byte_for_byte() -> None:
    pairs = Pairs.decode(BODY)
    assert len(pairs) == 49
    assert pairs.encode() == BODY


def test_the_list_is_the_same_with_any_white_space_between_pairs() -> None:
    for space in (b" ", b"\n", b"\n\n"):
        assert Pairs.decode(BODY.replace(b"\r\n", space)) == Pairs.decode(BODY)


def test_the_answer_is_written_byte_for_byte() -> None:
    assert answer().encode() == BODY


def test_the_answer_says_who_gave_it() -> None:
    assert answer().archive_address == "mtc-m16c.sid.inpe.br"
    assert answer().archive_service == LabelForms.parse("rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17")
    assert answer().platform_software == LabelForms.parse("rep dpi.inpe.br/banon/1998/08.02.08.56")


def test_the_ibi_of_the_item_is_given_in_both_forms() -> None:
    assert [str(label) for label in answer().ibi.labels] == [
        "sid.inpe.br/mtc-m18@80/2009/07.21.13.23",
        "8JMKD3MGP8W/35MME4E",
    ]


def test_there_are_nine_relations_in_the_order_of_their_qualifiers() -> None:
    assert [entry.relation.qualifier for entry in answer().entries] == QUALIFIERS


def test_the_translation_into_portuguese_is_an_item_of_its_own() -> None:
    assert answer().entry(Relation.from_qualifier(".translation(pt)")) == UrlEntry(
        relation=Relation.from_qualifier(".translation(pt)"),
        ibi=LabelForms.of(parse("sid.inpe.br/mtc-m18@80/2009/08.25.19.43")),
        url="http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/08.25.19.43/doc/RTC-07.pdf",
        content_type=ContentType.DATA,
        state=State.ORIGINAL,
        timestamp=Instant.parse("2011-09-22T14:45:11Z"),
    )


def test_the_last_edition_is_the_item_itself() -> None:
    itself, last = answer().entry(), answer().entry(Relation.from_qualifier(".lastedition"))
    assert itself is not None
    assert last is not None
    assert (last.ibi, last.url, last.timestamp) == (itself.ibi, itself.url, itself.timestamp)


def test_there_is_no_next_edition_and_there_is_a_key() -> None:
    assert answer().next_edition is None
    key = answer().url_key
    assert key is not None
    assert key.reveal() == "1426387214-9164566186556927"
