from __future__ import annotations

import pickle

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import (
    Answer,
    Confirmation,
    ErrorAnswer,
    ExclusionStatus,
    InclusionStatus,
    Notice,
    ServiceSubject,
    parse_answer,
)
from ibi.standard.pairs import Pairs

ANSWERS = [
    (ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, Confirmation()),
    (ServiceSubject.INCLUSION_REQUEST, InclusionStatus(confirmed=True)),
    (ServiceSubject.INCLUSION_REQUEST, InclusionStatus(confirmed=False)),
    (ServiceSubject.EXCLUSION_REQUEST, ExclusionStatus()),
    (ServiceSubject.ACKNOWLEDGMENT, Notice()),
    (ServiceSubject.ACKNOWLEDGMENT, ErrorAnswer("no such key")),
]


@pytest.mark.parametrize(("subject", "answer"), ANSWERS)
def test_every_answer_is_read_as_it_was_written(subject: ServiceSubject, answer: Answer) -> None:
    assert parse_answer(subject, Pairs.decode(answer.encode())) == answer


@pytest.mark.parametrize(("subject", "answer"), ANSWERS)
def test_every_answer_is_frozen_hashable_and_can_be_pickled(subject: ServiceSubject, answer: Answer) -> None:
    assert {answer, pickle.loads(pickle.dumps(answer))} == {answer}


@pytest.mark.parametrize(("subject", "answer"), ANSWERS)
def test_pairs_that_are_not_known_are_ignored(subject: ServiceSubject, answer: Answer) -> None:
    assert parse_answer(subject, Pairs.decode(answer.encode() + b" colour {red blue}")) == answer


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        (ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, b""),
        (ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, b"confirmation no"),
        (ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, b"confirmation {yes yes}"),
        (ServiceSubject.INCLUSION_REQUEST, b"status.archive included"),
        (ServiceSubject.INCLUSION_REQUEST, b"status.archive excluded status.confirmation successful"),
        (ServiceSubject.INCLUSION_REQUEST, b"status.archive included status.confirmation maybe"),
        (ServiceSubject.EXCLUSION_REQUEST, b"status.archive included"),
        (ServiceSubject.ACKNOWLEDGMENT, b"notice received"),
        (ServiceSubject.ACKNOWLEDGMENT, b"notice {}"),
        (ServiceSubject.URL_REQUEST, b"confirmation yes"),
    ],
)
def test_anything_else_is_refused(subject: ServiceSubject, body: bytes) -> None:
    with pytest.raises(InvalidMessage):
        parse_answer(subject, Pairs.decode(body))


def test_constants_are_read_in_any_case() -> None:
    assert Confirmation.from_pairs(Pairs([("confirmation", "YES")])) == Confirmation()
    assert InclusionStatus.from_pairs(
        Pairs([("status.archive", "Included"), ("status.confirmation", "Successful")])
    ) == InclusionStatus(confirmed=True)


def test_the_text_of_an_error_is_kept_as_it_travels() -> None:
    assert ErrorAnswer("  chave  inválida ").text == "chave inv%C3%A1lida"
    assert ErrorAnswer("").encode() == b"error {}"
    assert ErrorAnswer("'registrationkey=…' is wrong").encode() == b"error {'registrationkey=...' is wrong}"


def test_an_error_may_quote_anything() -> None:
    assert ErrorAnswer("what is \ud800 {this}").encode() == b"error {what is ? %7Bthis%7D}"
