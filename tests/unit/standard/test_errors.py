"""The one root of errors: codes, parameters, sentences, and the same in another process."""

from __future__ import annotations

import copy
import pickle

import pytest

from ibi.standard import errors
from ibi.standard.errors import IbiError, InvalidInput, InvalidLabel

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, IbiError)]
INPUT_KINDS = [kind for kind in KINDS if issubclass(kind, InvalidInput)]


def test_there_is_one_root() -> None:
    assert all(issubclass(kind, IbiError) for kind in KINDS)
    assert issubclass(IbiError, Exception)


def test_every_kind_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() and " " not in code for code in codes)


def test_every_kind_has_a_sentence_of_its_own() -> None:
    assert len({kind.__doc__ for kind in KINDS}) == len(KINDS)
    assert all((kind.__doc__ or "").endswith(".") for kind in KINDS)


@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_the_message_quotes_the_text_and_gives_the_reason(kind: type[InvalidInput]) -> None:
    error = kind("abc", 1, "it has {count} faults", count=3)
    assert str(error).startswith("'abc'")
    assert str(error).endswith("it has 3 faults.")
    assert (error.text, error.offset) == ("abc", 1)
    assert error.parameters["count"] == 3


@pytest.mark.parametrize(
    "text", ["{", "{0}", "{quoted}", "}{", "%s", "\n", "\r\n", "\u2028", "\x1b[31m", "\ud800", "'", '"', "é"]
)
def test_whatever_is_quoted_stays_on_one_line_and_is_taken_literally(text: str) -> None:
    error = InvalidLabel(text, 0, "{sign} is wrong", sign=repr(text))
    assert len(str(error).splitlines()) == 1
    assert repr(text) in str(error)
    assert "\x1b" not in str(error)
    str(error).encode()


def test_a_long_text_is_quoted_in_part_and_kept_whole() -> None:
    error = InvalidLabel("x" * 10_000, 0, "it is long")
    assert len(str(error)) < 200
    assert error.text == "x" * 10_000


@pytest.mark.parametrize("kind", INPUT_KINDS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_gives_the_same_error(kind: type[InvalidInput], protocol: int) -> None:
    error = kind("a\ud800", 1, "it has {count} faults", count=3)
    for other in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert str(other) == str(error)
        assert (other.text, other.offset, other.reason, other.parameters) == (
            "a\ud800",
            1,
            error.reason,
            error.parameters,
        )


def test_a_message_can_be_translated() -> None:
    words = {
        "{quoted} is not an IBI: {reason}.": "{quoted} não é um IBI: {reason}.",
        "{day} {month} does not exist": "{day} de {month} não existe",
    }
    error = InvalidLabel("x", 0, "{day} {month} does not exist", day=30, month="fevereiro")
    assert error.message(lambda text: words.get(text, text)) == "'x' não é um IBI: 30 de fevereiro não existe."
