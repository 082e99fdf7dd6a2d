"""R Table 7.1: the grammar of a key."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import RegistrationKey, UrlKey

KINDS = pytest.mark.parametrize("kind", [RegistrationKey, UrlKey])


@KINDS
@pytest.mark.parametrize(
    "text",
    ["1234567890", "1234567890-1234567890", "12345678901", "0000000000-00000000000", "1426286454-36108967764060357"],
)
def test_a_key_is_one_or_two_numbers_of_ten_or_more_digits(kind: type[RegistrationKey | UrlKey], text: str) -> None:
    assert kind(text).reveal() == text


@KINDS
@pytest.mark.parametrize(
    "text",
    [
        "",
        "123456789",
        "123456789-1234567890",
        "1234567890-123456789",
        "1234567890-",
        "-1234567890",
        "1234567890--1234567890",
        "1234567890-1234567890-1234567890",
        "1234567890 ",
        "1234567890\n",
        "123456789a",
        "١٢٣٤٥٦٧٨٩٠",
        "1234567890–1234567890",
    ],
)
def test_anything_else_is_refused(kind: type[RegistrationKey | UrlKey], text: str) -> None:
    with pytest.raises(InvalidMessage):
        kind(text)


@KINDS
def test_a_key_has_an_end(kind: type[RegistrationKey | UrlKey]) -> None:
    assert kind("1" * 256).reveal() == "1" * 256
    with pytest.raises(InvalidMessage, match="at most 256"):
        kind("1" * 257)
