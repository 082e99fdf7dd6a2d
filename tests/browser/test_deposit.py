"""A deposit in a browser: without scripts, and with them what is typed is kept and folders go on where they stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import html5lib
import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import LANGUAGES, Opened, Site
from tests.browser.test_every_page import AXE, NARROW, RUN

FILES = int(os.environ.get("SOAK_FOLDER", "60"))
"""Files of the folder that is sent; `make soak` takes five thousand."""
DRAFT = re.compile(r"/deposit/draft-[a-z2-7]{16}")


@pytest.fixture(scope="module")
def enter(site: Site) -> Callable[[Page], None]:
    """Signs a depositor in."""
    site.command("person", "create", "lia", "--role", "depositor")

    def sign_in(page: Page) -> None:
        link = site.command("person", "link", "lia").out.strip()
        page.goto(re.sub(r"^http://[^/]+", site.url, link))
        page.get_by_role("main").get_by_role("button").click()

    return sign_in


def folder_of(place: Path, number: int) -> Path:
    folder = place / "survey"
    for each in range(number):
        file = folder / f"day {each % 9}" / f"{each:05}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{each}\n" * (each % 50 + 1), encoding="ascii")
    return folder


def _is_upload(request: Request) -> bool:
    return request.method == "POST" and request.url.endswith("/uploads")


def test_an_item_is_deposited_without_scripts(
    site: Site, opened: Opened, enter: Callable[[Page], None], tmp_path: Path
) -> None:
    page = opened(scripts=False)
    enter(page)
    page.goto(f"{site.url}/deposit")
    (tmp_path / "table é.csv").write_text("a,b\n", encoding="utf-8")
    page.get_by_label("Choose files").set_input_files(tmp_path / "table é.csv")
    page.get_by_label("Title").fill("Rain in the valley")
    page.get_by_label("Creators").fill("Ávila, João\nSilva, Ana 0000-0002-1825-0098")
    page.get_by_label("Date").fill("2027-02-30")
    page.get_by_role("button", name="Publish").click()

    expect(page.get_by_role("status").first).to_contain_text("2 fields need attention before it can be published")
    expect(page.locator("#date-error")).to_contain_text("that month has no day 30")
    expect(page.locator("#creators-error")).to_contain_text("last digit")
    expect(page.get_by_label("Date")).to_have_value("2027-02-30")
    expect(page.get_by_role("rowheader", name="table é.csv")).to_be_visible()
    page.get_by_label("Date").fill("2027-02-28")
    page.get_by_label("Creators").fill("Ávila, João\nSilva, Ana 0000-0002-1825-0097")
    page.get_by_role("button", name="Save the draft").last.click()
    expect(page.get_by_role("status").first).to_contain_text("The draft was saved")
    label = page.locator("[data-label]").inner_text()
    expect(page.locator(".cited").first).to_contain_text("ÁVILA, João; SILVA, Ana. Rain in the valley")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Rain in the valley")
    assert label in page.content()
    page.goto(f"{site.url}/account/items")
    expect(page.get_by_role("link", name="Rain in the valley")).to_be_visible()


def test_what_is_typed_is_kept_and_marked_while_it_is_typed(
    site: Site, opened: Opened, enter: Callable[[Page], None]
) -> None:
    page = opened()
    enter(page)
    page.goto(f"{site.url}/deposit")
    page.get_by_label("Title").fill("Typed")
    expect(page).to_have_url(DRAFT)
    expect(page.locator("[data-label]")).to_contain_text("http")
    expect(page.get_by_role("heading", name="APA")).to_be_visible()
    page.get_by_label("Date").fill("2027-13")
    page.get_by_label("Summary").focus()
    expect(page.locator("#date-error")).to_contain_text("there is no month 13")
    page.get_by_label("Date").fill("2027-12")
    page.get_by_label("Summary").focus()
    expect(page.locator("#date-error")).to_have_count(0)
    page.get_by_label("Summary").fill("Kept without a click")
    expect(page.locator("[data-state]")).to_have_text("Saved")
    page.reload()
    expect(page.get_by_label("Summary")).to_have_value("Kept without a click")


def test_two_tabs_on_one_draft_do_not_overwrite_each_other(
    site: Site, opened: Opened, enter: Callable[[Page], None]
) -> None:
    one = opened()
    enter(one)
    one.goto(f"{site.url}/deposit")
    one.get_by_label("Title").fill("Old")
    expect(one).to_have_url(DRAFT)
    two = one.context.new_page()
    two.goto(one.url)
    one.get_by_label("Title").fill("New")
    one.get_by_label("Creators").fill("Silva, Ana")
    one.get_by_label("Summary").focus()
    expect(one.locator("[data-state]")).to_have_text("Saved")
    two.get_by_label("Summary").fill("Said in the second")
    expect(two.get_by_label("Title")).to_have_value("New")
    expect(two.get_by_label("Creators")).to_have_value("Silva, Ana")
    one.get_by_label("Summary").fill("Said in the first")
    clash = one.locator("[data-clash]")
    expect(clash).to_be_visible()
    expect(one.locator("#summary-error")).to_be_visible()
    expect(one.get_by_label("Summary")).to_have_value("Said in the first")
    two.reload()
    expect(two.get_by_label("Summary")).to_have_value("Said in the second")
    clash.get_by_role("button").click()
    expect(one.get_by_role("status").first).to_contain_text("The draft was saved")
    two.reload()
    expect(two.get_by_label("Summary")).to_have_value("Said in the first")


def test_a_form_whose_session_ends_keeps_what_is_typed_and_saves_it_after_the_next_sign_in(
    site: Site, opened: Opened, enter: Callable[[Page], None]
) -> None:
    page = opened()
    enter(page)
    page.goto(f"{site.url}/deposit")
    page.get_by_label("Title").fill("Old")
    expect(page).to_have_url(DRAFT)
    page.context.clear_cookies()
    page.get_by_label("Title").fill("Typed after the end")
    notice = page.locator("[data-signed-out]")
    expect(notice).to_contain_text("You are signed out")
    expect(notice.get_by_role("link")).to_have_attribute("target", "_blank")
    other = page.context.new_page()
    enter(other)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(notice).to_be_hidden()
    expect(page.locator("[data-state]")).to_have_text("Saved")
    expect(page.get_by_label("Title")).to_have_value("Typed after the end")
    other.goto(page.url)
    expect(other.get_by_label("Title")).to_have_value("Typed after the end")


def test_a_form_without_scripts_whose_session_ends_keeps_what_is_typed(
    site: Site, opened: Opened, enter: Callable[[Page], None]
) -> None:
    page = opened(scripts=False)
    enter(page)
    page.goto(f"{site.url}/deposit")
    page.context.clear_cookies()
    page.get_by_label("Title").fill("Typed")
    for words in ("You are signed out", "You have signed in again"):
        page.get_by_role("button", name="Save the draft").last.click()
        expect(page.get_by_role("alert").first).to_contain_text(words)
        expect(page.get_by_label("Title")).to_have_value("Typed")
        if words == "You are signed out":
            enter(page.context.new_page())
    page.get_by_role("button", name="Save the draft").last.click()
    expect(page.get_by_role("status").first).to_contain_text("The draft was saved")
    expect(page.get_by_label("Title")).to_have_value("Typed")


def test_a_folder_is_stopped_and_goes_on_where_it_was(
    site: Site, opened: Opened, enter: Callable[[Page], None], tmp_path: Path
) -> None:
    page = opened()
    page.set_default_timeout(600_000 if FILES > 1000 else 20_000)
    enter(page)
    page.goto(f"{site.url}/deposit")
    page.get_by_label("Title").fill("A survey")
    expect(page).to_have_url(DRAFT)
    folder = folder_of(tmp_path, FILES)
    # Held up after some files, as by a slow line, so that there is something left to stop.
    sent: list[Route] = []

    def hold(route: Route) -> None:
        if _is_upload(route.request):
            sent.append(route)
        if len(sent) <= FILES // 3:
            route.continue_()

    page.route("**/uploads", hold)
    page.get_by_label("Choose a folder").set_input_files(folder)
    expect(page.locator("[data-progress]")).to_contain_text(f"{FILES // 3} of {FILES} files", timeout=600_000)
    page.get_by_role("button", name="Stop the upload").click()
    expect(page.locator("[data-progress]")).to_contain_text("Stopped")
    page.unroute_all(behavior="ignoreErrors")
    address = page.url
    page.once("dialog", lambda dialog: dialog.accept())
    page.goto(f"{site.url}/account/items")
    page.get_by_role("link", name="A survey", exact=True).click()
    expect(page).to_have_url(address)
    posted: list[str] = []
    page.on("request", lambda each: posted.append(each.url) if _is_upload(each) else None)
    page.get_by_label("Choose a folder").set_input_files(folder)
    expect(page.get_by_text(re.compile(f"^{FILES:,} files"))).to_be_visible(timeout=600_000)
    assert len(posted) == FILES - FILES // 3
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("A survey", timeout=120_000)


def test_files_that_are_taken_are_shown_beside_those_that_are_refused(
    site: Site, opened: Opened, enter: Callable[[Page], None], tmp_path: Path
) -> None:
    page = opened()
    enter(page)
    page.goto(f"{site.url}/deposit")
    page.get_by_label("Title").fill("Some are refused")
    expect(page).to_have_url(DRAFT)
    for name in ("good.txt", "a:b.txt", "c:d.txt"):
        (tmp_path / name).write_text(name, encoding="ascii")
    page.get_by_label("Choose files").set_input_files(sorted(tmp_path.iterdir()))
    expect(page.get_by_role("rowheader", name="good.txt")).to_be_visible()
    expect(page.locator("[data-refused] li")).to_have_count(2)
    expect(page.locator("[data-refused]")).to_contain_text("a:b.txt")
    expect(page.get_by_role("button", name="Try again")).to_be_hidden()
    expect(page.get_by_label("Title")).to_have_value("Some are refused")


def test_an_upload_that_is_stopped_says_what_has_arrived_of_it(
    site: Site, opened: Opened, enter: Callable[[Page], None], tmp_path: Path
) -> None:
    page = opened()
    enter(page)
    page.goto(f"{site.url}/deposit")
    page.get_by_label("Title").fill("Stopped")
    expect(page).to_have_url(DRAFT)
    (tmp_path / "large.bin").write_bytes(bytes(40_000_000))
    line = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 4_000_000}
    line.send("Network.emulateNetworkConditions", slow)
    page.get_by_label("Choose files").set_input_files(tmp_path / "large.bin")
    progress = page.locator("[data-progress]")
    expect(progress).to_contain_text(re.compile(r"[1-9]\d MB of 40 MB"), timeout=20_000)
    page.get_by_role("button", name="Stop the upload").click()
    expect(progress).to_contain_text("Stopped")
    expect(progress).to_contain_text(re.compile(r"0 of 1 files, [1-9][\d.]* MB of 40 MB"))
    expect(page.get_by_role("rowheader", name="large.bin")).to_be_visible()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_form_is_sound_in_each_language_and_on_a_telephone(
    language: str, site: Site, opened: Opened, enter: Callable[[Page], None], picture: Callable[[Page, str], None]
) -> None:
    page = opened(language, NARROW, dark=language == "es")
    enter(page)
    for name, place in (("deposit", "/deposit"), ("own items", "/account/items")):
        answer = page.goto(f"{site.url}{place}")
        assert answer is not None
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        html5lib.HTMLParser(strict=True).parse(answer.text())
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
        page.evaluate(AXE)
        assert page.evaluate(RUN) == []
        picture(page, f"{name}-{language}-{NARROW}")
        page.set_viewport_size({"width": 1200, "height": 900})
        picture(page, f"{name}-{language}-1200")
        page.set_viewport_size({"width": NARROW, "height": 900})
