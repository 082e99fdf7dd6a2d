"""What an Archive sends to a resolver is signed, for the resolver that it knows; what comes back is judged."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from msgspec.structs import asdict

from ibi.membership.client.register_client import judge_key
from ibi.membership.client.resolver_gateway import ResolverGateway
from ibi.membership.model.membership import OfferedKey, RequestFailure, ResolverStanding
from ibi.membership.rules.archive_keys import SignatureRefused
from ibi.membership.service.signers import MemberSigner, OwnKeys, ResolverSigner, signing_keys
from ibi.net.http_connection import HttpResponse
from ibi.standard.messages.answers import ErrorAnswer, InclusionStatus
from ibi.standard.messages.holders import KEY, KEY_CHANGES, REASON, SIGNATURE, KeyFields
from ibi.standard.messages.membership import InclusionRequest
from ibi.standard.messages.requests import parse_request
from ibi.standard.messages.signatures import sign_key_change, sign_proof
from ibi.standard.signing import PublicKey, SigningKey
from ibi.storage.errors import DiskRefused
from tests.support.membership_app import query
from tests.support.memory.keys import MemoryKeyStore, MemoryResolverKeys
from tests.support.set_clocks import SetClocks

OURS, THEIRS = "http://alias.example.org", "http://urlib.net"
INCLUDED = InclusionStatus(confirmed=True)


class World:
    """A gateway whose other end is a resolver in this process."""

    def __init__(self, known_as: str = THEIRS) -> None:
        self.keys, self.known, self.clocks = MemoryKeyStore(b"r" * 32), MemoryResolverKeys(), SetClocks()
        self.resolver = ResolverSigner(OwnKeys(self.keys), THEIRS)
        self.signer = MemberSigner(OwnKeys(MemoryKeyStore(b"a" * 32)), self.known, known_as, self.clocks)
        self.gateway = ResolverGateway(known_as, signer=self.signer)
        self.gateway._get = self._answer  # type: ignore[method-assign, assignment]
        self.gateway._ask_key = self._offer_key  # type: ignore[method-assign]
        self.asked: list[InclusionRequest] = []
        self.is_unsigned = False

    async def _offer_key(self, known: PublicKey) -> OfferedKey:
        facts = asdict(signing_keys(OwnKeys(self.keys).ring()))
        proof = sign_proof("word", self.keys.signing_key())
        body = json.dumps({"archive": None, "resolver": {**facts, "proof": proof}}).encode()
        return judge_key(response(200, body, {}), "word", known)

    async def _answer(self, text: str) -> HttpResponse:
        request = parse_request(text)
        assert isinstance(request, InclusionRequest)
        self.asked.append(request)
        try:
            self.resolver.read(request, self.clocks.read().wall)
        except SignatureRefused as error:
            body = ErrorAnswer(str(error)).encode()
            return response(403, body, {**dict(self.resolver.fields()), REASON: b"signature-refused"})
        signed = () if self.is_unsigned else self.resolver.sign(request, INCLUDED)
        return response(200, INCLUDED.encode(), dict((*self.resolver.fields(), *signed)))

    async def send(self) -> object:
        request = parse_request(query())
        assert isinstance(request, InclusionRequest)
        return await self.gateway.send(request)


def response(status: int, body: bytes, fields: Mapping[bytes, bytes]) -> HttpResponse:
    keys = KeyFields(fields.get(KEY, b""), fields.get(KEY_CHANGES, b""), fields.get(SIGNATURE, b""))
    return HttpResponse(status, body, b"text/plain", reason=fields.get(REASON, b""), keys=keys)


async def test_a_resolver_that_is_known_by_its_own_name_is_asked_once() -> None:
    world = World()
    assert await world.send() == INCLUDED
    assert len(world.asked) == 1
    assert world.known.find(THEIRS) == world.keys.signing_key().public


async def test_a_resolver_that_has_another_name_is_asked_again_by_its_key_and_later_at_once() -> None:
    world = World(OURS)
    assert await world.send() == INCLUDED
    assert len(world.asked) == 2
    assert await world.send() == INCLUDED
    assert len(world.asked) == 3


async def test_an_unsigned_answer_of_a_known_resolver_counts_as_none() -> None:
    world = World()
    await world.send()
    world.is_unsigned = True
    outcome = await world.send()
    assert isinstance(outcome, RequestFailure)
    assert "not signed" in outcome.reason


async def test_a_refusal_by_a_known_resolver_is_told_and_not_tried_again() -> None:
    world = World()
    await world.send()
    world.clocks.jump(-4000)  # the resolver has the same clock here: so a signature of before is sent
    sign = world.signer.sign

    def late(*arguments: object) -> object:
        world.clocks.jump(-4000)
        try:
            return sign(*arguments)  # type: ignore[arg-type]
        finally:
            world.clocks.jump(4000)

    world.signer.sign = late  # type: ignore[method-assign, assignment]
    outcome = await world.send()
    assert isinstance(outcome, ErrorAnswer)
    assert "clocks" in outcome.text
    assert len(world.asked) == 2


async def test_a_key_that_cannot_be_read_is_a_failure_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def refuse() -> None:
        raise DiskRefused(path="keys/archive.pem", reason="Input/output error")

    monkeypatch.setattr(world.signer, "audience", refuse)
    outcome = await world.send()
    assert isinstance(outcome, RequestFailure)
    assert "archive.pem" in outcome.reason
    assert not outcome.sent


# --- before the registration key is sent ------------------------------------------------------------------------------


async def test_a_registration_key_is_not_sent_to_a_server_of_another_key() -> None:
    world = World()
    await world.send()
    known = world.keys.signing_key().public
    world.keys = MemoryKeyStore(b"f" * 32)
    outcome = await world.send()
    assert isinstance(outcome, RequestFailure)
    assert not outcome.sent
    assert str(known) in outcome.reason
    assert str(world.keys.signing_key().public) in outcome.reason
    assert len(world.asked) == 1


FACTS = {"key": str(SigningKey(b"r" * 32).public), "former": [], "changes": []}
KNOWN = SigningKey(b"r" * 32).public
PROOF = sign_proof("word", SigningKey(b"r" * 32))
STRANGER = SigningKey(b"f" * 32)


@pytest.mark.parametrize(
    ("status", "said", "standing"),
    [
        (200, {**FACTS, "proof": PROOF}, ResolverStanding.THERE),
        (200, FACTS, ResolverStanding.UNPROVEN),
        (200, {**FACTS, "proof": sign_proof("another word", SigningKey(b"r" * 32))}, ResolverStanding.UNPROVEN),
        (200, {**FACTS, "proof": sign_proof("word", STRANGER)}, ResolverStanding.UNPROVEN),
        (200, {**FACTS, "key": str(STRANGER.public), "proof": PROOF}, ResolverStanding.OTHER_KEY),
        (200, None, ResolverStanding.UNPROVEN),
        (200, {"key": 7}, ResolverStanding.UNPROVEN),
        (200, {"key": "no key", "proof": PROOF}, ResolverStanding.UNPROVEN),
        (404, {**FACTS, "proof": PROOF}, ResolverStanding.UNPROVEN),
    ],
)
def test_a_server_is_the_known_resolver_only_if_it_signs_the_word_with_its_key(
    status: int, said: object, standing: ResolverStanding
) -> None:
    body = json.dumps({"archive": None, "resolver": said}).encode()
    assert judge_key(response(status, body, {}), "word", KNOWN).standing is standing


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"\xff", b"[" * 100_000, b'{"resolver": 1}'])
def test_a_page_of_another_server_proves_no_key(body: bytes) -> None:
    assert judge_key(response(200, body, {}), "word", KNOWN).standing is ResolverStanding.UNPROVEN


def test_a_key_that_the_known_one_named_is_that_of_the_resolver() -> None:
    new = SigningKey(b"n" * 32)
    change = sign_key_change(SigningKey(b"r" * 32), new.public, 100)
    said = {"key": str(new.public), "changes": [change], "proof": sign_proof("word", new)}
    offered = judge_key(response(200, json.dumps({"resolver": said}).encode(), {}), "word", KNOWN)
    assert offered == OfferedKey(ResolverStanding.THERE, new.public, (change,))
