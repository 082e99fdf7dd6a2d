"""Values that the deposit form cannot read are on the page with their errors, whatever becomes of the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opened
from tests.support.ibi_command import IbiCommand

DRAFT: Final = re.compile(r"/deposit/draft-[a-z2-7]{16}")
LONG: Final = "x" * 100_001
WRONG: Final = {
    "title": LONG,
    "creators": "Silva, Ana 0000-0002-1825-0097\nSouza, Bia 0000-0002-1825-0098",
    "contributors": "Costa, João | INPE https://ror.org/04xbn6x08",
    "publisher": LONG,
    "funding": "FAPESP | 1 | not a URL",
    "related": "Likes doi:10.1000/182",
    "places": "Brasil | 999, 0",
    "date": "31/02/2026",
    "licence": "cc by",
    "language": "Klingonês",
    "subjects": LONG,
    "summary": LONG,
    "target": "../x",
    "embargo": "31/02/2026",
    "networks": "10.0.0.1/8",
}
"""A text for each field that people type into and that can be refused by itself."""
TYPE, RECORD = "spaceship", "@article{"
"""A type that an older page had in its list, and a record of another system that cannot be read."""
ALL: Final = {*WRONG, "type"}
REASON: Final = "a patent"
"""Of the embargo that cannot be read: it waits for one that can."""


class Restartable:
    """A server that is killed and started again, on another port."""

    def __init__(self, command: IbiCommand) -> None:
        self.command, self._stack = command, ExitStack()
        self.person = "lia"
        self.start()

    def start(self) -> None:
        self._process, self.url = self._stack.enter_context(self.command.up())

    def kill(self) -> None:
        self._process.kill()
        self._stack.close()

    def close(self) -> None:
        self._stack.close()

    def enter(self, page: Page) -> None:
        link = self.command("person", "link", self.person).out.strip()
        page.goto(re.sub(r"^http://[^/]+", self.url, link))
        page.get_by_role("main").get_by_role("button").click()

    def draft(self, page: Page) -> str:
        """The address of the draft that is open, as the server has it now."""
        found = DRAFT.search(page.url)
        assert found, page.url
        return f"{self.url}{found[0]}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restartable]:
    command = IbiCommand(tmp_path_factory.mktemp("site"))
    started = Restartable(command)
    try:
        command("person", "create", "lia", "--role", "depositor")
        command("person", "create", "bia", "--role", "librarian")
        yield started
    finally:
        started.close()


def add_files(page: Page, place: Path) -> None:
    (place / "added.txt").write_text("added", encoding="ascii")
    page.get_by_label("Choose files").set_input_files(place / "added.txt")


def expect_file(page: Page, name: str) -> None:
    expect(page.get_by_role("rowheader", name=name)).to_be_visible()


def expect_saved(page: Page) -> None:
    """A page with a record that is not imported is the answer to its form; otherwise the form leads to a page."""
    if page.locator("#record").input_value() != RECORD:
        expect(page).to_have_url(re.compile(r"\?saved=1$"))


# --- what happens to the page: each gives the page to look at ---------------------------------------------------------


def file_added(page: Page, server: Restartable, place: Path) -> Page:
    add_files(page, place)
    expect_file(page, "added.txt")
    expect_saved(page)
    return page


def folder_added(page: Page, server: Restartable, place: Path) -> Page:
    folder = place / "survey"
    folder.mkdir()
    for name in ("one.csv", "two.csv"):
        (folder / name).write_text(name, encoding="ascii")
    page.get_by_label("Choose a folder").set_input_files(folder)
    expect_file(page, "survey/two.csv")
    expect_saved(page)
    return page


def file_dropped(page: Page, server: Restartable, place: Path) -> Page:
    dropped = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['x'], 'dropped.txt')); return data; }"
    )
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": dropped})
    expect_file(page, "dropped.txt")
    expect_saved(page)
    return page


def page_loaded_again(page: Page, server: Restartable, place: Path) -> Page:
    page.goto(server.draft(page))
    return page


def second_tab(page: Page, server: Restartable, place: Path) -> Page:
    other = page.context.new_page()
    other.goto(server.draft(page))
    return other


def session_ended(page: Page, server: Restartable, place: Path) -> Page:
    address = server.draft(page)
    page.context.clear_cookies()
    page.goto(address)
    expect(page.locator("#date")).to_have_count(0)
    server.enter(page)
    page.goto(address)
    return page


def server_killed(page: Page, server: Restartable, place: Path) -> Page:
    server.kill()
    server.start()
    other = page.context.new_page()
    server.enter(other)
    other.goto(server.draft(page))
    return other


EVENTS: Final = (
    file_added,
    folder_added,
    file_dropped,
    page_loaded_again,
    second_tab,
    session_ended,
    server_killed,
)
Event = Callable[[Page, Restartable, Path], Page]


def open_draft(page: Page, server: Restartable, place: Path) -> None:
    """A draft with two files, so that it can have a main file, with all its fields in sight."""
    server.enter(page)
    page.goto(f"{server.url}/deposit")
    for name in ("one.txt", "two.txt"):
        (place / name).write_text(name, encoding="ascii")
    page.get_by_label("Choose files").set_input_files([place / "one.txt", place / "two.txt"])


def type_all(page: Page) -> None:
    page.locator("summary", has_text="Contributors").click()
    for name, text in {**WRONG, "embargo_reason": REASON}.items():
        page.locator(f"#{name}").fill(text)
    page.evaluate(f"() => document.querySelector('#type').append(new Option('{TYPE}', '{TYPE}'))")
    page.locator("#type").select_option(TYPE)


def import_record(page: Page) -> None:
    page.locator("details.record summary").click()
    page.locator("#record").fill(RECORD)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#record-error")).to_have_count(1)


def expect_all(page: Page) -> None:
    for name, text in {**WRONG, "embargo_reason": REASON, "type": TYPE}.items():
        assert page.locator(f"#{name}").input_value() == text, name
    for name in ALL:
        expect(page.locator(f"#{name}-error")).to_have_count(1)
        expect(page.locator(f"#{name}")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#date-error")).to_contain_text("a date looks like 2027")
    expect(page.locator("#creators-error")).to_contain_text("0000-0002-1825-0098")
    expect(page.locator("#licence-error")).to_contain_text("SPDX")
    expect(page.locator("[data-attention]")).to_contain_text(f"{len(ALL)} fields need attention")


@pytest.mark.parametrize("event", EVENTS)
def test_values_that_cannot_be_read_stay_on_the_page_with_their_errors(
    event: Event, server: Restartable, opened: Opened, tmp_path: Path
) -> None:
    page = opened()
    open_draft(page, server, tmp_path)
    expect_file(page, "two.txt")
    expect(page).to_have_url(re.compile(r"\?saved=1$"))
    type_all(page)
    expect(page.locator("[data-state]")).to_contain_text(f"{len(ALL)} fields need attention")
    seen = event(page, server, tmp_path)
    expect_all(seen)
    seen.locator("#date").fill("2026-02")
    seen.locator("#summary").focus()
    expect(seen.locator("#date-error")).to_have_count(0)
    expect(seen.locator("[data-state]")).to_contain_text(f"{len(ALL) - 1} fields need attention")


@pytest.mark.parametrize("event", EVENTS)
def test_a_record_that_cannot_be_imported_stays_on_the_page_with_its_error(
    event: Event, server: Restartable, opened: Opened, tmp_path: Path
) -> None:
    page = opened()
    open_draft(page, server, tmp_path)
    expect_file(page, "two.txt")
    expect(page).to_have_url(re.compile(r"\?saved=1$"))
    import_record(page)
    seen = event(page, server, tmp_path)
    expect(seen.locator("#record")).to_have_value(RECORD)
    expect(seen.locator("#record-error")).to_have_count(1)


@pytest.mark.parametrize("event", EVENTS)
def test_a_list_of_files_that_a_librarian_may_not_open_stays_on_the_page_with_its_error(
    event: Event, server: Restartable, opened: Opened, tmp_path: Path
) -> None:
    page = opened()
    open_draft(page, server, tmp_path)
    expect_file(page, "two.txt")
    expect(page).to_have_url(re.compile(r"\?saved=1$"))
    page.locator("#title").fill("A survey")
    page.locator("#unlisted").check()
    page.get_by_role("button", name="Publish").click()
    expect(page).to_have_url(re.compile(r"/col/.*/metadata"))
    place = re.sub(r"^http://[^/]+", "", page.url)
    page.context.clear_cookies()
    server.person = "bia"
    try:
        server.enter(page)
        page.goto(f"{server.url}{place}")
        page.get_by_role("button", name="Edit description and files").click()
        expect(page).to_have_url(DRAFT)
        page.locator("#unlisted").uncheck()
        expect(page.locator("[data-state]")).to_contain_text("1 field needs attention")
        seen = event(page, server, tmp_path)
        expect(seen.locator("#unlisted-error")).to_have_count(1)
        expect(seen.locator("#unlisted")).not_to_be_checked()
    finally:
        server.person = "lia"


@pytest.mark.parametrize("event", [page_loaded_again, second_tab, session_ended, server_killed])
def test_values_that_cannot_be_read_stay_on_the_page_without_scripts(
    event: Event, server: Restartable, opened: Opened, tmp_path: Path
) -> None:
    page = opened(scripts=False)
    open_draft(page, server, tmp_path)
    page.get_by_role("button", name="Save the draft").last.click()
    expect_file(page, "two.txt")
    type_all(page)
    add_files(page, tmp_path)
    page.get_by_role("button", name="Save the draft").last.click()
    expect_file(page, "added.txt")
    expect_all(page)
    seen = event(page, server, tmp_path)
    expect_all(seen)
    seen.get_by_role("button", name="Publish").click()
    expect_all(seen)


def test_values_typed_while_files_are_sent_are_saved_before_the_page_is_loaded_again(
    server: Restartable, opened: Opened, tmp_path: Path
) -> None:
    page = opened()
    open_draft(page, server, tmp_path)
    expect_file(page, "two.txt")
    expect(page).to_have_url(re.compile(r"\?saved=1$"))
    page.locator("#date").fill("31/02/2026")
    file_added(page, server, tmp_path)
    expect(page.locator("#date")).to_have_value("31/02/2026")
    expect(page.locator("#date-error")).to_have_count(1)


def test_a_record_that_is_not_imported_yet_outlives_a_file(server: Restartable, opened: Opened, tmp_path: Path) -> None:
    page = opened()
    open_draft(page, server, tmp_path)
    expect_file(page, "two.txt")
    expect(page).to_have_url(re.compile(r"\?saved=1$"))
    page.locator("details.record summary").click()
    page.locator("#record").fill("@article{")
    add_files(page, tmp_path)
    expect_file(page, "added.txt")
    expect(page.locator("#record")).to_have_value("@article{")
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#record-error")).to_have_count(1)
    page.goto(server.draft(page))
    expect(page.locator("#record")).to_have_value("@article{")
    expect(page.locator("#record-error")).to_have_count(1)


@pytest.mark.parametrize(("language", "words"), [("pt-BR", "1 campo precisa"), ("es", "1 campo requiere")])
def test_errors_are_in_the_language_of_who_opens_the_draft(
    language: str, words: str, server: Restartable, opened: Opened, tmp_path: Path
) -> None:
    page = opened()
    open_draft(page, server, tmp_path)
    expect_file(page, "two.txt")
    page.locator("#creators").fill("Souza, Bia 0000-0002-1825-0098")
    expect(page.locator("[data-state]")).to_contain_text("1 field needs attention")
    other = opened(language)
    server.enter(other)
    other.goto(server.draft(page))
    expect(other.locator("[data-attention]")).to_contain_text(words)
    expect(other.locator("#creators-error")).not_to_contain_text("last digit")
