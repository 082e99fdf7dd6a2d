"""Whether a request comes from the Archive it names."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Literal

import pytest
from argon2 import PasswordHasher

from ibi.messages import RegistrationKey
from ibi.services.accounts.sign_in import HashingBusy, KeyHasher
from ibi.services.limits import FREE, LONGEST_WAIT, network_of
from tests.support.asgi_client import Answer
from tests.support.membership_app import CHEAP, MembershipApp, query

KEY = RegistrationKey("7730914258")
ELSEWHERE = "198.51.100.7"
OTHER = "sid.inpe.br/mtc-m22/2012/06.05.15.34.39"


def wrong(number: int = 0, /, **others: str) -> str:
    return query(registrationkey=f"77309{number:05}", **others)


async def spoil(resolver: MembershipApp, times: int, client: str = ELSEWHERE, **others: str) -> Answer:
    """Wrong keys, one after the other; the last answer."""
    assert times
    for number in range(times):
        answer = await resolver.send(wrong(number, **others), client=client)
    return answer


async def test_guessing_is_slowed_down_by_the_network_that_guesses() -> None:
    resolver = MembershipApp()
    await resolver.register()
    for number in range(FREE):
        guessed = await resolver.send(
            wrong(archiveserviceibi=f"sid.inpe.br/archive{number}/2012/06.05.15.34"), client=f"198.51.100.{number}"
        )
        assert guessed.status == 403
    answer = await resolver.send(client=ELSEWHERE)
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert answer.body == b"error {Too many requests with a wrong key have come. Ask again in 1 s.}"
    assert (await resolver.send(client="203.0.113.1")).status == 200
    resolver.seconds += 1
    assert (await resolver.send(client=ELSEWHERE)).status == 200


@pytest.mark.parametrize("label", [None, OTHER])
async def test_guessing_is_slowed_down_by_the_label_guessed_at_registered_or_not(label: str | None) -> None:
    resolver = MembershipApp()
    await resolver.register()
    others = {} if label is None else {"archiveserviceibi": label}
    for number in range(FREE):
        assert (await resolver.send(wrong(number, **others), client=f"198.51.{number}.1")).status == 403
    assert (await resolver.send(wrong(0, **others), client="203.0.113.1")).status == 429


async def test_ten_thousand_guesses_take_days() -> None:
    resolver = MembershipApp()
    await resolver.register()
    tried = 0
    for _ in range(3600):
        resolver.seconds += 1
        tried += (await resolver.send(wrong(tried), client=ELSEWHERE)).status == 403
    assert tried <= FREE + 7 + 3600 / LONGEST_WAIT


async def test_who_guesses_does_not_keep_the_archive_out_that_has_been_here() -> None:
    resolver = MembershipApp()
    await resolver.register()
    assert (await resolver.send()).status == 200
    assert (await spoil(resolver, FREE + 1)).status == 429
    # Its key was right before: not even what its own network tried matters.
    assert (await resolver.send(client=ELSEWHERE)).status == 200


async def test_who_guesses_does_not_keep_the_archive_out_after_a_restart_if_it_comes_from_where_it_was() -> None:
    before = MembershipApp()
    await before.register()
    await before.send(client="150.163.34.239")
    resolver = MembershipApp(registry=before.registry)
    assert (await spoil(resolver, FREE + 1)).status == 429
    assert (await resolver.send(client="203.0.113.1")).status == 429
    assert (await resolver.send(client="150.163.34.7")).status == 200


async def test_a_neighbour_with_a_wrong_key_does_not_keep_the_archive_out() -> None:
    before = MembershipApp()
    await before.register()
    await before.send(client="150.163.34.239")
    resolver = MembershipApp(registry=before.registry)
    assert (await spoil(resolver, FREE + 1, "150.163.34.8", archiveserviceibi=OTHER)).status == 429
    assert (await resolver.send(client="150.163.34.239")).status == 200


async def test_a_stranger_beside_an_archive_who_guesses_its_key_is_slowed_down() -> None:
    before = MembershipApp()
    await before.register()
    await before.send(client="150.163.34.239")
    resolver = MembershipApp(registry=before.registry)
    assert (await spoil(resolver, FREE + 1, "150.163.34.8")).status == 429


async def test_archives_of_one_network_do_not_wait_for_each_other_because_one_had_a_wrong_key() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.register(OTHER, key="5985125171")
    await spoil(resolver, FREE, archiveserviceibi="sid.inpe.br/archive/2012/06.05.15.34")
    resolver.seconds += 1
    right = query(archiveserviceibi=OTHER, registrationkey="5985125171")
    assert (await resolver.send(client=ELSEWHERE)).status == 200
    assert (await resolver.send(right, client=ELSEWHERE)).status == 200


async def test_one_right_key_does_not_pay_for_wrong_ones() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.register(OTHER, key="5985125171")
    for _ in range(FREE - 1):
        await resolver.send(wrong(), client=ELSEWHERE)
        await resolver.send(
            query(archiveserviceibi=OTHER, registrationkey="5985125171", servicesubject="exclusionRequest"),
            client=ELSEWHERE,
        )
    await resolver.send(wrong(), client=ELSEWHERE)
    assert (await resolver.send(wrong(), client=ELSEWHERE)).status == 429


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
    asked = await asyncio.gather(*(hasher.verify(None, KEY) for _ in range(10)), return_exceptions=True)
    assert asked.count(False) == 3
    assert sum(isinstance(each, HashingBusy) for each in asked) == 7
    assert not await hasher.verify(None, KEY)
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
