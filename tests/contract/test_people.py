"""The port `People`, tried on every adapter."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from ibi.people.model.account import Invitation, LinkUse, Person, Role, SecondFactor, Session, SignInLink
from ibi.people.ports import People, SignInMeans
from ibi.people.rules.errors import LastAdmin, MailTaken, PersonExists, UnknownPerson
from ibi.people.store.people import SqlitePeople
from ibi.standard.instant import Instant
from ibi.storage.connection import STATE
from ibi.storage.earlier_layout import FOLDER
from ibi.storage.errors import StoreClosed
from tests.support.earlier_databases import open_earlier
from tests.support.memory.people import MemoryPeople

NOW = Instant.parse("2026-11-15T12:00:00Z")
LATER = Instant.parse("2026-11-16T12:00:00Z")
ADA = Person("Ada", Role.LIBRARIAN, NOW, "$argon2id$…")

EVA = Invitation(b"i" * 32, "Eva@lab.example", Role.DEPOSITOR, NOW, LATER, "person:Ada", "Eva")

ADAPTERS: dict[str, Callable[[Path], People]] = {"memory": lambda _: MemoryPeople(), "sqlite": SqlitePeople}


@pytest.fixture(params=ADAPTERS)
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[People]:
    store = ADAPTERS[request.param](tmp_path / "data")
    yield store
    store.close()


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("disabled", [None, LATER])
def test_a_person_comes_back_as_added(people: People, role: Role, disabled: Instant | None) -> None:
    person = replace(ADA, role=role, disabled=disabled)

    people.add(person)

    assert people.find("Ada") == person
    assert people.list() == (person,)


def test_the_language_of_a_person_is_kept_and_changed(people: People) -> None:
    people.add(replace(ADA, language="pt-BR"))
    assert people.find("Ada") == replace(ADA, language="pt-BR")
    people.change("Ada", lambda ada: replace(ada, language="es"))
    assert people.list() == (replace(ADA, language="es"),)


def test_a_name_is_taken_in_any_case(people: People) -> None:
    people.add(ADA)

    with pytest.raises(PersonExists):
        people.add(replace(ADA, name="ADA"))
    assert people.find("aDa") == ADA


def test_a_person_can_be_changed_but_not_made_by_a_change(people: People) -> None:
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
    people.add_link(link, ADA)

    assert people.find_link(link.digest) == link
    assert people.find_link(b"4" * 32) is None
    assert people.take_link(link.digest) == link
    assert people.find_link(link.digest) is None


def test_a_session_is_there_until_it_is_ended(people: People) -> None:
    people.add(ADA)
    session = Session(b"1" * 32, "Ada", NOW, LATER)
    people.open_session(session, ADA)

    assert people.find_session(session.digest) == session
    people.end_session(session.digest)
    assert people.find_session(session.digest) is None


def test_a_link_is_taken_once(people: People) -> None:
    people.add(ADA)
    link = SignInLink(b"2" * 32, "Ada", LATER)
    people.add_link(link, ADA)

    assert people.take_link(link.digest) == link
    assert people.take_link(link.digest) is None


def test_of_many_who_open_a_link_at_once_one_gets_it(people: People) -> None:
    people.add(ADA)
    people.add_link(SignInLink(b"3" * 32, "Ada", LATER), ADA)

    with ThreadPoolExecutor(8) as threads:
        taken = [*threads.map(lambda _: people.take_link(b"3" * 32), range(32))]

    assert len([each for each in taken if each is not None]) == 1


@pytest.mark.parametrize(
    "make", [lambda now: replace(now, password_hash="another"), lambda now: replace(now, disabled=LATER)]
)
def test_a_new_password_and_disabling_end_all_sessions_and_links_of_a_person_and_of_no_other(
    people: People, make: Callable[[Person], Person]
) -> None:
    people.add(ADA)
    people.add(replace(ADA, name="Bob"))
    for number, name in enumerate(["Ada", "Bob"]):
        person = replace(ADA, name=name)
        assert people.open_session(Session(bytes([number]) * 32, name, NOW, LATER), person)
        assert people.add_link(SignInLink(bytes([number]) * 32, name, LATER), person)

    people.change("ADA", make)

    assert people.find_session(bytes(32)) is None
    assert people.take_link(bytes(32)) is None
    assert people.find_session(b"\1" * 32) is not None
    assert people.take_link(b"\1" * 32) is not None


@pytest.mark.parametrize(
    "make",
    [
        lambda now: replace(now, password_hash="another"),
        lambda now: replace(now, password_hash=None),
        lambda now: replace(now, disabled=LATER),
        lambda now: replace(now, mail="new@lab.example"),
    ],
)
def test_a_person_who_was_changed_since_they_were_known_gets_neither_session_nor_link(
    people: People, make: Callable[[Person], Person]
) -> None:
    people.add(ADA)
    people.change("ada", make)

    assert not people.open_session(Session(b"1" * 32, "Ada", NOW, LATER), ADA)
    assert not people.add_link(SignInLink(b"1" * 32, "Ada", LATER), ADA)
    assert people.sessions_of("Ada") == ()
    assert people.find_link(b"1" * 32) is None


def test_what_does_not_bear_on_signing_in_ends_nothing(people: People) -> None:
    people.add(ADA)
    assert people.add_link(SignInLink(b"1" * 32, "Ada", LATER, LinkUse.PASSWORD), ADA)
    people.change("ada", lambda now: replace(now, role=Role.ADMIN, shown="Ada L."))

    assert people.open_session(Session(b"1" * 32, "Ada", NOW, LATER), ADA)
    assert people.find_link(b"1" * 32) is not None


def test_another_address_ends_links_to_choose_a_password_and_no_others(people: People) -> None:
    people.add(ADA)
    session = Session(b"1" * 32, "Ada", NOW, LATER)
    people.open_session(session, ADA)
    for use in LinkUse:
        people.add_link(SignInLink(use.value[:1].encode() * 31 + use.value[1:2].encode(), "Ada", LATER, use), ADA)

    people.change("ada", lambda now: replace(now, mail="new@lab.example"))

    left = [people.find_link(use.value[:1].encode() * 31 + use.value[1:2].encode()) for use in LinkUse]
    assert [None if link is None else link.use for link in left] == [LinkUse.SIGN_IN, None, LinkUse.SECOND_FACTOR]
    assert people.find_session(session.digest) == session


def test_a_sweep_takes_what_is_over(people: People) -> None:
    people.add(ADA)
    people.open_session(Session(b"o" * 32, "Ada", NOW, NOW), ADA)
    people.open_session(Session(b"g" * 32, "Ada", NOW, LATER), ADA)
    people.add_link(SignInLink(b"o" * 32, "Ada", NOW), ADA)

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
    assert stat.S_IMODE((tmp_path / STATE.file_name).stat().st_mode) == 0o600
    one.close()
    other.close()
    with pytest.raises(StoreClosed):
        one.list()


JOAO = Person("João Ávila", Role.DEPOSITOR, NOW, shown="João P. Ávila", mail="Joao@lab.example")


def test_a_name_of_any_script_is_one_in_all_its_spellings(people: People) -> None:
    people.add(JOAO)

    for spelling in ("joão ávila", "JOÃO ÁVILA", "Joa\u0303o A\u0301vila"):
        assert people.find(spelling) == JOAO
        with pytest.raises(PersonExists):
            people.add(Person(spelling, Role.READER, NOW))
    assert people.find("Joao Avila") is None


def test_a_person_is_found_by_their_address_in_any_case(people: People) -> None:
    people.add(JOAO)
    people.add(ADA)

    assert people.find_by_mail("JOAO@LAB.EXAMPLE") == JOAO
    assert people.find_by_mail("") is None
    assert people.change("joão ávila", lambda now: replace(now, mail=None, shown="")).full_name == JOAO.name
    assert people.find_by_mail("joao@lab.example") is None


def test_an_address_is_that_of_one_person_and_the_name_of_no_other(people: People) -> None:
    people.add(JOAO)
    people.add(replace(ADA, name="b@lab.example"))

    with pytest.raises(MailTaken):
        people.add(replace(ADA, mail="joao@LAB.example"))
    with pytest.raises(PersonExists):
        people.add(replace(ADA, name="joao@lab.example"))
    people.add(ADA)
    for taken in ("joao@lab.example", "B@lab.example"):
        with pytest.raises(MailTaken):
            people.change("ada", lambda now, taken=taken: replace(now, mail=taken))  # type: ignore[misc]
    assert people.find("ada") == ADA
    assert people.change("b@lab.example", lambda now: replace(now, mail="b@lab.example")).mail == "b@lab.example"


def test_the_sessions_of_a_person_are_listed_the_latest_first(people: People) -> None:
    people.add(ADA)
    people.add(JOAO)
    first = Session(b"1" * 32, "Ada", NOW, LATER, "192.0.2.0/24", "Firefox, Linux")
    second = Session(b"2" * 32, "Ada", LATER, LATER)
    for each in (first, second, Session(b"3" * 32, JOAO.name, NOW, LATER)):
        people.open_session(each, ADA if each.person == "Ada" else JOAO)

    assert people.sessions_of("Ada") == (second, first)
    assert first.id != second.id


def test_a_link_keeps_what_it_is_for(people: People) -> None:
    people.add(ADA)
    link = SignInLink(b"5" * 32, "Ada", LATER, LinkUse.PASSWORD)
    people.add_link(link, ADA)

    assert people.find_link(link.digest) == people.take_link(link.digest) == link


def test_an_invitation_is_there_until_it_is_withdrawn_or_over(people: People) -> None:
    people.invite(EVA)

    assert people.find_invitation(EVA.digest) == EVA
    assert people.invitations() == (EVA,)
    assert people.withdraw(EVA.digest)
    assert not people.withdraw(EVA.digest)
    people.invite(EVA)
    people.sweep(LATER)
    assert people.invitations() == ()


def test_a_second_invitation_to_one_address_takes_the_place_of_the_first(people: People) -> None:
    people.invite(EVA)
    people.invite(replace(EVA, digest=b"j" * 32, mail="EVA@LAB.example", role=Role.ADMIN))

    assert [each.role for each in people.invitations()] == [Role.ADMIN]
    assert people.find_invitation(EVA.digest) is None


def test_of_many_who_accept_an_invitation_at_once_one_gets_the_account(people: People) -> None:
    people.invite(EVA)
    made = [Person(f"eva {number}", Role.DEPOSITOR, NOW) for number in range(16)]

    with ThreadPoolExecutor(8) as threads:
        accepted = [*threads.map(lambda person: people.accept(EVA.digest, person), made)]

    assert accepted.count(True) == 1
    assert len(people.list()) == 1


@pytest.mark.parametrize(
    "make", [lambda now: replace(now, role=Role.LIBRARIAN), lambda now: replace(now, disabled=LATER)]
)
def test_invitations_end_with_the_rights_of_the_person_who_sent_them(
    people: People, make: Callable[[Person], Person]
) -> None:
    people.add(replace(ADA, role=Role.ADMIN))
    others = [
        replace(EVA, digest=bytes([number]) * 32, mail=f"{number}@lab.example", invited_by=account)
        for number, account in enumerate([None, "person:Bob"])
    ]
    for each in (EVA, *others):
        people.invite(each)
    people.change("ada", lambda now: replace(now, shown="Ada L."))
    assert people.find_invitation(EVA.digest) == EVA

    people.change("ada", make)

    assert people.find_invitation(EVA.digest) is None
    assert not people.accept(EVA.digest, Person("eva", Role.DEPOSITOR, NOW))
    assert {each.digest for each in people.invitations()} == {each.digest for each in others}


def test_a_name_is_not_the_address_of_another_person_who_is_invited(people: People) -> None:
    people.invite(EVA)

    with pytest.raises(PersonExists):
        people.add(Person("eva@LAB.example", Role.READER, NOW))
    people.add(Person("Bob", Role.READER, NOW))
    assert people.accept(EVA.digest, Person("eva@lab.example", Role.READER, NOW, mail="eva@lab.example"))
    people.invite(replace(EVA, mail="old@lab.example"))
    people.add(Person("old@lab.example", Role.READER, LATER))


def test_an_invitation_that_could_not_be_accepted_stays(people: People) -> None:
    people.add(ADA)
    people.invite(EVA)

    with pytest.raises(PersonExists):
        people.accept(EVA.digest, replace(ADA, mail="eva@lab.example"))
    assert people.find_invitation(EVA.digest) == EVA


@pytest.fixture(params=ADAPTERS)
def means(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SignInMeans]:
    store = ADAPTERS[request.param](tmp_path / "data")
    store.add(ADA)
    store.add(JOAO)
    yield store  # type: ignore[misc]
    store.close()


def test_an_account_at_a_provider_belongs_to_one_person(means: SignInMeans) -> None:
    assert means.add_identity("https://id.example", "s-1", "Ada")
    assert means.add_identity("https://id.example", "s-1", "Ada")
    assert not means.add_identity("https://id.example", "s-1", JOAO.name)

    assert means.find_identity("https://id.example", "s-1") == "Ada"
    assert means.find_identity("https://other.example", "s-1") is None
    assert means.identities_of("Ada") == (("https://id.example", "s-1"),)
    means.drop_identity("https://id.example", "s-1", JOAO.name)
    assert means.find_identity("https://id.example", "s-1") == "Ada"
    means.drop_identity("https://id.example", "s-1", "Ada")
    assert means.identities_of("Ada") == ()


def test_the_last_administrator_who_can_sign_in_stays_if_one_is_to_be_kept(means: SignInMeans) -> None:
    people = cast("People", means)
    root, link_only = Person("root", Role.ADMIN, NOW, "hash"), Person("links", Role.ADMIN, NOW)
    people.add(root)
    people.add(link_only)
    people.add(Person("gone", Role.ADMIN, NOW, "hash", disabled=NOW))
    changes: list[Callable[[Person], Person]] = [
        lambda now: replace(now, role=Role.READER),
        lambda now: replace(now, disabled=LATER),
    ]
    for make in changes:
        with pytest.raises(LastAdmin):
            people.change("root", make, keep_admin=True)
    assert people.find("root") == root
    people.change("links", changes[0], keep_admin=True)
    people.change("links", lambda _: link_only)
    means.add_identity("https://id.example", "s-1", "links")
    assert people.change("root", changes[0], keep_admin=True).role is Role.READER
    with pytest.raises(LastAdmin):
        people.change("links", changes[1], keep_admin=True)
    assert people.change("links", changes[1]).disabled == LATER


def test_of_two_administrators_who_disable_each_other_at_once_one_stays(tmp_path: Path) -> None:
    """Each in a process of its own, as far as the database knows."""
    stores = [SqlitePeople(tmp_path), SqlitePeople(tmp_path)]
    for name in ("root", "toor"):
        stores[0].add(Person(name, Role.ADMIN, NOW, "hash"))

    def disable(store: SqlitePeople, name: str) -> bool:
        try:
            store.change(name, lambda now: replace(now, disabled=LATER), keep_admin=True)
        except LastAdmin:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        done = [*threads.map(disable, stores, ("root", "toor"))]
    assert sorted(done) == [False, True]
    for store in stores:
        store.close()


def test_a_second_factor_comes_back_as_it_was_left(means: SignInMeans) -> None:
    assert means.find_factor("Ada") is None
    factor = SecondFactor(b"s" * 20, NOW, 7, frozenset({b"a" * 32, b"b" * 32}))
    means.change_factor("Ada", lambda now: factor if now is None else None)
    assert means.find_factor("Ada") == factor

    def refuse(now: SecondFactor | None) -> None:
        raise UnknownPerson(name="x")

    with pytest.raises(UnknownPerson):
        means.change_factor("Ada", refuse)
    assert means.find_factor("Ada") == factor
    means.change_factor("Ada", lambda _: None)
    assert means.find_factor("Ada") is None
    assert "sss" not in repr(factor)


def test_people_of_the_first_format_keep_their_names_sessions_and_links(tmp_path: Path) -> None:
    old = open_earlier(tmp_path, "people", 1)
    old.execute("INSERT INTO people VALUES ('Ada', 'admin', 1, 'hash', NULL), ('b@c.d', 'reader', 2, NULL, 3)")
    old.execute("INSERT INTO sessions VALUES (?, 'ada', 4, 5)", (b"1" * 32,))
    old.execute("INSERT INTO links VALUES (?, 'ADA', 6)", (b"2" * 32,))
    old.close()

    people = SqlitePeople(tmp_path)

    assert people.list() == (
        Person("Ada", Role.ADMIN, Instant(1), "hash"),
        Person("b@c.d", Role.READER, Instant(2), None, Instant(3)),
    )
    assert people.find_session(b"1" * 32) == Session(b"1" * 32, "Ada", Instant(4), Instant(5))
    assert people.find_link(b"2" * 32) == SignInLink(b"2" * 32, "Ada", Instant(6))
    people.add(JOAO)
    people.change("ada", lambda now: replace(now, password_hash="another"))
    assert people.find_session(b"1" * 32) is None
    assert stat.S_IMODE((tmp_path / FOLDER / "people.sqlite").stat().st_mode) == 0o600
    people.close()
