"""The inbox over HTTP: what is taken and refused, who sees it, and where it is announced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ibi.claims.model import RemoteClaimState, SenderCheck
from ibi.claims.rules import Party, Relationship, Sender, announcement_document, offer_document
from ibi.claims.service.inbox import A_MINUTE_OF_NETWORK, MOST_OF_NETWORK, ArrivalRate
from ibi.items.model.related_link import ClaimRelation
from ibi.people.model.account import COMMAND, Scope
from tests.support.archive_app import BASE
from tests.support.asgi_client import Answer, ask
from tests.support.records_app import RecordsApp, records_app

INBOX = f"{BASE}/inbox"
SENDER, TARGET = Sender("https://a.example", "https://a.example/inbox", "A"), Party(BASE, INBOX)
CLAIMANT = "a.br/arq/2026/11.16.10.00"
EDITION = "http://purl.org/vocab/frbr/core#revisionOf"
HOSTILE = '"><script>alert(1)</script>'


def offer(item: str, number: int = 1, claimant: str = CLAIMANT, **more: Any) -> dict[str, Any]:
    relationship = Relationship(f"http://urlib.net/{claimant}", EDITION, f"http://urlib.net/{item}")
    return {**offer_document(SENDER, TARGET, f"urn:uuid:{number}", relationship), **more}


async def post(app: RecordsApp, document: object, kind: str = "application/ld+json", **headers: str) -> Answer:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return await ask(app.app, "POST", "/inbox", {"content-type": kind, **headers}, body)


def problem(answer: Answer) -> str:
    return str(answer.json()["type"]).removeprefix("urn:ibi:problem:")


class NoRate(ArrivalRate):
    def count(self, network: str) -> None:
        """Any number may come."""


def allow_many(app: RecordsApp) -> None:
    assert app.parts.inbox is not None
    app.parts.inbox.rate = NoRate()


async def test_a_claim_is_created_once_and_has_an_address(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        for kind in ("application/ld+json", "application/json", 'application/ld+json; profile="x"'):
            answer = await post(app, offer(item), kind)
            assert (answer.status, answer.headers["location"]) == (201, f"{INBOX}/1")
        other = await post(app, offer(item, claimant="a.br/arq/2026/11.16.10.01"))
        assert (other.status, problem(other)) == (409, "notification-conflict")
        listed = (await app.ask("GET", "/inbox")).json()
        assert (listed["@id"], listed["contains"]) == (INBOX, [f"{INBOX}/1"])
        shown = (await app.ask("GET", "/inbox/1")).json()
        assert (shown["id"], shown["object"]["as:subject"]) == ("urn:uuid:1", f"http://urlib.net/{CLAIMANT}")


async def test_what_is_no_notification_is_refused_for_its_reason(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        allow_many(app)
        item = (await app.deposit())["rep"]
        reply = {**offer(item), "type": "Accept", "inReplyTo": "urn:x:1", "object": {"id": "urn:x:1"}}
        for document, kind, status, code in (
            (offer(item), "text/turtle", 415, "unsupported-media-type"),
            (offer(item), "", 415, "unsupported-media-type"),
            (b"{", "application/ld+json", 400, "invalid-notification"),
            (offer(item, type="Create"), "application/ld+json", 400, "invalid-notification"),
            (b" " * 65_537, "application/ld+json", 413, "body-too-large"),
            (offer("a.br/arq/2020/01.01.01.01"), "application/ld+json", 404, "item-not-claimable"),
            (offer(item, claimant=item), "application/ld+json", 404, "item-not-claimable"),
            (offer(item, claimant="localhost/ibi.8765/2026/11.16.10.00"), "application/ld+json", 403, "sandbox-claim"),
            (reply, "application/ld+json", 404, "no-such-claim"),
        ):
            answer = await post(app, document, kind)
            assert (answer.status, problem(answer)) == (status, code)
        assert (await app.ask("GET", "/inbox")).json()["contains"] == []


async def test_a_deleted_item_cannot_be_claimed(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        assert (await app.ask("DELETE", f"/api/items/{item}?reason=x")).status == 200
        assert problem(await post(app, offer(item))) == "item-not-claimable"


async def test_notifications_of_one_network_are_bounded_by_rate(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        answers = [await post(app, offer(item, number)) for number in range(A_MINUTE_OF_NETWORK + 1)]
        assert {answer.status for answer in answers[:-1]} == {201}
        assert (answers[-1].status, problem(answers[-1])) == (429, "too-many-notifications")
        assert int(answers[-1].headers["retry-after"]) > 0


async def test_claims_that_wait_are_bounded_by_number(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        allow_many(app)
        item = (await app.deposit())["rep"]
        for number in range(MOST_OF_NETWORK):
            assert (await post(app, offer(item, number))).status == 201
        full = await post(app, offer(item, MOST_OF_NETWORK))
        assert (full.status, problem(full)) == (429, "inbox-full")
        assert (await post(app, offer(item, 0))).status == 201, "what is known is taken again"


async def test_only_who_may_answer_sees_what_was_sent(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        await post(app, offer(item))
        assert (await ask(app.app, "GET", "/inbox", {})).status == 401
        for scope, name, seen in (
            (Scope.READ, "rui", 0),
            (Scope.DEPOSIT, "bia", 0),
            (Scope.DEPOSIT, "ana", 1),
            (Scope.EDIT, "lia", 1),
        ):
            headers = app.bearer(scope, name)
            assert len((await app.ask("GET", "/inbox", headers=headers)).json()["contains"]) == seen
            assert (await app.ask("GET", "/inbox/1", headers=headers)).status == (200 if seen else 404)
            found = (await app.ask("GET", "/api/items/claims/received", headers=headers)).json()
            assert len(found["claims"]) == seen
        for path in ("/inbox/2", "/inbox/0", "/inbox/x", f"/inbox/{'9' * 30}"):
            assert (await app.ask("GET", path)).status == 404
        for query in ("state=x", "after=-1", "after=x"):
            assert (await app.ask("GET", f"/api/items/claims/sent?{query}")).status == 400


async def test_a_claim_is_answered_by_label_as_one_inside_the_archive_is(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        await post(app, offer(item))
        said = {"item": item, "claimant": CLAIMANT, "answer": "accept"}
        other = app.bearer(Scope.DEPOSIT, "bia")
        assert (await app.ask("POST", "/api/items/claims", said, headers=other)).status == 403
        answer = await app.ask("POST", "/api/items/claims", said)
        assert answer.json()["next_edition"] == {"rep": CLAIMANT}
        found = (await app.ask("GET", "/api/items/claims/received?state=accepted")).json()
        assert [claim["claimant"] for claim in found["claims"]] == [CLAIMANT]


async def test_a_review_is_linked_from_the_item_once_it_is_accepted(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        about, url = f"{BASE}/col/{item}/metadata", "https://r.example/review?a=1&b=%3Cx%3E"
        sender = Sender("https://r.example", "https://r.example/inbox", f"Reviews {HOSTILE}")
        review = announcement_document(sender, TARGET, "urn:uuid:r", ClaimRelation.REVIEW, url, about)
        assert (await post(app, review)).status == 201
        page = (await ask(app.app, "GET", f"/col/{item}/metadata", {"accept": "text/html"})).body.decode()
        assert "r.example" not in page
        said = {"item": item, "claimant": url, "answer": "accept"}
        record = (await app.ask("POST", "/api/items/claims", said)).json()
        assert record["related"] == [{"kind": "review", "url": url, "name": f"Reviews {HOSTILE}"}]
        page = (await ask(app.app, "GET", f"/col/{item}/metadata", {"accept": "text/html"})).body.decode()
        assert "https://r.example/review?a=1&amp;b=%3Cx%3E" in page
        assert "<script>alert" not in page
        shown = (await app.ask("GET", "/inbox/1")).json()
        assert shown["type"] == ["Announce", "coar-notify:ReviewAction"]
        record = (await app.ask("POST", "/api/items/claims", {**said, "answer": "decline"})).json()
        assert "related" not in record


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_every_item_announces_the_inbox(tmp_path: Path, method: str) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        link = f'<{INBOX}>; rel="http://www.w3.org/ns/ldp#inbox"'
        for path, accept in (
            (f"/col/{item}/metadata", "text/html"),
            (f"/col/{item}/metadata", "application/json"),
            (f"/col/{item}/metadata?format=bibtex", "*/*"),
            (f"/api/items/{item}", "application/json"),
        ):
            answer = await ask(app.app, method, path, {"accept": accept})
            assert link in answer.headers["link"], path
        record = (await app.ask("GET", f"/api/items/{item}")).json()
        assert record["links"]["inbox"] == INBOX


async def test_the_inbox_says_what_it_takes(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        answer = await ask(app.app, "OPTIONS", "/inbox", {})
        assert (answer.status, answer.headers["accept-post"]) == (204, "application/ld+json, application/json")
        browser = await ask(app.app, "GET", "/inbox", {"accept": "text/html"})
        assert (browser.status, browser.headers["location"]) == (302, "/account/claims")


async def test_an_archive_without_an_inbox_has_and_announces_none(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = (await app.deposit())["rep"]
        assert (await post(app, offer(item))).status == 404
        assert (await ask(app.app, "OPTIONS", "/inbox", {})).status == 404
        answer = await ask(app.app, "GET", f"/col/{item}/metadata", {"accept": "text/html"})
        assert "ldp#inbox" not in answer.headers["link"]
        assert "inbox" not in (await app.ask("GET", f"/api/items/{item}")).json()["links"]


async def test_what_was_checked_is_shown(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        await post(app, offer(item))
        services = app.services
        assert services is not None
        assert services.exchange is not None
        claims = services.remote_claims_of(COMMAND)
        assert claims is not None
        (found,) = [claim for claim, _ in claims.received({RemoteClaimState.PENDING})]
        assert found.check is SenderCheck.WAITING
        shown = (await app.ask("GET", "/api/items/claims/received")).json()["claims"][0]
        assert (shown["check"], shown["archive"], shown["notification"]) == ("waiting", SENDER.url, f"{INBOX}/1")
