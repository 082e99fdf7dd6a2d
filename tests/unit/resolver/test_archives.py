"""`/api/archives`: the register of the resolver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.app.openapi import document
from ibi.people.model.account import Scope
from ibi.resolver.api.archives import ArchivePages
from ibi.standard.errors import IbiError
from ibi.web.authentication import Authentication
from ibi.web.errors import problem
from tests.support.asgi_client import Answer, ask
from tests.support.membership_app import REP, MembershipApp, Post
from tests.support.memory.tokens import MemoryTokens
from tests.support.minting_app import add_token
from tests.support.signing_member import seed

KEY = "7730914258"
IBIP = "8JMKD3MGP7W/3EPGUE5"
DOCUMENT = document(register=True)
PUBLIC = {
    *(
        "rep",
        "ibip",
        "included",
        "address",
        "protocol",
        "confirmed",
        "since",
        "prefixes",
        "successor",
        "lost",
        "failure",
    ),
    *("key", "former_keys", "last"),
}


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, IbiError)
    return problem(error)


@dataclass
class Api:
    resolver: MembershipApp
    tokens: MemoryTokens
    app: Starlette

    async def ask(
        self,
        method: str,
        label: str = "",
        body: object = None,
        *,
        scope: Scope | None = Scope.ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = {} if scope is None else {"authorization": f"Bearer {add_token(self.tokens, scope)}"}
        sent |= {} if body is None else {"content-type": "application/json"}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        path = f"/api/archives/{label}" if label else "/api/archives"
        return await ask(self.app, method, path, {**sent, **(headers or {})}, content)


def api(**options: Any) -> Api:
    resolver, tokens = MembershipApp(**options), MemoryTokens()
    routes = ArchivePages(resolver.admin, Authentication(tokens, resolver.clocks)).routes()
    return Api(resolver, tokens, Starlette(routes=routes, exception_handlers={IbiError: _refuse}))


def test_every_route_is_described_and_every_description_has_a_route() -> None:
    found = {
        (route.path.replace("{label:path}", "{label}"), method.lower())
        for route in api().app.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    paths = {path: item for path, item in DOCUMENT["paths"].items() if path.startswith("/api/archives")}
    assert found == {(path, method) for path, item in paths.items() for method in item}


def check(answer: Answer, method: str, path: str) -> None:
    """The status is described, and so is every member of what everybody gets."""
    response = DOCUMENT["paths"][path][method]["responses"][str(answer.status)]
    if answer.status < 300:
        assert "application/json" in response["content"]
        described = DOCUMENT["components"]["schemas"]["RegisteredArchive"]["properties"].keys() | {"letter", "warnings"}
        body = answer.json()
        for each in body.get("archives", [body]):
            assert PUBLIC <= each.keys() <= described
        assert answer.headers["cache-control"] == "no-store"


async def test_an_archive_is_registered_listed_changed_and_forgotten() -> None:
    served = api(post=Post())
    wanted = {
        "labels": [REP],
        "key": KEY,
        "admin_mail": "banon@dpi.inpe.br",
        "hosts": ["cdn.example.org"],
        "networks": ["10.0.0.0/8"],
    }
    made = await served.ask("POST", body=wanted)
    assert made.status == 201
    check(made, "post", "/api/archives")
    letter = made.json().pop("letter")
    assert (letter["to"], letter["sent"]) == ("banon@dpi.inpe.br", True)
    assert KEY not in made.body.decode()
    assert b"argon2" not in made.body
    await served.resolver.send(
        f"servicesubject=inclusionRequest&archiveaddress=a.example.org&archiveserviceibi={REP}&archiveip=192.0.2.1"
        f"&archiveprotocol=HTTP&archiveplatformversion=1&archiveadmemailaddress=b@example.org&registrationkey={KEY}"
    )
    listed = await served.ask("GET")
    check(listed, "get", "/api/archives")
    (one,) = listed.json()["archives"]
    assert (one["rep"], one["address"], one["included"], one["admin_mail"]) == (
        REP,
        "a.example.org",
        True,
        "banon@dpi.inpe.br",
    )
    changed = await served.ask("PATCH", REP, {"allow": ["192.168.0.0/16"], "disallow": ["10.0.0.0/8"]})
    check(changed, "patch", "/api/archives/{label}")
    assert changed.json()["networks"] == ["192.168.0.0/16"]
    gone = await served.ask("DELETE", REP.replace("/", "%2F").upper())
    check(gone, "delete", "/api/archives/{label}")
    assert (await served.ask("GET")).json() == {"archives": []}
    missing = await served.ask("DELETE", REP)
    check(missing, "delete", "/api/archives/{label}")
    assert missing.status == 404


@pytest.mark.parametrize("scope", [None, Scope.READ, Scope.DEPOSIT])
async def test_the_public_may_know_who_is_asked_and_no_more(scope: Scope | None) -> None:
    served = api()
    await served.resolver.register(admin_mail="banon@dpi.inpe.br", networks=["10.0.0.0/8"])
    listed = await served.ask("GET", scope=scope)
    (one,) = listed.json()["archives"]
    assert one.keys() == PUBLIC
    single = await served.ask("GET", REP, scope=scope)
    check(single, "get", "/api/archives/{label}")
    assert single.json() == one


async def test_a_wrong_token_is_told_so() -> None:
    answer = await api().ask("GET", scope=None, headers={"authorization": "Bearer ibi_x_y"})
    assert answer.status == 401


@pytest.mark.parametrize(("scope", "status"), [(None, 401), (Scope.READ, 403), (Scope.DEPOSIT, 403)])
async def test_only_administrators_change_anything(scope: Scope | None, status: int) -> None:
    served = api()
    before = await served.resolver.register()
    asked = [
        await served.ask("POST", body={"labels": ["a.br/b/2012/06.05.15.34"], "key": KEY}, scope=scope),
        await served.ask("PATCH", REP, {"allow": ["10.0.0.0/8"]}, scope=scope),
        await served.ask("DELETE", REP, scope=scope),
    ]
    assert [answer.status for answer in asked] == [status] * 3
    assert served.resolver.registry.all() == (before,)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"labels": [REP], "key": "1234567890"}, 400, "weak-key"),
        ({"labels": [REP], "key": "773091425"}, 400, "invalid-message"),
        ({"labels": [REP], "key": 7730914258}, 400, "malformed-body"),
        ({"labels": [REP]}, 400, "malformed-body"),
        ({"labels": [], "key": KEY}, 400, "invalid-message"),
        ({"labels": [REP, REP], "key": KEY}, 400, "invalid-message"),
        ({"labels": ["x"], "key": KEY}, 400, "invalid-label"),
        ({"labels": [REP], "key": KEY, "networks": ["10.0.0.1/8"]}, 400, "invalid-network"),
        ({"labels": [REP], "key": KEY, "hosts": ["a b"]}, 400, "invalid-message"),
        ({"labels": [REP], "key": KEY, "admin_mail": "x"}, 400, "invalid-message"),
        ({"labels": [REP], "key": KEY, "colour": 1}, 400, "malformed-body"),
        ({"labels": [REP], "key": KEY, "archive_key": "x"}, 400, "invalid-key"),
        ({"labels": [REP], "key": KEY, "archive_key": 7}, 400, "malformed-body"),
        ({"labels": [REP], "key": KEY, "replace": True}, 404, "unknown-archive"),
        (b"{", 400, "malformed-body"),
        (b"[" * 50_000, 400, "malformed-body"),
    ],
)
async def test_what_cannot_be_registered_is_refused(body: object, status: int, code: str) -> None:
    served = api()
    answer = await served.ask("POST", body=body)
    check(answer, "post", "/api/archives")
    assert (answer.status, answer.json()["type"]) == (status, f"urn:ibi:problem:{code}")
    assert served.resolver.registry.all() == ()
    for key in (KEY, "1234567890", "773091425"):
        assert key not in answer.body.decode()


async def test_a_weak_key_may_be_allowed_and_a_second_registration_may_not() -> None:
    served = api()
    weak = {"labels": [REP], "key": "1234567890", "allow_weak_key": True}
    assert (await served.ask("POST", body=weak)).status == 201
    again = await served.ask("POST", body=weak)
    assert (again.status, again.json()["field"]) == (409, "labels")
    assert (await served.ask("POST", body={**weak, "replace": True})).status == 200


@pytest.mark.parametrize("body", [{"allow": ["x"]}, {"allow": "10.0.0.0/8"}, {"networks": []}, b""])
async def test_networks_that_are_none_are_refused(body: object) -> None:
    served = api()
    before = await served.resolver.register()
    assert (await served.ask("PATCH", REP, body)).status == 400
    assert served.resolver.found() == before


async def test_a_form_that_is_not_known_is_another_archive() -> None:
    served = api()
    await served.resolver.register()
    assert (await served.ask("GET", IBIP)).status == 404
    assert (await served.ask("GET", "x")).status == 400


async def test_other_methods_are_told_which_there_are() -> None:
    answer = await api().ask("PUT", REP)
    assert (answer.status, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "PATCH", "DELETE"})


async def test_an_administrator_changes_what_is_registered() -> None:
    served = api()
    await served.resolver.register()
    await served.resolver.register("dpi.inpe.br/banon/1999/01.09.22.14")
    body = {
        "add_prefixes": ["sid.inpe.br/mtc-m18@80"],
        "vouched": True,
        "shared": None,
        "successor": "dpi.inpe.br/banon/1999/01.09.22.14",
        "add_hosts": ["cdn.example.org"],
        "allow": ["10.0.0.0/8"],
        "admin_mail": "ana@example.org",
    }
    changed = await served.ask("PATCH", REP, body)
    assert changed.status == 200
    check(changed, "patch", "/api/archives/{label}")
    one = changed.json()
    assert (one["prefixes"], one["vouched"], one["shared"], one["successor"], one["hosts"], one["networks"]) == (
        ["sid.inpe.br/mtc-m18"],
        True,
        False,
        "dpi.inpe.br/banon/1999/01.09.22.14",
        ["cdn.example.org"],
        ["10.0.0.0/8"],
    )
    gone = await served.ask("PATCH", REP, {"no_successor": True, "vouched": False})
    assert (gone.json()["successor"], gone.json()["vouched"]) == (None, False)


async def test_an_administrator_gives_an_archive_a_key_another_one_and_none() -> None:
    served = api()
    first, second = str(seed("a").public), str(seed("b").public)
    made = await served.ask("POST", body={"labels": [REP], "key": KEY, "archive_key": first})
    assert (made.json()["key"], made.json()["signed"]) == (first, None)
    changed = await served.ask("PATCH", REP, {"archive_key": second})
    check(changed, "patch", "/api/archives/{label}")
    assert (changed.json()["key"], changed.json()["former_keys"]) == (second, [first])
    gone = await served.ask("PATCH", REP, {"forget_archive_key": True})
    assert (gone.json()["key"], gone.json()["former_keys"]) == (None, [second, first])
    both = await served.ask("PATCH", REP, {"forget_archive_key": True, "archive_key": first})
    assert (both.status, both.json()["type"]) == (400, "urn:ibi:problem:invalid-message")


async def test_a_prefix_of_another_archive_is_a_conflict() -> None:
    served = api()
    await served.resolver.register()
    second = {"labels": ["sid.inpe.br/mtc-m21.80/2001/01.01.01.01"], "key": KEY}
    refused = await served.ask("POST", body=second)
    check(refused, "post", "/api/archives")
    assert (refused.status, refused.json()["type"]) == (409, "urn:ibi:problem:prefix-taken")
    assert REP in refused.json()["detail"]
    assert (await served.ask("POST", body={**second, "shared": True})).status == 201
    third = {"labels": ["a.br/b/2012/06.05.15.34"], "key": KEY}
    assert (await served.ask("POST", body=third)).status == 201
    refused = await served.ask("PATCH", "a.br/b/2012/06.05.15.34", {"add_prefixes": ["sid.inpe.br/mtc-m21"]})
    check(refused, "patch", "/api/archives/{label}")
    assert refused.status == 409


async def test_an_easy_key_is_told_as_a_warning() -> None:
    served = api()
    easy = await served.ask("POST", body={"labels": [REP], "key": "4712345678"})
    assert easy.status == 201
    (warning,) = easy.json()["warnings"]
    assert "easy to guess" in warning
    assert "4712345678" not in easy.body.decode()
    hard = await served.ask("POST", body={"labels": [REP], "key": KEY, "replace": True})
    assert hard.json()["warnings"] == []
