"""R Table 9.3: the pairs of an answer to a request for a URL."""

from __future__ import annotations

import pytest

from ibi.errors import InvalidMessage
from ibi.instant import Instant
from ibi.messages import Deletion, LabelForms, MissingPair, RepeatedPair, UrlList, parse_url_list
from ibi.pairs import Pairs
from ibi.relation import Relation

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


@pytest.mark.parametrize("name", [b"archiveaddress", b"ibi.archiveservice", b"ibi", b"contenttype", b"state"])
def test_what_the_resolver_cannot_do_without_must_be_there(name: bytes) -> None:
    with pytest.raises(MissingPair):
        read(without(name))


@pytest.mark.parametrize("name", [b"ibi.platformsoftware", b"timestamp", b"urlkey"])
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


def test_two_spellings_of_one_name_are_one_name_too_many() -> None:
    one, other = (
        b"ibi.translation(pt) {rep a.br/b/2012/07.12.18.08}\n",
        b"ibi.Translation(PT) {rep a.br/b/2012/07.12.18.09}",
    )
    with pytest.raises(RepeatedPair):
        read(ARCHIVE + ITEM + one + other)


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        (b"archiveaddress", b"archiveaddress user@host"),
        (b"archiveaddress", b"archiveaddress {a b}"),
        (b"contenttype", b"contenttype Text"),
        (b"ibi", b"ibi 8JMKD3MGP7W/3EPGUE5"),
        (b"ibi", b"ibi {}"),
        (b"ibi", b"ibi {rep sid.inpe.br/mtc-m19/2013/02.30.12.27}"),
        (b"ibi.archiveservice", b"ibi.archiveservice {}"),
        (b"ibi.platformsoftware", b"ibi.platformsoftware {Linux}"),
        (b"ibi.nextedition", b"ibi.nextedition {}"),
        (b"state", b"state Lost"),
        (b"state", b"state Deleted"),
        (b"timestamp", b"timestamp yesterday"),
        (b"timestamp", b"timestamp 2014-02-30T17:23:57Z"),
        (b"url", b"url javascript:alert(1)"),
        (b"url", b"url /relative"),
        (b"url", b"url http://good.org\\@evil.org/"),
        (b"url", b"url http://user:word@host/"),
        (b"urlkey", b"urlkey 1"),
        (b"urlkey", b"urlkey {1426203276 5985125171467764}"),
        (b"url.metadata", b"url.metadata http://host/without-its-state"),
        (b"state.metadata", b"state.metadata Lost"),
        (b"timestamp.metadata", b"timestamp.metadata Lost"),
    ],
)
def test_a_malformed_value_of_a_name_that_it_has_is_refused(name: bytes, pair: bytes) -> None:
    with pytest.raises(InvalidMessage):
        read(without(name) + b"\n" + pair)


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
