"""What is around the pages, and collections: by hand and by eye, on a telephone, in the dark and without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Opened, Site
from tests.browser.test_every_page import NARROW
from tests.browser.test_every_page import _violations as violations


def sign_in(site: Site, page: Page, name: str) -> None:
    site.command("person", "create", name, "--role", "librarian")
    link = site.command("person", "link", name).out.strip()
    page.goto(re.sub(r"^http://[^/]+", site.url, link))
    page.locator("main button").click()


def test_the_menu_opens_on_a_telephone_without_scripts_and_changes_the_language(site: Site, opened: Opened) -> None:
    page = opened("en", NARROW, scripts=False)
    page.goto(f"{site.url}/explain/?q=x")
    expect(page).to_have_url(f"{site.url}/explain?q=x")
    expect(page.get_by_role("link", name="Collections")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Collections")).to_be_visible()
    page.get_by_role("link", name="português (Brasil)").click()

    expect(page).to_have_url(f"{site.url}/explain?q=x")
    assert page.locator("html").get_attribute("lang") == "pt-BR"


def test_a_librarian_makes_a_collection_without_scripts_and_an_item_says_so(site: Site, opened: Opened) -> None:
    page = opened(scripts=False)
    sign_in(site, page, "cora")
    page.get_by_role("link", name="Collections").click()
    page.get_by_role("link", name="New collection").click()
    page.get_by_label("Title").fill("Água e clima")
    page.get_by_label("Name in the URL").fill("agua")
    page.get_by_label("Items to add").fill(f"{site.labels['rainfall']}\n{site.link('images')}")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(f"{site.url}/collections/agua")
    expect(page.get_by_role("article")).to_have_count(2)
    page.goto(site.item("thesis, first edition"))
    page.get_by_role("button", name="Add", exact=True).click()

    expect(page.get_by_role("link", name="Água e clima")).to_be_visible()
    for dark, place in ((False, "/collections/agua"), (True, "/collections")):
        seen = opened("pt-BR", NARROW, dark=dark)
        seen.goto(f"{site.url}{place}")
        assert seen.evaluate("document.documentElement.scrollWidth") <= NARROW
        assert violations(seen) == []


def test_the_form_of_a_collection_is_sound_also_with_a_fault(site: Site, opened: Opened) -> None:
    page = opened("es")
    sign_in(site, page, "dora")
    page.goto(f"{site.url}/collections/new")
    assert violations(page) == []
    page.locator("#title").fill("T")
    page.locator("#name").fill("t")
    page.locator("#items").fill("nada")
    page.locator("main form button").first.click()

    expect(page.locator("#items")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#title")).to_have_value("T")
    assert violations(page) == []


def test_pages_of_the_owner_are_sound_with_any_logo(site: Site, opened: Opened) -> None:
    folder = site.command.data / "pages"
    folder.mkdir()
    script = "<script>document.documentElement.lang = 'x'</script>"
    (folder / "logo.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{script}</svg>')
    (folder / "about.md").write_text(f"# About us\n\n{script}\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n")
    page = opened()
    page.goto(f"{site.url}/explain")
    # A look at the folder is taken every two seconds. `wait_for_function` would take the promise for its value.
    assert page.evaluate(
        """async () => {
            for (let look = 0; look < 100; look++) {
                if ((await fetch('/about')).ok) return true;
                await new Promise(done => setTimeout(done, 300));
            }
            return false;
        }"""
    )
    page.goto(f"{site.url}/about")

    expect(page.get_by_role("heading", level=1)).to_have_text("About us")
    assert page.locator("html").get_attribute("lang") == "en"
    assert violations(page) == []
