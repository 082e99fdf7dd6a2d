"""R Algorithm 1, MONTARRESPOSTA: one answer for each subject."""

from __future__ import annotations

import pytest

from ibi.archive.rules.answer import answer, static_answer
from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import (
    Acknowledgment,
    InclusionConfirmationRequest,
    MissingSubject,
    RepeatedPair,
    Request,
    UnknownSubject,
    UrlKey,
    UrlList,
    UrlRequest,
    parse_request,
    parse_url_list,
)
from ibi.standard.messages.holders import NOT_FINAL_FIELD
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.pairs import Pairs
from tests.support.standards_archives import MTC_M16C, MTC_M16D, NOW, StandardsArchive

KEYS = UrlKeys(b"s" * 32)
EXAMPLE_6_1 = "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5"
EXAMPLE_6_2 = "\r\n".join(
    [
        "archiveaddress mtc-m16d.sid.inpe.br",
        "contenttype Data",
        "ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "state Original",
        "timestamp 2013-10-04T14:32:14Z",
        "url http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf",
        "urlkey ",
    ]
)


def ask(query: str, archive: StandardsArchive = MTC_M16D, random: int = 7) -> tuple[str, Request | None]:
    body, request = answer(archive.profile, archive.catalog, query, NOW, random, KEYS)
    return body.decode("ascii"), request


def test_lines_2_to_4_a_request_for_confirmation_is_confirmed() -> None:
    body, request = ask("servicesubject=inclusionConfirmationRequest")
    assert body == "confirmation yes"
    assert isinstance(request, InclusionConfirmationRequest)


def test_lines_5_to_18_example_6_1_is_answered_by_example_6_2_but_for_its_key() -> None:
    body, request = ask(EXAMPLE_6_1)
    assert isinstance(request, UrlRequest)
    assert body.startswith(EXAMPLE_6_2)
    assert UrlKey(body.removeprefix(EXAMPLE_6_2)) == _key(body)


def test_the_key_changes_with_every_answer() -> None:
    assert ask(EXAMPLE_6_1, random=1) != ask(EXAMPLE_6_1, random=2)


def test_the_key_speaks_for_the_item_and_the_relation_asked_for() -> None:
    known = KEYS.check(_key(ask(EXAMPLE_6_1 + "&parsedibiurl.verblist=GetMetadata")[0]), NOW.seconds)
    assert known is not None
    assert (str(known.label), known.relation.modifier) == ("8JMKD3MGP7W/3EPGUE5", ":")


def test_lines_7_and_8_a_path_is_read_with_its_escapes() -> None:
    query = EXAMPLE_6_1.replace("8JMKD3MGP7W/3EPGUE5", "LK47B6W/362SFKH") + "&parsedibiurl.filepath=/reference%2Ebib"
    assert "/doc/reference.bib\r\n" in ask(query)[0]


def test_lines_12_and_13_verbs_are_joined_by_blanks_or_plus_signs() -> None:
    for verbs in ("GetLastEdition%20GetMetadata(oai_dc)", "GetLastEdition+GetMetadata(oai_dc)"):
        body, _ = ask(f"{EXAMPLE_6_1}&parsedibiurl.verblist={verbs}")
        assert "\r\nurl.lastedition.metadata(oai_dc) " in body


def test_line_17_is_optional() -> None:
    from dataclasses import replace

    unfiltered = StandardsArchive(replace(MTC_M16D.profile, filtered=False), MTC_M16D.catalog)
    body, _ = ask(EXAMPLE_6_1, unfiltered)
    assert "\r\nurl.metadata(oai_dc) " in body
    assert set(ask(EXAMPLE_6_1)[0].split("\r\n")) <= set(body.split("\r\n")) | {f"urlkey {_key(body).reveal()}"}


def test_lines_19_to_21_an_acknowledgment_is_received() -> None:
    body, request = ask(
        "clientinformation.ipaddress=150.163.2.175&contenttype=Data&ibi=rep%20sid.inpe.br/mtc-m19/2013/09.04.12.27.57&"
        "servicesubject=acknowledgment&state=Original&url=http://mtc-m16d.sid.inpe.br/x&"
        "url.persistent=http://urlib.net/8JMKD3MGP7W/3EPGUE5&urlkey=1426203276-5985125171467764"
    )
    assert body == "notice {acknowledgment received}"
    assert isinstance(request, Acknowledgment)


def test_an_item_that_is_not_here_is_answered_with_no_bytes() -> None:
    assert ask(EXAMPLE_6_1, MTC_M16C)[0] == ""
    request = parse_request(EXAMPLE_6_1)
    assert isinstance(request, UrlRequest)
    empty = static_answer(MTC_M16C.profile, MTC_M16C.catalog, request, NOW, KEYS)
    assert (empty.body, empty.fields, empty.missing) == (b"", (NOT_FINAL_FIELD,), request.label)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("", MissingSubject),
        ("parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5", MissingSubject),
        ("servicesubject=somethingElse", UnknownSubject),
        (EXAMPLE_6_1 + "&parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5", RepeatedPair),
        (
            "archiveadmemailaddress=a@b.br&archiveaddress=a.br&archiveip=1.2.3.4&archiveplatformversion=1&"
            "archiveprotocol=HTTP&archiveregistrationkey=1234567890&archiveserviceibi=8JMKD3MGP7W/3EPGUE5&"
            "servicesubject=inclusionRequest",
            InvalidMessage,
        ),
    ],
)
def test_what_is_no_request_to_an_archive_is_refused(query: str, kind: type[InvalidMessage]) -> None:
    """E18."""
    with pytest.raises(kind):
        ask(query)


@pytest.mark.parametrize(
    "query",
    [
        "servicesubject=urlRequest",
        "servicesubject=urlRequest&clientinformation.ipaddress=1.2.3.4&parsedibiurl.ibi=x",
        EXAMPLE_6_1 + "&parsedibiurl.verblist=GetEverything",
    ],
)
def test_what_no_archive_can_have_is_answered_with_nothing(query: str) -> None:
    """E18; R Algorithm 2, lines 2 to 4."""
    assert ask(query) == ("", None)


def _key(body: str) -> UrlKey:
    read = parse_url_list(Pairs.decode(body.encode()))
    assert isinstance(read, UrlList)
    assert read.url_key is not None
    return read.url_key
