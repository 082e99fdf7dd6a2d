"""E74: an Archive that asked before it was registered is included when it is registered."""

from __future__ import annotations

from ibi.label import parse
from ibi.services.membership.refused_requests import KEPT_FOR
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
