"""What is around every page: where it leads, to whom; and addresses with a slash too many."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ibi.app.unrouted import SlashRedirect
from ibi.people.model.account import Role
from ibi.web.rendering import MenuLink, SiteFacts, render_text
from tests.support.archive_app import SERVICE, kept
from tests.support.asgi_client import ask
from tests.support.one_port import OnePort
from tests.support.page_reader import Page, read_page

DESK = ["/deposit", "/account/items", "/requests", "/review", "/admin"]
MENU = (
    *(MenuLink(path, path) for path in ("/search", "/collections", "/explain")),
    *(MenuLink(path, path, Role.DEPOSITOR) for path in DESK[:3]),
    *(MenuLink(path, path, Role.LIBRARIAN) for path in DESK[3:]),
)
PATHS = frozenset({"/", "/search", "/collections", "/explain", "/sign-in", "/account", "/sign-out", *DESK})


def page_for(role: Role | None, paths: frozenset[str] = PATHS, target: str = "/", language: str = "en") -> Page:
    person = None if role is None else "João Ávila"
    site = SiteFacts("Library", person=person, role=role, csrf="c0ffee", paths=paths, menu=MENU)
    return read_page(
        render_text("alert.html", language, site=site, target=target, title="T", said="S", elsewhere=None).encode()
    )


def menu_links(page: Page) -> list[str]:
    return [each.attrib["href"] for each in page.one("div", id="menu").iter("a") if "hreflang" not in each.attrib]


@pytest.mark.parametrize(
    ("role", "desk"),
    [(Role.READER, []), (Role.DEPOSITOR, DESK[:3]), (Role.LIBRARIAN, DESK), (Role.ADMIN, DESK)],
)
def test_the_menu_leads_people_to_their_work_by_their_role(role: Role, desk: list[str]) -> None:
    page = page_for(role)

    assert menu_links(page) == ["/search", "/collections", "/explain", *desk, "/account"]
    assert "João Ávila" in page.text
    assert page.one("input", name="csrf").attrib["value"] == "c0ffee"


def test_a_stranger_is_offered_to_sign_in_and_no_work() -> None:
    assert menu_links(page_for(None)) == ["/search", "/collections", "/explain", "/sign-in"]


def test_the_menu_leads_to_no_page_that_this_server_does_not_have() -> None:
    assert menu_links(page_for(Role.ADMIN, frozenset({"/search", "/admin"}))) == ["/search", "/admin"]
    assert menu_links(page_for(None, frozenset())) == []


async def test_every_link_of_the_menu_is_a_page() -> None:
    port = OnePort()
    page = read_page((await port.get("/explain", {"accept": "text/html"})).body)

    assert menu_links(page)
    for link in menu_links(page):
        assert (await port.get(link, {"accept": "text/html"})).status == 200


def test_the_page_where_the_reader_is_stands_out() -> None:
    page = page_for(None, target="/search?q=rain")

    assert [each.attrib["href"] for each in page.all("a", aria_current="page")] == ["/search"]


@pytest.mark.parametrize("language", ["en", "pt-BR", "es"])
def test_the_header_offers_every_language_and_leads_back(language: str) -> None:
    page = page_for(None, target="/search?q=rain", language=language)

    others = {each.attrib["hreflang"]: each.attrib["href"] for each in page.one("header").iter("a") if each.get("rel")}
    assert others == {tag: f"/language/{tag}?to=/search%3Fq%3Drain" for tag in ("en", "pt-BR", "es") if tag != language}


# --- a slash too many -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("/search/", "/search"),
        ("/search/?q=rain&page=2", "/search?q=rain&page=2"),
        ("/search///", "/search"),
        ("/explain/?q=%C3%A1", "/explain?q=%C3%A1"),
    ],
)
async def test_a_slash_at_the_end_leads_to_the_same_page(asked: str, place: str) -> None:
    answer = await OnePort().get(asked, {"accept": "text/html"})

    assert (answer.status, answer.headers["location"]) == (308, place)


@pytest.mark.parametrize("path", ["//search/", "/api/labels/", "/static/ibi.css/", "/search/x/", "/nothing/", "/col/"])
async def test_a_slash_at_the_end_leads_nowhere_else(path: str) -> None:
    assert (await OnePort().get(path, {"accept": "text/html"})).status == 404


async def _untouched(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("untouched")(scope, receive, send)


async def _page(request: Request) -> Response:
    return PlainTextResponse("page")


PAGES = [Route("/search", _page), Route("/deposit/{draft}", _page), Route("/{word}", _page)]


@pytest.mark.parametrize(
    "path",
    [
        "/col/localhost/ibi/2026/11.16.10.00/doc/",
        "/J8LNKB5R7W/3FLMB5S/",
        "/localhost/ibi/2026/11.16.10.00/",
        "//a.org/",
    ],
)
async def test_labels_and_files_are_left_as_they_are(path: str) -> None:
    assert (await ask(SlashRedirect(_untouched, PAGES), "GET", path)).body == b"untouched"


async def test_a_form_that_is_sent_to_an_address_with_a_slash_is_sent_again_whole() -> None:
    answer = await ask(SlashRedirect(_untouched, PAGES), "POST", "/deposit/a%20b/")

    assert (answer.status, answer.headers["location"]) == (308, "/deposit/a%20b")


# --- an Archive that is empty -----------------------------------------------------------------------------------------


def home_for(role: Role | None, *, sandbox: bool, recent: tuple[object, ...] = (), **facts: Any) -> Page:
    person = None if role is None else "ana"
    site = SiteFacts("L", sandbox=sandbox, person=person, role=role, csrf="0", paths=PATHS, menu=MENU, **facts)
    shown = render_text("home.html", "en", site=site, target="/", recent=recent, listed=None)
    return read_page(shown.encode())


@pytest.mark.parametrize(
    ("role", "url", "option"),
    [
        (None, "http://127.0.0.1:8765", " --data '/srv/a b'"),
        (None, "http://localhost:8765", " --data '/srv/a b'"),
        (None, "https://sand.example.org", " --data …"),
        (Role.ADMIN, "https://sand.example.org", " --data '/srv/a b'"),
    ],
)
def test_first_commands_name_the_data_directory_to_who_may_know_it(role: Role | None, url: str, option: str) -> None:
    page = home_for(role, sandbox=True, data="'/srv/a b'", public_url=url)
    commands = [line for each in page.all("pre") for line in (each.text or "").splitlines()]
    ours = [line for line in commands if line.startswith(("ibi person", "ibi deposit"))]
    assert ours
    assert all(line.endswith(option) for line in ours)
    assert [line for line in commands if "'/srv/a b'" in line and option == " --data …"] == []


def test_first_commands_name_no_data_directory_that_is_the_usual_one() -> None:
    page = home_for(None, sandbox=True, public_url="http://127.0.0.1:8765")
    assert all("--data" not in (each.text or "") for each in page.all("pre") if "person" in (each.text or ""))


def test_an_empty_sandbox_says_what_to_do_first() -> None:
    steps = [each.text for each in home_for(None, sandbox=True).all("h3")]

    assert steps[:3] == ["Sign in", "Deposit the first item", "Try the demonstration"]
    assert steps[-1] == "Start a permanent Archive"


def test_an_administrator_of_an_empty_archive_is_led_on_and_a_stranger_gets_no_commands() -> None:
    page = home_for(Role.ADMIN, sandbox=False)

    assert "/deposit" in page.links
    assert [each.text for each in page.all("h3")] == [
        *("Deposit the first item", "Invite people", "Customize the site"),
    ]
    assert not home_for(None, sandbox=False).all("pre")
    assert not home_for(Role.DEPOSITOR, sandbox=False).all("pre")


async def test_the_archives_own_item_is_no_content() -> None:
    port = OnePort(items=[kept(*map(str, SERVICE.labels))])
    page = read_page((await port.get("/", {"accept": "text/html"})).body)

    assert page.one("h2", id="first").text == "No items have been deposited yet."
    assert not page.all("article")
