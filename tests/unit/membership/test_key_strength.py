"""Keys that are easy to guess (E61)."""

from __future__ import annotations

import random

import pytest

from ibi.membership.rules.membership import WeakKey
from ibi.membership.rules.registration_keys import key_weakness, require_unknown
from ibi.standard.label import parse
from ibi.standard.messages import RegistrationKey

LABEL = parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39")


@pytest.mark.parametrize(
    "text",
    [
        "1234567890",  # the standard's own
        "1234567890-1234567890",
        "0123456789",
        "0987654321",
        "9876543210",
        "3210987654",
        "0000000000",
        "1111111111-2222222222",
        "5555555555555",
        "1212121212",
        "1231231231",
        "1234512345",
        "2468024680",
        "1122334455",
        "9988776655",
        "1000000000",
        "1112223331",
        "4712345678",
        "0605153439",
        "20120605153439",
        "1234567890-0605153439",
        "3141592653",
        "1415926535",
        "31415926535897932384",
        "2718281828",
        "1414213562",
        "1618033988",
        "4731415926",
        "7193553917",
    ],
)
def test_patterns_excerpts_and_parts_of_the_label_are_easy(text: str) -> None:
    reason = key_weakness(RegistrationKey(text), [LABEL])
    assert reason is not None
    assert text not in reason


@pytest.mark.parametrize(
    "text", ["5985125171467764", "7730914258", "1234567890-7730914258", "3141577309", "0123981734"]
)
def test_digits_by_chance_are_not_easy(text: str) -> None:
    assert key_weakness(RegistrationKey(text), [LABEL]) is None


def test_of_a_thousand_drawn_keys_hardly_one_is_easy() -> None:
    chance = random.Random(20261115)
    keys = (RegistrationKey("".join(chance.choices("0123456789", k=10))) for _ in range(1000))
    assert sum(key_weakness(key) is not None for key in keys) <= 5


@pytest.mark.parametrize(
    "text",
    [
        "1234567890",  # the standard's own
        "1234567890-0987654321",
        "0123456789",
        "9876543210",
        "0000000000",
        "7777777777",
        "3141592653",
        "2718281828",
    ],
)
def test_well_known_keys_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(WeakKey) as refused:
        require_unknown(RegistrationKey(text))
    assert text not in str(refused.value)


@pytest.mark.parametrize("text", ["1234567890-7730914258", "12345678901", "4712345678", "1415926535", "7730914258"])
def test_easy_keys_that_are_not_on_the_list_are_not_refused(text: str) -> None:
    require_unknown(RegistrationKey(text))
