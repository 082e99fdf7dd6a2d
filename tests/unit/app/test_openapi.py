"""The description of the API is true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.requests import Request
from starlette.routing import Route

from ibi import __version__
from ibi.app import openapi
from ibi.app.openapi import OpenApiPage, document
from ibi.collections.service import Collections
from ibi.items.pages.search_page import common_routes
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.minting.rules.minter import Rules
from ibi.people.model.account import Scope
from ibi.resolver.service.belief_report import BeliefReport
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.register_publication import RegisterPublication
from ibi.standard.clock import SECOND
from ibi.transfers.service.release_register import ReleaseRegister
from ibi.transfers.service.worker import TransferWorker
from tests.support.asgi_client import Answer, ask
from tests.support.kept_subscriptions import kept_subscriptions
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.keys import MemoryKeyStore
from tests.support.memory.registry import MemoryRegistry
from tests.support.minting_app import ONE, MintingApp, made, minting_app
from tests.support.one_port import OnePort
from tests.support.raised_errors import error_classes

DOCUMENT = document()
SERVERS = pytest.mark.parametrize(
    ("archive", "register"),
    [(False, False), (True, False), (False, True), (True, True)],
    ids=["minter", "Archive", "register", "Archive and register"],
)
OPERATIONS = [(path, method) for path, item in DOCUMENT["paths"].items() for method in item]


def test_every_route_is_described_and_every_description_has_a_route() -> None:
    pages = {"/robots.txt", "/explain", *(route.path for route in common_routes())}
    routes = [route for route in made().app.routes if isinstance(route, Route) and route.path not in pages]
    found = {(route.path, method.lower()) for route in routes for method in (route.methods or set()) - {"HEAD"}}
    assert found == set(OPERATIONS)


def test_every_route_of_a_server_with_all_parts_is_described(tmp_path: Path) -> None:
    served = OnePort()
    with closing(SqliteCatalog(tmp_path / "catalogue.sqlite")) as catalog:
        nothing: Any = None  # routes are looked at, and not called
        transfers = TransferWorker(nothing, nothing, nothing, nothing, nothing, nothing, resolver=None)
        site = replace(served.archive.site, feed=catalog.changes)
        parts = replace(
            served.archive.parts,
            changes=catalog.recent_version,
            transfers=transfers,
            collections=Collections(nothing, catalog, nothing),
        )
    beliefs = MemoryBeliefs()
    register = MemoryRegistry()
    resolver = replace(
        served.resolver,
        beliefs=beliefs,
        report=BeliefReport(register, beliefs, None, lambda: 0.0),
        disputes=Disputes(register, beliefs),
        publication=RegisterPublication(register, beliefs, MemoryKeyStore(), resolver_url="http://r.example.org"),
    )
    with kept_subscriptions(tmp_path, catalog.changes) as kept:
        app = made(
            clocks=served.archive.clocks,
            archive=site,
            parts=parts,
            resolver=resolver,
            releases=ReleaseRegister(nothing, beliefs, nothing, nothing, nothing),
            subscriptions=kept.subscriptions,
        ).app
    programs = ("/api/", "/healthz", "/inbox", "/readyz", "/metrics")
    routes = [route for route in app.routes if isinstance(route, Route) and route.path.startswith(programs)]
    found = {(route.path_format, method.lower()) for route in routes for method in (route.methods or set()) - {"HEAD"}}
    described = document(archive=True, register=True)["paths"]
    assert found == {(path, method) for path, item in described.items() for method in item}


async def test_the_description_is_served_as_it_stands() -> None:
    async with minting_app() as minting:
        answer = await minting.get("/api/openapi.json")
    assert answer.json() == DOCUMENT
    assert DOCUMENT["info"]["version"] == __version__


async def test_the_file_is_read_once_and_not_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[str] = []

    def counted(package: str) -> Traversable:
        readings.append(package)
        return files(package)

    monkeypatch.setattr(openapi, "files", counted)
    openapi._source.cache_clear()
    pages = [OpenApiPage(archive=True), OpenApiPage(archive=False, register=True)]
    assert readings == []

    request = Request({"type": "http"})
    bodies = [(await page.get(request)).body for page in (*pages, *pages)]

    assert bodies[:2] == bodies[2:]
    assert readings == ["ibi.app"]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(child)


@SERVERS
def test_every_schema_referred_to_is_served_and_no_other(archive: bool, register: bool) -> None:
    served = document(archive=archive, register=register)

    referred = {node["$ref"] for node in nodes(served) if "$ref" in node}

    assert referred == {f"#/components/schemas/{name}" for name in served["components"]["schemas"]}


@SERVERS
def test_what_is_served_is_a_valid_description(archive: bool, register: bool) -> None:
    served = document(archive=archive, register=register)

    assert [error.message for error in OpenAPIV31SpecValidator(served).iter_errors()] == []


@SERVERS
def test_marks_of_the_file_are_not_served(archive: bool, register: bool) -> None:
    served = document(archive=archive, register=register)

    assert [name for node in nodes(served) for name in node if name.startswith("x-")] == []
    assert set(served["components"]) == {"schemas", "securitySchemes"}


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A member that is written twice would replace the first one without a word."""
    names = [name for name, _ in pairs]
    assert sorted(names) == sorted(set(names))
    return dict(pairs)


def test_the_file_is_a_valid_description() -> None:
    text = (files("ibi.app") / "openapi.json").read_text("utf-8")

    source = json.loads(text, object_pairs_hook=unique_names)

    assert [error.message for error in OpenAPIV31SpecValidator(source).iter_errors()] == []
    assert {node["x-part"] for node in nodes(source) if "x-part" in node} == {"archive", "register", "minting"}


def test_everything_that_the_file_shares_is_used() -> None:
    source = json.loads((files("ibi.app") / "openapi.json").read_bytes())

    referred = {node["$ref"] for node in nodes(source) if "$ref" in node}

    kinds = {kind: named for kind, named in source["components"].items() if kind != "securitySchemes"}
    assert referred == {f"#/components/{kind}/{name}" for kind, named in kinds.items() for name in named}


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_a_failure_is_described_everywhere(path: str, method: str) -> None:
    assert "500" in DOCUMENT["paths"][path][method]["responses"]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        (found,) = [DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]]
        return dict(found)
    return schema


TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def check(value: Any, schema: dict[str, Any]) -> None:
    """As much of JSON Schema as the description uses; an object has the members described and no others."""
    schema = resolved(schema)
    kinds = schema.get("type")
    if kinds is not None:
        allowed = [kind for name in ([kinds] if isinstance(kinds, str) else kinds) for kind in TYPES[name]]
        assert type(value) in allowed, (value, schema)
    if "const" in schema:
        assert value == schema["const"]
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema["required"]) <= set(value) <= set(schema["properties"])
        for name, member in value.items():
            check(member, schema["properties"][name])
    if isinstance(value, list):
        for each in value:
            check(each, schema["items"])


def described(answer: Answer, path: str, method: str) -> None:
    """The answer's status, media type, headers and body are as the description says."""
    response = DOCUMENT["paths"][path][method]["responses"][str(answer.status)]
    media = answer.headers["content-type"].partition(";")[0]
    for name in response.get("headers", {}):
        assert name.lower() in answer.headers
    schema = response["content"][media]["schema"]
    if media.endswith("json") and "ndjson" not in media:
        check(answer.json(), schema)


async def labels(minting: MintingApp, body: bytes = ONE, method: str = "POST", **headers: str) -> Answer:
    sent = {**minting.bearer(), "content-type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return await ask(minting.app, method, "/api/labels", sent, body)


async def test_every_answer_to_a_request_for_labels_is_described() -> None:
    async with minting_app(Rules(SECOND)) as minting:
        reading = minting.bearer(Scope.READ)["authorization"]
        answers = [
            await labels(minting, idempotency_key="k"),
            await labels(minting, accept="application/x-ndjson"),
            await labels(minting, b"{"),
            await labels(minting, authorization="x"),
            await labels(minting, authorization=reading),
            await labels(minting, accept="text/html"),
            await labels(minting, content_length="100000"),
            await labels(minting, content_type="text/plain"),
            await labels(minting, b'{"count": 2}', idempotency_key="k"),
            await labels(minting, b'{"count": 1000}'),
        ]
    for answer in answers:
        described(answer, "/api/labels", "post")
    statuses = {str(answer.status) for answer in answers} | {"408", "500", "507"}  # see their own tests
    assert statuses == set(DOCUMENT["paths"]["/api/labels"]["post"]["responses"])


@pytest.mark.parametrize("path", [path for path, method in OPERATIONS if method == "get"])
async def test_every_page_is_described(path: str) -> None:
    async with minting_app() as minting:
        described(await minting.get(path), path, "get")


@pytest.mark.parametrize("path", ["/api/identity", "/readyz"])
async def test_a_refused_clock_is_described(path: str) -> None:
    async with minting_app() as minting:
        minting.clocks.jump(-(10**9))
        described(await minting.get(path), path, "get")


def test_every_status_of_minting_is_described() -> None:
    minting = {"not-acceptable", "unsupported-media-type", "body-too-large", "body-too-slow", "malformed-body"}
    minting |= {
        "not-authenticated",
        "not-allowed",
        "invalid-count",
        "idempotency-conflict",
        "clock-behind",
        "disk-refused",
        "disk-full",
    }
    responses = DOCUMENT["paths"]["/api/labels"]["post"]["responses"]
    statuses = {str(error.kind.status) for error in error_classes() if error.code in minting}
    assert statuses <= set(responses)
