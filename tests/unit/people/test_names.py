"""The rules for names, addresses and passwords."""

from __future__ import annotations

import contextlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.people.model.account import Role
from ibi.people.rules.errors import InvalidMail, InvalidPersonName, InvalidRole, WeakPassword
from ibi.people.rules.names import (
    check_mail,
    check_name,
    check_password,
    check_shown,
    fold_name,
    nearest_name,
    role_named,
)


@pytest.mark.parametrize(
    "name",
    [
        *("ada", "Ada.Lovelace", "a@b.example", "7", "x" * 64),
        *(
            "João Ávila",
            "O’Neill",
            "D'Arc",
            "Jean-Luc",
            "王小明",
            "Наталья",
            "ณัฐ",
            "मीरा",
            "Gal·la",
            "Nguyễn Thị Hương",
        ),
    ],
)
def test_names_that_will_do(name: str) -> None:
    assert check_name(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    "name",
    [
        *("", " ada", "ada ", "-ada", "a  da", "x" * 65, "a\n", "<b>", "a:b", "a/b", "a@b@c", "\u202eada", "a\u200bda"),
        "Аda",  # the first letter is Cyrillic
        "a" + "\u0301" * 9,
        "\ud800",
    ],
)
def test_names_that_will_not(name: str) -> None:
    with pytest.raises(InvalidPersonName):
        check_name(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("João Ávila", "JOÃO ÁVILA"),
        ("João", "Joa\u0303o"),
        ("Ａｄａ", "ada"),
        ("Straße", "STRASSE"),
    ],
)
def test_spellings_of_one_name_are_the_same(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other)


@given(st.text(max_size=100))
def test_a_name_is_folded_once_and_for_all(text: str) -> None:
    assert fold_name(fold_name(text)) == fold_name(text)


@given(st.text(max_size=100))
def test_any_text_is_a_name_or_is_refused(text: str) -> None:
    with contextlib.suppress(InvalidPersonName):
        assert fold_name(check_name(text)) == fold_name(text)


@given(st.text(max_size=200))
def test_the_nearest_name_of_any_text_is_a_name_or_none(text: str) -> None:
    found = nearest_name(text, 40)
    assert found is None or (check_name(found) == found and len(found) <= 40)


@given(st.text(max_size=20))
def test_the_nearest_name_of_a_name_is_the_same(text: str) -> None:
    try:
        name = check_name(text)
    except InvalidPersonName:
        return
    if "@" not in name:
        assert nearest_name(name) == name


def test_what_pages_call_a_person_is_one_line_or_nothing() -> None:
    assert check_shown("  João \u00a0 P. Ávila ") == "João P. Ávila"
    assert check_shown("") == ""
    for text in ("x" * 101, "a\u202eb", "a\0b"):
        with pytest.raises(InvalidPersonName):
            check_shown(text)


def test_an_address_is_one_that_a_letter_can_be_sent_to() -> None:
    assert check_mail(" eva@lab.example ") == "eva@lab.example"
    for text in ("", "eva", "eva@", "a@b.example\nBcc: c@d.example", "é@lab.example", "x" * 400 + "@lab.example"):
        with pytest.raises(InvalidMail):
            check_mail(text)


@pytest.mark.parametrize(
    "password", ["", "short", "123456789", "aaaaaaaaaaaa", "my-ada-secret", "MY-ADA-SECRET", "x1y" * 400]
)
def test_passwords_that_are_tried_first_are_refused(password: str) -> None:
    with pytest.raises(WeakPassword):
        check_password(password, "ada")


@pytest.mark.parametrize("name", ["ada", "a", "王"])
def test_a_password_may_be_any_text_of_some_length(name: str) -> None:
    assert check_password("correct horse batteries ✓", name) == "correct horse batteries ✓"


def test_a_role_is_known_by_its_name_and_includes_those_before_it() -> None:
    assert role_named("admin") is Role.ADMIN
    assert sorted(Role) == [*Role]
    with pytest.raises(InvalidRole):
        role_named("root")
