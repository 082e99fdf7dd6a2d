"""Tokens created for persons and for services."""

from __future__ import annotations

import pytest

from ibi.people.model.account import Person, Role
from ibi.people.rules.errors import BeyondRole, UnknownAccount, UnknownPerson
from ibi.people.service.account_admin import LocalTokenAdmin, find_account
from ibi.standard.instant import Instant
from tests.support.memory.people import MemoryPeople
from tests.support.memory.tokens import MemoryTokens
from tests.support.set_clocks import SetClocks

NOW = Instant.parse("2026-11-15T12:00:00Z")


@pytest.fixture
def admin() -> LocalTokenAdmin:
    people = MemoryPeople()
    people.add(Person("Ana", Role.DEPOSITOR, NOW))
    people.add(Person("gone", Role.ADMIN, NOW, disabled=NOW))
    return LocalTokenAdmin(MemoryTokens(), SetClocks(NOW), people)


def test_a_token_for_a_person_belongs_to_them_as_they_are_spelled(admin: LocalTokenAdmin) -> None:
    assert admin.create_token("deposit", "laptop", None, "ANA").account == "person:Ana"


def test_a_token_for_no_person_belongs_to_the_service_of_its_name(admin: LocalTokenAdmin) -> None:
    assert admin.create_token("deposit", "harvester", None).account == "service:harvester"


@pytest.mark.parametrize("person", ["bia", "gone", "", "x" * 1000])
def test_a_token_is_made_for_no_person_without_an_account(admin: LocalTokenAdmin, person: str) -> None:
    with pytest.raises(UnknownPerson):
        admin.create_token("read", "", None, person)
    assert admin.list_tokens() == []


def test_a_token_beyond_the_role_of_its_person_is_not_made(admin: LocalTokenAdmin) -> None:
    with pytest.raises(BeyondRole, match=r"Ana is a depositor, .* scope read or deposit, not edit"):
        admin.create_token("edit", "", None, "ana")
    assert admin.list_tokens() == []


def test_an_owner_is_named_by_a_person_or_by_the_name_of_tokens() -> None:
    people, tokens = MemoryPeople(), MemoryTokens()
    people.add(Person("Ana", Role.READER, NOW))
    admin = LocalTokenAdmin(tokens, SetClocks(NOW), people)
    admin.create_token("deposit", "ana", None)
    admin.create_token("deposit", "harvester", None)
    admin.create_token("read", "laptop", None, "ana")
    named = {text: find_account(text, people, tokens) for text in ("", "ana", "person:ANA", "service:ana", "harvester")}
    assert named == {
        "": None,
        "ana": "person:Ana",
        "person:ANA": "person:Ana",
        "service:ana": "service:ana",
        "harvester": "service:harvester",
    }
    for unknown in ("bia", "person:harvester", "service:bia", "laptop", "token:x", "x" * 500):
        with pytest.raises(UnknownAccount):
            find_account(unknown, people, tokens)
