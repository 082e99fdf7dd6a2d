"""The pictures of the documentation: every page, as a reader sees it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Opened, Site
from tests.browser.test_every_page import NARROW, PAGES, WIDE

Picture = Callable[[Page, str], None]

SHOWN = {
    "home": "home",
    "search": "search",
    "item": "item with editions",
    "item-top": "item with editions",
    "item-folders": "item with folders",
    "item-images": "item with images",
    "item-translations": "item with translations",
    "item-restricted": "restricted item",
    "tombstone": "tombstone",
    "file-list": "file list",
    "explain": "explained",
    "trace": "trace",
    "alert": "no such translation",
    "not-found": "not found",
    "sign-in": "sign in",
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_has_a_picture(name: str, site: Site, opened: Opened, picture: Picture) -> None:
    page = opened("en", WIDE)
    page.goto(PAGES[SHOWN[name]](site))
    page.wait_for_load_state()

    assert page.get_by_role("heading", level=1).is_visible()
    picture(page, name)


@pytest.mark.parametrize(
    ("name", "language", "dark"), [("item", "pt-BR", False), ("home", "es", False), ("item", "en", True)]
)
def test_a_telephone_shows_it_too(
    name: str, language: str, dark: bool, site: Site, opened: Opened, picture: Picture
) -> None:
    page = opened(language, NARROW, dark=dark)
    page.goto(PAGES[SHOWN[name]](site))
    page.wait_for_load_state()

    assert page.get_by_role("heading", level=1).is_visible()
    picture(page, f"{name}-telephone-{language}{'-dark' if dark else ''}")
