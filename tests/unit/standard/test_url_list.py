from __future__ import annotations

import pickle

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.messages import (
    ContentType,
    Deletion,
    LabelForms,
    MissingPair,
    RepeatedPair,
    State,
    UrlEntry,
    UrlKey,
    UrlList,
    parse_url_list,
)
from ibi.standard.messages import url_list as url_list_module
from ibi.standard.messages.url_list import MOST_ENTRIES
from ibi.standard.pairs import Pairs, Value
from ibi.standard.relation import Relation

FORMS = LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57")
ITSELF = UrlEntry(Relation.ITSELF, FORMS)
METADATA = UrlEntry(
    Relation.from_modifier(":"),
    None,
    "http://host/m",
    ContentType.METADATA,
    State.COPY,
    Instant.parse("2014-01-02T17:23:57Z"),
)


def url_list(*entries: UrlEntry) -> UrlList:
    return UrlList("host.org", FORMS, None, entries, url_key=UrlKey("1426203276"))


def test_entries_are_kept_in_one_order_whatever_order_they_come_in() -> None:
    assert url_list(METADATA, ITSELF) == url_list(ITSELF, METADATA)
    assert url_list(METADATA, ITSELF).entries == (ITSELF, METADATA)


def test_an_entry_is_found_by_its_relation() -> None:
    assert url_list(ITSELF, METADATA).entry(Relation.from_modifier(":")) is METADATA
    assert url_list(ITSELF, METADATA).entry(Relation.from_modifier("!")) is None


def test_the_item_itself_is_always_there() -> None:
    assert url_list(ITSELF).ibi == FORMS
    with pytest.raises(MissingPair):
        url_list(METADATA)
    with pytest.raises(MissingPair):
        url_list()
    with pytest.raises(MissingPair):
        url_list(UrlEntry(Relation.ITSELF, None, "http://host/x", ContentType.DATA, State.COPY))


def test_a_relation_has_one_entry() -> None:
    with pytest.raises(RepeatedPair):
        url_list(ITSELF, METADATA, METADATA)


def test_an_entry_without_url_and_ibi_says_nothing() -> None:
    with pytest.raises(MissingPair):
        UrlEntry(Relation.from_modifier("!"))


@pytest.mark.parametrize(("content_type", "state"), [(None, State.COPY), (ContentType.DATA, None), (None, None)])
def test_a_url_comes_with_what_it_yields_and_its_state(content_type: ContentType | None, state: State | None) -> None:
    with pytest.raises(MissingPair):
        UrlEntry(Relation.ITSELF, FORMS, "http://host/x", content_type, state)


def test_without_a_url_nothing_is_said_of_it() -> None:
    with pytest.raises(MissingPair):
        UrlEntry(Relation.ITSELF, FORMS, state=State.ORIGINAL)


def test_what_was_deleted_has_no_url() -> None:
    with pytest.raises(InvalidMessage, match="deleted"):
        UrlEntry(Relation.ITSELF, FORMS, "http://host/x", ContentType.DATA, State.DELETED)


def test_a_url_is_kept_as_it_travels() -> None:
    entry = UrlEntry(Relation.ITSELF, FORMS, "http://host/ó {x}", ContentType.DATA, State.COPY)
    assert entry.url == "http://host/%C3%B3%20%7Bx%7D"
    assert parse_url_list(Pairs.decode(url_list(entry).encode())) == url_list(entry)


@pytest.mark.parametrize("address", ["", "user@host", "host.org/x"])
def test_an_address_is_checked_when_the_answer_is_made(address: str) -> None:
    with pytest.raises(InvalidMessage):
        UrlList(address, FORMS, None, (ITSELF,))
    with pytest.raises(InvalidMessage):
        Deletion(address, FORMS, None, FORMS)


@pytest.mark.parametrize("answer", [url_list(ITSELF, METADATA), Deletion("host.org", FORMS, FORMS, FORMS)])
def test_an_answer_is_read_as_it_was_written_and_can_be_pickled(answer: UrlList | Deletion) -> None:
    assert parse_url_list(Pairs.decode(answer.encode())) == answer
    assert {answer, pickle.loads(pickle.dumps(answer))} == {answer}


def test_the_key_is_not_shown() -> None:
    assert "1426203276" not in repr(url_list(ITSELF))


def test_what_cannot_be_read_is_named_as_the_archive_spelled_it() -> None:
    pairs = Pairs([*url_list(ITSELF).to_pairs().items(), ("state.Metadata", "Lost")])
    answer = parse_url_list(pairs)
    assert answer == url_list(ITSELF)
    assert answer is not None
    assert [left.name for left in answer.left_out] == ["state.Metadata"]
    assert answer.left_out[0].why == "it should be Original or Copy or Deleted"


# --- how much of it is read ---

HEAD: list[tuple[str, Value]] = [
    ("archiveaddress", "host.org"),
    ("ibi", ("rep", "a.b/x/2020/01.01.01.01")),
    ("ibi.archiveservice", ("rep", "a.b/y/2020/01.01.01.01")),
    ("ibi.platformsoftware", ()),
]


def speaking_of(qualifiers: list[str]) -> Pairs:
    """Everything that can be said of each relation."""
    pairs = list(HEAD)
    for qualifier in qualifiers:
        pairs += [(f"ibi{qualifier}", ("rep", "a.b/z/2020/01.01.01.01")), (f"url{qualifier}", "http://host/z")]
        pairs += [(f"contenttype{qualifier}", "Data"), (f"state{qualifier}", "Copy")]
        pairs += [(f"timestamp{qualifier}", "2014-01-02T17:23:57Z")]
    return Pairs(pairs)


def test_all_relations_of_an_item_in_two_dozen_languages_are_read() -> None:
    """R Table 9.5, with the metadata that it knows, and each translation without a language and in 24 of them."""
    texts = [".translation", *(f".translation(a{letter})" for letter in "abcdefghijklmnopqrstuvwx")]
    described = [".metadata", ".metadata(oai_dc)"]
    heads = ["", ".lastedition", *texts]
    heads += [f".lastedition{text}" for text in texts] + [f"{text}.lastedition" for text in texts]
    once = [head + metadata for head in heads for metadata in ("", *described)]
    once += [head + metadata + text for head in heads[:2] for metadata in described for text in texts]
    answer = parse_url_list(Pairs.decode(speaking_of(once[1:]).encode()))
    assert isinstance(answer, UrlList)
    assert len(answer.entries) == len(once) == 331


def test_what_speaks_of_very_many_relations_is_not_read() -> None:
    many = [f".metadata(many{number})" for number in range(MOST_ENTRIES)]
    answer = parse_url_list(speaking_of(many[1:]))
    assert isinstance(answer, UrlList)
    assert len(answer.entries) == MOST_ENTRIES
    with pytest.raises(InvalidMessage, match=f"more than {MOST_ENTRIES} relations"):
        parse_url_list(speaking_of(many))


def test_an_answer_with_very_many_relations_is_refused_before_the_rest_is_looked_at() -> None:
    many = [f".metadata(rest{number})" for number in range(3 * MOST_ENTRIES)]
    before = url_list_module._remembered_parts.cache_info().misses
    with pytest.raises(InvalidMessage):
        parse_url_list(Pairs([*HEAD, *((f"ibi{each}", ("rep", "a.b/z/2020/01.01.01.01")) for each in many)]))
    assert url_list_module._remembered_parts.cache_info().misses - before <= MOST_ENTRIES + len(HEAD)
