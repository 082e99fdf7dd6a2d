"""R Table 9.3: the pairs of an answer to a request for a URL."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import Deletion, LabelForms, MissingPair, UrlEntry, UrlList, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.relation import Relation

ARCHIVE = b"""\
archiveaddress marte.sid.inpe.br
ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}
ibi.platformsoftware {}
"""
ITEM = b"""\
contenttype Data
ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}
state Original
timestamp 2014-01-02T17:23:57Z
url http://marte.sid.inpe.br/x
urlkey 1426203276-5985125171467764
"""
DELETED = (
    ARCHIVE
    + b"""\
ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}
state Deleted
timestamp 2014-01-02T17:23:57Z
"""
)


def read(body: bytes) -> UrlList | Deletion | None:
    return parse_url_list(Pairs.decode(body))


def read_list(body: bytes) -> UrlList:
    answer = read(body)
    assert isinstance(answer, UrlList)
    return answer


def without(name: bytes, body: bytes = ARCHIVE + ITEM) -> bytes:
    return b"\n".join(line for line in body.splitlines() if not line.startswith(name + b" "))


def test_an_archive_without_the_item_answers_with_nothing() -> None:
    assert read(b"") is None


def test_software_without_an_ibi_is_an_empty_list_of_words() -> None:
    answer = read_list(ARCHIVE + ITEM)
    assert answer.platform_software is None
    assert answer.to_pairs()["ibi.platformsoftware"] == ()


def test_an_answer_names_its_item() -> None:
    with pytest.raises(MissingPair):
        read(without(b"ibi"))
    with pytest.raises(MissingPair):
        parse_url_list(Pairs.decode(without(b"ibi")), parse("sid.inpe.br/mtc-m19/2013/09.04.12.27.57"))


@pytest.mark.parametrize("name", [b"contenttype", b"state"])
def test_a_url_of_which_it_is_not_said_what_it_yields_is_left_out(name: bytes) -> None:
    answer = read_list(without(name))
    assert answer.entry() == UrlEntry(ibi=answer.ibi)
    assert [left.name for left in answer.left_out] == ["url"]
    assert answer.lacks(Relation.ITSELF)


@pytest.mark.parametrize(
    "name", [b"archiveaddress", b"ibi.archiveservice", b"ibi.platformsoftware", b"timestamp", b"urlkey"]
)
def test_what_the_resolver_can_do_without_may_be_missing(name: bytes) -> None:
    assert read(without(name)) is not None


def test_what_is_said_of_a_url_that_is_missing_is_dropped() -> None:
    entry = read_list(without(b"url")).entry()
    assert entry is not None
    assert (entry.url, entry.content_type, entry.state, entry.timestamp) == (None, None, None, None)
    assert entry.ibi is not None


def test_the_next_edition_is_not_a_relation() -> None:
    answer = read_list(ARCHIVE + ITEM + b"ibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}")
    assert answer.next_edition == LabelForms.parse("rep sid.inpe.br/mtc-m18/2012/07.12.18.08")
    assert len(answer.entries) == 1


@pytest.mark.parametrize(
    "pair",
    [
        b"url.thumbnail {1 2}",
        b"state.translation(portuguese) Lost",
        b"colour red",
        b"ibi.lastedition.lastedition x",
        b"urls x",
        b"ibi.nextedition.metadata x",
    ],
)
def test_names_that_the_table_does_not_have_are_ignored(pair: bytes) -> None:
    assert read(ARCHIVE + ITEM + pair) == read(ARCHIVE + ITEM)


def test_a_language_from_an_archive_is_any_two_letters() -> None:
    answer = read_list(ARCHIVE + ITEM + b"ibi.translation(zq) {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}")
    assert answer.entry(Relation.from_qualifier(".translation(zq)")) is not None


def test_of_two_spellings_of_one_name_the_last_counts() -> None:
    """E47."""
    one, other = (
        b"ibi.translation(pt) {rep a.br/b/2012/07.12.18.08}\n",
        b"ibi.Translation(PT) {rep a.br/b/2012/07.12.18.09}",
    )
    answer = read_list(ARCHIVE + ITEM + one + other)
    assert answer.entries == read_list(ARCHIVE + ITEM + other).entries
    assert not answer.lacks(Relation.from_modifier("+"))


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        (b"archiveaddress", b"archiveaddress user@host"),
        (b"archiveaddress", b"archiveaddress {a b}"),
        (b"ibi.archiveservice", b"ibi.archiveservice {}"),
        (b"ibi.platformsoftware", b"ibi.platformsoftware {Linux}"),
        (b"ibi.nextedition", b"ibi.nextedition {}"),
        (b"timestamp", b"timestamp yesterday"),
        (b"timestamp", b"timestamp 2014-02-30T17:23:57Z"),
        (b"timestamp", b"timestamp 2017:05.17.17.45.29"),
        (b"urlkey", b"urlkey 1"),
        (b"urlkey", b"urlkey {1426203276 5985125171467764}"),
        (b"url.metadata", b"url.metadata http://host/without-its-state"),
        (b"state.metadata", b"state.metadata Lost"),
        (b"timestamp.metadata", b"timestamp.metadata Lost"),
    ],
)
def test_a_malformed_value_that_is_not_needed_is_left_out(name: bytes, pair: bytes) -> None:
    """E47."""
    answer = read_list(without(name) + b"\n" + pair)
    assert answer == read_list(without(name))
    assert [left.name.encode() for left in answer.left_out] == [name]
    assert not answer.lacks(Relation.ITSELF)


@pytest.mark.parametrize(
    "pair",
    [
        b"contenttype Text",
        b"state Lost",
        b"url javascript:alert(1)",
        b"url /relative",
        b"url http://good.org\\@evil.org/",
        b"url http://user:word@host/",
    ],
)
def test_a_url_that_cannot_be_trusted_to_be_one_is_left_out(pair: bytes) -> None:
    answer = read_list(without(pair.split()[0]) + b"\n" + pair)
    assert [entry.url for entry in answer.entries] == [None]
    assert answer.lacks(Relation.ITSELF)


@pytest.mark.parametrize("ibi", [b"{}", b"{rep sid.inpe.br/mtc-m19/2013/02.30.12.27}", b"{x y z}"])
def test_an_item_whose_ibi_cannot_be_read_is_the_one_that_was_asked_for(ibi: bytes) -> None:
    asked, pairs = parse("8JMKD3MGP7W/3EPGUE5"), Pairs.decode(without(b"ibi") + b"\nibi " + ibi)
    answer = parse_url_list(pairs, asked)
    assert isinstance(answer, UrlList)
    assert answer.ibi == LabelForms.of(asked)
    with pytest.raises(InvalidMessage):
        parse_url_list(pairs)


def test_what_is_both_deleted_and_there_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="no URL"):
        read(without(b"state") + b"\nstate Deleted")


@pytest.mark.parametrize("body", [b"confirmation yes", b"url.metadata x", b"state Original urlkey 1234567890"])
def test_an_answer_that_leads_nowhere_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidMessage):
        parse_url_list(Pairs.decode(body), parse("8JMKD3MGP7W/3EPGUE5"))


def test_one_word_may_stand_in_braces() -> None:
    braced = b"\n".join(
        b"%s {%s}" % tuple(line.split()) if line.count(b" ") == 1 and b"{" not in line else line
        for line in (ARCHIVE + ITEM).splitlines()
    )
    assert b"state {Original}" in braced
    assert read(braced) == read(ARCHIVE + ITEM)


def test_an_item_that_was_deleted_says_when_and_no_more() -> None:
    answer = read(DELETED)
    assert isinstance(answer, Deletion)
    assert answer.ibi == LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
    assert answer.timestamp == Instant.parse("2014-01-02T17:23:57Z")
    assert answer.to_pairs() == Pairs.decode(DELETED)


def test_what_was_deleted_has_no_url() -> None:
    with pytest.raises(InvalidMessage, match="has no URL"):
        read(DELETED + b"url http://marte.sid.inpe.br/x")


def test_words_of_the_table_are_read_in_any_case_and_written_as_in_the_table() -> None:
    shouted = (ARCHIVE + ITEM).replace(b"Original", b"ORIGINAL").replace(b"Data", b"data").replace(b"{rep", b"{REP")
    assert read_list(shouted).encode() == read_list(ARCHIVE + ITEM).encode()
