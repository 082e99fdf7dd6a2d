"""E18: failures of service requests are not defined. As a value: `error {…}`, and errors that can be told apart."""

from __future__ import annotations

import pytest

from ibi.errors import InvalidMessage
from ibi.messages import ErrorAnswer, ServiceSubject, parse_answer, parse_request
from ibi.pairs import Pairs


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
