"""E82: a resolver signs its answers, and an Archive believes one key of it alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ibi.membership.service.signers import MemberSigner, OwnKeys, ResolverSigner
from ibi.standard.messages.answers import ExclusionStatus, InclusionStatus
from ibi.standard.messages.holders import KeyFields
from ibi.standard.messages.membership import InclusionRequest
from ibi.standard.messages.requests import parse_request
from tests.support.membership_app import MembershipApp, query
from tests.support.memory.keys import MemoryKeyStore, MemoryResolverKeys
from tests.support.set_clocks import SetClocks
from tests.support.signing_member import SigningMember

RESOLVER = "http://urlib.net"
INCLUDED = InclusionStatus(confirmed=True)


def ticks() -> Iterator[float]:
    second = 0.0
    while True:
        second += 10
        yield second


class Two:
    """An Archive, and a resolver that it asks; keys are read anew each time."""

    def __init__(self) -> None:
        clock = ticks()
        self.keys, self.known = MemoryKeyStore(b"r" * 32), MemoryResolverKeys()
        self.resolver = ResolverSigner(OwnKeys(self.keys, lambda: next(clock)), RESOLVER)
        self.member = MemberSigner(
            OwnKeys(MemoryKeyStore(b"a" * 32), lambda: next(clock)), self.known, RESOLVER, SetClocks()
        )

    def distrust(
        self, answer: InclusionStatus | ExclusionStatus = INCLUDED, said: InclusionStatus | ExclusionStatus = INCLUDED
    ) -> str | None:
        """What the Archive has against an answer that says one thing where another was signed."""
        request = parse_request(query())
        assert isinstance(request, InclusionRequest)
        signed, nonce = self.member.sign(request, self.member.audience())
        read = parse_request(signed.to_query())
        assert isinstance(read, InclusionRequest)
        return self.member.distrust(fields_of(self.resolver, read, said), nonce, answer)


def fields_of(
    resolver: ResolverSigner, request: InclusionRequest, answer: InclusionStatus | ExclusionStatus
) -> KeyFields:
    found = dict((*resolver.fields(), *resolver.sign(request, answer)))
    return KeyFields(found[b"ibi-key"], found.get(b"ibi-key-changes", b""), found.get(b"ibi-signature", b""))


async def test_every_answer_tells_the_key_and_an_answer_to_a_signed_request_is_signed() -> None:
    keys, member = MemoryKeyStore(b"r" * 32), SigningMember()
    resolver = MembershipApp(keys=keys)
    public = str(keys.signing_key().public)
    refused = await resolver.send(member.query())
    assert refused.status == 403
    assert refused.headers["ibi-key"] == public
    assert "ibi-signature" not in refused.headers
    await resolver.register()
    assert "ibi-signature" in (await resolver.send(member.query())).headers
    unsigned = await resolver.send(query())
    assert unsigned.headers["ibi-key"] == public
    assert "ibi-signature" not in unsigned.headers


def test_the_first_key_is_believed_and_no_other_one_later() -> None:
    two = Two()
    assert two.distrust() is None
    assert two.known.find(RESOLVER) == two.keys.signing_key().public
    assert two.distrust() is None
    two.resolver = ResolverSigner(OwnKeys(MemoryKeyStore(b"f" * 32)), RESOLVER)
    assert "`ibi key trust-resolver`" in (two.distrust() or "")
    two.known.forget(RESOLVER)
    assert two.distrust() is None


def test_a_key_that_the_known_one_named_is_believed() -> None:
    two = Two()
    two.keys.replace()  # of the key before, the first one that is known has said nothing
    assert two.distrust() is None
    before = two.keys.signing_key().public
    for _ in range(3):
        new = two.keys.replace()
    assert two.distrust() is None
    assert two.known.find(RESOLVER) == new.public
    assert set(two.known.former(RESOLVER)) == {before, *two.keys.former()[:2]}


def test_an_answer_that_was_changed_on_its_way_is_not_believed() -> None:
    two = Two()
    assert "of another answer" in (two.distrust(InclusionStatus(confirmed=False)) or "")
    assert "of another answer" in (two.distrust(ExclusionStatus()) or "")
    assert two.known.find(RESOLVER) is None


def test_an_answer_to_another_request_is_not_believed() -> None:
    two = Two()
    request = parse_request(query())
    assert isinstance(request, InclusionRequest)
    first, _ = two.member.sign(request, None)
    _, nonce = two.member.sign(request, None)
    read = parse_request(first.to_query())
    assert isinstance(read, InclusionRequest)
    assert "of another answer" in (two.member.distrust(fields_of(two.resolver, read, INCLUDED), nonce, INCLUDED) or "")


def test_an_unsigned_answer_is_believed_only_of_a_resolver_without_a_known_key() -> None:
    two = Two()
    assert two.member.distrust(KeyFields(), "word", INCLUDED) is None
    assert two.distrust() is None
    assert "not signed" in (two.member.distrust(KeyFields(), "word", INCLUDED) or "")


@pytest.mark.parametrize("signature", [b"x", b"a.b.c", b"\xff\xfe", b"." * 9000])
def test_what_is_no_signature_is_not_believed(signature: bytes) -> None:
    assert "does not count" in (Two().member.distrust(KeyFields(signature=signature), "word", INCLUDED) or "")
