"""The rules of OAI-PMH: arguments, sets, tokens, identifiers."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.harvesting.rules.harvesting import (
    LONGEST_TOKEN,
    HarvestRefused,
    RecordIdentifiers,
    RecordSet,
    Resumption,
    Selection,
    escape_spec,
    read_arguments,
    read_selection,
    read_set,
    read_set_token,
    read_token,
    unescape_spec,
    write_set_token,
    write_token,
)
from ibi.items.model.metadata import ResourceType
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from tests.properties.label_strategies import repository_names
from tests.support.oai_answer import SPEC_PATTERN

NUMBERS = st.integers(0, 10**17)
SECONDS = st.integers(0, 10**11)


def refused(query: str) -> str:
    with pytest.raises(HarvestRefused) as caught:
        read_selection(read_arguments(parse_qsl(query, keep_blank_values=True)))
    assert caught.value.reason
    return caught.value.error


@pytest.mark.parametrize(
    "query",
    ["", "verb=", "verb=listrecords", "verb=Identify&verb=Identify", "metadataPrefix=oai_dc", "Verb=Identify"],
)
def test_a_request_without_one_known_verb_is_a_bad_verb(query: str) -> None:
    assert refused(query) == "badVerb"


@pytest.mark.parametrize(
    "query",
    [
        "verb=Identify&x=1",
        "verb=Identify&metadataPrefix=oai_dc",
        "verb=ListMetadataFormats&metadataPrefix=oai_dc",
        "verb=ListMetadataFormats&identifier=",
        "verb=ListSets&set=x",
        "verb=ListSets&resumptionToken=a&resumptionToken=a",
        "verb=GetRecord",
        "verb=GetRecord&metadataPrefix=oai_dc",
        "verb=GetRecord&identifier=oai:a:b",
        "verb=GetRecord&metadataPrefix=oai_dc&identifier=not a uri",
        "verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:a:%C3%A9",
        "verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:a:b&set=x",
        "verb=ListRecords",
        "verb=ListIdentifiers&set=type:Text",
        "verb=ListRecords&metadataPrefix=oai_dc&metadataPrefix=oai_dc",
        "verb=ListRecords&metadataPrefix=",
        "verb=ListRecords&metadataPrefix=a b",
        "verb=ListRecords&metadataPrefix=oai_dc&set=",
        "verb=ListRecords&metadataPrefix=oai_dc&set=a:",
        "verb=ListRecords&metadataPrefix=oai_dc&set=a/b",
        "verb=ListRecords&metadataPrefix=oai_dc&resumptionToken=x",
        "verb=ListRecords&metadataPrefix=oai_dc&identifier=oai:a:b",
        "verb=ListRecords&metadataPrefix=oai_dc&from=",
        "verb=ListRecords&metadataPrefix=oai_dc&from=yesterday",
        "verb=ListRecords&metadataPrefix=oai_dc&from=2026-02-30",
        "verb=ListRecords&metadataPrefix=oai_dc&from=0000-01-01",
        "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01T00:00:00",
        "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01T00:00Z",
        "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01T00:00:00.5Z",
        "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01T00:00:00%2B01:00",
        "verb=ListRecords&metadataPrefix=oai_dc&from=%D9%A2026-01-01",
        "verb=ListRecords&metadataPrefix=oai_dc&until=2026-13-01",
        "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-02&until=2026-01-01",
        "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01&until=2026-01-01T00:00:00Z",
    ],
)
def test_arguments_that_break_the_protocol_are_bad_arguments(query: str) -> None:
    assert refused(query) == "badArgument"


def test_another_format_cannot_be_disseminated() -> None:
    assert refused("verb=ListRecords&metadataPrefix=marc21") == "cannotDisseminateFormat"


@pytest.mark.parametrize(
    "spec", ["x", "type:Nothing", "type:", "prefix:~2F", "prefix:~zz", "prefix:~ff", "type:Text:x"]
)
def test_a_set_that_there_cannot_be_has_no_records(spec: str) -> None:
    assert read_set(spec) is None


def test_days_are_whole_days() -> None:
    query = "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01&until=2026-01-01&set=type:Text"
    selection = read_selection(read_arguments(parse_qsl(query)))
    day = Instant.parse("2026-01-01T00:00:00Z").seconds
    assert selection == Selection(day, day + 86_399, RecordSet("type", ResourceType.TEXT))


@given(repository_names)
def test_every_prefix_is_a_set_that_is_read_again(label: RepositoryName) -> None:
    chosen = RecordSet("prefix", label.prefix)
    assert SPEC_PATTERN.fullmatch(chosen.spec)
    assert read_set(chosen.spec) == chosen


@given(st.text())
def test_any_text_is_escaped_and_read_again(text: str) -> None:
    written = text.encode(errors="replace").decode()
    assert unescape_spec(escape_spec(written)) == written


SELECTIONS = st.builds(
    Selection,
    st.none() | SECONDS,
    st.none() | SECONDS,
    st.none() | st.builds(RecordSet, st.just("type"), st.sampled_from([None, *ResourceType])),
)


@given(st.builds(Resumption, SELECTIONS, st.from_regex("[0-9a-f]{16}", fullmatch=True), NUMBERS, SECONDS, NUMBERS))
def test_a_token_is_read_again_as_it_was_written(resumption: Resumption) -> None:
    token = write_token(resumption)
    assert read_token(token) == resumption
    assert len(token) < LONGEST_TOKEN


@given(st.builds(Resumption, SELECTIONS, st.just("ab12"), NUMBERS, SECONDS, NUMBERS), st.data())
def test_a_token_that_was_cut_or_mistyped_is_refused(resumption: Resumption, data: st.DataObject) -> None:
    token = write_token(resumption)
    place = data.draw(st.integers(0, len(token) - 1))
    sign = data.draw(st.sampled_from("0123456789abcdef,x"))
    for spoilt in (token[:place], token[:place] + sign + token[place + 1 :]):
        if spoilt != token:
            with pytest.raises(HarvestRefused, match="badResumptionToken"):
                read_token(spoilt)


@given(st.text())
def test_any_other_text_is_no_token(text: str) -> None:
    for read in (read_token, read_set_token):
        with pytest.raises(HarvestRefused, match="badResumptionToken"):
            read(text)


def test_a_token_of_one_list_is_none_of_another() -> None:
    assert read_set_token(write_set_token("lab.br/arq@8080")) == "lab.br/arq@8080"
    with pytest.raises(HarvestRefused):
        read_token(write_set_token("lab.br/arq"))
    with pytest.raises(HarvestRefused):
        read_set_token(write_token(Resumption(Selection(), "ab", 1, 2, 3)))


def test_identifiers_have_the_host_of_the_archive_and_the_repository_name() -> None:
    identifiers = RecordIdentifiers("arq.lab.br")
    identifier = identifiers.of("lab.br/arq/2020/01.01.00.00")
    assert identifier == "oai:arq.lab.br:lab.br/arq/2020/01.01.00.00"
    assert str(identifiers.label(identifier)) == "lab.br/arq/2020/01.01.00.00"
    for other in ("oai:arq.lab.br:", "oai:arq.lab.br:x", "oai:lab.br:lab.br/arq/2020/01.01.00.00", "x"):
        with pytest.raises(HarvestRefused, match="idDoesNotExist"):
            identifiers.label(other)


@pytest.mark.parametrize(
    ("host", "fits"), [("a.b", True), ("ibi.localhost", True), ("3com.example", False), ("a", False)]
)
def test_only_identifiers_of_the_described_form_are_described(host: str, fits: bool) -> None:
    assert RecordIdentifiers(host).is_described is fits
