"""`/api/follows` and `/api/webhooks`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from ibi.following.model.subscription import SourceAddress
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.people.model.account import Scope
from tests.support.asgi_client import Answer, ask
from tests.support.followed_source import name_of
from tests.support.kept_subscriptions import KeptSubscriptions, kept_subscriptions
from tests.support.minting_app import MintingApp, minting_app

SOURCE = "https://a.example"


class Server:
    def __init__(self, minting: MintingApp, kept: KeptSubscriptions) -> None:
        self._minting, self.kept = minting, kept

    async def ask(self, method: str, path: str, said: object = None, scope: Scope = Scope.ADMIN) -> Answer:
        headers = {**self._minting.bearer(scope), "content-type": "application/json"}
        body = b"" if said is None else json.dumps(said).encode()
        return await ask(self._minting.app, method, path, headers, body)


@asynccontextmanager
async def server(data: Path) -> AsyncIterator[Server]:
    with (
        closing(SqliteCatalog(data / "catalogue.sqlite")) as catalog,
        kept_subscriptions(data, catalog.changes) as kept,
    ):
        async with minting_app(subscriptions=kept.subscriptions) as minting:
            yield Server(minting, kept)


async def test_something_is_followed_listed_and_followed_no_longer(tmp_path: Path) -> None:
    async with server(tmp_path) as served:
        answer = await served.ask("POST", "/api/follows", {"source": f"{SOURCE}/", "prefix": "lab.br/arq"}, Scope.EDIT)
        assert answer.status == 201
        listed = answer.json()
        assert isinstance(listed, dict)
        assert (listed["kind"], listed["text"], listed["source"]) == ("prefix", "lab.br/arq", SOURCE)
        assert (listed["epoch"], listed["behind"], listed["has_token"]) == (None, 0, False)
        assert (await served.ask("GET", "/api/follows", scope=Scope.EDIT)).json() == {"follows": [listed]}
        again = await served.ask("POST", "/api/follows", {"source": SOURCE, "prefix": "lab.br/arq", "token": "t0ken"})
        assert (again.status, again.json()) == (200, {**listed, "has_token": True})
        place = f"/api/follows/{listed['id']}"
        assert (await served.ask("DELETE", place)).status == 200
        assert (await served.ask("DELETE", place)).status == 404
        acts = [(entry.act, entry.subject) for entry in served.kept.audit.entries()]
        assert [act for act, _ in acts] == ["follow", "follow", "unfollow"]
        assert all(subject.startswith("follow:") for _, subject in acts)


async def test_an_item_is_followed_by_the_name_that_its_source_says(tmp_path: Path) -> None:
    async with server(tmp_path) as served:
        served.kept.source.put(name_of(1), "x")
        spelled = name_of(1).upper().replace("LAB.BR/ARQ", "Lab.br/Arq")
        answer = await served.ask("POST", "/api/follows", {"source": SOURCE, "label": spelled})
        assert (answer.status, answer.json()["text"]) == (201, name_of(1))
        missing = await served.ask("POST", "/api/follows", {"source": SOURCE, "label": name_of(2)})
        assert (missing.status, missing.json()["field"]) == (404, "label")


async def test_a_token_of_the_api_names_no_private_address(tmp_path: Path) -> None:
    async with server(tmp_path) as served:
        await served.ask("POST", "/api/follows", {"source": SOURCE, "all": True})
        await served.ask("POST", "/api/webhooks", {"url": "https://b.example"})
        assert served.kept.follows.all()[0].source == SourceAddress(SOURCE, is_named_by_operator=False)
        assert not served.kept.webhooks.all()[0].is_named_by_operator


@pytest.mark.parametrize(
    ("said", "status", "field"),
    [
        ({}, 400, "source"),
        ({"source": SOURCE}, 400, "label, prefix, search or all"),
        ({"source": SOURCE, "all": True, "prefix": "lab.br/arq"}, 400, "label"),
        ({"source": SOURCE, "prefix": "no"}, 400, None),
        ({"source": SOURCE, "search": " "}, 400, "search"),
        ({"source": "ftp://a.example", "all": True}, 400, None),
        ({"source": "http://u:pw@a.example", "all": True}, 400, None),
        ({"source": "http://a.example/path", "all": True}, 400, None),
        ({"source": "http://ARQ.example", "all": True}, 400, "source"),
        ({"source": "http://a.example", "all": True, "token": "t0ken"}, 400, "token"),
        ({"source": SOURCE, "all": True, "token": "t\n"}, 400, "token"),
        ({"source": SOURCE, "all": True, "more": 1}, 400, None),
    ],
)
async def test_what_cannot_be_followed_is_refused(
    tmp_path: Path, said: dict[str, Any], status: int, field: str | None
) -> None:
    async with server(tmp_path) as served:
        answer = await served.ask("POST", "/api/follows", said)
        assert answer.status == status, answer.json()
        assert "pw" not in answer.body.decode()
        if (field is not None and field != "source") or said.get("source", "").startswith("http://ARQ"):
            assert answer.json()["field"] == field
        assert served.kept.follows.all() == ()


async def test_a_source_that_does_not_answer_is_not_followed(tmp_path: Path) -> None:
    async with server(tmp_path) as served:
        served.kept.source.is_away = True
        answer = await served.ask("POST", "/api/follows", {"source": SOURCE, "all": True})
        assert (answer.status, answer.json()["type"]) == (502, "urn:ibi:problem:source-away")


async def test_a_webhook_is_added_with_a_secret_listed_without_it_enabled_and_removed(tmp_path: Path) -> None:
    async with server(tmp_path) as served:
        said = {"url": "https://b.example/hook?key=1", "prefix": "lab.br/arq", "kinds": ["deleted"]}
        answer = await served.ask("POST", "/api/webhooks", said)
        added = answer.json()
        assert answer.status == 201
        assert added["secret"].startswith("whsec_")
        del added["secret"]
        assert (added["url"], added["kinds"]) == ("https://b.example/hook?…", ["deleted"])
        assert (await served.ask("GET", "/api/webhooks")).json() == {"webhooks": [added]}
        served.kept.webhooks.disable(added["id"], "away", 1_800_000_000)
        (listed,) = (await served.ask("GET", "/api/webhooks")).json()["webhooks"]
        assert (listed["disabled"], listed["reason"]) == ("2027-01-15T08:00:00Z", "away")
        place = f"/api/webhooks/{added['id']}"
        assert (await served.ask("POST", place)).json()["disabled"] is None
        assert (await served.ask("DELETE", place)).status == 200
        assert [(await served.ask(method, place)).status for method in ("DELETE", "POST")] == [404, 404]


@pytest.mark.parametrize(
    "said", [{"url": "x"}, {"url": "https://b.example", "kinds": ["x"]}, {"url": "https://b.example", "prefix": "x/"}]
)
async def test_what_is_no_webhook_is_refused(tmp_path: Path, said: dict[str, Any]) -> None:
    async with server(tmp_path) as served:
        assert (await served.ask("POST", "/api/webhooks", said)).status == 400


@pytest.mark.parametrize(
    ("path", "scopes"),
    [("/api/follows", {Scope.EDIT, Scope.ADMIN}), ("/api/webhooks", {Scope.ADMIN})],
)
async def test_each_endpoint_wants_its_scope(tmp_path: Path, path: str, scopes: set[Scope]) -> None:
    async with server(tmp_path) as served:
        for method, place in (("GET", path), ("POST", path), ("DELETE", f"{path}/x")):
            for scope in Scope:
                status = (await served.ask(method, place, {} if method == "POST" else None, scope)).status
                assert (status == 403) is (scope not in scopes), (method, scope, status)


async def test_metrics_tell_how_far_each_is_behind(tmp_path: Path) -> None:
    async with server(tmp_path) as served:
        await served.ask("POST", "/api/follows", {"source": SOURCE, "all": True})
        await served.ask("POST", "/api/webhooks", {"url": "https://b.example"})
        served.kept.follows.note_failure([served.kept.follows.all()[0].id], "away", 1_800_000_000)
        text = (await served.ask("GET", "/metrics")).body.decode()
        follow, hook = served.kept.follows.all()[0].id, served.kept.webhooks.all()[0].id
        assert f'ibi_follow_behind{{follow="{follow}",source="https://a.example"}} 0.0' in text
        assert f'ibi_follow_failing{{follow="{follow}",source="https://a.example"}} 1.0' in text
        assert f'ibi_webhook_behind{{webhook="{hook}"}} 0.0' in text
