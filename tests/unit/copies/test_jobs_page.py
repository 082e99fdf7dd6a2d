"""The page of the jobs that make Copies, as a librarian's browser has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from ibi.copies.pages import JobPages
from ibi.copies.rules.copies import CopyRules
from ibi.copies.service.jobs import CopyWork
from ibi.copies.store.copy_jobs import SqliteCopyJobs
from ibi.copies.store.copy_parts import CopyParts
from ibi.people.pages.sign_in import SignInPages
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.standard.errors import IbiError
from ibi.web.errors import problem
from ibi.web.reader import Sessions
from tests.support.archive_app import archive_app
from tests.support.copy_world import IBIP, NOW, object_said, original, source_archive, taker
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page
from tests.support.people_site import PASSWORD, Browser, account_page, known_site
from tests.support.set_clocks import SetClocks


class Site:
    def __init__(self, work: CopyWork) -> None:
        clocks = SetClocks(NOW)
        people, self.hasher, self.work = MemoryPeople(), SecretHasher(PasswordHasher(1, 8, 1)), work
        admin = PersonAdmin(people, clocks, self.hasher)
        sign_in = SignIn(people, clocks, self.hasher)
        sessions = Sessions(sign_in, "https://ibi.example")

        async def refuse(_: Request, error: Exception) -> Response:
            assert isinstance(error, IbiError)
            return problem(error)

        routes = [
            *SignInPages(sign_in, sessions).routes(),
            *account_page(sign_in, sessions).routes(),
            *JobPages(work, sessions, archive_app().site).routes(),
        ]
        self.app = Starlette(
            routes=routes, middleware=[known_site(sessions, routes)], exception_handlers={IbiError: refuse}
        )
        for name, role in (("ada", "librarian"), ("dan", "depositor")):
            admin.create(name, role, PASSWORD)

    async def browser(self, name: str) -> Browser:
        browser = Browser(self.app)
        assert (await browser.post("/sign-in", {"name": name, "password": PASSWORD})).status == 303
        return browser


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with taker(tmp_path, CopyRules()) as here, closing(SqliteCopyJobs(tmp_path)) as jobs:
        made = Site(CopyWork(jobs, here.copying, CopyParts(tmp_path)))
        yield made
        made.hasher.close()


async def csrf(browser: Browser) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', (await browser.get("/jobs")).body.decode())
    assert found is not None
    return found[1]


async def test_a_librarian_begins_a_job_and_sees_what_became_of_it(site: Site) -> None:
    one, contents = original()
    browser = await site.browser("ada")
    with source_archive(object_said(one), contents) as source:
        fields = {"csrf": await csrf(browser), "labels": f"{IBIP}\r\n\r\n", "from": source.url + "/", "token": ""}
        begun = await browser.post("/jobs", fields)
        assert begun.status == 303
        assert "waiting" in (await browser.get(begun.headers["location"])).body.decode()
        site.work.step()
    page = await browser.get(begun.headers["location"])
    read_page(page.body)
    assert "copied" in page.body.decode()
    assert IBIP in page.body.decode()
    listed = (await browser.get("/jobs", **{"accept-language": "pt-BR"})).body.decode()
    read_page(listed.encode())
    assert source.url in listed


async def test_a_wrong_form_is_shown_again_with_what_is_wrong(site: Site) -> None:
    browser = await site.browser("ada")
    for labels, source, words in (("nonsense", "", "nonsense"), (IBIP, "http://x/y", "http"), ("", "", "1 to 10000")):
        fields = {"csrf": await csrf(browser), "labels": labels, "from": source}
        answer = await browser.post("/jobs", fields)
        assert answer.status == 400
        assert words in answer.body.decode()


async def test_a_job_is_cancelled_on_its_page(site: Site) -> None:
    browser = await site.browser("ada")
    fields = {"csrf": await csrf(browser), "labels": IBIP, "from": "http://archive.example.org"}
    place = (await browser.post("/jobs", fields)).headers["location"]
    assert (await browser.post(place, {"csrf": "0" * 64})).status == 403
    assert (await browser.post(place, {"csrf": fields["csrf"]})).status == 303
    assert "cancelled" in (await browser.get(place)).body.decode()


async def test_the_page_is_for_librarians(site: Site) -> None:
    assert (await Browser(site.app).get("/jobs")).headers["location"] == "/sign-in?to=/jobs"
    depositor = await site.browser("dan")
    assert (await depositor.get("/jobs")).status == 403
    assert (await depositor.post("/jobs", {"labels": IBIP})).status == 403


async def test_the_account_of_a_librarian_leads_there(site: Site) -> None:
    assert b'href="/jobs"' in (await (await site.browser("ada")).get("/account")).body
    assert b'href="/jobs"' not in (await (await site.browser("dan")).get("/account")).body


async def test_a_form_of_another_site_begins_nothing(site: Site) -> None:
    browser = await site.browser("ada")
    answer = await browser.post("/jobs", {"labels": IBIP}, origin="https://evil.example")
    assert answer.status == 403
    assert site.work.latest(10) == []
