"""Codes of a second factor, and recovery codes."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from ibi.people.model.account import SecondFactor
from ibi.people.rules.sign_in import (
    PERIOD,
    RECOVERY_CODES,
    RECOVERY_RANDOM,
    code_at,
    enrolment_uri,
    recovery_codes,
    spell_secret,
    use_code,
)
from ibi.standard.instant import Instant

NOW = Instant(1_800_000_000)
FACTOR = SecondFactor(b"12345678901234567890", NOW)


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"), (2000000000, "279037")],
)
def test_the_examples_of_rfc_6238(seconds: int, code: str) -> None:
    """Appendix B, SHA-1, the last six of eight digits."""
    assert code_at(FACTOR.secret, seconds) == code


@pytest.mark.parametrize("late", [-PERIOD, 0, PERIOD])
def test_a_code_counts_once_in_its_time_and_just_before_and_after_it(late: int) -> None:
    code = code_at(FACTOR.secret, NOW.seconds + late)
    used = use_code(FACTOR, f" {code[:3]} {code[3:]} ", NOW)
    assert used is not None
    assert use_code(used, code, NOW) is None


@pytest.mark.parametrize("late", [-3 * PERIOD, 2 * PERIOD, 86_400])
def test_a_code_of_another_time_does_not_count(late: int) -> None:
    assert use_code(FACTOR, code_at(FACTOR.secret, NOW.seconds + late), NOW) is None


def test_a_code_before_the_last_one_that_was_used_does_not_count() -> None:
    used = use_code(FACTOR, code_at(FACTOR.secret, NOW.seconds + PERIOD), NOW)
    assert used is not None
    assert use_code(used, code_at(FACTOR.secret, NOW.seconds), NOW) is None


@pytest.mark.parametrize("text", ["", "000000", "12345", "1234567", "١٢٣٤٥٦", "é", "\ud800", "a" * 10_000, "-"])
def test_anything_else_is_no_code(text: str) -> None:
    assert use_code(FACTOR, text, NOW) is None


def test_a_recovery_code_stands_in_once_however_it_is_typed() -> None:
    shown, kept = recovery_codes(bytes(range(RECOVERY_RANDOM)))
    factor = replace(FACTOR, recovery=kept)
    assert len(set(shown)) == len(kept) == RECOVERY_CODES
    left = use_code(factor, f" {shown[3].upper().replace('-', ' ')} ", NOW)
    assert left is not None
    assert len(left.recovery) == RECOVERY_CODES - 1
    assert use_code(left, shown[3], NOW) is None
    assert use_code(left, shown[4], NOW) is not None
    assert use_code(replace(factor, confirmed=None), shown[0], NOW) is None


def test_a_device_is_told_the_secret_and_whose_it_is() -> None:
    uri = urlsplit(enrolment_uri(FACTOR.secret, "João Ávila", "Biblioteca: A & B"))
    said = {name: values[0] for name, values in parse_qs(uri.query).items()}
    assert (uri.scheme, uri.netloc) == ("otpauth", "totp")
    assert said["secret"] == spell_secret(FACTOR.secret).replace(" ", "") == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    assert said["issuer"] == "Biblioteca: A & B"
    assert uri.path.count(":") == 1
