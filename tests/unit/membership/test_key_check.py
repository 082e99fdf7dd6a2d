"""Whether a request comes from the Archive it names."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from ipaddress import ip_address
from typing import Literal

import pytest
from argon2 import PasswordHasher

from ibi.jobs.limits import network_of
from ibi.membership.service.key_check import COMPARED_A_MINUTE
from ibi.people.service.secret_hasher import HashingBusy, HashingTurns, KeyHasher
from ibi.standard.messages import RegistrationKey
from tests.support.asgi_client import Answer
from tests.support.membership_app import CHEAP, REP, MembershipApp, query

KEY = RegistrationKey("7730914258")
ELSEWHERE = "198.51.100.7"
OTHER = "sid.inpe.br/mtc-m22/2012/06.05.15.34.39"


LONG = "77309142583141592653"
"""Twenty digits."""


def wrong(number: int = 0, /, **others: str) -> str:
    return query(registrationkey=f"77309{number:05}", **others)


async def spoil(resolver: MembershipApp, times: int, client: str = ELSEWHERE, **others: str) -> Answer:
    """Wrong keys, one after the other; the last answer."""
    assert times
    for number in range(times):
        answer = await resolver.send(wrong(number, **others), client=client)
    return answer


@pytest.mark.parametrize("neighbours", ["for labels of their own", "for one label", "for labels that are registered"])
async def test_a_right_key_includes_whatever_wrong_keys_its_neighbours_sent(neighbours: str) -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.register(OTHER, key="5985125171")
    for number in range(3 * COMPARED_A_MINUTE):
        label = {
            "for labels of their own": f"sid.inpe.br/archive{number}/2012/06.05.15.34",
            "for one label": "sid.inpe.br/archive/2012/06.05.15.34",
            "for labels that are registered": OTHER,
        }[neighbours]
        await resolver.send(wrong(number, archiveserviceibi=label), client=ELSEWHERE)
    assert (await resolver.send(client=ELSEWHERE)).status == 200


@pytest.mark.parametrize("label", [None, OTHER])
async def test_guessing_is_slowed_down_by_the_label_guessed_at_registered_or_not(label: str | None) -> None:
    resolver = MembershipApp()
    await resolver.register()
    others = {} if label is None else {"archiveserviceibi": label}
    answers = [
        await resolver.send(wrong(number, **others), client=f"198.51.{number}.1") for number in range(COMPARED_A_MINUTE)
    ]
    statuses = [answer.status for answer in answers]
    assert statuses == [403] * statuses.count(403) + [429] * statuses.count(429)
    assert 429 in statuses
    resolver.seconds += 59
    refused = await resolver.send(wrong(**others), client="203.0.113.1")
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.body == b"error {Too many requests with a wrong key have come. Ask again in 1 s.}"
    resolver.seconds += 1
    assert (await resolver.send(wrong(**others), client="203.0.113.1")).status == 403


async def test_no_more_than_sixty_short_keys_a_minute_are_compared_for_one_label() -> None:
    resolver = MembershipApp()
    await resolver.register()
    compared = 0
    for number in range(1800):
        resolver.seconds += 1 / 3
        compared += (await resolver.send(wrong(number), client=f"198.51.{number % 250}.1")).status == 403
    assert compared <= 11 * COMPARED_A_MINUTE


async def test_a_long_key_is_right_among_any_number_of_wrong_ones() -> None:
    resolver = MembershipApp()
    await resolver.register(key=LONG)
    for number in range(3 * COMPARED_A_MINUTE):
        guess = query(registrationkey=f"9{number:019}")
        assert (await resolver.send(guess, client=ELSEWHERE)).status == 403
    assert (await spoil(resolver, COMPARED_A_MINUTE + 1)).status == 429
    assert (await resolver.send(query(registrationkey=LONG), client=ELSEWHERE)).status == 200


async def test_a_key_in_two_runs_of_ten_digits_is_long() -> None:
    resolver = MembershipApp()
    await resolver.register(key="7730914258-3141592653")
    await spoil(resolver, COMPARED_A_MINUTE + 1)
    assert (await resolver.send(query(registrationkey="7730914258-3141592653"), client=ELSEWHERE)).status == 200


async def test_who_guesses_does_not_keep_the_archive_out_that_has_been_here() -> None:
    resolver = MembershipApp()
    await resolver.register()
    assert (await resolver.send()).status == 200
    assert (await spoil(resolver, COMPARED_A_MINUTE)).status == 429
    # Its key was right before: not even what its own network tried matters.
    assert (await resolver.send(client=ELSEWHERE)).status == 200


async def test_who_guesses_does_not_keep_the_archive_out_after_a_restart_if_it_comes_from_where_it_was() -> None:
    before = MembershipApp()
    await before.register()
    await before.send(client="150.163.34.239")
    resolver = MembershipApp(registry=before.registry)
    assert (await spoil(resolver, COMPARED_A_MINUTE)).status == 429
    assert (await resolver.send(client="203.0.113.1")).status == 429
    assert (await resolver.send(client="150.163.34.7")).status == 200


async def test_a_stranger_beside_an_archive_who_guesses_its_key_is_slowed_down() -> None:
    before = MembershipApp()
    await before.register()
    await before.send(client="150.163.34.239")
    resolver = MembershipApp(registry=before.registry)
    assert (await spoil(resolver, COMPARED_A_MINUTE + 1, "150.163.34.8")).status == 429


async def test_right_keys_are_not_counted() -> None:
    resolver = MembershipApp()
    await resolver.register()
    for _ in range(2 * COMPARED_A_MINUTE):
        fresh = MembershipApp(registry=resolver.registry)  # whose memory has no right key yet
        assert (await fresh.send(client=ELSEWHERE)).status == 200
    for _ in range(2 * COMPARED_A_MINUTE):
        assert (await resolver.send(client=ELSEWHERE)).status == 200


async def test_a_key_that_was_not_compared_for_want_of_a_turn_is_not_counted() -> None:
    resolver = MembershipApp()
    await resolver.register()
    many = [resolver.send(wrong(number), client=ELSEWHERE) for number in range(45)]
    await asyncio.gather(*many)
    statuses = [answer.status for answer in await asyncio.gather(*(resolver.send(wrong(0)) for _ in range(200)))]
    assert set(statuses) <= {403, 429, 503}
    resolver.seconds += 60
    assert (await resolver.send(client=ELSEWHERE)).status == 200


class Counted(PasswordHasher):
    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.checked: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.checked.append(str(hash).rpartition("$")[0].rpartition("$")[0])
        return super().verify(hash, password)


async def test_a_key_that_cannot_be_right_costs_what_a_wrong_one_costs_from_the_first_time_on() -> None:
    argon = Counted()
    hasher = KeyHasher(argon)
    kept = await hasher.hash(KEY)
    assert not await hasher.verify(None, KEY)
    assert not await hasher.verify(kept, RegistrationKey("7730914259"))
    assert len(argon.checked) == 2
    assert argon.checked[0] == argon.checked[1] == "$argon2id$v=19$m=8,t=1,p=1"
    hasher.close()


def test_in_earnest_a_guess_costs_as_much_as_is_recommended() -> None:
    argon = PasswordHasher()
    assert (argon.memory_cost, argon.time_cost) >= (65536, 3)
    assert argon.type.name == "ID"


async def test_a_right_key_is_remembered_for_its_hash_only() -> None:
    hasher = KeyHasher(CHEAP)
    kept, other = await hasher.hash(KEY), await hasher.hash(KEY)
    assert kept != other
    assert not hasher.remembers(kept, KEY)
    assert await hasher.verify(kept, KEY)
    assert hasher.remembers(kept, KEY)
    assert not hasher.remembers(other, KEY)
    assert not hasher.remembers(kept, RegistrationKey("7730914259"))
    assert KEY.reveal() not in repr(vars(hasher))
    hasher.close()


async def test_a_text_that_is_no_hash_fits_no_key() -> None:
    hasher = KeyHasher(CHEAP)
    assert not await hasher.verify("rubbish", KEY)
    hasher.close()


async def test_those_who_wait_are_bounded() -> None:
    hasher = KeyHasher(CHEAP, most_waiting=3)
    other = await hasher.hash(RegistrationKey("5985125171"))
    asked = await asyncio.gather(*(hasher.verify(other, KEY) for _ in range(10)), return_exceptions=True)
    assert asked.count(False) == 3
    assert sum(isinstance(each, HashingBusy) for each in asked) == 7
    assert not await hasher.verify(None, KEY)
    hasher.close()


async def test_keys_for_archives_that_are_not_registered_leave_turns_for_those_that_are() -> None:
    hasher = KeyHasher(CHEAP, most_waiting=8)
    kept = await hasher.hash(KEY)
    strangers = [hasher.verify(None, KEY) for _ in range(10)]
    *unknown, known = await asyncio.gather(*strangers, hasher.verify(kept, KEY), return_exceptions=True)
    assert known is True
    assert sum(isinstance(each, HashingBusy) for each in unknown) == 6
    hasher.close()


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("150.163.34.239", "150.163.34.0/24"),
        ("::ffff:150.163.34.239", "150.163.34.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
    ],
)
def test_a_network_is_what_one_person_may_have_whole(address: str, network: str) -> None:
    assert str(network_of(ip_address(address))) == network


# --- floods ---

OTHER_LONG = "59851251715985125171"


def without_mark(resolver: MembershipApp) -> None:
    """The register as an earlier version left it."""
    for found in resolver.registry.all():
        resolver.registry.change(found.labels[0], lambda now: replace(now, key_hash=now.key_hash.partition("#")[0]))


@pytest.mark.parametrize("flooded", [REP, OTHER], ids=["its own label", "a registered neighbour"])
@pytest.mark.parametrize("is_new", [True, False], ids=["registered now", "registered by an earlier version"])
async def test_a_right_long_key_succeeds_in_a_flood_of_wrong_long_ones(flooded: str, is_new: bool) -> None:
    resolver = MembershipApp()
    await resolver.register(key=LONG)
    await resolver.register(OTHER, key=OTHER_LONG)
    if not is_new:
        without_mark(resolver)
        assert flooded == OTHER or (await resolver.send(query(registrationkey=LONG))).status == 200
        resolver = MembershipApp(registry=resolver.registry)  # which remembers no key
    wrong_keys = (f"9{number:019}" for number in range(200))
    flood = [query(archiveserviceibi=flooded, registrationkey=key) for key in wrong_keys]
    sent = [asyncio.create_task(resolver.send(text, client=ELSEWHERE)) for text in flood]
    right = await resolver.send(query(registrationkey=LONG), client=ELSEWHERE)
    assert right.status == 200
    assert {answer.status for answer in await asyncio.gather(*sent)} <= {403, 503}


async def test_a_right_short_key_has_its_turn_in_a_flood_for_a_neighbour() -> None:
    resolver = MembershipApp()
    await resolver.register(key=KEY.reveal())
    await resolver.register(OTHER, key=OTHER_LONG)
    without_mark(resolver)
    flood = [query(archiveserviceibi=OTHER, registrationkey=f"9{number:019}") for number in range(200)]
    sent = [asyncio.create_task(resolver.send(text, client=ELSEWHERE)) for text in flood]
    assert (await resolver.send(query(registrationkey=KEY.reveal()), client=ELSEWHERE)).status == 200
    await asyncio.gather(*sent)


async def test_a_wrong_long_key_is_refused_without_a_hash() -> None:
    argon = Counted()
    hasher = KeyHasher(argon)
    for kept in (await hasher.hash(RegistrationKey(LONG)), await hasher.hash(KEY), None):
        guesses = [hasher.verify(kept, RegistrationKey(f"9{number:019}")) for number in range(100)]
        assert not any(await asyncio.gather(*guesses))
    assert not argon.checked
    hasher.close()


async def test_a_hash_says_of_a_short_key_nothing_and_of_a_long_one_sixteen_bits() -> None:
    hasher = KeyHasher(CHEAP)
    short, long = await hasher.hash(KEY), await hasher.hash(RegistrationKey(LONG))
    assert short.partition("#")[2] == "short"
    assert len(bytes.fromhex(long.partition("#")[2])) == 2
    assert await hasher.verify(short, KEY)
    assert await hasher.verify(long, RegistrationKey(LONG))
    hasher.close()


async def test_the_hash_of_an_earlier_version_is_marked_when_its_key_comes() -> None:
    resolver = MembershipApp()
    await resolver.register(key=LONG)
    without_mark(resolver)
    both = (resolver.send(query(registrationkey=LONG)) for _ in range(2))
    assert [answer.status for answer in await asyncio.gather(*both)] == [200, 200]
    (found,) = resolver.registry.all()
    assert found.key_hash.partition("#")[2]
    assert (await MembershipApp(registry=resolver.registry).send(query(registrationkey=LONG))).status == 200


async def test_lines_take_turns() -> None:
    turns, order = HashingTurns(1), list[str]()
    first = asyncio.Event()

    async def begin(name: str) -> None:
        if name == "a0":
            await first.wait()
        order.append(name)

    async def take(name: str) -> None:
        await turns.take(name[0], 8, lambda: begin(name))

    tasks = [asyncio.create_task(take(name)) for name in ("a0", "a1", "a2", "a3", "b0", "b1", "c0")]
    await asyncio.sleep(0)
    tasks[2].cancel()
    first.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["a0", "a1", "b0", "c0", "a3", "b1"]
    await take("d0")
    assert order[-1] == "d0"
