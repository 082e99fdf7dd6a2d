"""Floods of notifications: registered Archives, which sign what they send, are heard all the same."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ibi.claims.model import RemoteClaimState, SenderCheck
from ibi.claims.rules import Party, Relationship, Sender, offer_document
from ibi.claims.service import inbox
from ibi.claims.service.claim_context import UNVERIFIED_FOR, ClaimContext
from ibi.claims.service.inbox import MOST_OF_NETWORK, ArrivalRate, NotificationInbox, RegisteredRate
from ibi.claims.service.registered_senders import RegisteredSenders
from ibi.people.model.account import COMMAND
from ibi.standard.label import RepositoryName
from ibi.standard.messages.signatures import sign_notification
from ibi.standard.signing import SigningKey
from ibi.transfers.rules.standing import KnownArchives, RegisteredArchive
from tests.support.archive_app import BASE
from tests.support.asgi_client import Answer, ask
from tests.support.records_app import RecordsApp, records_app

INBOX = f"{BASE}/inbox"
SENDER, TARGET = Sender("https://a.example", "https://a.example/inbox", "A"), Party(BASE, INBOX)
EDITION = "http://purl.org/vocab/frbr/core#revisionOf"
KEY, OTHER = SigningKey(b"k" * 32), SigningKey(b"o" * 32)
REGISTERED = RegisteredArchive((RepositoryName.parse("a.br/arq/2009/07.21.14.43"),), frozenset(), KEY.public)


@dataclass
class FloodedArchive:
    """An Archive with an inbox, whose clocks the test moves."""

    app: RecordsApp
    item: str
    monotonic: float = 0.0
    number: int = 0

    async def send(self, client: str, key: SigningKey | None = None, **signed: object) -> Answer:
        """Another offer, from that address; signed with a key, for this inbox and just now if nothing else is said."""
        self.number += 1
        claimant = f"a.br/arq/{2000 + self.number // 60 // 24}/01.01.{self.number // 60 % 24:02}.{self.number % 60:02}"
        relationship = Relationship(f"http://urlib.net/{claimant}", EDITION, f"http://urlib.net/{self.item}")
        document = offer_document(SENDER, TARGET, f"urn:uuid:{self.number}", relationship)
        body, headers = json.dumps(document).encode(), {"content-type": "application/ld+json"}
        if key is not None:
            said = {"to": BASE, "at": 1000 * self.now(), "body": body, **signed}
            headers["ibi-signature"] = sign_notification(said["body"], said["to"], said["at"], key)  # type: ignore[arg-type]
        return await ask(self.app.app, "POST", "/inbox", headers, body, (client, 4711))

    def now(self) -> int:
        return self.app.clocks.seconds()

    @property
    def exchange(self) -> ClaimContext:
        services = self.app.services
        assert services is not None
        assert services.exchange is not None
        return services.exchange


class _AnyRate(ArrivalRate):
    def count(self, network: str) -> None:
        """Any number may come."""


@asynccontextmanager
async def flooded_archive(folder: Path, *, is_bounded: bool = True) -> AsyncIterator[FloodedArchive]:
    register = KnownArchives((REGISTERED,))

    def monotonic() -> float:
        return archive.monotonic

    def inbox_of(context: ClaimContext) -> NotificationInbox:
        return NotificationInbox(
            context,
            ArrivalRate(monotonic) if is_bounded else _AnyRate(),
            senders=RegisteredSenders(lambda: register, BASE, context.now, monotonic),
            registered_rate=RegisteredRate(monotonic),
        )

    async with records_app(folder, has_inbox=True, inbox_of=inbox_of) as app:
        archive = FloodedArchive(app, (await app.deposit())["rep"])
        yield archive


async def test_a_registered_archive_is_heard_while_six_hundred_networks_send_one_a_second(tmp_path: Path) -> None:
    async with flooded_archive(tmp_path) as archive:
        taken = []
        for second in range(20):
            flood = [(await archive.send(f"10.{number // 200}.{number % 200}.1")).status for number in range(600)]
            taken.append((await archive.send("10.0.0.9", KEY)).status)
            archive.monotonic += 1
            assert flood.count(201) == (60 if second == 0 else 1)
            assert flood.count(429) == 600 - flood.count(201)
        assert taken == [201] * 20


async def test_a_registered_archive_is_heard_beside_ten_networks_at_their_limit(tmp_path: Path) -> None:
    async with flooded_archive(tmp_path) as archive:
        for number in range(10):
            for _ in range(25):
                await archive.send(f"10.0.{number}.1")
        taken = [await archive.send("10.0.3.1", KEY) for _ in range(20)]
        assert [answer.status for answer in taken] == [201] * 20


async def test_a_registered_archive_is_heard_while_the_inbox_is_full_of_claims_of_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "MOST_WAITING", 50)
    async with flooded_archive(tmp_path, is_bounded=False) as archive:
        statuses = [(await archive.send(f"10.0.{number}.1")).status for number in range(60)]
        assert statuses == [201] * 50 + [429] * 10
        assert (await archive.send("10.0.0.1", KEY)).status == 201


async def test_a_refused_sender_is_taken_when_it_was_told_to_come_again(tmp_path: Path) -> None:
    async with flooded_archive(tmp_path) as archive:
        refused = []
        for number in range(80):
            answer = await archive.send(f"10.0.{number}.1")
            if answer.status == 429:
                refused.append((int(answer.headers["retry-after"]), f"10.0.{number}.1"))
        assert len(refused) == 20
        for wait, client in refused:
            archive.monotonic = wait - 1.01
            early = await archive.send(client)
            assert (early.status, early.headers.get("retry-after")) == (429, "2")
            archive.monotonic = wait
            assert (await archive.send(client)).status == 201


async def test_networks_at_their_limit_are_taken_when_they_were_told_to_come_again(tmp_path: Path) -> None:
    async with flooded_archive(tmp_path) as archive:
        for number in range(10):
            archive.monotonic = 10_000 * number
            client, refused = f"10.0.{number}.1", 0.0
            while not refused:
                answer = await archive.send(client)
                if answer.status == 429:
                    refused = archive.monotonic + int(answer.headers["retry-after"])
                archive.monotonic += 0.1 * number
            archive.monotonic = refused - 1.01
            assert (await archive.send(client)).status == 429
            archive.monotonic = refused
            assert (await archive.send(client)).status == 201


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (OTHER, {}),
        (KEY, {"body": b"another"}),
        (KEY, {"to": "https://other.example"}),
        (KEY, {"to": "nowhere"}),
        (KEY, {"at": 1}),
    ],
    ids=["a key that is not registered", "another body", "another inbox", "no inbox", "long ago"],
)
async def test_a_signature_that_does_not_count_makes_a_stranger(
    tmp_path: Path, key: SigningKey, signed: dict[str, object]
) -> None:
    async with flooded_archive(tmp_path) as archive:
        answers = [await archive.send("10.0.0.1", key, **signed) for _ in range(21)]
        assert [answer.status for answer in answers] == [201] * 20 + [429]


@pytest.mark.parametrize("signature", ["", ".", "x.y.z", "e30.e30.e30", "A" * 60_000, "\xff", "[" * 2000])
async def test_nonsense_in_the_place_of_a_signature_is_counted_as_a_stranger(tmp_path: Path, signature: str) -> None:
    async with flooded_archive(tmp_path) as archive:
        headers = {"content-type": "application/ld+json", "ibi-signature": signature}
        statuses = {
            (await ask(archive.app.app, "POST", "/inbox", headers, b"{}", ("10.0.0.1", 1))).status for _ in range(25)
        }
        assert statuses == {400, 429}


async def test_unverified_claims_expire_after_three_days_and_leave_room(tmp_path: Path) -> None:
    async with flooded_archive(tmp_path, is_bounded=False) as archive:
        for _ in range(MOST_OF_NETWORK):
            assert (await archive.send("10.0.0.1")).status == 201
        assert (await archive.send("10.0.0.1", KEY)).status == 201
        archive.app.clocks.advance(1000)
        full = await archive.send("10.0.0.1")
        assert (full.status, full.headers["retry-after"]) == (429, str(UNVERIFIED_FOR - 1000))
        archive.app.clocks.advance(UNVERIFIED_FOR - 1001)
        assert (await archive.send("10.0.0.1")).headers["retry-after"] == "1"
        archive.app.clocks.advance(1)
        assert (await archive.send("10.0.0.1")).status == 201
        networks = [each.network for each in archive.exchange.store.received.list((RemoteClaimState.PENDING,))]
        assert networks == ["archive a.br/arq/2009/07.21.14.43", "10.0.0.0/24"]


async def test_verified_claims_do_not_expire(tmp_path: Path) -> None:
    async with flooded_archive(tmp_path) as archive:
        await archive.send("10.0.0.1")
        await archive.send("10.0.0.1")
        store = archive.exchange.store

        store.received.change(1, lambda row: replace(row, check=SenderCheck.VERIFIED))
        archive.app.clocks.advance(UNVERIFIED_FOR)
        assert archive.exchange.expire() == 1
        assert [each.number for each in store.pending()] == [1]


async def test_a_librarian_declines_all_that_came_from_one_network(tmp_path: Path) -> None:
    async with flooded_archive(tmp_path) as archive:
        for client in ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.1.1"):
            await archive.send(client)
        await archive.send("10.0.0.1", KEY)
        listed = (await archive.app.ask("GET", "/api/items/claims/received")).json()["claims"]
        said = {"item": archive.item, "claimant": listed[0]["claimant"], "answer": "decline-network"}
        assert (await archive.app.ask("POST", "/api/items/claims", said)).status == 200
        claims = archive.app.services.remote_claims_of(COMMAND)
        assert claims is not None
        left = [claim.network for claim, _ in claims.received()]
        assert left == ["10.0.1.0/24", "archive a.br/arq/2009/07.21.14.43"]
