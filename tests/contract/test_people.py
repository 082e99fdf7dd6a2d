"""The port `People`, tried on every adapter."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.accounts.errors import PersonExists, UnknownPerson
from ibi.instant import Instant
from ibi.model.account import Person, Role, Session, SignInLink
from ibi.ports.accounts import People
from ibi.storage.errors import StoreClosed
from ibi.storage.sqlite.accounts import PEOPLE_FILE, SqlitePeople
from tests.support.memory.people import MemoryPeople

NOW = Instant.parse("2026-11-15T12:00:00Z")
LATER = Instant.parse("2026-11-16T12:00:00Z")
ADA = Person("Ada", Role.LIBRARIAN, NOW, "$argon2id$…")

ADAPTERS: dict[str, Callable[[Path], People]] = {"memory": lambda _: MemoryPeople(), "sqlite": SqlitePeople}


@pytest.fixture(params=ADAPTERS)
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[People]:
    store = ADAPTERS[request.param](tmp_path / "data")
    yield store
    store.close()


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("disabled", [None, LATER])
def test_somebody_comes_back_as_added(people: People, role: Role, disabled: Instant | None) -> None:
    person = replace(ADA, role=role, disabled=disabled)

    people.add(person)

    assert people.find("Ada") == person
    assert people.list() == (person,)


def test_a_name_is_taken_in_any_case(people: People) -> None:
    people.add(ADA)

    with pytest.raises(PersonExists):
        people.add(replace(ADA, name="ADA"))
    assert people.find("aDa") == ADA


def test_somebody_can_be_changed_but_not_made_by_a_change(people: People) -> None:
    people.add(ADA)
    changed = people.change("ADA", lambda now: replace(now, role=Role.ADMIN, disabled=LATER))

    assert changed == people.find("ada") == replace(ADA, role=Role.ADMIN, disabled=LATER)
    with pytest.raises(UnknownPerson):
        people.change("Bob", lambda now: now)


def test_a_change_that_is_given_up_changes_nothing(people: People) -> None:
    people.add(ADA)

    def refuse(now: Person) -> Person:
        assert now == ADA
        raise PersonExists(name="Ada")

    with pytest.raises(PersonExists):
        people.change("ada", refuse)
    assert people.find("ada") == ADA
    assert people.change("ada", lambda now: replace(now, disabled=LATER)).disabled == LATER


def test_of_changes_at_once_none_is_lost(people: People) -> None:
    people.add(replace(ADA, password_hash=""))

    def longer(_: int) -> None:
        people.change("ada", lambda now: replace(now, password_hash=f"{now.password_hash}a"))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(longer, range(40)))

    found = people.find("ada")
    assert found is not None
    assert found.password_hash == "a" * 40


def test_a_link_that_is_looked_at_stays(people: People) -> None:
    people.add(ADA)
    link = SignInLink(b"3" * 32, "Ada", LATER)
    people.add_link(link)

    assert people.find_link(link.digest) == link
    assert people.find_link(b"4" * 32) is None
    assert people.take_link(link.digest) == link
    assert people.find_link(link.digest) is None


def test_a_session_is_there_until_it_is_ended(people: People) -> None:
    people.add(ADA)
    session = Session(b"1" * 32, "Ada", NOW, LATER)
    people.open_session(session)

    assert people.find_session(session.digest) == session
    people.end_session(session.digest)
    assert people.find_session(session.digest) is None


def test_a_link_is_taken_once(people: People) -> None:
    people.add(ADA)
    link = SignInLink(b"2" * 32, "Ada", LATER)
    people.add_link(link)

    assert people.take_link(link.digest) == link
    assert people.take_link(link.digest) is None


def test_of_many_who_open_a_link_at_once_one_gets_it(people: People) -> None:
    people.add(ADA)
    people.add_link(SignInLink(b"3" * 32, "Ada", LATER))

    with ThreadPoolExecutor(8) as threads:
        taken = [*threads.map(lambda _: people.take_link(b"3" * 32), range(32))]

    assert len([each for each in taken if each is not None]) == 1


def test_all_sessions_and_links_of_somebody_end_together_and_nobody_elses(people: People) -> None:
    people.add(ADA)
    people.add(replace(ADA, name="Bob"))
    for number, name in enumerate(["Ada", "Bob"]):
        people.open_session(Session(bytes([number]) * 32, name, NOW, LATER))
        people.add_link(SignInLink(bytes([number]) * 32, name, LATER))

    people.end_sessions_of("ADA")

    assert people.find_session(bytes(32)) is None
    assert people.take_link(bytes(32)) is None
    assert people.find_session(b"\1" * 32) is not None
    assert people.take_link(b"\1" * 32) is not None


def test_a_sweep_takes_what_is_over(people: People) -> None:
    people.add(ADA)
    people.open_session(Session(b"o" * 32, "Ada", NOW, NOW))
    people.open_session(Session(b"g" * 32, "Ada", NOW, LATER))
    people.add_link(SignInLink(b"o" * 32, "Ada", NOW))

    people.sweep(NOW)

    assert people.find_session(b"o" * 32) is None
    assert people.find_session(b"g" * 32) is not None
    assert people.take_link(b"o" * 32) is None


def test_no_repr_shows_a_secret() -> None:
    assert "argon2" not in repr(ADA)
    assert "111" not in repr(Session(b"1" * 32, "Ada", NOW, LATER))


def test_the_file_is_its_owners_alone_and_another_process_sees_it(tmp_path: Path) -> None:
    one, other = SqlitePeople(tmp_path), SqlitePeople(tmp_path)
    one.add(ADA)

    assert other.find("Ada") == ADA
    assert stat.S_IMODE((tmp_path / PEOPLE_FILE).stat().st_mode) == 0o600
    one.close()
    other.close()
    with pytest.raises(StoreClosed):
        one.list()
