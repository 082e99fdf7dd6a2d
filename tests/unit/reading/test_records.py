"""`GET /api/items/<label>`, and that its description is true."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.routing import Route

from ibi.app.openapi import document
from ibi.items.model.visibility import Visibility
from ibi.items.pages.search_page import common_routes, search_routes
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State
from ibi.standard.networks import network
from ibi.usage.model import UsageDay, UsageKind, day_of
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, ArchiveApp, archive_app, deleted, kept
from tests.support.standards_archives import forms
from tests.unit.reading.test_metadata import DESCRIBED

RECORD = f"/api/items/{REP}"
DOCUMENT = document(archive=True)


def rich() -> ArchiveApp:
    full = kept(
        REP,
        IBIP,
        metadata=DESCRIBED,
        language=LanguageTag("pt"),
        visibility=Visibility((network("10.0.0.0/8"),)),
        next_edition=forms(OTHER),
        translations=((LanguageTag("en"), forms("lab.br/arq/2021/01.01.00.00")),),
        owner="ana",
    )
    return archive_app(full, deleted(OTHER, replaced_by=forms(REP)))


@pytest.mark.parametrize(
    "label",
    [REP, IBIP, REP.upper(), IBIP.lower(), REP.replace("/", "%2F"), IBIP.replace("/", "%2f"), "%6Cab" + REP[3:]],
)
@pytest.mark.parametrize("rest", ["", "/files", "/usage"])
async def test_a_label_is_read_in_either_form_and_any_spelling(label: str, rest: str) -> None:
    assert (await rich().get(f"/api/items/{label}{rest}")).status == 200


async def test_a_record_has_links() -> None:
    record = (await rich().get(RECORD)).json()
    assert record["labels"] == {"rep": REP, "ibip": IBIP}
    assert record["state"] == "Original"
    assert record["files"][0]["url"] == f"{BASE}/col/{REP}/doc/a.txt"
    assert record["links"] == {
        "self": f"{BASE}{RECORD}",
        "persistent": f"{BASE}/{IBIP}",
        "metadata": f"{BASE}/col/{REP}/metadata",
        "oai_dc": f"{BASE}/col/{REP}/metadata?format=oai_dc",
        "usage": f"{BASE}{RECORD}/usage",
        "relations": f"{BASE}{RECORD}/relations",
        "versions": f"{BASE}{RECORD}/versions",
        "draft": f"{BASE}{RECORD}/draft",
        "files": f"{BASE}{RECORD}/files",
        "manifest": f"{BASE}{RECORD}/manifest",
        "file_list": f"{BASE}/col/{REP}/doc/?list",
        "content": f"{BASE}/col/{REP}/doc/",
    }


async def test_whom_an_archive_exchanges_copies_with_is_its_own_affair() -> None:
    app = archive_app(kept(REP, state=State.COPY, source="other.br", owner="ana"))
    record = await app.get(RECORD)
    assert "other.br" not in record.body.decode()
    assert "owner" not in record.json()


async def test_files_that_may_not_be_listed_are_not() -> None:
    app = archive_app(kept(REP, visibility=Visibility(listing=False)))
    record = (await app.get(RECORD)).json()
    assert "files" not in record
    assert "target" not in record
    assert not {"files", "file_list", "manifest"} & set(record["links"])
    answer = await app.get(f"{RECORD}/files")
    assert (answer.status, answer.json()["type"]) == (403, "urn:ibi:problem:listing-not-permitted")


async def test_what_is_left_of_an_item_is_told_with_its_status() -> None:
    answer = await rich().get(f"/api/items/{OTHER}")
    assert (answer.status, answer.json()["state"]) == (410, "Deleted")
    assert answer.json()["tombstone"]["replaced_by"] == {"rep": REP}


async def test_use_is_told_by_day() -> None:
    app = rich()
    rep = forms(REP).rep
    assert rep is not None
    for kind in (UsageKind.DOWNLOAD, UsageKind.DOWNLOAD, UsageKind.ROBOT_RESOLUTION):
        app.usage.count(UsageDay(rep, day_of(NOW)), kind)
    days = (await app.get(f"{RECORD}/usage")).json()["days"]
    counts = {"resolutions": 0, "downloads": 2, "robot_resolutions": 1, "robot_downloads": 0}
    assert days == [{"date": "2026-11-20", **counts}]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/items/lab.br/arq/2020/09.09.09.09", 404),
        ("/api/items/nonsense", 400),
        ("/api/items/lab.br/arq/2020/13.01.00.00", 400),
        ("/api/items/%00", 400),
        ("/api/items/%FF/%FE", 400),
        (f"{RECORD}/nonsense", 404),
        (f"{RECORD}/", 404),
        (f"{RECORD}//files", 404),
        (f"/api%2Fitems/{REP}", 404),
        ("/api/items?state=draft", 401),
    ],
)
async def test_what_is_not_there_is_a_problem(path: str, status: int) -> None:
    answer = await rich().get(path)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")


@pytest.mark.parametrize(
    ("rest", "allowed"),
    [
        ("", "DELETE, GET, HEAD, PUT"),
        ("/files", "GET, HEAD"),
        ("/files/a.txt", "DELETE, GET, HEAD, PUT"),
        ("/manifest", "GET, HEAD"),
        ("/usage", "GET, HEAD"),
        ("/relations", "DELETE, GET, HEAD, POST"),
        ("/draft", "DELETE, GET, HEAD, POST, PUT"),
        ("/publish", "POST"),
    ],
)
async def test_other_methods_are_told_which_ones_there_are(rest: str, allowed: str) -> None:
    answer = await rich().get(f"{RECORD}{rest}", method="PATCH")
    assert (answer.status, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    ("method", "rest"),
    [
        ("PUT", ""),
        ("DELETE", "?reason=x"),
        ("PUT", "/files/a.txt"),
        ("DELETE", "/files/a.txt"),
        ("POST", "/relations"),
        ("DELETE", "/relations"),
        ("GET", "/draft"),
        ("POST", "/draft"),
        ("PUT", "/draft"),
        ("DELETE", "/draft"),
        ("POST", "/publish"),
    ],
)
async def test_nothing_is_changed_without_a_token(method: str, rest: str) -> None:
    answer = await rich().get(f"{RECORD}{rest}", method=method)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="ibi"')


async def test_a_token_that_is_wrong_is_refused_even_for_what_is_public() -> None:
    assert (await rich().get(RECORD, {"authorization": "Bearer x"})).status == 401


# --- the description -------------------------------------------------------------------------------------------------


PROVENANCE = "/api/items/{label}/provenance", "get"


def test_every_route_is_described_and_every_description_has_a_route() -> None:
    """Apart from what this Archive in memory has not: a server with all parts is tried elsewhere."""
    app = rich()
    assert app.parts.search is not None
    shown = [*common_routes(), *search_routes(app.site, app.parts.search, None)]
    pages = {"/account/claims", "/explain", "/robots.txt", *(route.path for route in shown)}
    pages |= {f"/search.{kind}" for kind in ("bib", "csv", "ndjson", "ris")}
    routes = [route for route in app.app.routes if isinstance(route, Route) and route.path not in pages]
    found = {(route.path_format, method.lower()) for route in routes for method in (route.methods or set()) - {"HEAD"}}
    described = {(path, method) for path, item in DOCUMENT["paths"].items() for method in item}
    missing = (
        "/api/changes",
        "/api/archive/copies",
        "/api/collections",
        "/api/follows",
        "/api/webhooks",
        "/api/transfers",
        "/api/releases",
    )
    assert found == {each for each in described if not each[0].startswith(missing)} - {PROVENANCE}


async def test_the_description_is_served_as_it_stands() -> None:
    assert (await rich().get("/api/openapi.json")).json() == DOCUMENT


def fits(value: Any, schema: dict[str, Any]) -> bool:
    try:
        check(value, schema)
    except AssertionError:
        return False
    return True


def check(value: Any, schema: dict[str, Any]) -> None:
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "oneOf" in schema:
        assert any(fits(value, each) for each in schema["oneOf"]), value
        return
    if "enum" in schema:
        assert value in schema["enum"]
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema["required"]) <= set(value) <= set(schema["properties"])
        for name, member in value.items():
            check(member, schema["properties"][name])
    elif isinstance(value, dict):
        assert "additionalProperties" in schema, (value, schema)
        for member in value.values():
            check(member, schema["additionalProperties"])
    elif isinstance(value, list):
        for each in value:
            check(each, schema["items"])
    else:
        assert {"string": str, "integer": int, "boolean": bool}.get(str(schema.get("type")), object) in type(
            value
        ).mro()


@pytest.mark.parametrize("rest", ["", "/files", "/usage"])
@pytest.mark.parametrize("label", [REP, OTHER, "lab.br/arq/2020/09.09.09.09", "nonsense"])
async def test_every_answer_is_described(label: str, rest: str) -> None:
    answer = await rich().get(f"/api/items/{label}{rest}")
    responses = DOCUMENT["paths"][f"/api/items/{{label}}{rest}"]["get"]["responses"]
    content = responses[str(int(answer.status))]["content"]
    check(answer.json(), content[answer.headers["content-type"]]["schema"])


# --- where the API was before ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", ""),
        ("?state=draft&limit=2", "?state=draft&limit=2"),
        (f"/{REP}", f"/{REP}"),
        (f"/{REP.replace('/', '%2F')}/files/a%20b%0A", f"/{REP.replace('/', '%2F')}/files/a%20b%0A"),
        ("/draft-v6ciiqd35hqdlhrn/publish?x=%26", "/draft-v6ciiqd35hqdlhrn/publish?x=%26"),
        ("//other.example/", "//other.example/"),
    ],
)
async def test_the_former_place_leads_to_this_one(method: str, rest: str, expected: str) -> None:
    answer = await rich().get(f"/api/records{rest}", method=method)
    assert (answer.status, answer.headers["location"]) == (308, f"/api/items{expected}")
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/%61pi/records/x", "/api/recordsx"])
async def test_a_path_that_only_resembles_the_former_place_leads_nowhere(path: str) -> None:
    assert (await rich().get(path)).status == 404
