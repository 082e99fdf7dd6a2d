"""The pages of administrators in a real browser: without scripts, narrow, dark, and in three languages."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import html5lib
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import LANGUAGES, Opened, Site
from tests.browser.test_every_page import AXE, NARROW, RUN

PATHS = ("", "/archives", "/fixity", "/usage", "/audit", "/storage", "/settings")


@pytest.fixture(scope="module")
def session(site: Site) -> tuple[str, str]:
    """The cookie of the administrator, whose link is good once: its name and value."""
    place = urlsplit(site.enter)
    with closing(HTTPConnection(place.netloc)) as connection:
        connection.request("POST", place.path, "", {"Content-Type": "application/x-www-form-urlencoded"})
        cookies = connection.getresponse().headers.get_all("set-cookie") or []
    found = next(each for each in cookies if each.startswith("ibi-session="))
    name, _, value = found.partition(";")[0].partition("=")
    return name, value


def sign_in(page: Page, site: Site, session: tuple[str, str]) -> None:
    page.context.add_cookies([{"name": session[0], "value": session[1], "url": site.url}])


def violations(page: Page) -> list[str]:
    page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN)
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_of_the_administration_is_sound_and_fits_a_telephone(
    language: str, site: Site, session: tuple[str, str], opened: Opened
) -> None:
    page = opened(language, NARROW, dark=language != "en")
    sign_in(page, site, session)
    for path in PATHS:
        answer = page.goto(f"{site.url}/admin{path}")
        assert answer is not None
        assert answer.status == 200
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        html5lib.HTMLParser(strict=True).parse(answer.text())
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW, path
        assert violations(page) == [], path


def test_an_administrator_works_without_scripts(site: Site, session: tuple[str, str], opened: Opened) -> None:
    page = opened(scripts=False)
    sign_in(page, site, session)
    page.goto(f"{site.url}/admin/fixity")
    page.locator("main input[name=label][type=text], main input[name=label]:not([type])").fill(site.labels["images"])
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_role("status")).to_have_count(1)
    page.goto(f"{site.url}/admin/archives")
    page.locator("main input[name=labels]").fill("lab.br/arq/2020/01.02.03.04")
    page.locator("main input[name=key]").fill("83110572946")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_text("waiting for activation")).to_have_count(1)
    page.goto(f"{site.url}/admin/audit?act=register archive")
    assert page.locator("main tbody tr").count() == 1
    with page.expect_navigation():
        page.get_by_role("button", name="Verify the chain now").click()
    for _ in range(100):
        page.goto(f"{site.url}/admin/audit")
        if page.get_by_text("Verification is running").count() == 0:
            break
    assert page.get_by_text("Intact.").count() == 1
