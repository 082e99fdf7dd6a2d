"""Keys that somebody would try first."""

from __future__ import annotations

import random

import pytest

from ibi.label import parse
from ibi.messages import RegistrationKey
from ibi.resolver.errors import WeakKey
from ibi.resolver.key_strength import require_strong

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
    ],
)
def test_a_pattern_is_refused(text: str) -> None:
    with pytest.raises(WeakKey) as refused:
        require_strong(RegistrationKey(text), [LABEL])
    assert text not in str(refused.value)


@pytest.mark.parametrize("text", ["5985125171467764", "3141592653", "7730914258", "1234567890-7730914258"])
def test_digits_by_chance_pass(text: str) -> None:
    require_strong(RegistrationKey(text), [LABEL])


def test_of_a_thousand_drawn_keys_hardly_one_is_refused() -> None:
    chance = random.Random(20261115)
    refused = 0
    for _ in range(1000):
        try:
            require_strong(RegistrationKey("".join(chance.choices("0123456789", k=10))))
        except WeakKey:
            refused += 1
    assert refused <= 5
