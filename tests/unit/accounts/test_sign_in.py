"""Sessions, links and the rules for names and passwords."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.accounts.errors import BadSignIn, InvalidPersonName, InvalidRole, WeakPassword
from ibi.accounts.sign_in import (
    LINK_SECONDS,
    SESSION_SECONDS,
    check_csrf,
    check_name,
    check_password,
    csrf_of,
    find_signed_in,
    new_link,
    new_session,
    role_named,
    use_link,
)
from ibi.instant import Instant
from ibi.model.account import Person, Role
from tests.support.memory.people import MemoryPeople

NOW = Instant.parse("2026-11-15T12:00:00Z")
ADA = Person("ada", Role.LIBRARIAN, NOW)


def somebody(**changes: object) -> MemoryPeople:
    people = MemoryPeople()
    people.add(Person("ada", Role.LIBRARIAN, NOW, **changes))  # type: ignore[arg-type]
    return people


def after(seconds: int) -> Instant:
    return Instant(NOW.seconds + seconds)


def test_a_cookie_is_good_until_its_session_ends() -> None:
    people = somebody()
    text, session = new_session(bytes(32), ADA, NOW)
    people.open_session(session)

    assert find_signed_in(text, people, after(SESSION_SECONDS - 1)) == (ADA, session)
    assert find_signed_in(text, people, after(SESSION_SECONDS)) is None


def test_what_is_kept_does_not_tell_the_cookie() -> None:
    text, session = new_session(bytes(range(32)), ADA, NOW)

    assert text.encode() not in session.digest
    assert session.digest.hex() not in text


@given(st.text(max_size=80))
def test_no_other_text_is_a_cookie(text: str) -> None:
    people = somebody()
    people.open_session(new_session(bytes(32), ADA, NOW)[1])

    assert text == new_session(bytes(32), ADA, NOW)[0] or find_signed_in(text, people, NOW) is None


def test_whoever_is_disabled_is_signed_in_by_nothing() -> None:
    people = somebody(disabled=NOW)
    text, session = new_session(bytes(32), ADA, NOW)
    secret, link = new_link(bytes(32), ADA, NOW)
    people.open_session(session)
    people.add_link(link)

    assert find_signed_in(text, people, NOW) is None
    with pytest.raises(BadSignIn):
        use_link(secret, people, NOW)


def test_a_link_signs_in_once_and_for_an_hour() -> None:
    people = somebody()
    secret, link = new_link(bytes(32), ADA, NOW)
    people.add_link(link)

    assert use_link(secret, people, after(LINK_SECONDS - 1)) == ADA
    with pytest.raises(BadSignIn):
        use_link(secret, people, NOW)


def test_a_link_that_is_too_old_is_gone_after_one_try() -> None:
    people = somebody()
    secret, link = new_link(bytes(32), ADA, NOW)
    people.add_link(link)

    with pytest.raises(BadSignIn):
        use_link(secret, people, after(LINK_SECONDS))
    with pytest.raises(BadSignIn):
        use_link(secret, people, NOW)


@pytest.mark.parametrize("name", ["ada", "Ada.Lovelace", "a@b.example", "7", "x" * 64])
def test_names_that_will_do(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", " ada", "-ada", "a da", "ádá", "x" * 65, "a\n", "<b>"])
def test_names_that_will_not(name: str) -> None:
    with pytest.raises(InvalidPersonName):
        check_name(name)


@pytest.mark.parametrize(
    "password", ["", "short", "123456789", "aaaaaaaaaaaa", "my-ada-secret", "MY-ADA-SECRET", "x1y" * 400]
)
def test_passwords_that_are_tried_first_are_refused(password: str) -> None:
    with pytest.raises(WeakPassword):
        check_password(password, "ada")


def test_a_password_may_be_any_text_of_some_length() -> None:
    assert check_password("correct horse ✓", "ada") == "correct horse ✓"


def test_forms_of_one_session_are_not_those_of_another() -> None:
    one, other = new_session(bytes(32), ADA, NOW)[0], new_session(b"1" * 32, ADA, NOW)[0]

    assert check_csrf(one, csrf_of(one))
    assert not check_csrf(one, csrf_of(other))
    assert not check_csrf(one, "é\ud800")


def test_a_role_is_known_by_its_name_and_includes_those_before_it() -> None:
    assert role_named("admin") is Role.ADMIN
    assert sorted(Role) == [*Role]
    with pytest.raises(InvalidRole):
        role_named("root")
