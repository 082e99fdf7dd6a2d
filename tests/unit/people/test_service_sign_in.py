"""What happens to a sign-in while its password is hashed, which takes long enough for anything to happen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from argon2 import PasswordHasher

from ibi.jobs.limits import FREE, Attempts, MemoryRows
from ibi.people.model.account import Person, Role, SecondFactor, SignInLink
from ibi.people.rules.errors import BadSignIn
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import MOST_WAITING, SignedIn, SignIn, TooManyGuesses
from ibi.standard.instant import Instant
from tests.support.memory.people import MemoryPeople
from tests.support.set_clocks import SetClocks
from tests.support.slow_storage import SlowStorage

NOW = Instant.parse("2026-11-15T12:00:00Z")
PASSWORD, NEW, NETWORK = "um cavalo correto", "nove rios voadores", "192.0.2.0/24"


def _nothing() -> None:
    """As long as nobody says otherwise."""


class Interrupted(SecretHasher):
    """Something else happens once, as soon as it has hashed or compared."""

    def __init__(self) -> None:
        super().__init__(PasswordHasher(1, 8, 1))
        self.meanwhile: Callable[[], object] = _nothing

    async def hash(self, secret: str) -> str:
        made = await super().hash(secret)
        self._interrupt()
        return made

    async def agrees(self, kept: str | None, secret: str) -> bool:
        agreed = await super().agrees(kept, secret)
        self._interrupt()
        return agreed

    def _interrupt(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, _nothing
        meanwhile()


class Office:
    def __init__(self, *, is_slow: bool = False) -> None:
        clocks = SetClocks(NOW)
        self.people, self.hasher = MemoryPeople(), Interrupted()
        self.admin = PersonAdmin(self.people, clocks, self.hasher)
        self.storage = SlowStorage(0.0)
        asked = self.storage.slow(self.people) if is_slow else self.people
        self.sign_in = SignIn(asked, clocks, self.hasher, monotonic=lambda: 0.0)
        self.admin.create("ada", "librarian", PASSWORD)
        self.admin.create("eva", "reader")

    async def ada(self) -> SignedIn:
        return await self.sign_in.with_password("ada", PASSWORD, NETWORK)

    async def eva(self) -> SignedIn:
        return await self.sign_in.with_link(self.admin.link("eva"))


@pytest.fixture(params=["prompt", "slow"])
def office(request: pytest.FixtureRequest) -> Iterator[Office]:
    made = Office(is_slow=request.param == "slow")
    yield made
    made.hasher.close()
    assert made.storage.on_loop == []


async def test_a_password_that_is_changed_meanwhile_signs_in_no_more(office: Office) -> None:
    office.hasher.meanwhile = lambda: office.admin.set_password("ada", NEW)

    with pytest.raises(BadSignIn):
        await office.ada()


@pytest.mark.parametrize("meanwhile", ["password", "disabled"])
@pytest.mark.parametrize("way", ["password", "link", "code"])
async def test_what_signs_in_no_more_opens_no_session_at_the_last_moment_either(
    office: Office, monkeypatch: pytest.MonkeyPatch, way: str, meanwhile: str
) -> None:
    """Another process ends all sessions between the proof and the new session, which would outlive them."""
    secret = office.admin.link("ada")
    factor = SecondFactor(b"s" * 20, confirmed=NOW, recovery=frozenset())
    if way == "code":
        office.people.change_factor("ada", lambda _: factor)
        office.sign_in.means = office.people

    def interrupt(_: Instant) -> None:
        if meanwhile == "password":
            office.admin.set_password("ada", NEW)
        else:
            office.admin.disable("ada")

    monkeypatch.setattr(office.people, "sweep", interrupt)
    with pytest.raises(BadSignIn):
        await (office.sign_in.with_link(secret) if way == "link" else office.ada())
    assert office.people.sessions_of("ada") == ()
    assert office.people._links == {}


async def test_a_link_that_is_taken_while_the_password_changes_signs_in_no_more(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, take = office.admin.link("ada"), office.people.take_link

    def interrupted(digest: bytes) -> SignInLink | None:
        taken = take(digest)
        office.admin.set_password("ada", NEW)
        return taken

    monkeypatch.setattr(office.people, "take_link", interrupted)
    with pytest.raises(BadSignIn):
        await office.sign_in.with_link(secret)
    assert office.people.sessions_of("ada") == ()


async def test_a_person_who_is_disabled_meanwhile_stays_so(office: Office) -> None:
    signed = await office.eva()
    office.hasher.meanwhile = lambda: office.admin.disable("eva")

    with pytest.raises(BadSignIn):
        await office.sign_in.change_password(signed, "", NEW)

    found = office.people.find("eva")
    assert found is not None
    assert found.disabled is not None
    assert await asyncio.to_thread(office.sign_in.current, signed.text) is None


async def test_of_two_changes_at_once_the_first_counts(office: Office) -> None:
    first = await office.ada()
    office.hasher.meanwhile = lambda: office.admin.set_password("ada", NEW)

    with pytest.raises(BadSignIn):
        await office.sign_in.change_password(first, PASSWORD, "sete mares calmos")

    assert (await office.sign_in.with_password("ada", NEW, NETWORK)).person.name == "ada"


async def test_choosing_passwords_without_end_is_slowed_down_like_guessing(office: Office) -> None:
    signed = await office.eva()

    outcomes = await asyncio.gather(
        *(office.sign_in.change_password(signed, "", f"{NEW} {number}") for number in range(40)),
        return_exceptions=True,
    )

    assert sum(isinstance(outcome, SignedIn) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, TooManyGuesses) for outcome in outcomes) >= 30


async def test_guesses_from_everywhere_wait_in_a_queue_with_an_end(office: Office) -> None:
    guesses = (office.sign_in.with_password(f"x{n}", "guess", f"10.{n}.0.0/24") for n in range(3 * MOST_WAITING))

    outcomes = await asyncio.gather(*guesses, return_exceptions=True)

    assert sum(isinstance(outcome, BadSignIn) for outcome in outcomes) == MOST_WAITING
    assert sum(isinstance(outcome, TooManyGuesses) for outcome in outcomes) == 2 * MOST_WAITING
    assert (await office.ada()).person.name == "ada"


async def test_a_browser_that_was_signed_in_is_not_kept_out_by_what_others_guess(office: Office) -> None:
    mark = office.sign_in.mark((await office.ada()).person.name)
    for number in range(20):  # everybody of one network, as behind a proxy that is not trusted
        with pytest.raises((BadSignIn, TooManyGuesses)):
            await office.sign_in.with_password(("ada", "eva", "x")[number % 3], "guess", NETWORK)

    with pytest.raises(TooManyGuesses):
        await office.ada()
    assert (await office.sign_in.with_password("ADA", PASSWORD, NETWORK, mark=mark)).person.name == "ada"


@pytest.mark.parametrize("mark", ["", "0" * 40, "é", "another's"])
async def test_no_other_mark_helps(office: Office, mark: str) -> None:
    given = office.sign_in.mark("eva") if mark == "another's" else mark
    guesses = [office.sign_in.with_password("ada", f"guess {number}", NETWORK, mark=given) for number in range(20)]

    outcomes = [await asyncio.gather(guess, return_exceptions=True) for guess in guesses]

    assert sum(isinstance(outcome, BadSignIn) for (outcome,) in outcomes) == FREE


async def test_guessing_with_a_mark_is_slowed_down_too(office: Office) -> None:
    mark = office.sign_in.mark("ada")
    guesses = [office.sign_in.with_password("ada", f"guess {number}", NETWORK, mark=mark) for number in range(20)]

    outcomes = [await asyncio.gather(guess, return_exceptions=True) for guess in guesses]

    assert sum(isinstance(outcome, BadSignIn) for (outcome,) in outcomes) == FREE


async def test_a_session_is_no_way_to_guess_the_password(office: Office) -> None:
    signed = await office.ada()
    guesses = [office.sign_in.change_password(signed, f"guess {number}", NEW) for number in range(20)]

    outcomes = [await asyncio.gather(guess, return_exceptions=True) for guess in guesses]

    assert sum(isinstance(outcome, BadSignIn) for (outcome,) in outcomes) == FREE


async def test_the_address_of_a_person_is_counted_as_one_that_belongs_to_no_person(office: Office) -> None:
    """Guesses at a name tell no stranger whose address it is."""
    office.admin.describe("ada", mail="ada@lab.example")
    pairs = (("ada", "ada@lab.example"), ("ada", "x@lab.example"), ("x", "y@lab.example"))
    answers = []
    for number, pair in enumerate(pairs):
        guesses = [
            office.sign_in.with_password(name, "guess", f"10.{number}.{guess}.0")
            for name in pair
            for guess in range(FREE)
        ]
        outcomes = [await asyncio.gather(guess, return_exceptions=True) for guess in guesses]
        answers.append([type(outcome) for (outcome,) in outcomes])
        office.sign_in._attempts = Attempts()

    assert answers == [[BadSignIn] * 2 * FREE] * 3


async def test_names_that_strangers_try_make_no_code_and_no_mark_forgotten(office: Office) -> None:
    rows = MemoryRows(2)
    mark = office.sign_in.mark("ada")
    office.sign_in._attempts = Attempts(rows=rows)
    for _ in range(FREE):
        with pytest.raises(BadSignIn):
            await office.sign_in.with_password("ada", "guess", NETWORK, mark=mark)
        with pytest.raises(BadSignIn):
            await office.sign_in.check_code(Person("ada", Role.READER, NOW), "000000", lambda factor: factor)
    for number in range(10):
        with pytest.raises(BadSignIn):
            await office.sign_in.with_password(f"x{number}", "guess", f"10.{number}.0.0")

    with pytest.raises(TooManyGuesses):
        await office.sign_in.with_password("ada", PASSWORD, NETWORK, mark=mark)
    with pytest.raises(TooManyGuesses):
        await office.sign_in.check_code(Person("ada", Role.READER, NOW), "000000", lambda factor: factor)
