"""Sessions, links and invitations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.people.model.account import LinkUse, Person, Role
from ibi.people.rules.errors import BadInvitation, BadSignIn
from ibi.people.rules.sign_in import (
    INVITATION_SECONDS,
    LINK_SECONDS,
    SESSION_SECONDS,
    check_csrf,
    csrf_of,
    find_by_sign_in,
    find_invitation,
    find_signed_in,
    new_invitation,
    new_link,
    new_session,
    use_link,
)
from ibi.standard.instant import Instant
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
    people.open_session(session, ADA)

    assert find_signed_in(text, people, after(SESSION_SECONDS - 1)) == (ADA, session)
    assert find_signed_in(text, people, after(SESSION_SECONDS)) is None


def test_what_is_kept_does_not_tell_the_cookie() -> None:
    text, session = new_session(bytes(range(32)), ADA, NOW)

    assert text.encode() not in session.digest
    assert session.digest.hex() not in text


@given(st.text(max_size=80))
def test_no_other_text_is_a_cookie(text: str) -> None:
    people = somebody()
    people.open_session(new_session(bytes(32), ADA, NOW)[1], ADA)

    assert text == new_session(bytes(32), ADA, NOW)[0] or find_signed_in(text, people, NOW) is None


def test_a_person_who_is_disabled_is_signed_in_by_nothing() -> None:
    people = somebody(disabled=NOW)
    ada = replace(ADA, disabled=NOW)
    text, session = new_session(bytes(32), ADA, NOW)
    secret, link = new_link(bytes(32), ADA, NOW)
    assert people.open_session(session, ada)
    assert people.add_link(link, ada)

    assert find_signed_in(text, people, NOW) is None
    with pytest.raises(BadSignIn):
        use_link(secret, people, NOW)


def test_a_link_signs_in_once_and_for_an_hour() -> None:
    people = somebody()
    secret, link = new_link(bytes(32), ADA, NOW)
    people.add_link(link, ADA)

    assert use_link(secret, people, after(LINK_SECONDS - 1)) == ADA
    with pytest.raises(BadSignIn):
        use_link(secret, people, NOW)


def test_a_link_that_is_too_old_is_gone_after_one_try() -> None:
    people = somebody()
    secret, link = new_link(bytes(32), ADA, NOW)
    people.add_link(link, ADA)

    with pytest.raises(BadSignIn):
        use_link(secret, people, after(LINK_SECONDS))
    with pytest.raises(BadSignIn):
        use_link(secret, people, NOW)


@pytest.mark.parametrize("use", [LinkUse.PASSWORD, LinkUse.SECOND_FACTOR])
def test_a_secret_for_another_use_signs_in_by_no_link_and_stays(use: LinkUse) -> None:
    people = somebody()
    secret, link = new_link(bytes(32), ADA, NOW, use)
    people.add_link(link, ADA)

    with pytest.raises(BadSignIn):
        use_link(secret, people, NOW)
    assert use_link(secret, people, NOW, use) == ADA


def test_an_invitation_can_be_accepted_for_two_weeks() -> None:
    people = somebody()
    secret, invitation = new_invitation(bytes(32), "eva@lab.example", Role.DEPOSITOR, NOW, invited_by="person:ada")
    people.invite(invitation)

    assert find_invitation(secret, people, after(INVITATION_SECONDS - 1)) == invitation
    for text, now in ((secret, after(INVITATION_SECONDS)), ("x" * 52, NOW), ("", NOW)):
        with pytest.raises(BadInvitation):
            find_invitation(text, people, now)


def test_a_person_signs_in_by_their_name_or_their_address() -> None:
    people = somebody(mail="Ada@lab.example")

    assert {find_by_sign_in(text, people) for text in ("ADA", "ada@LAB.example")} == {people.find("ada")}
    assert find_by_sign_in("eva@lab.example", people) is None


def test_forms_of_one_session_are_not_those_of_another() -> None:
    one, other = new_session(bytes(32), ADA, NOW)[0], new_session(b"1" * 32, ADA, NOW)[0]

    assert check_csrf(one, csrf_of(one))
    assert not check_csrf(one, csrf_of(other))
    assert not check_csrf(one, "é\ud800")
