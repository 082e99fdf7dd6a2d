"""R §7.2: the constant answers to the messages of membership."""

from __future__ import annotations

import pytest

from ibi.standard.messages import Answer, Confirmation, ExclusionStatus, InclusionStatus, ServiceSubject, parse_answer
from ibi.standard.pairs import Pairs

CONSTANTS = [
    (ServiceSubject.INCLUSION_CONFIRMATION_REQUEST, Confirmation(), b"confirmation yes"),
    (
        ServiceSubject.INCLUSION_REQUEST,
        InclusionStatus(confirmed=True),
        b"status.archive included status.confirmation successful",
    ),
    (
        ServiceSubject.INCLUSION_REQUEST,
        InclusionStatus(confirmed=False),
        b"status.archive included status.confirmation unsuccessful",
    ),
    (ServiceSubject.EXCLUSION_REQUEST, ExclusionStatus(), b"status.archive excluded"),
]


@pytest.mark.parametrize(("subject", "answer", "body"), CONSTANTS)
def test_a_constant_is_written_on_one_line_as_printed(subject: ServiceSubject, answer: Answer, body: bytes) -> None:
    assert answer.encode() == body


@pytest.mark.parametrize(("subject", "answer", "body"), CONSTANTS)
def test_a_constant_is_read(subject: ServiceSubject, answer: Answer, body: bytes) -> None:
    assert parse_answer(subject, Pairs.decode(body)) == answer


@pytest.mark.parametrize(("subject", "answer", "body"), CONSTANTS)
def test_a_constant_is_read_with_a_pair_a_line_too(subject: ServiceSubject, answer: Answer, body: bytes) -> None:
    assert parse_answer(subject, Pairs.decode(answer.to_pairs().encode() + b"\r\n")) == answer
