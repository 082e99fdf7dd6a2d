"""`/col/<rep>/metadata`: a page, JSON, Dublin Core."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.model.description_values import Alternate
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Licence, Orcid, ResourceType, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.networks import network
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, RESOLVER, archive_app, deleted, kept
from tests.support.page_reader import read_page
from tests.support.standards_archives import forms

PAGE = f"/col/{REP}/metadata"
BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
HOSTILE = "</title><script>alert(1)</script>\" onload='x' &amp; ]]> \u202e\r\nSet-Cookie: a=b"
DC = "{http://purl.org/dc/elements/1.1/}"
DESCRIBED = DescriptiveMetadata(
    title=(Text("Relatório", LanguageTag("pt")), Text("Report <1> & more", LanguageTag("en"))),
    creator=(Agent("Ávila, Ana", Orcid("0000-0002-1825-0097")),),
    licence=Licence("CC-BY-4.0"),
    resource_type=ResourceType.TEXT,
)


async def written(path: str = PAGE, headers: dict[str, str] | None = None, **others: Any) -> tuple[str, str]:
    answer = await archive_app(kept(REP, IBIP, **others), resolver=RESOLVER).get(path, headers or {})
    assert answer.status == 200
    return answer.headers["content-type"], answer.body.decode()


@pytest.mark.parametrize(
    ("path", "accept", "media"),
    [
        (PAGE, None, "text/html; charset=utf-8"),
        (PAGE, BROWSER["accept"], "text/html; charset=utf-8"),
        (PAGE, "*/*", "text/html; charset=utf-8"),
        (PAGE, "image/png", "text/html; charset=utf-8"),
        (PAGE, "application/json", "application/json"),
        (PAGE, "application/xml", "application/xml"),
        (PAGE, "text/xml", "application/xml"),
        (f"{PAGE}?format=json", "text/html", "application/json"),
        (f"{PAGE}?format=JSON", None, "application/json"),
        (f"{PAGE}?format=html", "application/json", "text/html; charset=utf-8"),
        (f"{PAGE}?format=oai_dc", None, "application/xml"),
    ],
)
async def test_the_reader_chooses_the_form(path: str, accept: str | None, media: str) -> None:
    assert (await written(path, {} if accept is None else {"accept": accept}))[0] == media


async def test_an_unknown_format_is_told_the_known_ones() -> None:
    answer = await archive_app(kept(REP)).get(f"{PAGE}?format=BibTeX%0D%0A")
    assert (answer.status, answer.json()["field"]) == (404, "format")
    assert "oai_dc" in answer.json()["detail"]


async def test_the_page_tells_what_there_is() -> None:
    _, page = await written(metadata=DESCRIBED, next_edition=forms(OTHER))
    for words in (
        "<title>Relatório · ibi</title>",
        "Report &lt;1&gt; &amp; more",
        "Ávila, Ana",
        'href="https://orcid.org/0000-0002-1825-0097"',
        'href="https://spdx.org/licenses/CC-BY-4.0"',
        f'href="{RESOLVER}/{IBIP}"',
        f'href="{RESOLVER}/{OTHER}"',
        f'href="{BASE}/col/{REP}/doc/a.txt"',
        f'href="{BASE}{PAGE}?format=oai_dc"',
    ):
        assert words in page


async def test_the_page_says_who_may_see_the_content() -> None:
    assert "certain networks" in (await written(visibility=Visibility((network("10.0.0.0/8"),))))[1]
    embargo = Visibility(embargo=Instant(NOW.seconds + 86400))
    page = (await written(visibility=embargo))[1]
    assert "Under embargo." in page
    assert '<time datetime="2026-11-21T10:00:00Z">November 21, 2026</time>' in page


async def test_a_page_can_do_nothing_but_what_is_ours() -> None:
    answer = await archive_app(kept(REP)).get(PAGE)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert {"Accept", "Accept-Language", "Cookie"} == set(answer.headers["vary"].split(", "))
    read_page(answer.body)


async def test_files_that_may_not_be_listed_are_not() -> None:
    hidden = Visibility(listing=False)
    for path in (PAGE, f"{PAGE}?format=json"):
        named = {"secret.txt": ("text/plain", b"x")}
        assert "secret" not in (await written(path, visibility=hidden, files=named, target=None))[1]


# --- hostile words ---------------------------------------------------------------------------------------------------


def everywhere(words: str) -> dict[str, Any]:
    texts = (Text(words),)
    described = DescriptiveMetadata(
        title=texts, creator=(Agent(words),), relation=texts, identifier=texts, description=texts
    )
    return {"metadata": described}


async def test_strangers_words_stay_words() -> None:
    files = {"<img src=x onerror=alert(1)>": ("text/plain", b"x")}
    answer = await archive_app(kept(REP, files=files, **everywhere(HOSTILE))).get(PAGE)
    assert HOSTILE.split()[0] in read_page(answer.body).text
    assert "set-cookie" not in answer.headers
    tombstone = await archive_app(deleted(REP, why=HOSTILE, **everywhere(HOSTILE))).get(PAGE, BROWSER)
    assert HOSTILE.split()[0] in read_page(tombstone.body).text


WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\x7f\ufffe\uffff").filter(
        lambda sign: sign >= " " or sign in "\t\n\r"
    ),
    min_size=1,
    max_size=60,
).filter(str.strip)


@given(WORDS | st.sampled_from(["javascript:alert(1)", "<!--", "]]>", "&#60;script&#62;", "\x00".replace("\x00", "x")]))
async def test_any_words_give_a_harmless_page_and_valid_xml(words: str) -> None:
    app = archive_app(kept(REP, **everywhere(words)))
    read_page((await app.get(PAGE)).body)
    root = ElementTree.fromstring((await app.get(f"{PAGE}?format=oai_dc")).body)
    said = [(each.text or "").replace("\n", " ") for each in root.findall(f"{DC}title")]
    # XML makes one line feed of every line end.
    assert said == [re.sub("\r\n|\r|\n", " ", words)]


# --- Dublin Core -----------------------------------------------------------------------------------------------------


async def test_dublin_core() -> None:
    _, document = await written(f"{PAGE}?format=oai_dc", metadata=DESCRIBED, language=LanguageTag("pt"))
    root = ElementTree.fromstring(document)
    assert root.tag == "{http://www.openarchives.org/OAI/2.0/oai_dc/}dc"
    (schema,) = [value for name, value in root.attrib.items() if name.endswith("schemaLocation")]
    assert schema.split()[0] == "http://www.openarchives.org/OAI/2.0/oai_dc/"
    elements = [(each.tag.removeprefix(DC), each.text) for each in root]
    assert ("title", "Report <1> & more") in elements
    assert ("identifier", f"{RESOLVER}/{IBIP}") in elements
    assert ("identifier", f"ibi:{REP}") in elements
    assert ("language", "pt") in elements
    assert ("type", "Text") in elements
    assert ("rights", "https://spdx.org/licenses/CC-BY-4.0") in elements
    (english,) = [each for each in root if each.text == "Report <1> & more"]
    assert english.get("{http://www.w3.org/XML/1998/namespace}lang") == "en"


# --- what is left of an item -----------------------------------------------------------------------------------------


async def test_a_tombstone() -> None:
    app = archive_app(deleted(REP, IBIP, why="asked for by its author", replaced_by=forms(OTHER)), resolver=RESOLVER)
    page = await app.get(PAGE, BROWSER)
    assert page.status == 410
    assert "asked for by its author" in page.body.decode()
    assert f'href="{RESOLVER}/{OTHER}"' in page.body.decode()
    record = await app.get(f"{PAGE}?format=json")
    assert (record.status, record.json()["tombstone"]["why"]) == (410, "asked for by its author")
    assert (await app.get(f"{PAGE}?format=oai_dc")).status == 410


async def test_a_head_has_no_body() -> None:
    answer = await archive_app(kept(REP)).get(PAGE, method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) > 100


async def test_dublin_core_has_the_other_names_of_an_item() -> None:
    names = (
        Alternate("ibi", "83LX3pFwXQZ5Jpy/Bkjzd"),
        Alternate("doi", "10.1000/182<"),
        Alternate("ark", "12148/btv1b8449691v"),
        Alternate("hdl", "20.1000/100"),
        Alternate("url", "https://old.example.org/x?a=1&b=2"),
        Alternate("isbn", "9780262033848"),
    )
    _, text = await written(f"{PAGE}?format=oai_dc", alternates=names)
    found = [each.text for each in ElementTree.fromstring(text).iter(f"{DC}identifier")]
    assert found[-6:] == [
        "ibi:83LX3pFwXQZ5Jpy/Bkjzd",
        "https://doi.org/10.1000/182%3C",
        "https://n2t.net/ark:/12148/btv1b8449691v",
        "https://hdl.handle.net/20.1000/100",
        "https://old.example.org/x?a=1&b=2",
        "isbn:9780262033848",
    ]
