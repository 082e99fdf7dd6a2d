"""How a site looks: colours that can be read, a logo, pages that the owner wrote; and what these cannot do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.web.appearance import Appearance, contrast, letters_on, read_document, style_sheet
from ibi.web.rendering import SiteFacts
from ibi.web.site_files import LARGEST, PageDirectory
from tests.support.asgi_client import Answer
from tests.support.one_port import OnePort
from tests.support.page_reader import Page, read_page

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
FACTS = SiteFacts("Biblioteca", "http://arq.lab.br", description="Theses of the laboratory.", contact="ask@lab.br")
BROWSER = {"accept": "text/html"}


class Files:
    """The port `SiteFiles` in memory."""

    def __init__(self, **files: str | bytes) -> None:
        self.held: Mapping[str, bytes] = {
            name.replace("__", ".").replace("_", "-"): text.encode() if isinstance(text, str) else text
            for name, text in files.items()
        }

    def files(self) -> Mapping[str, bytes]:
        return self.held


def site_with(now: list[float] | None = None, files: Files | None = None, **settings: str) -> OnePort:
    clock = now or [0.0]
    look = Appearance(files or Files(), monotonic=lambda: clock[0], **settings)
    return OnePort(facts=FACTS, appearance=look)


async def page_of(site: OnePort, path: str, language: str = "en") -> Page:
    answer = await site.get(path, {**BROWSER, "accept-language": language})
    assert answer.status == 200
    return read_page(answer.body)


# --- colours ----------------------------------------------------------------------------------------------------------

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)


@given(COLOURS)
def test_any_colour_gives_links_and_buttons_that_can_be_read_by_day_and_by_night(colour: str) -> None:
    day, night = style_sheet(colour, colour).splitlines()

    def value(text: str, name: str) -> str:
        found = re.search(rf"--{name}: (#[0-9a-f]{{6}});", text)
        assert found is not None
        return found[1]

    for text, papers in ((day, ("#ffffff", "#f3f0e8")), (night, ("#13181d", "#332a16"))):
        assert min(contrast(value(text, "link"), paper) for paper in papers) >= 4.5
        assert contrast(value(text, "on-accent"), value(text, "accent")) >= 4.5
    assert contrast(value(day, "on-header"), value(day, "header")) >= 4.5


def test_a_colour_that_can_be_read_stays_as_it_is() -> None:
    assert "--link: #0b4f57;" in style_sheet("#0b4f57", None)
    assert letters_on("#ffcc00") == "#000000"


async def test_colours_are_in_a_style_sheet_of_their_own() -> None:
    site = site_with(colour="#7a1f5c")
    link = (await page_of(site, "/explain")).all("link", rel="stylesheet")[1].attrib["href"]
    answer = await site.get(link)

    assert (answer.status, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in answer.headers["cache-control"]
    assert b"--accent: #7a1f5c" in answer.body


async def test_a_site_without_colours_has_no_second_style_sheet() -> None:
    assert len((await page_of(site_with(), "/explain")).all("link", rel="stylesheet")) == 1


# --- pages of the owner -----------------------------------------------------------------------------------------------


async def test_a_page_is_at_its_name_and_at_the_foot_of_all_others() -> None:
    site = site_with(files=Files(about__md="# About *us*\n\nWe keep theses.", privacy__md="# Privacy"))
    page = await page_of(site, "/about")

    assert (page.title, page.one("h1").text) == ("About us · Biblioteca", "About us")
    assert "We keep theses." in page.text
    foot = [(each.attrib["href"], "".join(each.itertext())) for each in page.one("footer").iter("a")]
    assert foot == [("/about", "About us"), ("/about/privacy", "Privacy"), ("mailto:ask@lab.br", "Contact")]
    assert (await page_of(site, "/about/privacy")).one("h1").text == "Privacy"


async def test_a_page_speaks_the_readers_language_if_it_can() -> None:
    site = site_with(files=Files(about__md="# About", about__pt_BR__md="# Sobre nós", contact__es__md="# Contacto"))

    assert (await page_of(site, "/about", "pt-BR")).one("h1").text == "Sobre nós"
    assert (await page_of(site, "/about", "es")).one("h1").text == "About"
    assert [each.text for each in (await page_of(site, "/about/contact", "en")).all("h1")] == ["Contacto"]


async def test_a_changed_page_is_shown_after_two_seconds() -> None:
    now, files = [0.0], Files(about__md="# Before")
    site = site_with(now, files)
    assert (await page_of(site, "/about")).one("h1").text == "Before"
    files.held = {"about.md": b"# After"}

    assert (await page_of(site, "/about")).one("h1").text == "Before"
    now[0] = 2.5
    assert (await page_of(site, "/about")).one("h1").text == "After"


@pytest.mark.parametrize(
    "path", ["/about/nothing", "/about/about", "/about/..%2Fibi.toml", "/about/.md", "/about/x.md"]
)
async def test_no_page_is_not_found(path: str) -> None:
    assert (await site_with(files=Files(about__md="# A", x__md="# X")).get(path, BROWSER)).status == 404


HOSTILE = """# T <script>alert(1)</script>

<img src=x onerror=alert(1)> <style>*{color:red}</style>

[js](javascript:alert(1)) [data](data:text/html,<script>) [vb](vbscript:x) [away](//evil.example/x)
![p](data:image/svg+xml;base64,AAAA) ![q](http://evil.example/a.png) [ok](https://lab.br) [next](privacy.md#top)

| a | b |
|---|--:|
| 1 | 2 |

# Another
"""


async def test_html_and_scripts_in_a_page_are_shown_and_never_run() -> None:
    page = await page_of(site_with(files=Files(about__md=HOSTILE)), "/about")  # the reader refuses what could act

    assert "<script>alert(1)</script>" in page.text
    assert "onerror=alert(1)" in page.text
    main = page.one("main")
    links = [each.attrib["href"] for each in main.iter("a")]
    assert "https://lab.br" in links
    assert "/about/privacy#top" in links
    assert not [each for each in links if each.startswith(("javascript", "data", "vbscript", "//"))]
    assert [each.text for each in main.iter("h1")] == ["T <script>alert(1)</script>"]
    assert not [each for each in main.iter() if "style" in each.attrib]


@given(st.text(alphabet=st.sampled_from("#*_[]()!<>`|-\\ \n\t:a1&\"'"), max_size=60))
def test_any_text_is_a_page(text: str) -> None:
    document = read_document(text, "name")

    assert document.title
    read_page(
        f'<!doctype html><html lang="en"><head><title>t</title></head><body>{document.body}</body></html>'.encode()
    )


# --- the logo ---------------------------------------------------------------------------------------------------------


async def test_the_logo_is_on_every_page_and_an_svg_runs_nothing() -> None:
    site = site_with(files=Files(logo__svg=SVG, logo__png=b"png"))
    page = await page_of(site, "/explain")
    place = page.one("img").attrib["src"]
    answer: Answer = await site.get(place)

    assert page.one("link", rel="icon").attrib["href"] == place
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "script-src" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in answer.headers["cache-control"]


async def test_the_site_says_what_it_is_to_search_engines() -> None:
    page = await page_of(site_with(files=Files(logo__png=b"png")), "/")
    said = {each.attrib["property"]: each.attrib["content"] for each in page.all("meta") if "property" in each.attrib}

    assert ("description", "Theses of the laboratory.") in page.meta
    assert said["og:title"] == said["og:site_name"] == "Biblioteca"
    assert said["og:url"] == "http://arq.lab.br/"
    assert said["og:image"].startswith("http://arq.lab.br/about/logo.png?v=")


# --- the folder -------------------------------------------------------------------------------------------------------


def test_only_plain_files_with_names_of_their_kind_are_taken(tmp_path: Path) -> None:
    folder, outside = tmp_path / "pages", tmp_path / "ibi.md"
    folder.mkdir()
    outside.write_text("secret")
    (folder / "about.md").write_text("# A")
    (folder / "link.md").symlink_to(outside)
    (folder / "large.md").write_bytes(b"x" * (LARGEST + 1))
    (folder / ".hidden.md").write_text("x")
    (folder / "run.html").write_text("x")
    (folder / "folder.md").mkdir()
    held = PageDirectory(tmp_path)

    assert dict(held.files()) == {"about.md": b"# A"}
    assert held.files() is held.files()
    (folder / "about.md").write_text("# Another")
    assert dict(held.files()) == {"about.md": b"# Another"}


def test_a_site_without_the_folder_has_no_pages(tmp_path: Path) -> None:
    assert dict(PageDirectory(tmp_path).files()) == {}
