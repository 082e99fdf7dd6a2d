"""E74: an Archive that asked before it was registered is included when it is registered."""

from __future__ import annotations

from ibi.membership.service.key_check import COMPARED_A_MINUTE
from ibi.membership.service.refused_requests import KEPT_FOR
from ibi.standard.label import parse
from tests.support.membership_app import REP, MembershipApp, query


async def refused(resolver: MembershipApp, **others: str) -> None:
    assert (await resolver.send(query(**others))).status == 403
    await resolver.settle()


async def test_an_archive_that_asked_before_is_included_at_the_next_look_at_the_register() -> None:
    resolver = MembershipApp()
    await refused(resolver)
    await resolver.register()
    await resolver.admin.retries.step()
    found = resolver.found()
    assert found is not None
    assert found.inclusion is not None
    assert found.inclusion.confirmed
    assert [each.address for each in resolver.called] == ["mtc-m21.sid.inpe.br"]


async def test_a_request_with_another_key_is_not_taken_up() -> None:
    resolver = MembershipApp()
    await refused(resolver, registrationkey="9876598765")
    await resolver.register()
    await resolver.admin.retries.step()
    found = resolver.found()
    assert found is not None
    assert found.inclusion is None
    assert not resolver.called


async def test_a_stranger_who_names_the_archive_does_not_push_it_out() -> None:
    resolver = MembershipApp()
    await refused(resolver)
    for number in range(3):
        await resolver.send(query(registrationkey=f"987659876{number}"), client=f"203.0.{number}.7")
        await resolver.settle()
    await resolver.register()
    await resolver.admin.retries.step()
    found = resolver.found()
    assert found is not None
    assert found.inclusion is not None


async def test_a_new_key_is_a_new_chance() -> None:
    resolver = MembershipApp()
    await resolver.register(key="1357924680")
    await refused(resolver)
    await resolver.admin.forget(parse(REP))
    await resolver.register()
    await resolver.admin.retries.step()
    found = resolver.found()
    assert found is not None
    assert found.inclusion is not None


async def test_a_refused_request_is_forgotten_after_half_an_hour() -> None:
    resolver = MembershipApp()
    await refused(resolver)
    resolver.seconds += KEPT_FOR
    await resolver.register()
    await resolver.admin.retries.step()
    assert not resolver.called


async def test_one_that_asked_often_is_heard_at_once_when_it_is_registered() -> None:
    resolver = MembershipApp()
    for _ in range(2 * COMPARED_A_MINUTE):
        await resolver.send(query())
        await resolver.settle()
    assert (await resolver.send(query())).status == 429
    await resolver.register()
    assert (await resolver.send(query())).status == 200
    assert (await resolver.send(query(registrationkey="9876598765"))).status == 403


async def test_one_that_asks_too_soon_is_not_said_to_have_a_wrong_key() -> None:
    resolver = MembershipApp()
    await resolver.register()
    for number in range(COMPARED_A_MINUTE + 1):
        await resolver.send(query(registrationkey=f"98765987{number:02}"), client="203.0.113.7")
        await resolver.settle()
    before = resolver.found()
    resolver.seconds += 0.5
    assert (await resolver.send(client="203.0.113.7")).status == 429
    await resolver.settle()
    assert resolver.found() == before


async def test_what_asks_too_soon_does_not_push_out_what_was_kept_of_the_archive() -> None:
    resolver = MembershipApp()
    for _ in range(2 * COMPARED_A_MINUTE):
        await resolver.send(query())
        await resolver.settle()
    await resolver.register()
    await resolver.admin.retries.step()
    found = resolver.found()
    assert found is not None
    assert found.inclusion is not None
