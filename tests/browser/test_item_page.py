"""The page of an item in a real browser: citations without scripts, and files of strangers that try to act."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Dialog

from tests.browser.conftest import Opened, Site

ALERT = "<script>alert(1)</script>"
HOSTILE = {
    "a.svg": f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="alert(1)">{ALERT}</svg>',
    "a.md": f"# Title\n\n{ALERT} <img src=x onerror=alert(1)> [x](javascript:alert(1)) ![x](http://192.0.2.1/t.png)",
    "a.csv": f"name,value\n{ALERT},=cmd()\n",
    "a.html": f"<h1>Hello</h1>{ALERT}",
    "a.txt": ALERT,
}


@pytest.fixture(scope="module")
def hostile(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of an item whose files all try to run something."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, content in HOSTILE.items():
        (folder / name).write_text(content, encoding="utf-8")
    with ZipFile(folder / "a.zip", "w") as packed:
        packed.writestr("../evil.sh", ALERT)
    said = site.command("deposit", str(folder), "--title", ALERT, "--creator", "Avila, Ana", "--target", "a.md")
    assert said.code == 0, said
    found = re.search(r"/col/(\S+?)/doc/", said.out)
    assert found, said
    return f"{site.url}/col/{found[1]}"


@pytest.mark.parametrize("place", ["/metadata", *(f"/preview/{name}" for name in (*HOSTILE, "a.zip"))])
def test_no_file_of_a_stranger_runs_or_loads_anything(place: str, hostile: str, opened: Opened) -> None:
    page = opened()
    ran: list[str] = []
    asked: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        ran.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto(f"{hostile}{place}", wait_until="load")
    assert answer is not None
    assert answer.status == 200
    assert ran == []
    assert not [url for url in asked if "192.0.2.1" in url]


def test_a_drawing_is_shown_as_a_picture(hostile: str, opened: Opened) -> None:
    page = opened()
    page.goto(f"{hostile}/preview/a.svg")
    picture = page.locator("figure.look img")
    picture.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('figure.look img').complete")
    assert picture.evaluate("image => image.naturalWidth") == 9


def test_a_style_is_chosen_without_scripts(site: Site, opened: Opened) -> None:
    page = opened(scripts=False)
    page.goto(site.item("thesis, first edition"))
    page.get_by_label("Style").select_option("vancouver")
    page.get_by_role("button", name="Show").click()
    assert page.url.endswith("?style=vancouver#cite")
    assert "[Internet]" in page.locator("p.cited").inner_text()


def test_all_files_are_saved_at_once(site: Site, opened: Opened, tmp_path: Path) -> None:
    page = opened(scripts=False)
    page.goto(site.item("rainfall"))
    with page.expect_download() as coming:
        page.get_by_role("link", name="Download all (ZIP)").click()
    saved = tmp_path / "all.zip"
    coming.value.save_as(saved)
    with ZipFile(saved) as opened_zip:
        assert opened_zip.testzip() is None
        assert len(opened_zip.namelist()) > 1


def test_the_link_of_a_deleted_item_shows_its_tombstone(site: Site, opened: Opened) -> None:
    page = opened()
    answer = page.goto(site.link("withdrawn tables"))
    assert answer is not None
    assert answer.status == 410
    assert page.locator("article.tombstone").count() == 1
