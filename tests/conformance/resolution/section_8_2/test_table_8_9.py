"""R Table 8.9: the pairs of a request for a URL."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import parse
from ibi.standard.messages import MissingPair, UrlRequest, ip_addresses, parse_request
from ibi.standard.relation import Relation

LEAST = "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi=LK47B6W/362SFKH"


def read(query: str) -> UrlRequest:
    request = parse_request(query)
    assert isinstance(request, UrlRequest)
    return request


def test_path_and_verbs_are_optional() -> None:
    assert read(LEAST) == UrlRequest(ip_addresses("150.163.2.175"), parse("LK47B6W/362SFKH"))


@pytest.mark.parametrize("name", ["clientinformation.ipaddress", "parsedibiurl.ibi"])
def test_the_users_address_and_the_label_are_obligatory(name: str) -> None:
    with pytest.raises(MissingPair, match=name):
        read("&".join(pair for pair in LEAST.split("&") if not pair.startswith(name)))


def test_the_tables_own_path_is_read() -> None:
    assert read(f"{LEAST}&parsedibiurl.filepath=/reference.bib").file_path == "/reference.bib"


@pytest.mark.parametrize("joint", ["%20", "+", "%2B"])
def test_the_verbs_are_one_relation_however_they_are_joined(joint: str) -> None:
    request = read(f"{LEAST}&parsedibiurl.verblist=GetLastEdition{joint}GetMetadata(oai_dc)")
    assert request.relation == Relation.from_modifier("!:(oai_dc)")
    assert not request.file_list


@pytest.mark.parametrize("verbs", ["GetFileList", "getfilelist"])
def test_the_list_of_files_is_a_field_of_its_own(verbs: str) -> None:
    request = read(f"{LEAST}&parsedibiurl.verblist={verbs}")
    assert (request.relation, request.file_list) == (Relation.ITSELF, True)


def test_the_list_of_files_may_stand_anywhere_among_the_verbs_and_is_written_last() -> None:
    request = read(f"{LEAST}&parsedibiurl.verblist=GetFileList%20GetLastEdition")
    assert "parsedibiurl.verblist=GetLastEdition%20GetFileList&" in request.to_query()


@pytest.mark.parametrize("pair", ["parsedibiurl.filepath=", "parsedibiurl.filepath=/", "parsedibiurl.verblist="])
def test_an_empty_path_or_list_of_verbs_is_none(pair: str) -> None:
    assert read(f"{LEAST}&{pair}") == read(LEAST)


@pytest.mark.parametrize(
    "verbs", ["GetPaper", "GetMetadata%20GetLastEdition", "GetTranslation()", "GetTranslation(port)"]
)
def test_verbs_outside_the_grammar_are_refused(verbs: str) -> None:
    with pytest.raises(InvalidMessage, match=r"parsedibiurl\.verblist"):
        read(f"{LEAST}&parsedibiurl.verblist={verbs}")


def test_any_two_letters_are_a_language_here() -> None:
    assert read(f"{LEAST}&parsedibiurl.verblist=GetTranslation(zq)").relation.verbs == ("GetTranslation(zq)",)


@pytest.mark.parametrize("label", ["", "LK47B6W", "LK47B6W/362SFKH!", "LK47B6W/362SFKH/reference.bib"])
def test_nothing_but_a_label_is_asked_for(label: str) -> None:
    with pytest.raises(InvalidMessage, match=r"parsedibiurl\.ibi"):
        read(LEAST.replace("LK47B6W/362SFKH", label))


@pytest.mark.parametrize("label", ["lk47b6w/362sfkh", "Iconet.com.BR/banon/2009/09.09.22.01"])
def test_a_label_goes_out_as_it_was_spelled(label: str) -> None:
    request = UrlRequest(ip_addresses("150.163.2.175"), parse(label))
    assert f"parsedibiurl.ibi={label}&" in request.to_query()


def test_an_archive_learns_neither_the_users_languages_nor_that_the_original_is_required() -> None:
    assert {field.name for field in fields(UrlRequest)} == {
        "client_addresses",
        "label",
        "relation",
        "file_path",
        "file_list",
        "spelled_path",
    }
    leaking = f"{LEAST}&clientinformation.languagepreference=pt-br&parsedibiurl.requireditemstatus=Original"
    assert read(leaking) == read(LEAST)
    assert read(leaking).to_query() == read(LEAST).to_query()


@pytest.mark.parametrize("path", ["/../x", "/a//b", "/a/", "/.", "a%5Cb", "/a%00", "/a%0A", "%2e%2e/x"])
def test_a_path_that_could_lead_astray_is_refused(path: str) -> None:
    with pytest.raises(InvalidMessage, match=r"parsedibiurl\.filepath"):
        read(f"{LEAST}&parsedibiurl.filepath={path}")
