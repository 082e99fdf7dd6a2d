"""A server with the demonstration in it, and a real browser that looks at it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.ibi_command import IbiCommand

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LANGUAGES = ("en", "pt-BR", "es")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        for item in items:
            if "tests/browser" in str(item.path):
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))


@dataclass(frozen=True)
class Site:
    """What runs, and what is in it: the labels of the demonstration by their names."""

    url: str
    enter: str
    """The link that signs in once."""
    labels: dict[str, str]
    command: IbiCommand

    def item(self, name: str) -> str:
        return f"{self.url}/col/{self.labels[name]}/metadata"

    def link(self, name: str, modifier: str = "") -> str:
        return f"{self.url}/{self.labels[name]}{modifier}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    command = IbiCommand(tmp_path_factory.mktemp("site"))
    with command.up("--demo") as (server, url):
        assert server.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = server.stdout.readline()
            assert line, said
            said += line
        enter = re.search(r"http://\S+/sign-in/\S+", said)
        assert enter, said
        labels = json.loads((command.data / "demo.json").read_text(encoding="utf-8"))
        yield Site(url, enter[0], labels, command)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """For one module at a time: while it is open, no other event loop may run in this thread."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


Opened = Callable[..., Page]


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Opened]:
    """Makes pages of browsers of their own: `opened(language=…, width=…, scripts=…)`. What a browser complains of on
    its console fails the test; that a page came with a status of 400 or more is no complaint."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def open_page(language: str = "en", width: int = 1280, *, scripts: bool = True, dark: bool = False) -> Page:
            context = chromium.new_context(
                locale=language,
                viewport={"width": width, "height": 900},
                java_script_enabled=scripts,
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
            )
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(10_000)
            page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            return page

        yield open_page
    assert [each for each in complaints if "the server responded with a status of" not in each] == []


@pytest.fixture
def picture() -> Callable[[Page, str], None]:
    """Keeps a picture of a page where `IBI_PICTURES` says: whole, or for a name that ends in `-top` what is seen first.
    Without it none are made."""
    folder = os.environ.get("IBI_PICTURES")

    def take(page: Page, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            if page.locator("iframe").count():
                page.locator("iframe").scroll_into_view_if_needed()
                page.wait_for_timeout(3000)  # a viewer of PDFs tells nobody when it is done
                page.evaluate("() => window.scrollTo(0, 0)")
            page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=not name.endswith("-top"))

    return take
