"""Files that are withheld from readers, for people who are signed in: owner, librarian and administrator have them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ibi.people.model.account import COMMAND, Role, Scope
from ibi.standard.label import parse
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app
from tests.support.signed_in_person import SignedInPerson

PAGES, CONTENT = "arq.lab.br", "https://content.lab.br"
EMBARGO = {"embargo": "2099-01-31T00:00:00Z"}
NETWORKS = {"networks": ["10.0.0.0/8"]}
WITHHELD = pytest.mark.parametrize("visibility", [EMBARGO, NETWORKS], ids=["embargo", "networks"])


@dataclass
class World:
    app: RecordsApp
    people: dict[str, SignedInPerson]

    async def deposit(self, visibility: dict[str, Any], **files: bytes) -> str:
        """An item of `dep`."""
        rep = str((await self.app.deposit({**SAID, "visibility": visibility}, **files))["rep"])
        self.app.services.deposits_of(COMMAND).give(parse(rep), "person:dep", "x")
        return rep

    async def stranger(self, path: str, **headers: str) -> Answer:
        return await ask(self.app.app, "GET", path, {"accept": "text/html", **headers})


async def _world(data: Path, **options: Any) -> AsyncIterator[World]:
    people = MemoryPeople()
    async with records_app(data, people=people, **options) as app:
        roles = {"dep": Role.DEPOSITOR, "eve": Role.DEPOSITOR, "rea": Role.READER}
        roles |= {"lib": Role.LIBRARIAN, "adm": Role.ADMIN}
        yield World(app, {name: SignedInPerson(app, people, name, role) for name, role in roles.items()})


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async for made in _world(tmp_path):
        yield made


@pytest.fixture
async def two_hosts(tmp_path: Path) -> AsyncIterator[World]:
    """Files have a host of their own, where no cookie of the pages comes."""
    async for made in _world(tmp_path, content_url=CONTENT):
        yield made


def assert_for_one_person(answer: Answer) -> None:
    assert answer.headers["cache-control"] == "private, no-store"
    assert "Cookie" in answer.headers["vary"]


@WITHHELD
@pytest.mark.parametrize("name", ["dep", "lib", "adm"])
@pytest.mark.parametrize("place", ["/doc/a.txt", ".zip", "/preview/a.txt"])
async def test_withheld_files_are_read_by_those_with_the_right(
    world: World, visibility: dict[str, Any], name: str, place: str
) -> None:
    rep = await world.deposit(visibility)
    answer = await world.people[name].get(f"/col/{rep}{place}")
    assert answer.status == 200
    assert b"content" in answer.body
    assert_for_one_person(answer)


@WITHHELD
@pytest.mark.parametrize("name", ["eve", "rea", None])
@pytest.mark.parametrize("place", ["/doc/a.txt", ".zip", "/preview/a.txt"])
async def test_withheld_files_are_for_no_other_reader(
    world: World, visibility: dict[str, Any], name: str | None, place: str
) -> None:
    rep = await world.deposit(visibility)
    assert (await world.people["dep"].get(f"/col/{rep}{place}")).status == 200  # and nothing of it is remembered
    asked = world.stranger if name is None else world.people[name].get
    answer = await asked(f"/col/{rep}{place}")
    assert (answer.status, answer.headers["location"]) == (302, f"http://arq.lab.br/col/{rep}/metadata")
    assert answer.headers["cache-control"] == "no-store"


async def test_a_session_that_ended_reads_nothing_more(world: World) -> None:
    rep = await world.deposit(EMBARGO)
    path = f"/col/{rep}/doc/a.txt"
    assert (await world.people["dep"].get(path)).status == 200
    assert (await world.stranger(path, cookie="ibi-session=AAAA")).status == 302


async def test_withheld_content_stays_in_its_sandbox(world: World) -> None:
    rep = await world.deposit(EMBARGO)
    answer = await world.people["dep"].get(f"/col/{rep}/doc/a.txt")
    assert answer.headers["content-security-policy"].startswith("sandbox;")
    to_run = await world.people["dep"].get(f"/col/{rep}/doc/a.txt", sec_fetch_dest="script")
    assert to_run.status == 404


async def test_open_files_are_the_same_for_all(world: World) -> None:
    rep = await world.deposit({})
    answer = await world.people["dep"].get(f"/col/{rep}/doc/a.txt")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")
    assert "vary" not in answer.headers


@WITHHELD
async def test_the_page_offers_files_to_those_with_the_right_and_a_request_to_others(
    world: World, visibility: dict[str, Any]
) -> None:
    rep = await world.deposit(visibility)
    page = f"/col/{rep}/metadata"
    for name in ("dep", "lib", "adm"):
        answer = await world.people[name].get(page)
        said = answer.body.decode()
        assert f"http://arq.lab.br/col/{rep}/doc/a.txt" in read_page(answer.body).links
        assert "Request a copy" not in said
        assert "You can read them because you are signed in." in said
        assert answer.headers["cache-control"] == "private, no-store"
    answer = await world.people["eve"].get(page)
    assert f"/col/{rep}/doc/a.txt" not in str(read_page(answer.body).links)
    assert "because you are signed in" not in answer.body.decode()


async def test_earlier_versions_that_were_restricted_are_read_by_those_with_the_right(world: World) -> None:
    rep = await world.deposit(NETWORKS)
    admin = world.app.bearer(Scope.ADMIN, "root")
    draft = (await world.app.ask("POST", f"{RECORDS}/{rep}/draft", headers=admin)).json()["id"]
    await world.app.ask("PUT", f"{RECORDS}/{draft}", {**SAID, "target": "a.txt", "visibility": {}}, headers=admin)
    assert (await world.app.ask("POST", f"{RECORDS}/{draft}/publish", headers=admin)).status == 201
    earlier = f"/col/{rep}/doc/a.txt?ibiversion=1"
    assert (await world.stranger(f"/col/{rep}/doc/a.txt")).status == 200
    for name, status in (("dep", 200), ("lib", 200), ("eve", 302)):
        answer = await world.people[name].get(earlier)
        assert answer.status == status
        page = await world.people[name].get(f"/col/{rep}/versions")
        assert (earlier in page.body.decode()) is (status == 200)
        if status == 200:
            assert_for_one_person(answer)


async def test_a_document_with_links_is_shown_to_its_owner(world: World) -> None:
    draft = await world.app.begin({**SAID, "visibility": EMBARGO})
    page = b'<!doctype html><title>x</title><a href="ibi:abcd.org/2026/11.15">there</a>'
    assert (await world.app.send(draft, "a.html", page, content_type="text/html")).status == 201
    rep = (await world.app.publish(draft))["rep"]
    lib = world.people["lib"]
    sent_on = await lib.get(f"/col/{rep}/doc/a.html")
    assert (sent_on.status, sent_on.headers["location"][-11:]) == (302, "?view=links")
    assert_for_one_person(sent_on)
    view = await lib.get(f"/col/{rep}/doc/a.html?view=links")
    assert (view.status, b"http://arq.lab.br/ibi/" in view.body) == (200, True)
    assert_for_one_person(view)


UNLISTED = {"listing": False}


@pytest.mark.parametrize("place", ["/doc/?list", ".zip"])
async def test_files_that_are_not_listed_are_listed_for_those_with_the_right_alone(world: World, place: str) -> None:
    rep = await world.deposit(UNLISTED, a=b"content", b=b"another content")
    for name in ("dep", "lib", "adm"):
        answer = await world.people[name].get(f"/col/{rep}{place}")
        assert (answer.status, b"b.txt" in answer.body) == (200, True)
        assert_for_one_person(answer)
    for asked in (world.people["eve"].get, world.people["rea"].get, world.stranger):
        assert (await asked(f"/col/{rep}{place}")).status == 403


async def test_the_page_of_an_item_lists_unlisted_files_for_those_with_the_right_alone(world: World) -> None:
    rep = await world.deposit(UNLISTED, a=b"content", b=b"another content")
    own = await world.people["dep"].get(f"/col/{rep}/metadata")
    assert_for_one_person(own)
    assert {f"http://arq.lab.br/col/{rep}.zip", f"http://arq.lab.br/col/{rep}/doc/b.txt"} <= set(
        read_page(own.body).links
    )
    assert "not public: you see it because" in own.body.decode()
    for asked in (world.people["eve"].get, world.stranger):
        other = (await asked(f"/col/{rep}/metadata")).body.decode()
        assert "The list of files is not public." in other
        assert "b.txt" not in other
        assert ".zip" not in other
    versions = f"/col/{rep}/versions"
    shown = await world.people["dep"].get(versions)
    assert "b.txt" in shown.body.decode()
    assert_for_one_person(shown)
    assert "b.txt" not in (await world.people["eve"].get(versions)).body.decode()


async def test_unlisted_files_are_packed_by_the_host_of_the_pages_where_files_have_their_own(two_hosts: World) -> None:
    rep = await two_hosts.deposit(UNLISTED, a=b"content", b=b"another content")
    dep, at_pages = two_hosts.people["dep"], {"host": PAGES}
    for place in ("metadata", "doc/?list"):
        page = await dep.get(f"/col/{rep}/{place}", **at_pages)
        assert f"http://arq.lab.br/col/{rep}.zip" in read_page(page.body).links
    answer = await dep.get(f"/col/{rep}.zip", **at_pages)
    assert (answer.status, answer.headers["content-disposition"][:10]) == (200, "attachment")
    assert_for_one_person(answer)


@pytest.mark.parametrize("visibility", [EMBARGO, UNLISTED])
async def test_the_host_of_the_files_knows_no_session(two_hosts: World, visibility: dict[str, Any]) -> None:
    rep = await two_hosts.deposit(visibility, a=b"content", b=b"another content")
    there = {"host": "content.lab.br"}
    for place in (".zip", "/doc/b.txt"):
        own = await two_hosts.people["dep"].get(f"/col/{rep}{place}", **there)
        other = await two_hosts.stranger(f"/col/{rep}{place}", **there)
        assert (own.status, own.body) == (other.status, other.body)


async def test_where_files_have_a_host_of_their_own_the_host_of_the_pages_gives_withheld_ones_to_be_saved(
    two_hosts: World,
) -> None:
    rep = await two_hosts.deposit(EMBARGO)
    dep, at_pages = two_hosts.people["dep"], {"host": PAGES}
    page = await dep.get(f"/col/{rep}/metadata", **at_pages)
    assert f"http://arq.lab.br/col/{rep}/doc/a.txt" in read_page(page.body).links
    for place in ("/doc/a.txt", ".zip"):
        answer = await dep.get(f"/col/{rep}{place}", **at_pages)
        assert (answer.status, answer.headers["content-disposition"][:10]) == (200, "attachment")
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'; frame-ancestors 'none'"
        assert_for_one_person(answer)
        other = await two_hosts.people["eve"].get(f"/col/{rep}{place}", **at_pages)
        assert (other.status, other.headers["location"]) == (302, f"{CONTENT}/col/{rep}{place}")
        there = await two_hosts.stranger(f"/col/{rep}{place}", host="content.lab.br")
        assert (there.status, there.headers["location"]) == (302, f"http://arq.lab.br/col/{rep}/metadata")


async def test_where_files_have_a_host_of_their_own_open_ones_are_there_for_all(two_hosts: World) -> None:
    rep = await two_hosts.deposit({})
    answer = await two_hosts.people["dep"].get(f"/col/{rep}/doc/a.txt", host=PAGES)
    assert (answer.status, answer.headers["location"]) == (302, f"{CONTENT}/col/{rep}/doc/a.txt")
