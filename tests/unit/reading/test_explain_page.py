"""Any label or link, taken apart."""

from __future__ import annotations

import ast
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibi
from ibi.reading.pages.explain_page import Fault, PartRole, anatomy
from ibi.standard.errors import InvalidInput
from ibi.standard.label import parse
from ibi.web.typed_links import parse_link
from ibi.web.words import FAULT_REASONS
from tests.support.archive_app import BASE, IBIP, REP, ArchiveApp, archive_app, kept
from tests.support.page_reader import Page, read_page

NAME = "sid.inpe.br/mtc-m18.8080/2009/02.16.17.46.05.5"
APP = archive_app(kept(REP, IBIP))


async def explained(text: str, app: ArchiveApp = APP, **headers: str) -> Page:
    answer = await app.get(f"/explain?q={quote(text)}", {k.replace("_", "-"): v for k, v in headers.items()})
    assert answer.status == 200
    return read_page(answer.body)


# --- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        (
            NAME,
            ["sid.inpe.br|who", "/|sign", "mtc-m18|who", ".|sign", "8080|port", "/|sign", "2009/02.16.17.46.05.5|when"],
        ),
        (
            "Sid.Inpe.BR/mtc-m18@80/2009/02.16.17.46",
            ["Sid.Inpe.BR|who", "/|sign", "mtc-m18|who", "@|sign", "80|port", "/|sign", "2009/02.16.17.46|when"],
        ),
        ("8JMKD3MGP8W/34PGRBS", ["8JMKD3MGP8|who", "W|sign", "/|sign", "34PGRBS|when"]),
        ("LK47B6WE38/34PGRBSW4", ["LK47B6|who", "W|sign", "E38|port", "/|sign", "34PGRBSW4|when"]),
    ],
)
def test_a_label_is_cut_into_its_parts(label: str, parts: list[str]) -> None:
    assert [f"{part.text}|{part.role.value}" for part in anatomy(parse(label)).parts] == parts


@given(st.sampled_from([NAME, "8JMKD3MGP8W/34PGRBS", "J8LNKB5R7W/3FUQHC5", REP, IBIP.lower()]))
def test_all_parts_together_are_the_label(text: str) -> None:
    taken = anatomy(parse(text))

    assert "".join(part.text for part in taken.parts) == text
    assert {PartRole.WHO, PartRole.WHEN} <= {part.role for part in taken.parts}


async def test_who_where_and_when() -> None:
    page = await explained(NAME)

    assert "mtc-m18.sid.inpe.br" in page.text
    assert "8080" in page.text
    assert "2009-02-16T17:46:05.5Z" in page.text
    assert f"{BASE}/{NAME}" in page.links
    parts = [each for each in page.root.iter("ol") if each.get("class") == "anatomy"]
    assert [each.get("aria-label") for each in parts] == [NAME]


async def test_the_address_of_an_ibip_is_decoded() -> None:
    page = await explained("8JMKD3MGP8W/34PGRBS")

    assert "150.163.34.243, an IP address" in page.text
    assert "800 (the default, which is not written)" in page.text


async def test_of_what_is_here_both_forms_are_known() -> None:
    page = await explained(REP)

    assert f"/explain?q={IBIP}" in page.links
    assert f"{BASE}/col/{REP}/metadata" in page.links


async def test_a_label_that_others_may_have_is_told() -> None:
    assert "others may have minted the same label" in (await explained("example.org/www/2020/01.01.00.00")).text


async def test_the_wishes_of_a_link_are_told_one_by_one() -> None:
    page = await explained(f"http://urlib.net/{NAME}!+(pt):(oai_dc)?ibiurl.requireditemstatus=Original&x=1")

    (wishes,) = page.all("ol", class_="wishes")
    assert [" ".join("".join(each.itertext()).split()) for each in wishes] == [
        "! its last edition",
        "+(pt) its translation into Portuguese",
        ":(oai_dc) its metadata in the format oai_dc",
        "Original the Original, not a Copy",
        "? with this query passed on to the item x=1",
    ]


async def test_each_part_has_one_caption_and_the_wishes_share_theirs() -> None:
    (example,) = {link for link in (await explained("")).links if link.startswith("/explain?q=sid.inpe.br/")}
    page = read_page((await APP.get(example)).body)

    (parts,) = page.all("ol", class_="anatomy")
    captions = [" ".join("".join(each.itertext()).split()) for each in parts]
    assert captions == ["sid.inpe.brwho", "/", "mtc-m18who", "/", "2009/02.16.17.46when", "!:what"]


async def test_nothing_to_explain_is_no_error() -> None:
    assert "Any identifier or link" in (await explained("")).text


async def test_no_search_engine_keeps_it() -> None:
    assert (await APP.get(f"/explain?q={IBIP}")).headers["x-robots-tag"] == "noindex"


# --- what is wrong ---------------------------------------------------------------------------------------------------


async def test_what_is_wrong_is_marked_where_it_is() -> None:
    page = await explained("sid.inpe.br/mtc-m18/2009/02.31.17.46")

    assert (page.one("mark").text, page.one("input", name="q").get("aria-invalid")) == ("3", "true")
    assert "31 February does not exist" in page.text


@pytest.mark.parametrize(
    ("language", "words"), [("pt-BR", "31 de fevereiro não existe"), ("es", "el 31 de febrero no existe")]
)
async def test_what_is_wrong_is_told_in_the_readers_language(language: str, words: str) -> None:
    page = await explained("sid.inpe.br/mtc-m18/2009/02.31.17.46", accept_language=language)

    assert words in page.text


async def test_punctuation_behind_a_link_is_seen_through() -> None:
    assert f"/explain?q={IBIP}" in (await explained(f"http://urlib.net/{IBIP}.")).links


def test_a_long_text_is_shown_around_its_fault() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_link(f"http://x.example/{'a' * 4000}é")

    fault = Fault.of(caught.value)

    assert len(fault.before) + len(fault.after) < 200


@given(st.text(max_size=60) | st.sampled_from([NAME, IBIP]).flatmap(lambda base: st.text(max_size=9).map(base.__add__)))
async def test_any_text_gives_a_page(text: str) -> None:
    await explained(text.encode("utf-8", "replace").decode())


# --- words for what can be wrong -------------------------------------------------------------------------------------


GIVERS = {"InvalidLabel", "target.refusal", "target.refused_pair"}


def reasons(*modules: str) -> set[str]:
    """The reasons that are handed to errors of these modules: the texts with a blank in them."""
    root = Path(ibi.__file__).parent
    found: set[str] = set()
    for module in modules:
        tree = ast.parse((root / module).read_text(encoding="utf-8"))
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        named = (call for call in calls if ast.unparse(call.func) in GIVERS)
        values = (each.value for call in named for each in call.args if isinstance(each, ast.Constant))
        found |= {value for value in values if isinstance(value, str) and " " in value}
    return found


def test_every_reason_against_a_label_is_there_to_be_translated() -> None:
    assert reasons("standard/label/diagnosis.py", "standard/persistent_url.py") <= set(FAULT_REASONS)
