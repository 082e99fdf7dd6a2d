"""A librarian's acts from the page of an item, in a real browser: with the form of deposits, to the tombstone."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import LANGUAGES, Opened, Site
from tests.browser.test_every_page import NARROW, _violations

ACTS = ("edit", "edition", "translation", "metadata", "access", "delete")


@pytest.fixture(scope="module")
def session(site: Site, chromium: object) -> list[dict[str, object]]:
    """The cookies of the administrator: the link that signs in works once."""
    context = chromium.new_context()  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(site.enter)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    cookies: list[dict[str, object]] = context.cookies()
    context.close()
    return cookies


def act(site: Site, name: str, which: str) -> str:
    return f"{site.url}/account/items/{site.labels[name]}/{which}"


def publish(page: Page) -> None:
    page.get_by_role("button", name="Publish").first.click()
    page.wait_for_url("**/col/**/metadata")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_forms_of_all_acts_are_sound(
    language: str, site: Site, opened: Opened, session: list[dict[str, object]]
) -> None:
    page = opened(language, NARROW, dark=language == "es")
    page.context.add_cookies(session)  # type: ignore[arg-type]
    page.goto(site.item("rainfall"))
    assert page.locator("#item-actions").count() == 1
    assert _violations(page) == []
    for which in ACTS:
        answer = page.goto(act(site, "rainfall", which))
        assert answer is not None
        assert page.locator("html").get_attribute("lang") == language
        html5lib.HTMLParser(strict=True).parse(answer.text())
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
        assert _violations(page) == []
    page.locator("main form button").last.click()  # nothing is filled in
    page.locator("#reason-error").wait_for()
    assert _violations(page) == []


def test_an_item_is_edited_continued_translated_withheld_and_deleted_without_scripts(
    site: Site, opened: Opened, session: list[dict[str, object]], tmp_path: Path
) -> None:
    page, reader = opened(scripts=False), opened()
    page.context.add_cookies(session)  # type: ignore[arg-type]
    place, file = site.item("images"), tmp_path / "second.txt"
    file.write_text("another edition")

    page.goto(place)
    page.get_by_role("button", name="Edit description and files").click()
    page.get_by_label("Title").fill("Images, described anew")
    publish(page)
    reader.goto(place)
    assert reader.get_by_role("heading", level=1).inner_text() == "Images, described anew"

    page.goto(place)
    page.get_by_role("link", name="Deposit a new edition").click()
    page.get_by_role("button", name="Start the draft").click()
    page.locator("input[type=file]").first.set_input_files(file)
    page.get_by_label("Title").fill("Images, second edition")
    publish(page)
    edition = page.url
    reader.goto(place)
    assert "Images, second edition" in reader.locator(".notice.newer").inner_text()

    page.goto(place)
    assert page.get_by_role("link", name="Deposit a new edition").count() == 0
    page.get_by_role("link", name="Deposit a translation").click()
    page.get_by_label("Language of the translation").fill("French")
    page.get_by_label("Title in that language").fill("Images en français")
    page.get_by_role("button", name="Start the draft").click()
    page.locator("input[type=file]").first.set_input_files(file)
    publish(page)
    assert "français" in page.get_by_role("heading", level=1).inner_text()

    page.goto(place)
    page.get_by_role("link", name="Embargo and access").click()
    page.get_by_label("Embargo until").fill("2099-01-31")
    page.get_by_label("Reason for the embargo").fill("A patent is pending.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("status").wait_for()
    reader.goto(place)
    assert "A patent is pending." in reader.locator("main").inner_text()

    page.goto(place)
    page.get_by_role("link", name="Delete this item").click()
    page.get_by_label("Reason for the deletion").fill("The second edition takes its place.")
    page.get_by_label("Replaced by").fill(edition)
    page.get_by_role("button", name="Delete the item").click()
    assert page.locator("#confirm-error").count() == 1, "it is not deleted by a slip of the hand"
    assert reader.goto(place).status == 200  # type: ignore[union-attr]
    page.get_by_label("Yes, delete it permanently").check()
    page.get_by_role("button", name="Delete the item").click()
    answer = reader.goto(place)
    assert answer is not None
    assert answer.status == 410
    shown = reader.locator("main").inner_text()
    assert "The second edition takes its place." in shown
    assert "Images, second edition" in shown
