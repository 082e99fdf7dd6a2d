"""E83: the key of an Archive is changed by its old key, or by the administrator of the resolver."""

from __future__ import annotations

from itertools import pairwise

from ibi.membership.rules.membership import RegistrationChange
from ibi.standard.label import parse
from ibi.standard.messages.signatures import MOST_CHANGES, former_keys, leads_to, sign_key_change
from ibi.standard.signing import SigningKey, sign_statement
from tests.conformance.errata.test_e81 import INCLUDED, pinned, reason_of, registration_in
from tests.support.membership_app import REP
from tests.support.signing_member import NOW, SigningMember, seed


async def test_a_key_that_the_old_one_named_takes_its_place_and_the_old_one_counts_no_longer() -> None:
    old, new = SigningMember(), SigningMember(seed("n"), at=NOW + 1000)
    resolver = await pinned(old)
    new.changes = (sign_key_change(old.key, new.key.public, 1),)
    assert (await resolver.send(new.query())).body == INCLUDED
    found = registration_in(resolver)
    assert found.key == new.key.public
    assert found.former_keys == (old.key.public,)
    old.at = NOW + 2000
    assert "another key" in reason_of(await resolver.send(old.query()))


async def test_a_key_that_was_replaced_several_times_since_is_followed() -> None:
    old = SigningMember()
    resolver = await pinned(old)
    keys = [old.key, *map(seed, "bcd")]
    last = SigningMember(keys[-1], at=NOW + 1000)
    last.changes = tuple(chain(keys))
    assert (await resolver.send(last.query())).body == INCLUDED


def test_the_former_keys_are_those_that_lead_to_the_present_one() -> None:
    keys, stranger = [*map(seed, "abc")], seed("s")
    changes = (sign_key_change(stranger, seed("t").public, 1), *chain(keys), "no.statement.atall")
    assert former_keys(keys[-1].public, changes) == (keys[1].public, keys[0].public)
    assert former_keys(keys[0].public, changes) == ()
    round_about = (*chain(keys), sign_key_change(keys[-1], keys[0].public, 1))
    assert former_keys(keys[-1].public, round_about) == (keys[1].public, keys[0].public, keys[-1].public)


async def test_a_change_that_another_key_signed_is_not_believed() -> None:
    old, thief = SigningMember(), SigningMember(seed("t"), at=NOW + 1000)
    resolver = await pinned(old)
    for change in (
        sign_key_change(thief.key, thief.key.public, 1),
        sign_key_change(old.key, seed("n").public, 1),  # which was overheard, and names another
        sign_statement("confirmation", {"challenge": str(thief.key.public), "key": str(thief.key.public)}, old.key),
        "no.statement.atall",
    ):
        thief.changes = (change,)
        assert "another key" in reason_of(await resolver.send(thief.query()))
    assert registration_in(resolver).key == old.key.public


async def test_the_administrator_gives_another_key_or_takes_it_away() -> None:
    old, new = SigningMember(), SigningMember(seed("n"), at=NOW + 1000)
    resolver = await pinned(old)
    label = parse(REP)
    await resolver.admin.set(label, RegistrationChange.of_words(archive_key=str(new.key.public)))
    assert (await resolver.send(new.query())).body == INCLUDED
    assert "another key" in reason_of(await resolver.send(SigningMember(at=NOW + 3000).query()))
    await resolver.admin.set(label, RegistrationChange.of_words(forget_archive_key=True))
    found = registration_in(resolver)
    assert found.key is None
    assert found.former_keys == (new.key.public, old.key.public)
    assert (await resolver.send()).body == INCLUDED


def chain(keys: list[SigningKey]) -> list[str]:
    return [sign_key_change(one, other.public, 1) for one, other in pairwise(keys)]


def test_changes_lead_one_way_and_circles_end() -> None:
    one, two, three = map(seed, "123")
    changes = chain([one, two, three])
    assert leads_to(one.public, three.public, changes)
    assert leads_to(two.public, two.public, ())
    assert not leads_to(three.public, one.public, changes)
    circle = chain([one, two, one])
    assert not leads_to(one.public, three.public, circle)
    assert not leads_to(one.public, three.public, ["", "a.b", "a.b.c", "é" * 9])


def test_a_long_history_is_followed_as_far_as_it_is_told() -> None:
    keys = [seed(chr(33 + number)) for number in range(MOST_CHANGES + 2)]
    changes = chain(keys)
    assert leads_to(keys[1].public, keys[-1].public, changes)
    assert not leads_to(keys[0].public, keys[-1].public, changes)
