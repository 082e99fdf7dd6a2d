"""Every page, in every language: for people who see, hear, hold a telephone or allow no scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import html5lib
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import LANGUAGES, Opened, Site

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
RUN = "async () => (await axe.run(document)).violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' | '))"

PAGES: dict[str, Callable[[Site], str]] = {
    "home": lambda site: site.url,
    "search": lambda site: f"{site.url}/search?q=rainfall",
    "browse": lambda site: f"{site.url}/search",
    "nothing found": lambda site: f"{site.url}/search?q=zzzzqqq",
    "item with editions": lambda site: site.item("thesis, first edition"),
    "item with folders": lambda site: site.item("rainfall"),
    "item with images": lambda site: site.item("images"),
    "item with translations": lambda site: site.item("guide in en"),
    "restricted item": lambda site: site.item("notebook"),
    "item under embargo": lambda site: site.item("model output"),
    "web service": lambda site: site.item("explainer"),
    "tombstone": lambda site: site.item("withdrawn tables"),
    "table of a file": lambda site: f"{site.url}/col/{site.labels['rainfall']}/preview/station%201/2023.csv",
    "link of a deleted item": lambda site: site.link("withdrawn tables"),
    "file list": lambda site: site.link("rainfall", "?ibiurl.verblist=GetFileList"),
    "explain": lambda site: f"{site.url}/explain",
    "explained": lambda site: f"{site.url}/explain?q={site.labels['images']}!%3A",
    "explained error": lambda site: f"{site.url}/explain?q=sid.inpe.br/mtc-m18/2009/02.30.17.46",
    "trace": lambda site: site.link("thesis, first edition", "!?ibiurl.trace=html"),
    "not found": lambda site: f"{site.url}/localhost/ibi/2020/01.01.00.00",
    "no such translation": lambda site: site.link("guide in en", "+(fr)"),
    "malformed": lambda site: site.link("images", "?ibiurl.verblist=Steal"),
    "sign in": lambda site: f"{site.url}/sign-in",
    "request of a copy": lambda site: f"{site.url}/request/copy?item={site.labels['model output']}",
}
WIDE, NARROW = 1280, 360


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound(name: str, language: str, site: Site, opened: Opened) -> None:
    page = opened(language)
    answer = page.goto(PAGES[name](site))

    assert answer is not None
    assert page.locator("html").get_attribute("lang") == language
    policy = answer.headers["content-security-policy"]
    assert "unsafe-inline" not in policy
    assert "default-src 'none'" in policy
    html5lib.HTMLParser(strict=True).parse(answer.text())
    assert _violations(page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_telephone_and_a_dark_room(name: str, dark: bool, site: Site, opened: Opened) -> None:
    page = opened("pt-BR", NARROW, dark=dark)
    page.goto(PAGES[name](site))

    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    assert _violations(page) == []


BROKEN_WORDS = """
() => [...document.querySelectorAll("main table")].flatMap(table => {
  const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT), broken = [];
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.parentElement.closest("pre, code") || !text.parentElement.checkVisibility()) continue;
    for (const word of text.data.matchAll(/(?<![\\p{L}\\p{N}])\\p{L}+(?![\\p{L}\\p{N}])/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(each => each.top)).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})
"""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["trace", "table of a file"])
def test_no_word_of_a_table_is_broken_on_a_telephone(name: str, language: str, site: Site, opened: Opened) -> None:
    page = opened(language, NARROW)
    page.goto(PAGES[name](site))

    assert page.locator("main table").count()
    assert page.evaluate(BROKEN_WORDS) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same_without_scripts(name: str, site: Site, opened: Opened) -> None:
    with_scripts, without = opened(), opened(scripts=False)
    for page in (with_scripts, without):
        page.goto(PAGES[name](site))

    assert (
        without.get_by_role("heading", level=1).inner_text()
        == with_scripts.get_by_role("heading", level=1).inner_text()
    )
    assert without.locator("main a").count() == with_scripts.locator("main a").count()


def test_the_account_is_sound_too(site: Site, opened: Opened) -> None:
    page = opened()
    page.goto(site.enter)
    assert _violations(page) == []
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto(f"{site.url}/account")

    assert _violations(page) == []


def _violations(page: Page) -> list[str]:
    # Through the debugger, not as a script of the page: our policy would refuse it, and should.
    page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN)
    return found
