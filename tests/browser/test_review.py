"""Review and requests of readers, in browsers that run no scripts, on a server of its own: what a depositor submits is
sent back, submitted again and published; a stranger asks for its files and gets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import html5lib
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Opened
from tests.browser.test_every_page import AXE, NARROW, RUN
from tests.support.ibi_command import IbiCommand


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[IbiCommand, str]]:
    command = IbiCommand(tmp_path)
    with command.up(IBI_ARCHIVE_REVIEW="true") as (_, url):
        for name, role in (("ada", "librarian"), ("dan", "depositor")):
            assert command("person", "create", name, "--role", role).code == 0
        yield command, url


def sign_in(command: IbiCommand, url: str, page: Page, name: str) -> Page:
    """By a link, as a person without a password does."""
    link = re.search(r"/sign-in/\S+", command("person", "link", name).out)
    assert link is not None
    page.goto(url + link[0])
    page.locator("main button").first.click()
    return page


def look(page: Page, sound: Page) -> None:
    """What a page shows is strict HTML; in the dark and on a telephone, axe-core finds nothing wrong with it."""
    html5lib.HTMLParser(strict=True).parse(page.content())
    sound.goto(page.url)
    sound.evaluate(AXE)
    assert sound.evaluate(RUN) == []
    assert sound.evaluate("document.documentElement.scrollWidth") <= NARROW


def judge(command: IbiCommand, url: str, draft: str, own: str) -> None:
    """The same by the command, as far as a depositor gets with their `own` token."""
    editor = command("token", "create", "--scope", "edit", "--for", "ada").out.split()[0]
    there = ("--server", url, "--token")
    listed = command("review", *there, editor)
    assert listed.out.startswith(f"{draft}  submitted"), listed.err
    assert command("review", *there, own).code != 0
    said = command("review", draft, "--comment", "Com o ano", *there, own).out
    assert "dan returned" not in said
    assert said.rstrip().endswith("dan commented: Com o ano")
    assert command("review", draft, "--return", "x", *there, own).code != 0
    assert "this token may not publish it" in command("review", draft, "--publish", *there, own).out
    assert command("review", draft, "--publish", "--withdraw", *there, own).code == 2


def test_a_deposit_is_reviewed_and_given_to_a_reader_who_asks(
    server: tuple[IbiCommand, str], opened: Opened, tmp_path: Path
) -> None:
    command, url = server
    ada, dan = (sign_in(command, url, opened(scripts=False), name) for name in ("ada", "dan"))
    sound_ada, sound_dan = (sign_in(command, url, opened(width=NARROW, dark=True), name) for name in ("ada", "dan"))
    stranger, sound = opened(scripts=False), opened(width=NARROW, dark=True)
    token = command("token", "create", "--scope", "deposit", "--for", "dan").out.split()[0]
    (tmp_path / "tese.txt").write_text("Palavras")
    there = ("tese.txt", "--server", url, "--token", token)
    said = command("deposit", *there, "--title", "Uma tese", "--embargo", "2090-01-01")
    assert "it waits for a librarian" in said.out, said.err
    draft = re.search(r"draft-\w+", said.out)
    assert draft is not None

    ada.goto(f"{url}/review")
    look(ada, sound_ada)
    ada.get_by_role("link", name="Uma tese").click()
    look(ada, sound_ada)
    ada.get_by_label("Message to the depositor").fill("O ano falta.")
    ada.get_by_role("button", name="Return").click()
    dan.goto(f"{url}/account/drafts/{draft[0]}/review")
    look(dan, sound_dan)
    assert "O ano falta." in dan.locator(".conversation").inner_text()
    assert "it waits for a librarian" in command("deposit", "--draft", draft[0], *there).out
    judge(command, url, draft[0], token)
    ada.goto(f"{url}/review/{draft[0]}")
    ada.get_by_role("button", name="Publish").click()
    ada.get_by_role("link", name="Published item").click()
    item = ada.url

    stranger.goto(item)
    stranger.get_by_role("link", name="Request a copy").click()
    look(stranger, sound)
    stranger.get_by_label("Your name").fill("Rui Reis")
    stranger.get_by_label("Your e-mail address").fill("rui@example.org")
    stranger.get_by_label("Purpose of the request").fill("Para um estudo.")
    stranger.get_by_role("button", name="Send").click()
    look(stranger, sound)

    dan.goto(f"{url}/requests")
    look(dan, sound_dan)
    dan.get_by_role("link", name="Rui Reis").click()
    look(dan, sound_dan)
    dan.get_by_role("button", name="Grant access").click()
    link = re.search(r"/request/files/\S+", dan.locator(".notice.good").inner_text())
    assert link is not None
    stranger.goto(url + link[0])
    look(stranger, sound)
    place = stranger.get_by_role("link", name="tese.txt").get_attribute("href")
    given = stranger.request.get(f"{url}{place}")
    assert (given.status, given.text()) == (200, "Palavras")
    dan.goto(f"{url}/requests/1")
    assert "1 file downloaded" in dan.locator("main").inner_text()
    dan.get_by_role("button", name="Revoke the link").click()
    assert stranger.request.get(f"{url}{place}").status == 404


def test_a_depositor_asks_for_a_deletion_and_a_librarian_declines_and_then_deletes(
    server: tuple[IbiCommand, str], opened: Opened, tmp_path: Path
) -> None:
    command, url = server
    ada, dan = (sign_in(command, url, opened(scripts=False), name) for name in ("ada", "dan"))
    sound_ada, sound_dan = (sign_in(command, url, opened(width=NARROW, dark=True), name) for name in ("ada", "dan"))
    token = command("token", "create", "--scope", "deposit", "--for", "dan").out.split()[0]
    (tmp_path / "tese.txt").write_text("Palavras")
    said = command("deposit", "tese.txt", "--server", url, "--token", token, "--title", "Uma tese")
    draft = re.search(r"draft-\w+", said.out)
    assert draft is not None, said.err
    ada.goto(f"{url}/review/{draft[0]}")
    ada.get_by_role("button", name="Publish").click()
    ada.get_by_role("link", name="Published item").click()
    item = ada.url
    label = item.partition("/col/")[2].removesuffix("/metadata")
    for answer in ("Decline", "Delete the item"):
        dan.goto(f"{url}/account/items/{label}/delete")
        look(dan, sound_dan)
        dan.get_by_label("Reason for the deletion").fill("Os dados estão errados.")
        dan.get_by_label("Yes, delete it permanently").check()
        dan.get_by_role("button", name="Ask for the deletion").click()
        look(dan, sound_dan)
        assert "The item is unchanged until then." in dan.locator(".notice").first.inner_text()
        ada.goto(f"{url}/review")
        look(ada, sound_ada)
        ada.get_by_role("link", name="Uma tese").click()
        look(ada, sound_ada)
        ada.get_by_label("Message to the depositor").fill("Ela é citada.")
        assert ada.request.get(item).status == 200
        if answer == "Delete the item":
            ada.get_by_role("button", name=answer).click()
            assert ada.request.get(item).status == 200, "nothing is deleted without a confirmation"
            ada.get_by_label("Yes, delete it permanently").check()
        ada.get_by_role("button", name=answer).click()
        dan.reload()
        look(dan, sound_dan)
    assert "The item was deleted." in dan.locator(".notice").first.inner_text()
    assert dan.request.get(item).status == 410
