"""R Example 7.3 at the resolver: an Archive is excluded, and stays registered."""

from __future__ import annotations

from dataclasses import replace

from tests.support.membership_app import MembershipApp, query

EXCLUSION = query(servicesubject="exclusionRequest")


async def test_the_example_is_answered_byte_for_byte() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    answer = await resolver.send(EXCLUSION)
    assert (answer.status, answer.body) == (200, b"status.archive excluded")
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["cache-control"] == "no-store"
    assert resolver.addresses == []


async def test_an_excluded_archive_stays_registered_and_is_included_again() -> None:
    resolver = MembershipApp()
    registered = await resolver.register()
    await resolver.send()
    await resolver.send(EXCLUSION)
    found = resolver.found()
    assert found is not None
    assert replace(found, last_inclusion=None) == registered  # where it was last is remembered, too
    assert (await resolver.send()).status == 200
    assert resolver.addresses == ["mtc-m21.sid.inpe.br"]


async def test_one_that_is_not_included_is_excluded_all_the_same() -> None:
    resolver = MembershipApp()
    await resolver.register()
    version = resolver.registry.version()
    for _ in range(2):
        assert (await resolver.send(EXCLUSION)).body == b"status.archive excluded"
    assert resolver.registry.version() == version


async def test_no_archive_is_called_back() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send(EXCLUSION)
    assert resolver.called == []
