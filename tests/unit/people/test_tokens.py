"""Tokens: what is shown, what is stored, and who is let in."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.people.model.account import Person, Role, Scope, Token
from ibi.people.rules.errors import (
    BeyondRole,
    InvalidExpiry,
    InvalidScope,
    InvalidTokenName,
    NotAllowed,
    NotAuthenticated,
    UnknownToken,
)
from ibi.people.rules.sign_in import (
    MAX_NAME,
    TOKEN_BYTES,
    as_person_may,
    authenticate,
    new_token,
    require,
    revoke,
    scope_named,
)
from ibi.standard.instant import Instant
from tests.support.memory.tokens import MemoryTokens

NOW = Instant.parse("2026-11-15T12:00:00.5Z")
LATER = Instant.parse("2026-11-16T12:00:00Z")
CHANCE = bytes(range(TOKEN_BYTES))


def stored(*tokens: Token) -> MemoryTokens:
    store = MemoryTokens()
    for token in tokens:
        store.add(token)
    return store


def test_the_text_is_a_public_id_and_a_secret() -> None:
    text, token = new_token(CHANCE, Scope.DEPOSIT, NOW, name="harvester")
    assert re.fullmatch(r"ibi_[a-z2-7]{16}_[a-z2-7]{52}", text)
    assert text.split("_")[1] == token.id
    assert (token.scope, token.name, token.expires, token.revoked) == (Scope.DEPOSIT, "harvester", None, None)
    assert token.created == Instant.parse("2026-11-15T12:00:00Z")


def test_only_the_sha_256_of_the_secret_is_stored() -> None:
    text, token = new_token(CHANCE, Scope.READ, NOW)
    secret = text.split("_")[2]
    assert token.digest == sha256(secret.encode()).digest()
    assert secret not in repr(token)
    assert repr(token.digest) not in repr(token)


@given(st.binary(min_size=TOKEN_BYTES, max_size=TOKEN_BYTES), st.sampled_from(Scope))
def test_a_token_lets_in_every_caller_that_shows_its_text(chance: bytes, scope: Scope) -> None:
    text, token = new_token(chance, scope, NOW)
    assert authenticate(text, stored(token).find, NOW) == token


@given(st.binary(min_size=TOKEN_BYTES, max_size=TOKEN_BYTES), st.integers(0, 41), st.integers(0, 7))
def test_one_other_bit_of_chance_is_another_token(chance: bytes, place: int, bit: int) -> None:
    text, token = new_token(chance, Scope.ADMIN, NOW)
    flipped = bytearray(chance)
    flipped[place] ^= 1 << bit
    other, _ = new_token(bytes(flipped), Scope.ADMIN, NOW)
    assert other != text
    with pytest.raises(NotAuthenticated):
        authenticate(other, stored(token).find, NOW)


@pytest.mark.parametrize("size", [0, 1, TOKEN_BYTES - 1, TOKEN_BYTES + 1])
def test_too_little_chance_makes_no_token(size: int) -> None:
    with pytest.raises(ValueError, match="random bytes"):
        new_token(bytes(size), Scope.READ, NOW)


@given(st.text(max_size=200))
def test_any_other_text_is_refused(text: str) -> None:
    _, token = new_token(CHANCE, Scope.ADMIN, NOW)
    with pytest.raises(NotAuthenticated):
        authenticate(text, stored(token).find, NOW)


def spoiled(text: str) -> dict[str, str]:
    return {
        "nothing": "",
        "no secret": text.rpartition("_")[0],
        "short": text[:-1],
        "long": f"{text}a",
        "a line end": f"{text}\n",
        "a space before": f" {text}",
        "capitals": text.upper(),
        "another prefix": text.replace("ibi_", "ibj_"),
        "a digit that looks alike": f"{text[:-1]}٢",
        "very long": text * 100_000,
    }


@pytest.mark.parametrize("spoil", spoiled(""))
def test_a_spoiled_text_is_refused_without_asking_the_store(spoil: str) -> None:
    text, _ = new_token(CHANCE, Scope.ADMIN, NOW)

    def find(_: str) -> Token | None:
        raise AssertionError("asked")

    with pytest.raises(NotAuthenticated):
        authenticate(spoiled(text)[spoil], find, NOW)


def test_wrong_unknown_expired_and_revoked_get_the_same_answer() -> None:
    text, token = new_token(CHANCE, Scope.ADMIN, NOW, expires=LATER)
    tokens = stored(token)
    wrong = text[:-1] + ("a" if text[-1] != "a" else "q")
    unknown, _ = new_token(CHANCE[::-1], Scope.ADMIN, NOW)
    answers = {refusal(wrong, tokens, NOW), refusal(unknown, tokens, NOW), refusal(text, tokens, LATER)}
    tokens.revoke(token.id, NOW)
    assert answers == {refusal(text, tokens, NOW)}
    assert refusal("", tokens, NOW) in answers


def refusal(text: str, tokens: MemoryTokens, now: Instant) -> tuple[str, str, str]:
    with pytest.raises(NotAuthenticated) as refused:
        authenticate(text, tokens.find, now)
    return str(refused.value), refused.value.code, repr(refused.value.parameters)


def test_an_unknown_id_is_hashed_and_compared_as_a_wrong_secret_is(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("ibi.people.rules.sign_in.compare_digest", compare)
    text, token = new_token(CHANCE, Scope.ADMIN, NOW)
    unknown, _ = new_token(CHANCE[::-1], Scope.ADMIN, NOW)
    for shown in (unknown, text[:-1] + ("a" if text[-1] != "a" else "q")):
        with pytest.raises(NotAuthenticated):
            authenticate(shown, stored(token).find, NOW)
    assert compared == [(32, 32), (32, 32)]


def test_a_token_expires_at_its_date_and_not_before() -> None:
    text, token = new_token(CHANCE, Scope.READ, NOW, expires=LATER)
    before = Instant.parse("2026-11-16T11:59:59.999Z")
    assert authenticate(text, stored(token).find, before) == token
    with pytest.raises(NotAuthenticated):
        authenticate(text, stored(token).find, LATER)


@pytest.mark.parametrize("expires", [NOW, Instant(0)])
def test_a_token_that_has_expired_already_is_not_made(expires: Instant) -> None:
    with pytest.raises(InvalidExpiry, match="not after now"):
        new_token(CHANCE, Scope.READ, NOW, expires=expires)


def test_a_revocation_holds_even_if_the_clock_is_set_back_before_it() -> None:
    text, token = new_token(CHANCE, Scope.READ, NOW)
    tokens = stored(token)
    revoke(tokens, token.id, LATER)
    with pytest.raises(NotAuthenticated):
        authenticate(text, tokens.find, NOW)


def test_revoking_says_when_and_a_second_time_changes_nothing() -> None:
    _, token = new_token(CHANCE, Scope.READ, NOW)
    tokens = stored(token)
    assert revoke(tokens, token.id, LATER).revoked == LATER
    assert revoke(tokens, token.id, NOW).revoked == LATER


def test_what_is_not_there_cannot_be_revoked() -> None:
    with pytest.raises(UnknownToken, match="'nobody'"):
        revoke(MemoryTokens(), "nobody", NOW)


def test_a_whole_token_given_instead_of_its_id_is_not_repeated() -> None:
    text, _ = new_token(CHANCE, Scope.READ, NOW)
    with pytest.raises(UnknownToken) as unknown:
        revoke(MemoryTokens(), text, NOW)
    assert text.split("_")[2][:4] not in str(unknown.value)


LADDER = (Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.ADMIN)
ALLOWED = {(has, needed) for index, needed in enumerate(LADDER) for has in LADDER[index:]} | {
    (Scope.COPY, Scope.COPY),
    (Scope.COPY, Scope.READ),
}


@pytest.mark.parametrize("needed", Scope)
@pytest.mark.parametrize("has", Scope)
def test_a_scope_includes_those_before_it(has: Scope, needed: Scope) -> None:
    _, token = new_token(CHANCE, has, NOW)
    if (has, needed) in ALLOWED:
        require(token, needed)
    else:
        with pytest.raises(NotAllowed, match=f"scope {needed}; yours has the scope {has}"):
            require(token, needed)


def test_scopes_are_named() -> None:
    assert [scope_named(str(scope)) for scope in Scope] == list(Scope)


@pytest.mark.parametrize("text", ["", "Read", "write", "admin ", "x" * 1000])
def test_another_word_is_no_scope(text: str) -> None:
    with pytest.raises(InvalidScope, match="not one of read, deposit, edit, admin, copy") as refused:
        scope_named(text)
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "x" * (MAX_NAME + 1), "a\x00", "\u202eevil"])
def test_a_name_that_would_spoil_a_table_is_refused(name: str) -> None:
    with pytest.raises(InvalidTokenName):
        new_token(CHANCE, Scope.READ, NOW, name=name)


@pytest.mark.parametrize("name", ["", "Harvester of São José", "x" * MAX_NAME])
def test_a_name_may_be_any_visible_text(name: str) -> None:
    assert new_token(CHANCE, Scope.READ, NOW, name=name)[1].name == name


# --- tokens of persons ------------------------------------------------------------------------------------------------


def person(role: Role, **others: Any) -> Person:
    return Person("ana", role, NOW, **others)


def test_what_is_deposited_belongs_to_the_person_the_name_or_the_token_itself() -> None:
    of_person = new_token(CHANCE, Scope.DEPOSIT, NOW, name="harvester", person=person(Role.DEPOSITOR))[1]
    named, bare = new_token(CHANCE, Scope.DEPOSIT, NOW, name="ana")[1], new_token(CHANCE, Scope.DEPOSIT, NOW)[1]
    assert [token.account for token in (of_person, named, bare)] == ["person:ana", "service:ana", f"token:{bare.id}"]


ROLES = {
    Role.READER: {Scope.READ},
    Role.DEPOSITOR: {Scope.READ, Scope.DEPOSIT},
    Role.LIBRARIAN: {Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.COPY},
    Role.ADMIN: set(Scope),
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("scope", Scope)
def test_a_person_gets_no_token_beyond_their_role(role: Role, scope: Scope) -> None:
    if scope in ROLES[role]:
        assert new_token(CHANCE, scope, NOW, person=person(role))[1].person == "ana"
    else:
        with pytest.raises(BeyondRole, match=f"ana is a {role}, .* not {scope}"):
            new_token(CHANCE, scope, NOW, person=person(role))


@pytest.mark.parametrize(
    ("scope", "role", "left"),
    [
        (Scope.ADMIN, Role.ADMIN, Scope.ADMIN),
        (Scope.ADMIN, Role.LIBRARIAN, Scope.EDIT),
        (Scope.EDIT, Role.DEPOSITOR, Scope.DEPOSIT),
        (Scope.ADMIN, Role.READER, Scope.READ),
        (Scope.COPY, Role.LIBRARIAN, Scope.COPY),
        (Scope.COPY, Role.DEPOSITOR, Scope.READ),
    ],
)
def test_a_token_never_allows_more_than_the_role_of_its_person_now(scope: Scope, role: Role, left: Scope) -> None:
    token = new_token(CHANCE, scope, NOW, person=person(Role.ADMIN))[1]
    assert as_person_may(token, person(role)).scope is left


@pytest.mark.parametrize("owner", [None, person(Role.ADMIN, disabled=LATER)])
def test_a_token_ends_with_the_account_of_its_person(owner: Person | None) -> None:
    token = new_token(CHANCE, Scope.READ, NOW, person=person(Role.ADMIN))[1]
    with pytest.raises(NotAuthenticated):
        as_person_may(token, owner)
