"""The page of an item: what it says, to whom, and in which language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from ibi.citation import service as citation_styles
from ibi.items.model.description_values import Affiliation, Ror
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Licence, Orcid, ResourceType, Text
from ibi.items.model.visibility import Visibility
from ibi.reading.pages.item_page import MOST_FILES
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State
from ibi.standard.networks import network
from ibi.standard.safe_text import close_directions
from ibi.usage.model import UsageDay, UsageKind
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, RESOLVER, ArchiveApp, archive_app, deleted, kept
from tests.support.page_reader import Page, read_page
from tests.support.standards_archives import forms

PAGE = f"/col/{REP}/metadata"
THIRD = "lab.br/arq/2021/05.06.07.08"
ENGLISH, PORTUGUESE = LanguageTag("en"), LanguageTag("pt", "BR")
THESIS = DescriptiveMetadata(
    title=(Text("On lattices", ENGLISH), Text("Sobre reticulados", PORTUGUESE)),
    creator=(Agent("Banon, Gerald", Orcid("0000-0002-1825-0097")), Agent("Barrera, Junior")),
    description=(Text("A thesis.", ENGLISH),),
    subject=(Text("morphology"),),
    date=(Text("2009"),),
    relation=(Text("https://example.org/data"), Text("javascript:alert(1)")),
    licence=Licence("CC-BY-4.0"),
    resource_type=ResourceType.TEXT,
)
PDF = {"thesis.pdf": ("application/pdf", b"%PDF-1.4")}


async def shown(*items: Any, path: str = PAGE, headers: dict[str, str] | None = None, **options: Any) -> Page:
    return read_page((await archive_app(*items, **options).get(path, headers or {})).body)


async def test_title_creators_and_description() -> None:
    page = await shown(kept(REP, IBIP, metadata=THESIS, language=ENGLISH))

    assert page.title == "On lattices · ibi"
    heading = page.one("h1")
    assert (heading.text, heading.get("lang")) == ("On lattices", "en")
    assert "Sobre reticulados" in page.text
    assert "https://orcid.org/0000-0002-1825-0097" in page.links
    assert "Banon, Gerald" in page.text
    assert "morphology" in page.text
    assert "https://spdx.org/licenses/CC-BY-4.0" in page.links


@pytest.mark.parametrize("rest", ["metadata", "metadata?style=apa", "versions"])
async def test_a_slash_too_much_leads_to_the_page(rest: str) -> None:
    path, mark, query = rest.partition("?")
    answer = await archive_app(kept(REP, metadata=THESIS)).get(f"/col/{REP}/{path}/{mark}{query}")

    assert (answer.status, answer.headers["location"]) == (308, f"/col/{REP}/{rest}")


async def test_institutions_of_creators_stand_beside_their_names() -> None:
    works_for = (Affiliation("Instituto Nacional de Pesquisas Espaciais", Ror("04xbn6x09")), Affiliation("USP"))
    described = replace(THESIS, creator=(Agent("Banon, Gerald", affiliations=works_for),))
    page = await shown(kept(REP, metadata=described))

    assert "Instituto Nacional de Pesquisas Espaciais; USP" in page.text
    assert "https://ror.org/04xbn6x09" in page.links


async def test_the_type_is_told_in_the_language_of_the_page() -> None:
    described = replace(THESIS, type=(Text("journal article"), Text("a tale")))
    page = await shown(kept(REP, metadata=described), headers={"accept-language": "pt-BR"})

    assert "artigo de periódico" in page.text
    assert "journal article" not in page.text
    assert "a tale" in page.text


async def test_of_very_many_values_some_are_shown() -> None:
    """Whoever describes an item must not decide how long others wait for its page."""
    many = tuple(Text(f"word {number}") for number in range(2000))
    agents = tuple(Agent(f"Agent {number}") for number in range(2000))
    described = replace(THESIS, title=many, creator=agents, contributor=agents, subject=many, description=many)
    answer = await archive_app(kept(REP, metadata=described)).get(PAGE)

    page = read_page(answer.body)
    assert "word 99" in page.text
    assert "(2,000)" in page.text
    assert len(answer.body) < 150_000
    assert len((await archive_app(kept(REP, metadata=described)).get(f"{PAGE}?format=oai_dc")).body) > 300_000


async def test_names_of_files_do_not_make_the_header_too_long_for_a_proxy() -> None:
    files = {f"{'é' * 100}{number}.txt": ("text/plain", b"x") for number in range(30)}
    answer = await archive_app(kept(REP, metadata=THESIS, files=files)).get(PAGE, {"accept": "text/html"})

    link = answer.headers["link"]
    assert all(re.fullmatch(r'<[!-~]+>; rel="[a-z-]+"(?:; type="[!-~]+")?', each) for each in link.split(", "))
    assert 'rel="license"' in link
    assert 'rel="item"' in link
    assert sum(len(name) + len(value) + 4 for name, value in answer.headers.items()) < 4000


async def test_only_links_of_the_web_are_links() -> None:
    page = await shown(kept(REP, metadata=THESIS))

    assert "https://example.org/data" in page.links
    assert "javascript:alert(1)" in page.text
    assert not [link for link in page.links if link.startswith("javascript")]


async def test_the_page_says_how_to_cite_the_item() -> None:
    item = kept(REP, IBIP, metadata=THESIS, language=ENGLISH)
    page = await shown(item, resolver=RESOLVER)
    abnt = await shown(item, resolver=RESOLVER, path=f"{PAGE}?style=abnt")

    assert "BANON, Gerald" in abnt.text
    assert f"Disponível em: {RESOLVER}/{IBIP}. Acesso em: 20 nov. 2026." in abnt.text
    assert "Banon, G." in page.text  # APA
    for name in ("bibtex", "ris", "csl"):
        assert f"{BASE}{PAGE}?format={name}" in page.links


@pytest.mark.parametrize(
    ("style", "beginning"),
    [
        ("chicago", "Banon, Gerald, and Junior Barrera. 2009. “On Lattices”"),
        ("harvard", "Banon, G. and Barrera, J. (2009) “On lattices”"),
        ("ieee", "G. Banon and J. Barrera, “On lattices”"),
        ("iso690", "BANON, Gerald and BARRERA, Junior, 2009. On lattices"),
        ("mla", "Banon, Gerald, and Junior Barrera. “On Lattices”"),
        ("vancouver", "Banon G, Barrera J. On lattices"),
    ],
)
async def test_a_style_is_chosen_by_its_name_without_a_script(style: str, beginning: str) -> None:
    page = await shown(kept(REP, IBIP, metadata=THESIS), path=f"{PAGE}?style={style}", resolver=RESOLVER)

    cited = page.text.partition("How to cite")[2].partition("For reference managers")[0]
    assert beginning in cited
    assert f"{RESOLVER}/{IBIP}" in cited
    (chosen,) = [each for each in page.all("option") if "selected" in each.attrib]
    assert chosen.attrib["value"] == style


@pytest.mark.parametrize(
    ("style", "named"),
    [("chicago", "With Bruna Souza and INPE"), ("mla", "With Bruna Souza and INPE"), ("ieee", "A. Silva")],
)
async def test_contributors_are_cited_as_names_where_a_style_has_them(style: str, named: str) -> None:
    metadata = DescriptiveMetadata(
        title=(Text("D"),),
        creator=(Agent("Silva, Ana"),),
        contributor=(Agent("Souza, Bruna"), Agent("INPE")),
        publisher=(Text("P"),),
    )
    page = await shown(kept(REP, IBIP, metadata=metadata), path=f"{PAGE}?style={style}")

    assert named.lower() in page.text.partition("How to cite")[2].lower()


async def test_a_citation_that_fails_is_one_of_ours_and_is_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(citation_styles, "_write", fail)
    monkeypatch.setattr(citation_styles, "_failures", set())
    with capture_logs() as logs:
        for _ in range(2):
            page = await shown(kept(REP, IBIP, metadata=THESIS), path=f"{PAGE}?style=chicago")
            assert "(2009)" in page.text.partition("How to cite")[2]
    assert [each["style"] for each in logs if each["event"] == "citation failed"] == ["chicago"]


async def test_an_unknown_style_is_the_usual_one() -> None:
    assert "(2009)" in (await shown(kept(REP, IBIP, metadata=THESIS), path=f"{PAGE}?style=../../x")).text


async def test_a_title_with_elements_is_cited_as_letters() -> None:
    hostile = replace(THESIS, title=(Text("<script>alert(1)</script> <i>x</i>"),))
    for style in ("apa", "ieee", "chicago"):
        page = await shown(kept(REP, IBIP, metadata=hostile), path=f"{PAGE}?style={style}")
        assert "<script>alert(1)</script>" in page.text.lower().partition("how to cite")[2]


@pytest.mark.parametrize(
    ("name", "media", "beginning"),
    [
        ("bibtex", "application/x-bibtex", b"@"),
        ("ris", "application/x-research-info-systems", b"TY  - "),
        ("csl", "application/vnd.citationstyles.csl+json", b"[{"),
    ],
)
async def test_programs_for_references_get_what_they_read(name: str, media: str, beginning: bytes) -> None:
    app = archive_app(kept(REP, IBIP, metadata=THESIS))

    named = await app.get(f"{PAGE}?format={name}")
    wanted = await app.get(PAGE, {"accept": media})

    assert named.headers["content-type"].partition(";")[0] == media
    assert named.body.startswith(beginning)
    assert b"On lattices" in named.body
    assert wanted.body == named.body
    assert wanted.headers["vary"] == "Accept"


async def test_search_engines_are_told() -> None:
    page = await shown(kept(REP, IBIP, metadata=THESIS, files=PDF))

    assert ("citation_title", "On lattices") in page.meta
    assert ("citation_author", "Banon, Gerald") in page.meta
    assert ("citation_pdf_url", f"{BASE}/col/{REP}/doc/thesis.pdf") in page.meta
    assert page.linked_data["@id"] == f"{BASE}/{IBIP}"
    alternates = {each.get("type") for each in page.all("link", rel="alternate")}
    assert {"application/json", "application/xml", "application/x-bibtex"} <= alternates


async def test_search_engines_are_not_sent_to_what_is_not_for_every_reader() -> None:
    page = await shown(kept(REP, files=PDF, visibility=Visibility((network("10.0.0.0/8"),))))

    assert not [name for name, _ in page.meta if name == "citation_pdf_url"]


# --- files -----------------------------------------------------------------------------------------------------------


async def test_files_have_sizes_and_digests() -> None:
    item = kept(REP, files={"a b.bin": ("application/octet-stream", b"x" * 2_500)})
    page = await shown(item)

    assert f"{BASE}/col/{REP}/doc/a%20b.bin" in page.links
    assert "2.5 kB" in page.text
    assert item[0].files[0].sha512 in page.text


async def test_a_long_list_of_files_is_told_in_part() -> None:
    files = {f"{number:03}.txt": ("text/plain", b"x") for number in range(MOST_FILES + 3)}
    page = await shown(kept(REP, files=files))

    assert f"{BASE}/col/{REP}/doc/?list" in page.links
    assert f"All {MOST_FILES + 3} files" in page.text
    assert f"{MOST_FILES + 1:03}.txt" not in page.text


@pytest.mark.parametrize("path", [f"/col/{REP}/metadata", f"/col/{REP}/doc/?list", "/search", "/nothing"])
async def test_no_cache_keeps_a_page_for_others(path: str) -> None:
    """Who is signed in, and what proves it, stands on every page."""
    answer = await archive_app(kept(REP)).get(path, {"accept": "text/html"})
    assert {"private", "no-store"} & set(answer.headers["cache-control"].split(", "))
    assert "Cookie" in answer.headers["vary"]


async def test_the_list_of_files_is_paged() -> None:
    files = {f"{number:04}.txt": ("text/plain", b"x") for number in range(501)}
    app = archive_app(kept(REP, files=files))

    first = read_page((await app.get(f"/col/{REP}/doc/?list")).body)
    second = read_page((await app.get(f"/col/{REP}/doc/?list&page=2")).body)

    assert "0499.txt" in first.text
    assert "0500.txt" not in first.text
    assert "?list&page=2" in first.links
    assert "0500.txt" in second.text
    for nonsense in ("0", "-1", "x", "9" * 50, "³"):
        assert (await app.get(f"/col/{REP}/doc/?list&page={nonsense.encode().hex()}")).status == 200


async def test_the_beginning_of_a_text_is_shown_as_letters() -> None:
    text = "<script>alert(1)</script> árvore\n" + "x" * 5_000
    page = await shown(kept(REP, files={"a.txt": ("text/plain", text.encode())}))

    look = page.one("pre", class_="look")
    assert (look.text or "").startswith("<script>alert(1)</script> árvore")
    assert len(look.text or "") < 1_100


async def test_a_picture_is_looked_at_without_being_counted_as_a_download() -> None:
    app = archive_app(kept(REP, files={"a.png": ("image/png", b"\x89PNG")}))

    page = read_page((await app.get(PAGE)).body)
    address = next(each.attrib["src"] for each in page.all("img") if "/col/" in each.attrib["src"])
    looked_at = await app.get(address.removeprefix(BASE))

    assert looked_at.body == b"\x89PNG"
    assert app.usage.days(app.catalog.find(forms(REP).labels[0]).rep) == ()  # type: ignore[union-attr]
    await app.get(address.removeprefix(BASE).partition("?")[0])
    assert len(app.usage.days(app.catalog.find(forms(REP).labels[0]).rep)) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("media", ["text/html", "application/xhtml+xml", "application/octet-stream"])
async def test_what_could_act_or_is_large_is_not_shown(media: str) -> None:
    page = await shown(kept(REP, files={"a": (media, b"<svg onload='x'/>")}))

    assert not page.all("pre", class_="look")
    assert not [each for each in page.all("img") if "/col/" in each.attrib["src"]]


# --- who may see what ------------------------------------------------------------------------------------------------


async def test_an_embargo_is_told_with_its_end_and_hides_the_content() -> None:
    page = await shown(kept(REP, visibility=Visibility(embargo=Instant(NOW.seconds + 86_400))))

    assert "Under embargo. The files will be open from November 21, 2026." in page.text
    assert not page.all("pre", class_="look")
    assert f"{BASE}/col/{REP}/doc/a.txt" not in page.links


async def test_a_restriction_is_told_differently_to_those_inside() -> None:
    item = kept(REP, visibility=Visibility((network("10.0.0.0/8"),)))

    outside = read_page((await archive_app(item).get(PAGE)).body)
    inside = read_page((await archive_app(item).get(PAGE, client="10.1.2.3")).body)

    assert "yours is not one of them" in outside.text
    assert not outside.all("pre", class_="look")
    assert "yours is one of them" in inside.text
    assert inside.all("pre", class_="look")


async def test_a_copy_says_so() -> None:
    assert "The Original is kept by another Archive" in (await shown(kept(REP, state=State.COPY))).text


# --- relatives -------------------------------------------------------------------------------------------------------


def line() -> ArchiveApp:
    return archive_app(
        kept(REP, IBIP, metadata=THESIS, next_edition=forms(OTHER)),
        kept(OTHER, edition_of=forms(REP), next_edition=forms(THIRD)),
        kept(THIRD, edition_of=forms(OTHER)),
    )


async def test_the_first_edition_points_to_the_last() -> None:
    page = read_page((await line().get(PAGE)).body)

    (banner,) = page.all("div", class_="notice newer")
    assert "There is a newer edition." in "".join(banner.itertext())
    assert [each.attrib["href"] for each in banner.iter("a")] == [f"{BASE}/col/{THIRD}/metadata"]


async def test_editions_are_a_line_in_which_the_item_has_its_place() -> None:
    page = read_page((await line().get(f"/col/{OTHER}/metadata")).body)

    editions = page.one("ol", class_="timeline")
    assert [each.get("aria-current") for each in editions] == [None, "true", None]
    assert [each.attrib["href"] for each in editions.iter("a")] == [
        f"{BASE}/col/{THIRD}/metadata",
        f"{BASE}/col/{REP}/metadata",
    ]


async def test_the_last_edition_has_no_banner() -> None:
    assert not read_page((await line().get(f"/col/{THIRD}/metadata")).body).all("div", class_="notice newer")


async def test_an_edition_elsewhere_is_linked_by_its_identifier() -> None:
    page = await shown(kept(REP, next_edition=forms(OTHER)), resolver=RESOLVER)

    (banner,) = page.all("div", class_="notice newer")
    assert [each.attrib["href"] for each in banner.iter("a")] == [f"{RESOLVER}/{OTHER}"]
    assert "in another Archive" in page.text


async def test_a_deleted_successor_is_no_news() -> None:
    page = await shown(kept(REP, next_edition=forms(OTHER)), deleted(OTHER))

    assert not page.all("div", class_="notice newer")
    assert "Deleted" in page.text


async def test_editions_that_lead_in_a_circle_end() -> None:
    first = kept(REP, edition_of=forms(THIRD), next_edition=forms(OTHER))
    second = kept(OTHER, edition_of=forms(REP), next_edition=forms(THIRD))
    third = kept(THIRD, edition_of=forms(OTHER), next_edition=forms(REP))

    assert "Editions" in (await shown(first, second, third)).text


async def test_translations_are_named_by_their_languages() -> None:
    source = kept(REP, metadata=THESIS, language=ENGLISH)
    translated = kept(OTHER, language=PORTUGUESE, translation_of=forms(REP))

    page = await shown(source, translated)

    assert "Portuguese (Brazil)" in page.text
    assert f"{BASE}/col/{OTHER}/metadata" in page.links
    assert f"{BASE}/{REP}+(pt-BR)" in page.links


ABOUT, ABOUT_PT = "lab.br/arq/2022/05.06.07.08", "lab.br/arq/2022/05.06.07.09"


def described() -> ArchiveApp:
    """A thesis, its metadata, and a translation of the metadata."""
    return archive_app(
        kept(REP, metadata=THESIS, metadata_item=forms(ABOUT)),
        kept(ABOUT, language=ENGLISH, describes=forms(REP), translations=((PORTUGUESE, forms(ABOUT_PT)),)),
        kept(ABOUT_PT, language=PORTUGUESE, translation_of=forms(ABOUT)),
    )


@pytest.mark.parametrize(
    ("language", "heading", "by", "of"),
    [
        ("en", "Metadata item", "Described by:", "Describes:"),
        ("pt-BR", "Item de metadados", "Descrito por:", "Descreve:"),
        ("es", "Ítem de metadatos", "Descrito por:", "Describe:"),
    ],
)
async def test_metadata_and_what_it_describes_name_each_other(language: str, heading: str, by: str, of: str) -> None:
    for rep, words, other in ((REP, by, ABOUT), (ABOUT, of, REP), (ABOUT_PT, of, REP)):
        answer = await described().get(f"/col/{rep}/metadata", {"accept-language": language})
        page = read_page(answer.body)
        assert (heading in page.text, words in page.text) == (True, True), rep
        assert f"{BASE}/col/{other}/metadata" in page.links


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Metadata in the reader's language"),
        ("pt-BR", "Metadados no idioma do leitor"),
        ("es", "Metadatos en el idioma del lector"),
    ],
)
async def test_metadata_that_is_an_item_has_links_of_its_own(language: str, words: str) -> None:
    page = read_page((await described().get(PAGE, {"accept-language": language})).body)
    assert {f"{BASE}/{REP}:", f"{BASE}/{REP}:+"} <= set(page.links)
    assert words in page.text
    written = await shown(kept(REP, metadata=THESIS), headers={"accept-language": language})
    assert f"{BASE}/{REP}:" in written.links
    assert f"{BASE}/{REP}:+" not in written.links


async def test_every_kind_of_link_is_there() -> None:
    page = await shown(kept(REP, IBIP), resolver=RESOLVER)

    for added in ("", "!", "+", ":", ":(oai_dc)", "!:", "/a.txt", "?ibiurl.verblist=GetFileList"):
        assert f"{RESOLVER}/{IBIP}{added}" in page.links
    assert page.all("svg", class_="qr")


async def test_a_file_whose_name_no_link_can_hold_is_linked_by_its_address_alone() -> None:
    page = await shown(kept(REP, IBIP, files={"ends with a blank ": ("text/plain", b"x")}), resolver=RESOLVER)

    assert f"{BASE}/col/{REP}/doc/ends%20with%20a%20blank%20" in page.links
    assert not [link for link in page.links if link.startswith(f"{RESOLVER}/{IBIP}/")]


# --- use -------------------------------------------------------------------------------------------------------------


async def test_use_is_drawn_and_told() -> None:
    item = kept(REP)
    app = archive_app(item)
    for days_ago in (0, 40, 41, 400):
        app.usage.count(UsageDay(item[0].rep, NOW.seconds // 86_400 - days_ago), UsageKind.DOWNLOAD)
    app.usage.count(UsageDay(item[0].rep, NOW.seconds // 86_400), UsageKind.ROBOT_DOWNLOAD)

    page = read_page((await app.get(PAGE)).body)

    drawn = next(each for each in page.root.iter() if each.get("class") == "usage-plot")
    described = [text for each in drawn for text in [each.text] if str(each.get("id")).endswith("description")]
    assert described == ["3 downloads and 0 resolutions by people; the table has each month."]
    rows = {"".join(row.itertext()) for row in page.root.iter("tr")}
    assert {"November 202610", "October 202620"} <= rows


async def test_no_use_is_told_in_words() -> None:
    assert "No usage in the last twelve months" in (await shown(kept(REP))).text


# --- what is left ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [PAGE, f"/col/{REP}/doc/", f"/col/{REP}/doc/a.txt", f"/col/{REP}"])
async def test_a_tombstone_says_when_why_and_what(path: str) -> None:
    gone = deleted(REP, IBIP, why="It was wrong.", replaced_by=forms(OTHER), metadata=THESIS)
    answer = await archive_app(gone, kept(OTHER)).get(path, {"accept": "text/html"})

    page = read_page(answer.body)
    assert answer.status == 410
    assert "This item was deleted on May 6, 2020." in page.text
    assert "It was wrong." in page.text
    assert "On lattices" in page.text
    assert f"{BASE}/col/{OTHER}/metadata" in page.links
    assert ("robots", "noindex") in page.meta


# --- languages, machines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "words"), [("pt-BR", "Como citar"), ("es", "Cómo citar"), ("de", "How to cite")])
async def test_the_page_speaks_the_readers_language(language: str, words: str) -> None:
    answer = await archive_app(kept(REP)).get(PAGE, {"accept-language": language})

    assert words in read_page(answer.body).text
    assert answer.headers["content-language"] == (language if language != "de" else "en")


async def test_the_header_has_signposts() -> None:
    answer = await archive_app(kept(REP, IBIP, metadata=THESIS, files=PDF), resolver=RESOLVER).get(PAGE)

    links = answer.headers["link"].split(", ")
    assert f'<{RESOLVER}/{IBIP}>; rel="cite-as"' in links
    assert f'<{BASE}{PAGE}?format=json>; rel="describedby"; type="application/json"' in links
    assert f'<{BASE}/col/{REP}/doc/thesis.pdf>; rel="item"; type="application/pdf"' in links
    assert '<https://orcid.org/0000-0002-1825-0097>; rel="author"' in links
    assert '<https://schema.org/AboutPage>; rel="type"' in links
    assert '<https://spdx.org/licenses/CC-BY-4.0>; rel="license"' in links


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("doctoral thesis", "Thesis"),
        ("Relatório anual", "Report"),
        ("research article", "ScholarlyArticle"),
        ("Notas", "CreativeWork"),
    ],
)
async def test_the_signpost_of_the_type_is_that_of_the_structured_data(said: str, name: str) -> None:
    metadata = replace(THESIS, type=(Text(said),))
    answer = await archive_app(kept(REP, IBIP, metadata=metadata)).get(PAGE)

    assert f'<https://schema.org/{name}>; rel="type"' in answer.headers["link"].split(", ")
    assert f'"@type":"{name}"' in answer.body.decode()


async def test_no_licence_breaks_out_of_its_signpost() -> None:
    hostile = DescriptiveMetadata(licence=Licence('https://x.example/">;rel="cite-as",<https://evil.example/'))

    value = (await archive_app(kept(REP, metadata=hostile)).get(PAGE)).headers["link"]

    assert value.count('rel="cite-as"') == 1
    assert "<https://evil" not in value


async def test_pictures_may_come_from_the_host_of_the_bytes() -> None:
    app = archive_app(kept(REP, files={"a.png": ("image/png", b"x")}), content_url="https://bytes.lab.br")

    policy = (await app.get(PAGE)).headers["content-security-policy"]

    assert "img-src 'self' https://bytes.lab.br data:" in policy
    assert "script-src 'self';" in policy


TURNING = "\u202egpj.exe \u2067x"


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}?style=mla", f"{PAGE}?format=bibtex", "/", "/search", "/search.atom"])
@pytest.mark.parametrize("is_deleted", [False, True])
async def test_what_turns_the_direction_of_writing_ends_where_it_stands(path: str, is_deleted: bool) -> None:
    turning = DescriptiveMetadata(
        title=(Text(TURNING),),
        creator=(Agent(TURNING),),
        contributor=(Agent(f"{TURNING}, B"),),
        description=(Text(TURNING),),
        subject=(Text(TURNING),),
    )
    item = deleted(REP, IBIP, why=TURNING, metadata=turning) if is_deleted else kept(REP, IBIP, metadata=turning)
    answer = await archive_app(item).get(path)
    for text in re.split('[<>"\n]', answer.body.decode()):
        assert close_directions(text) == text


async def test_marks_that_hebrew_and_arabic_need_are_left_as_they_are() -> None:
    title = "\u2067שלום\u2069 C\u200e++ \u202bمرحبا\u202c"
    answer = await archive_app(kept(REP, IBIP, metadata=DescriptiveMetadata(title=(Text(title),)))).get(PAGE)
    assert title in answer.body.decode()
