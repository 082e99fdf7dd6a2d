"""E18: failures of service requests are not defined. As a value: `error {…}`, and errors that can be told apart."""

from __future__ import annotations

import pytest

from ibi.archive.rules.answer import answer
from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import Acknowledgment, ErrorAnswer, ServiceSubject, parse_answer, parse_request
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.messages.requests import parse_archive_request
from ibi.standard.pairs import Pairs
from tests.support.standards_archives import MTC_M16D, NOW


def test_a_failure_is_one_pair_on_one_line() -> None:
    assert ErrorAnswer("the pair archiveip is missing").encode() == b"error {the pair archiveip is missing}"


@pytest.mark.parametrize("subject", list(ServiceSubject))
def test_a_failure_is_recognised_whatever_was_asked(subject: ServiceSubject) -> None:
    assert parse_answer(subject, Pairs.decode(b"error {the pair archiveip is missing}")) == ErrorAnswer(
        "the pair archiveip is missing"
    )


def test_a_failure_in_one_word_needs_no_braces() -> None:
    assert parse_answer(ServiceSubject.URL_REQUEST, Pairs.decode(b"error unknown")) == ErrorAnswer("unknown")


def test_what_a_failure_quotes_cannot_become_a_pair() -> None:
    answer = ErrorAnswer("no such item: x}\r\nstate Original url {")
    assert Pairs.decode(answer.encode()) == answer.to_pairs()
    assert list(answer.to_pairs()) == ["error"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "missing-subject"),
        ("parsedibiurl.ibi=LK47B6W/362SFKH", "missing-subject"),
        ("servicesubject=", "unknown-subject"),
        ("servicesubject=deleteEverything", "unknown-subject"),
        ("servicesubject=urlRequest&servicesubject=urlRequest", "repeated-pair"),
        ("servicesubject=urlRequest", "missing-pair"),
        ("servicesubject=urlRequest&clientinformation.ipaddress=x&parsedibiurl.ibi=LK47B6W/362SFKH", "invalid-message"),
        ("servicesubject=urlRequest&" + "x" * 65536, "invalid-message"),
    ],
)
def test_what_is_wrong_with_a_request_has_a_code(query: str, code: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        parse_request(query)
    assert refused.value.code == code


NOTICE = b"notice {acknowledgment received}"
WHOLE = (
    "servicesubject=acknowledgment&clientinformation.ipaddress=150.163.2.175&contenttype=Data&state=Original&"
    "url=http://mtc-m16d.sid.inpe.br/x&url.persistent=http://urlib.net/LK47B6W/362SFKH&urlkey=1424636122-5331490054"
)


@pytest.mark.parametrize(
    "query",
    [
        "servicesubject=acknowledgment",
        "servicesubject=Acknowledgment&unknown=1",
        WHOLE.partition("&url=")[0],
        WHOLE.replace("150.163.2.175", "nobody"),
        WHOLE.replace("contenttype=Data", "contenttype=Text"),
        WHOLE.replace("state=Original", "state=Deleted"),
        WHOLE.replace("urlkey=1424636122-5331490054", "urlkey=12"),
        WHOLE.replace("http://mtc", "ftp://mtc"),
        f"{WHOLE}&urlkey=1",
        f"{WHOLE}&state=Original",
    ],
)
def test_an_acknowledgment_without_readable_pairs_gets_the_constant_answer_and_counts_nothing(query: str) -> None:
    """R Algorithm 1, line 20 looks at no other pair."""
    assert parse_archive_request(query) is ServiceSubject.ACKNOWLEDGMENT
    told = answer(MTC_M16D.profile, MTC_M16D.catalog, query, NOW, 1, UrlKeys(b"s" * 32))
    assert told == (NOTICE, None)


def test_a_whole_acknowledgment_is_read() -> None:
    assert isinstance(parse_archive_request(WHOLE), Acknowledgment)


@pytest.mark.parametrize("query", ["servicesubject=acknowledgment&servicesubject=acknowledgment"])
def test_an_acknowledgment_whose_subject_is_ambiguous_is_refused(query: str) -> None:
    with pytest.raises(InvalidMessage):
        parse_archive_request(query)
