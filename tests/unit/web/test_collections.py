"""Collections over HTTP: pages and forms of librarians, the API, feeds; who may change them, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from ibi.people.model.account import Role, Scope
from tests.support.asgi_client import Answer, ask
from tests.support.depositing_person import DepositingPerson
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import Page, read_page
from tests.support.records_app import RecordsApp, records_app

API = "/api/collections"
PAGE = {"accept": "text/html"}
SENT = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", **PAGE}


@pytest.fixture
def people() -> MemoryPeople:
    return MemoryPeople()


@pytest.fixture
async def app(tmp_path: Path, people: MemoryPeople) -> AsyncIterator[RecordsApp]:
    async with records_app(tmp_path, people=people) as made:
        yield made


@pytest.fixture
def lia(app: RecordsApp, people: MemoryPeople) -> DepositingPerson:
    return DepositingPerson(app, people, role=Role.LIBRARIAN)


async def label_of(app: RecordsApp, title: str) -> str:
    return str((await app.deposit({"metadata": {"title": title}}))["rep"])


async def submit(who: DepositingPerson, path: str, csrf: str | None = None, **fields: str) -> Answer:
    body = urlencode({"csrf": who.csrf if csrf is None else csrf, **fields}).encode()
    return await ask(who.app.app, "POST", path, {**SENT, **who.cookie}, body)


async def page_of(app: RecordsApp, path: str) -> Page:
    answer = await ask(app.app, "GET", path, PAGE)
    assert answer.status == 200
    return read_page(answer.body)


def editor(app: RecordsApp) -> dict[str, str]:
    return app.bearer(Scope.EDIT, "rui")


async def make(app: RecordsApp, **fields: Any) -> Answer:
    return await app.ask("POST", API, {"name": "rain", "title": "Rain", **fields}, editor(app))


def titles(page: Page) -> list[str]:
    return ["".join(each.itertext()) for each in page.all("h3")]


# --- pages ------------------------------------------------------------------------------------------------------------


async def test_a_librarian_makes_a_collection_by_hand_changes_and_removes_it(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    first, second = await label_of(app, "Rivers"), await label_of(app, "Clouds")
    form = read_page((await lia.get("/collections/new")).body)
    assert form.one("input", id="name").attrib["required"] == ""
    made = await submit(
        lia, "/collections/new", name="water", title="Água", description="A\r\nB", items=f"{first}\n{second}"
    )
    assert (made.status, made.headers["location"]) == (303, "/collections/water")
    page = await page_of(app, "/collections/water")
    assert (titles(page), page.one("h1").text) == (["Clouds", "Rivers"], "Água")
    assert "Curator: lia" in page.text
    assert "Água" in (await page_of(app, "/collections")).text

    saved = await submit(lia, "/collections/water/edit", title="Águas", **{f"out:{first}": "on"})
    assert saved.headers["location"] == "/collections/water/edit?saved=1"
    assert titles(await page_of(app, "/collections/water")) == ["Clouds"]
    gone = await submit(lia, "/collections/water/edit", act="remove")
    assert gone.headers["location"] == "/collections"
    assert (await ask(app.app, "GET", "/collections/water", PAGE)).status == 404


async def test_a_collection_by_search_finds_new_items_by_itself(app: RecordsApp, lia: DepositingPerson) -> None:
    await label_of(app, "Rainfall in March")
    await submit(lia, "/collections/new", name="rain", title="Rain", search="title:rainfall")
    await label_of(app, "Snow")
    later = await label_of(app, "Rainfall in April")

    assert titles(await page_of(app, "/collections/rain")) == ["Rainfall in April", "Rainfall in March"]
    item = await page_of(app, f"/col/{later}/metadata")
    assert "/collections/rain" in item.links
    refused = await submit(lia, "/collections", collection="rain", item=later)
    assert refused.status == 409


async def test_the_address_of_a_search_is_a_search(app: RecordsApp, lia: DepositingPerson) -> None:
    await submit(
        lia, "/collections/new", name="c", title="C", search="http://arq.lab.br/search?q=rain&type=Dataset&page=4"
    )

    found = (await ask(app.app, "GET", f"{API}/c")).json()["search"]
    assert found == {"text": "rain", "filters": {"type": ["Dataset"]}}
    form = read_page((await lia.get("/collections/c/edit")).body)
    assert form.one("input", id="search").attrib["value"].startswith("/search?q=rain&type=Dataset")


async def test_an_item_is_put_into_several_collections_from_its_page(app: RecordsApp, lia: DepositingPerson) -> None:
    label = await label_of(app, "Rivers")
    for name in ("a", "b"):
        await submit(lia, "/collections/new", name=name, title=name.upper())
    place = f"/col/{label}/metadata"
    for name in ("a", "b"):
        answer = await submit(lia, "/collections", collection=name, item=label, to=place)
        assert (answer.status, answer.headers["location"]) == (303, place)

    page = await page_of(app, place)
    assert [each for each in page.links if each.startswith("/collections/")] == ["/collections/a", "/collections/b"]


async def test_what_is_wrong_is_said_beside_its_field_and_nothing_typed_is_lost(
    app: RecordsApp, lia: DepositingPerson
) -> None:
    await submit(lia, "/collections/new", name="a", title="A")
    for fields, field, status in (
        ({"name": "a", "title": "B"}, "name", 409),
        ({"name": "A B", "title": "B"}, "name", 400),
        ({"name": "b", "title": " "}, "title", 400),
        ({"name": "b", "title": "B", "items": "nothing"}, "items", 400),
        ({"name": "b", "title": "B", "items": "lab.br/arq/2020/01.01.00.00"}, "items", 404),
        ({"name": "b", "title": "B", "items": "lab.br/arq/2020/01.01.00.00", "search": "rain"}, "items", 400),
    ):
        answer = await submit(lia, "/collections/new", description="typed <b>", **fields)
        page = read_page(answer.body)
        assert (answer.status, page.one("span", class_="error-text").attrib["id"]) == (status, f"{field}-fault")
        assert page.one("textarea", id="description").text == "typed <b>"
        assert page.one("input", id="name").attrib["value"] == fields["name"]
    assert len((await ask(app.app, "GET", API)).json()["collections"]) == 1


async def test_the_feed_has_the_items_and_markup_in_words_stays_words(app: RecordsApp, lia: DepositingPerson) -> None:
    label = await label_of(app, "Rivers & <lakes>")
    await submit(
        lia, "/collections/new", name="a", title="<script>1</script>", description="</p><img onerror=1>", items=label
    )
    feed = await ask(app.app, "GET", "/collections/a.atom")

    assert feed.headers["content-type"].startswith("application/atom+xml")
    assert b"Rivers &amp; &lt;lakes&gt;" in feed.body
    assert b"&lt;script&gt;" in feed.body
    page = await page_of(app, "/collections/a")  # the reader refuses what could act
    assert page.one("h1").text == "<script>1</script>"


async def test_forms_of_other_sites_and_of_people_without_the_right_change_nothing(
    app: RecordsApp, lia: DepositingPerson, people: MemoryPeople
) -> None:
    await submit(lia, "/collections/new", name="a", title="A")
    for role, name in ((Role.DEPOSITOR, "dom"), (Role.READER, "rex")):
        other = DepositingPerson(app, people, name, role)
        assert (await other.get("/collections/new")).status == 403
        assert (await other.get("/collections/a/edit")).status == 403
        assert (await submit(other, "/collections/a/edit", act="remove")).status == 403
        assert (await submit(other, "/collections/new", name="b", title="B")).status == 403
    assert (await submit(lia, "/collections/a/edit", csrf="0" * 64, act="remove")).status == 403
    stranger = await ask(app.app, "POST", "/collections/a/edit", SENT, b"act=remove")
    assert (stranger.status, stranger.headers["location"]) == (303, "/sign-in?to=/collections/a/edit")
    assert "/collections/a/edit" not in (await page_of(app, "/collections/a")).links
    assert [each["name"] for each in (await ask(app.app, "GET", API)).json()["collections"]] == ["a"]


async def test_a_librarian_takes_a_collection_over_and_the_former_curator_keeps_no_right(
    app: RecordsApp, lia: DepositingPerson, people: MemoryPeople
) -> None:
    dom = DepositingPerson(app, people, "dom")
    await submit(lia, "/collections/new", name="a", title="A")
    given = await app.ask("PUT", f"{API}/a", {"title": "A", "curator": "dom"}, editor(app))
    assert given.status == 200
    assert (await submit(dom, "/collections/a/edit", title="By Dom")).status == 303
    await submit(lia, "/collections/a/edit", title="A", mine="on")

    assert (await submit(dom, "/collections/a/edit", title="Again")).status == 403
    assert (await ask(app.app, "GET", f"{API}/a")).json()["curator"] == "lia"


# --- the API ----------------------------------------------------------------------------------------------------------


async def test_a_collection_is_made_read_changed_and_removed_by_program(app: RecordsApp) -> None:
    labels = [await label_of(app, title) for title in ("One", "Two", "Three")]
    made = await make(app, description="Of rain.")
    assert (made.status, made.headers["location"]) == (201, "http://arq.lab.br/api/collections/rain")
    put = await app.ask("POST", f"{API}/rain/items", {"add": [*labels, labels[0]]}, editor(app))
    assert put.json() == {"removed": 0, "added": 3}
    swapped = await app.ask("POST", f"{API}/rain/items", {"remove": labels[:1]}, editor(app))
    assert swapped.json() == {"removed": 1, "added": 0}

    page = (await ask(app.app, "GET", f"{API}/rain/items?size=1")).json()
    assert (page["total"], [each["title"] for each in page["items"]]) == (2, ["Three"])
    following = (await ask(app.app, "GET", page["links"]["next"].removeprefix("http://arq.lab.br"))).json()
    assert [each["label"] for each in following["items"]] == [labels[1]]
    changed = await app.ask("PUT", f"{API}/rain", {"title": "Chuva", "search": {"text": "rain"}}, editor(app))
    assert (changed.json()["title"], changed.json()["search"]["text"]) == ("Chuva", "rain")
    assert (await app.ask("DELETE", f"{API}/rain", headers=editor(app))).status == 204
    assert (await ask(app.app, "GET", f"{API}/rain")).status == 404


async def test_a_deleted_item_is_not_shown_any_more(app: RecordsApp) -> None:
    label = await label_of(app, "One")
    await make(app)
    await app.ask("POST", f"{API}/rain/items", {"add": [label]}, editor(app))
    assert (await app.ask("DELETE", f"/api/items/{label}?reason=by+request", headers=editor(app))).status == 200

    assert (await ask(app.app, "GET", f"{API}/rain/items")).json()["items"] == []
    assert (await app.ask("POST", f"{API}/rain/items", {"remove": [label]}, editor(app))).json()["removed"] == 1


async def test_the_sitemap_has_collections_beside_the_items(app: RecordsApp) -> None:
    await label_of(app, "One")
    await make(app)

    assert b"<loc>http://arq.lab.br/collections/rain</loc>" in (await ask(app.app, "GET", "/sitemap.xml?after=0")).body


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("POST", API, {"name": "b", "title": "B"}),
        ("PUT", f"{API}/rain", {"title": "B"}),
        ("DELETE", f"{API}/rain", None),
        ("POST", f"{API}/rain/items", {"add": []}),
    ],
)
async def test_a_depositor_changes_no_collection_of_another(
    app: RecordsApp, method: str, path: str, said: object
) -> None:
    await make(app)

    assert (await app.ask(method, path, said)).status == 403
    assert (await app.ask(method, path, said, {"authorization": ""})).status == 401
    assert (await ask(app.app, "GET", f"{API}/rain")).json()["title"] == "Rain"


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"name": "../x"}, 400, "invalid-collection"),
        ({"title": ""}, 400, "invalid-collection"),
        ({"search": {"text": "", "filters": {}}}, 400, "invalid-collection"),
        ({"search": {"text": "x", "filters": {"colour": ["red"]}}}, 400, "invalid-collection"),
        ({"search": {"text": "x" * 1001}}, 400, "invalid-collection"),
        ({"curator": "nemo"}, 404, "unknown-account"),
        ({"extra": 1}, 400, "malformed-body"),
    ],
)
async def test_what_is_no_collection_is_refused(
    app: RecordsApp, fields: dict[str, Any], status: int, code: str
) -> None:
    answer = await make(app, **fields)

    assert (answer.status, answer.json()["type"]) == (status, f"urn:ibi:problem:{code}")
    assert (await ask(app.app, "GET", API)).json()["collections"] == []


async def test_every_change_is_in_the_audit_log(app: RecordsApp, tmp_path: Path) -> None:
    label = await label_of(app, "One")
    await make(app)
    await app.ask("POST", f"{API}/rain/items", {"add": [label]}, editor(app))
    await app.ask("DELETE", f"{API}/rain", headers=editor(app))

    log = "".join(each.read_text() for each in (tmp_path / "audit").glob("*") if each.is_file())
    for act in ("create collection", "add to collection", "remove collection"):
        assert act in log
    assert "collection:rain" in log
