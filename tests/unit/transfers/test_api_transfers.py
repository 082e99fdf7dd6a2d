"""Offers of other Archives over HTTP: what is refused, and with which status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ibi.people.model.account import Scope
from ibi.standard.label import RepositoryName
from ibi.standard.signing import SigningKey
from ibi.transfers.model import OpenItem, OpenProblem
from ibi.transfers.opening.transfers import sandbox_check
from ibi.transfers.rules.transfer_messages import Offer, sign_offer
from ibi.transfers.service.receiving import A_MINUTE_OF_NETWORK
from tests.support.asgi_client import Answer, ask
from tests.support.deposit_samples import labels
from tests.support.records_app import RecordsApp, unstarted_records_app
from tests.support.transfer_archives import TransferArchive, two_archives

FIRST, SECOND = SigningKey(b"k" * 32), SigningKey(b"z" * 32)
GIVER = RepositoryName.parse("c.example/ibi/2020/01.01.00.00")


async def offer(app: RecordsApp, b: TransferArchive, key: SigningKey = FIRST, **change: Any) -> Answer:
    members: dict[str, Any] = {"labels": labels(0), "number": 1, "giver": GIVER, "url": "http://c.example"}
    made = Offer(**{**members, "to": b.url, "manifest": "0" * 128, **change})
    body = json.dumps({"offer": sign_offer(made, key)}).encode()
    return await ask(app.app, "POST", "/api/transfers", {"content-type": "application/json"}, body)


def problem(answer: Answer) -> str:
    return str(answer.json()["type"]).removeprefix("urn:ibi:problem:")


async def test_an_address_that_is_none_is_a_wrong_request(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (_, b), unstarted_records_app(tmp_path / "data", transfers=b.worker) as app:
        b.receiving._check_source = sandbox_check(is_sandbox=False)
        for url in ("http://x/?y", "http://[::1", "http://x:99999"):
            answer = await offer(app, b, url=url)
            assert (answer.status, problem(answer)) == (400, "invalid-statement")


async def test_a_second_archive_is_refused_until_the_first_is_declined(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (_, b), unstarted_records_app(tmp_path / "data", transfers=b.worker) as app:
        assert (await offer(app, b)).json()["stage"] == "waiting"
        refused = await offer(app, b, SECOND)
        assert (refused.status, problem(refused)) == (409, "transfer-refused")
        assert "decline that offer first" in refused.json()["detail"]
        librarian = app.bearer(Scope.EDIT, "bea")
        said = {"item": str(labels(0).rep), "answer": "accept", "key": str(SECOND.public)}
        wrong = await app.ask("POST", "/api/transfers/answer", said, headers=librarian)
        assert (wrong.status, problem(wrong)) == (409, "transfer-refused")
        assert (await app.ask("POST", "/api/transfers/answer", {**said, "key": 1}, headers=librarian)).status == 400
        right = await app.ask("POST", "/api/transfers/answer", {**said, "key": str(FIRST.public)}, headers=librarian)
        assert (right.json()["stage"], right.json()["key"]) == ("accepted", str(FIRST.public))
        assert (await offer(app, b, SECOND)).status == 409


async def test_offers_of_one_network_are_bounded(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (_, b), unstarted_records_app(tmp_path / "data", transfers=b.worker) as app:
        for number in range(A_MINUTE_OF_NETWORK):
            assert (await offer(app, b, labels=labels(number))).status == 200
        full = await offer(app, b, labels=labels(A_MINUTE_OF_NETWORK))
        assert (full.status, problem(full)) == (429, "too-many-offers")
        assert (await offer(app, b)).status == 200


async def test_items_that_are_open_are_listed_by_stage(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (_, b), unstarted_records_app(tmp_path / "data", transfers=b.worker) as app:
        librarian = app.bearer(Scope.EDIT, "bea")
        reps = [each for each in (labels(0).rep, labels(1).rep) if each is not None]
        for rep in reps:
            b.comparison.note(rep)
        missing = OpenItem(reps[1], OpenProblem.NOT_FETCHED, str(GIVER), "no bytes", ("http://c.example",), since=7)
        b.ledger.change_open(reps[1], lambda _: missing)

        async def listed(query: str) -> Any:
            return (await app.ask("GET", f"/api/transfers?direction=open{query}", headers=librarian)).json()

        found = await listed("")
        assert [(each["item"], each["stage"]) for each in found["transfers"]] == [
            (str(reps[0]), "unchecked"),
            (str(reps[1]), "not-fetched"),
        ]
        assert found["is_last"] is True
        (fetched,) = (await listed("&stage=not-fetched"))["transfers"]
        assert (fetched["direction"], fetched["archive"], fetched["asked"]) == (
            "open",
            str(GIVER),
            ["http://c.example"],
        )
        assert "`ibi copy" in fetched["remedy"]
        assert (await listed(f"&after={reps[0]}"))["transfers"] == [fetched]
        assert (await listed("&stage=taken"))["field"] == "stage"
        wrong = await app.ask("GET", "/api/transfers?direction=sideways", headers=librarian)
        assert (wrong.status, wrong.json()["field"]) == (400, "direction")
