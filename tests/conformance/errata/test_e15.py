"""E15: what a modifier and a list of verbs say together."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.messages.requests import UrlRequest, parse_archive_request
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import VerbList


def modifier_of(modifier: str, verbs: str) -> str:
    return PersistentUrl.parse(f"/LK47B6W/362SFKH{modifier}?ibiurl.verblist={verbs}").relation.modifier


def test_a_translation_of_the_metadata_of_a_translation_survives_in_either_notation() -> None:
    assert modifier_of("+:+", "") == "+:+"
    assert modifier_of("", "GetTranslation+GetMetadata+GetTranslation") == "+:+"


@pytest.mark.parametrize(
    ("modifier", "verbs", "expected"),
    [
        (":", "GetMetadata", ":"),
        ("!", "GetLastEdition+GetMetadata", "!:"),
        ("!", "GetMetadata+GetLastEdition", "!:"),
        ("+(pt)", "GetTranslation(PT)+GetMetadata", "+(pt):"),
        (":(oai_dc)", "GetMetadata(OAI_DC)", ":(oai_dc)"),
        ("+:+", "GetTranslation", "+:+"),
    ],
)
def test_a_verb_that_the_modifier_has_already_is_dropped(modifier: str, verbs: str, expected: str) -> None:
    assert modifier_of(modifier, verbs) == expected


@pytest.mark.parametrize(
    ("modifier", "verbs", "expected"),
    [("+", "GetMetadata", "+:"), (":", "GetTranslation(en)", ":+(en)"), ("+:", "GetTranslation(pt)", "+:+(pt)")],
)
def test_other_verbs_come_after_the_modifier(modifier: str, verbs: str, expected: str) -> None:
    assert modifier_of(modifier, verbs) == expected


@pytest.mark.parametrize(
    ("modifier", "verbs", "expected"),
    [
        ("+", "GetTranslation(pt)", "+(pt)"),
        ("+(pt)", "GetTranslation", "+(pt)"),
        ("!:", "GetMetadata(oai_dc)", "!:(oai_dc)"),
        ("+:", "GetTranslation(pt)+GetMetadata(oai_dc)", "+(pt):(oai_dc)"),
        # Only as much goes as must: two translations are in order once the metadata stand there once.
        ("+:", "GetMetadata(oai_dc)+GetTranslation(pt)", "+:(oai_dc)+(pt)"),
    ],
)
def test_a_verb_once_with_and_once_without_parameter_keeps_the_parameter(
    modifier: str, verbs: str, expected: str
) -> None:
    assert modifier_of(modifier, verbs) == expected


@pytest.mark.parametrize(
    ("modifier", "verbs"),
    [
        ("+(pt)", "GetTranslation(en)"),
        (":(oai_dc)", "GetMetadata(BibINPE)"),
        (":", "GetLastEdition"),
        ("", "GetMetadata+GetLastEdition"),
        ("", "GetMetadata+GetLastEdition+GetMetadata"),
        ("", "GetMetadata(oai_dc)+GetMetadata(BibINPE)"),
        ("+!", "GetTranslation(pt)+GetTranslation(en)"),
    ],
)
def test_anything_else_outside_the_grammar_is_refused(modifier: str, verbs: str) -> None:
    with pytest.raises(InvalidPersistentUrl, match="last edition and translation come first"):
        modifier_of(modifier, verbs)


def test_the_list_of_files_takes_no_part_in_it() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH+?ibiurl.verblist=GetFileList+GetMetadata+GetFileList")
    assert (url.relation.modifier, url.file_list) == ("+:", True)


@pytest.mark.parametrize(
    ("modifier", "verbs", "expected"),
    [
        ("", "GetMetadata+GetMetadata", ":"),
        ("", "GetMetadata+GetMetadata+GetMetadata", ":"),
        ("", "GetMetadata(oai_dc)+getmetadata(OAI_DC)", ":(oai_dc)"),
        ("", "GetMetadata+GetFileList+GetMetadata", ":"),
        ("", "GetLastEdition+GetLastEdition+GetMetadata", "!:"),
        ("", "GetTranslation+GetTranslation+GetMetadata+GetTranslation+GetTranslation", "+:+"),
        ("", "GetTranslation+GetMetadata+GetTranslation", "+:+"),
        ("!", "GetMetadata+GetMetadata", "!:"),
        ("!", "GetMetadata+GetLastEdition+GetMetadata", "!:"),
        ("+:+", "GetMetadata+GetMetadata", "+:+"),
    ],
)
def test_a_verb_right_after_the_same_verb_adds_nothing(modifier: str, verbs: str, expected: str) -> None:
    """R Table 8.4 derives it, and R 8.2 unites without repetition."""
    assert modifier_of(modifier, verbs) == expected


def test_a_repeated_verb_is_dropped_from_the_verbs_of_a_message_too() -> None:
    verbs = VerbList.parse("GetTranslation GetMetadata GetMetadata GetFileList GetTranslation GetTranslation")
    assert (verbs.relation.modifier, verbs.file_list) == ("+:+", True)


@pytest.mark.parametrize(
    ("verbs", "modifier"),
    [
        ("GetMetadata GetMetadata(oai_dc)", ":(oai_dc)"),
        ("GetTranslation GetTranslation(pt)", "+(pt)"),
        ("GetLastEdition GetMetadata GetMetadata(oai_dc)", "!:(oai_dc)"),
        ("GetTranslation GetMetadata GetTranslation", "+:+"),
    ],
)
def test_an_archive_reads_what_another_resolver_united(verbs: str, modifier: str) -> None:
    """R 8.2: of `LABEL:?ibiurl.verblist=GetMetadata(oai_dc)`, say."""
    query = "servicesubject=urlRequest&clientinformation.ipaddress=1.2.3.4&parsedibiurl.ibi=LK47B6W/362SFKH"
    request = parse_archive_request(f"{query}&parsedibiurl.verblist={quote(verbs)}")
    assert isinstance(request, UrlRequest)
    assert request.relation.modifier == modifier


def test_a_composition_is_left_alone() -> None:
    for modifier in (":+", "!+:+", "+:+", "+!:+"):
        assert PersistentUrl.parse(f"/LK47B6W/362SFKH{modifier}").relation.modifier == modifier


@pytest.mark.parametrize("modifier", ["::", "!!", "++", ":!"])
def test_a_modifier_outside_the_table_stays_refused(modifier: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(f"/LK47B6W/362SFKH{modifier}")
