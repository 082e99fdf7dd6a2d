"""E81: an Archive signs its requests, so that an overheard registration key or request includes and excludes no one."""

from __future__ import annotations

import asyncio

import pytest

from ibi.membership.model.registration import Registration
from ibi.membership.rules.archive_keys import SignaturePolicy
from tests.support.asgi_client import Answer
from tests.support.membership_app import MembershipApp, query
from tests.support.memory.keys import MemoryKeyStore
from tests.support.set_clocks import SetClocks
from tests.support.signing_member import NOW, SigningMember, seed

INCLUDED = b"status.archive included status.confirmation successful"
EXCLUDED = b"status.archive excluded"


def resolver_of(member: SigningMember | None = None, **others: object) -> MembershipApp:
    """A resolver with a key; the `member` answers at its address with its own."""
    key = None if member is None else member.key.public
    return MembershipApp(keys=MemoryKeyStore(b"r" * 32), proves=lambda _: key, **others)  # type: ignore[arg-type]


def registration_in(resolver: MembershipApp) -> Registration:
    found = resolver.found()
    assert found is not None
    return found


async def pinned(member: SigningMember, **others: object) -> MembershipApp:
    """A resolver that has included the member once, and so knows its key."""
    resolver = resolver_of(member, **others)
    await resolver.register()
    assert (await resolver.send(member.query())).body == INCLUDED
    assert registration_in(resolver).key == member.key.public
    return resolver


def reason_of(answer: Answer) -> str:
    assert answer.status == 403
    assert "1234567890" not in answer.body.decode()
    return answer.body.decode()


async def test_the_first_key_that_an_archive_proves_is_pinned_and_stays_when_it_is_excluded() -> None:
    member = SigningMember()
    resolver = await pinned(member)
    assert (await resolver.send(member.query("exclusionRequest"))).body == EXCLUDED
    found = registration_in(resolver)
    assert found.inclusion is None
    assert found.key == member.key.public
    assert (await resolver.send(member.query())).body == INCLUDED


async def test_the_right_registration_key_alone_includes_and_excludes_no_archive_whose_key_is_known() -> None:
    resolver = await pinned(SigningMember())
    before = resolver.found()
    assert "has no signature" in reason_of(await resolver.send(query(archiveaddress="evil.example.org")))
    assert "has no signature" in reason_of(await resolver.send(query(servicesubject="exclusionRequest")))
    await resolver.settle()
    assert resolver.found() == before


async def test_a_request_that_was_overheard_is_not_taken_a_second_time() -> None:
    member = SigningMember()
    resolver = await pinned(member)
    included, excluded = member.query(), member.query("exclusionRequest")
    assert (await resolver.send(included)).body == INCLUDED
    assert (await resolver.send(excluded)).body == EXCLUDED
    assert "has come already" in reason_of(await resolver.send(included))
    assert "has come already" in reason_of(await resolver.send(excluded))
    assert registration_in(resolver).inclusion is None


async def test_two_that_bring_the_same_request_at_the_same_time_are_not_both_served() -> None:
    member = SigningMember()
    resolver = await pinned(member)
    request = member.query()
    answers = await asyncio.gather(*(resolver.send(request) for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [200, 403, 403, 403]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("archiveaddress", "evil.example.org"),
        ("archiveprotocol", "HTTPS"),
        ("archivehosts", "evil.example.org"),
        ("archivefeed", "/elsewhere"),
        ("servicesubject", "exclusionRequest"),
        ("somethingnew", "that no version knows"),
    ],
)
async def test_a_request_of_which_one_pair_was_changed_or_added_is_refused(name: str, value: str) -> None:
    member = SigningMember()
    resolver = await pinned(member)
    pairs = [pair for pair in member.query().split("&") if not pair.startswith(f"{name}=")]
    changed = "&".join([*pairs, f"{name}={value.replace(' ', '%20')}"])
    assert "of another request" in reason_of(await resolver.send(changed))


async def test_the_order_of_the_pairs_does_not_matter_and_pairs_of_later_versions_are_covered() -> None:
    member = SigningMember()
    resolver = await pinned(member)
    later = member.query(somethingnew="that no version knows")
    assert (await resolver.send("&".join(reversed(later.split("&"))))).body == INCLUDED


async def test_the_key_of_another_archive_is_refused() -> None:
    resolver = await pinned(SigningMember())
    thief = SigningMember(seed("t"), at=NOW + 1000)
    assert "another key" in reason_of(await resolver.send(thief.query()))
    lent = SigningMember(seed("t"), at=NOW + 1000).query(archivekey=str(seed("a").public))
    assert "another key than `archivekey`" in reason_of(await resolver.send(lent))


async def test_a_request_for_another_resolver_is_refused() -> None:
    member = SigningMember()
    resolver = await pinned(member)
    member.to = "http://other.example.org:80"
    answer = await resolver.send(member.query())
    assert "for another resolver" in reason_of(answer)
    assert answer.headers["ibi-reason"] == "signature-refused"
    member.to = answer.headers["ibi-key"]
    assert (await resolver.send(member.query())).body == INCLUDED


@pytest.mark.parametrize("seconds", [-301, 301, -86_400, 10**9])
async def test_a_request_of_another_time_is_refused(seconds: int) -> None:
    member = SigningMember()
    resolver = await pinned(member)
    member.at = NOW + seconds * 1000
    assert "set the clocks right" in reason_of(await resolver.send(member.query()))


async def test_clocks_that_differ_by_minutes_do_no_harm() -> None:
    member = SigningMember(at=NOW - 250_000)
    resolver = await pinned(member)
    member.at = NOW + 250_000
    assert (await resolver.send(member.query())).body == INCLUDED


@pytest.mark.parametrize(
    "signature",
    ["x", "a.b.c", ".." * 20, "é.ü.ß", "eyJhbGciOiJub25lIn0..", "A" * 30_000, "eyJ.eyJ.eyJ"],
)
async def test_what_is_no_signature_is_refused(signature: str) -> None:
    member = SigningMember()
    resolver = await pinned(member)
    head = member.query().rpartition("&archivesignature=")[0]
    answer = await resolver.send(f"{head}&archivesignature={signature}")
    assert answer.status == 403


async def test_what_is_no_key_is_said_to_be_none() -> None:
    resolver = resolver_of()
    await resolver.register()
    assert (await resolver.send(query(archivekey="abc"))).status == 400


async def test_a_key_is_not_pinned_that_the_archive_at_the_address_does_not_have() -> None:
    thief, member = SigningMember(seed("t")), SigningMember(at=NOW + 1000)
    resolver = resolver_of(member)
    await resolver.register()
    # With the registration key, which was overheard, and the Archive's own address, which confirms.
    assert (await resolver.send(thief.query())).body == INCLUDED
    assert registration_in(resolver).key is None
    assert (await resolver.send(member.query())).body == INCLUDED
    assert registration_in(resolver).key == member.key.public


async def test_a_key_is_not_pinned_by_an_address_that_waits() -> None:
    member = SigningMember(seed("t"))
    resolver = resolver_of(member)
    await resolver.register()
    assert (await resolver.send()).body == INCLUDED  # unsigned, at the old address, which answers
    resolver.answers = False
    await resolver.send(member.query(archiveaddress="evil.example.org"))
    assert registration_in(resolver).key is None


async def test_the_key_that_was_given_with_the_registration_is_the_only_one() -> None:
    member = SigningMember()
    resolver = resolver_of()
    await resolver.register(archive_key=str(member.key.public))
    assert "has no signature" in reason_of(await resolver.send())
    assert "another key" in reason_of(await resolver.send(SigningMember(seed("t")).query()))
    assert (await resolver.send(member.query())).body == INCLUDED


async def test_where_signatures_are_required_an_unsigned_request_is_refused_and_a_first_signed_one_taken() -> None:
    member = SigningMember()
    resolver = resolver_of(member, policy=SignaturePolicy.REQUIRE)
    await resolver.register()
    assert "has no signature" in reason_of(await resolver.send())
    assert (await resolver.send(member.query())).body == INCLUDED
    assert registration_in(resolver).key == member.key.public


async def test_where_they_are_not_looked_at_everything_is_as_the_standard_has_it() -> None:
    member = SigningMember()
    resolver = resolver_of(member, policy=SignaturePolicy.LEGACY)
    await resolver.register(archive_key=str(seed("k").public))
    request = member.query()
    assert (await resolver.send(request)).body == INCLUDED
    assert (await resolver.send(request)).body == INCLUDED
    assert (await resolver.send()).body == INCLUDED
    assert registration_in(resolver).key == seed("k").public


async def test_a_wrong_registration_key_is_refused_before_the_signature_is_looked_at() -> None:
    member = SigningMember()
    resolver = await pinned(member)
    answer = await resolver.send(member.query(registrationkey="9876598765"))
    assert "No Archive is registered here" in reason_of(answer)


async def test_an_archive_that_asked_before_it_was_registered_is_taken_up_by_the_time_at_which_it_asked() -> None:
    member = SigningMember()
    resolver = resolver_of(member)
    assert (await resolver.send(member.query())).status == 403
    await resolver.settle()
    resolver.clocks.advance(1200)
    await resolver.register()
    await resolver.admin.retries.step()
    found = registration_in(resolver)
    assert found.inclusion is not None
    assert found.key == member.key.public


async def test_what_was_refused_for_its_signature_is_on_record_while_the_archive_is_not_included() -> None:
    member = SigningMember()
    resolver = resolver_of()
    await resolver.register(archive_key=str(member.key.public))
    await resolver.send()
    await resolver.settle()
    failed = registration_in(resolver).failed
    assert failed is not None
    assert failed.reason == "wrong-signature"


async def test_clocks_that_tell_fractions_of_a_millisecond_are_compared_by_milliseconds() -> None:
    member = SigningMember()
    resolver = resolver_of(member, clocks=SetClocks("2026-11-20T10:00:00.123456789Z"))
    await resolver.register()
    assert (await resolver.send(member.query())).body == INCLUDED
