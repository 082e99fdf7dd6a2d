"""Home, search, browse and feed."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from ibi.items.model.metadata import Agent, DescriptiveMetadata, ResourceType, Text
from ibi.items.model.search import Facet, FacetCounts, Order, SearchPage, SearchQuery
from ibi.items.model.visibility import Visibility
from ibi.items.pages.search_page import RECENT, SUGGESTIONS
from ibi.items.pages.search_query import query_of, search_address
from ibi.items.rules.highlighting import MarkedText
from ibi.items.service.full_text import TextMatch
from ibi.items.service.searching import Searching
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.languages import LanguageTag
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, RESOLVER, ArchiveApp, archive_app, deleted, kept
from tests.support.memory.search import MemorySearch
from tests.support.page_reader import Page, read_page

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = '"><script>alert(1)</script>'


def described(title: str, creator: str = "Ana", kind: ResourceType = ResourceType.TEXT) -> DescriptiveMetadata:
    return DescriptiveMetadata(title=(Text(title),), creator=(Agent(creator),), resource_type=kind)


def library(number: int = 0) -> ArchiveApp:
    return archive_app(
        kept(REP, IBIP, metadata=described("Árvores da Amazônia"), language=LanguageTag("pt")),
        kept(OTHER, metadata=described("Trees of the Amazon", "Bob", ResourceType.DATASET), language=LanguageTag("en")),
        *(kept(f"lab.br/arq/2011/01.01.{number // 60:02}.{number % 60:02}") for number in range(number)),
        deleted("lab.br/arq/2012/01.01.00.00", metadata=described("Amazon that was")),
    )


async def page_of(app: ArchiveApp, path: str, **headers: str) -> Page:
    answer = await app.get(path, {name.replace("_", "-"): value for name, value in headers.items()})
    assert answer.status == 200
    return read_page(answer.body)


def titles(page: Page) -> list[str]:
    return ["".join(each.itertext()) for each in page.root.iter("h3")]


# --- home ------------------------------------------------------------------------------------------------------------


async def test_home_has_one_box_the_newest_items_and_three_sentences() -> None:
    page = await page_of(library(30), "/")

    assert [each.get("action") for each in page.root.iter("form") if each.get("role") == "search"] == ["/search"]
    assert titles(page)[0] == "Trees of the Amazon"
    assert len(titles(page)) == RECENT
    assert "An Internet Based Identifier is the permanent name of an item" in page.text


async def test_an_empty_archive_says_so() -> None:
    assert "No items have been deposited yet." in (await page_of(archive_app(), "/")).text


@pytest.mark.parametrize(("language", "words"), [("pt", "O que é um IBI?"), ("es", "¿Qué es un IBI?")])
async def test_home_speaks_the_readers_language(language: str, words: str) -> None:
    assert words in (await page_of(library(), "/", accept_language=language)).text


@pytest.mark.parametrize("path", ["/", "/search", "/search.atom", "/explain"])
async def test_a_head_has_the_headers_of_the_page(path: str) -> None:
    got = await library().get(path)
    told = await library().get(path, method="HEAD")

    # The server leaves the body out.
    assert told.status == 200
    assert {**told.headers, "x-request-id": ""} == {**got.headers, "x-request-id": ""}


@pytest.mark.parametrize("path", ["/", "/search", "/explain"])
async def test_pages_are_only_read(path: str) -> None:
    answer = await library().get(path, {"accept": "text/html"}, method="POST")

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert "POST" in read_page(answer.body).text


async def test_what_is_not_there_is_told_as_a_page_to_a_browser_and_as_a_problem_to_a_program() -> None:
    told = await library().get("/static/nothing.css", {"accept": "text/html", "accept-language": "pt"})
    assert told.status == 404
    assert "Não há nada aqui." in read_page(told.body).text
    assert (await library().get("/static/nothing.css")).json()["type"] == "urn:ibi:problem:not-found"


# --- a label or a link in the box ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [REP, IBIP, IBIP.lower(), f"ibi:{IBIP}", f"http://urlib.net/{IBIP}", f" https://x.example/{REP} "]
)
async def test_an_identifier_leads_to_the_page_of_its_item(text: str) -> None:
    answer = await library().get(f"/search?q={quote(text)}")

    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}/col/{REP}/metadata")


async def test_an_identifier_that_is_not_here_leads_to_the_resolver() -> None:
    app = archive_app(resolver=RESOLVER)
    answer = await app.get("/search?q=sid.inpe.br/mtc-m18/2009/02.16.17.46")

    assert (answer.status, answer.headers["location"]) == (302, f"{RESOLVER}/sid.inpe.br/mtc-m18/2009/02.16.17.46")


async def test_a_link_with_a_wish_is_followed_as_such() -> None:
    answer = await library().get(f"/search?q={quote(f'https://evil.example/{IBIP}!:')}")

    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}/{IBIP}!:")


# --- search ----------------------------------------------------------------------------------------------------------


async def test_words_find_items_without_regard_to_accents() -> None:
    page = await page_of(library(), "/search?q=arvores")

    assert titles(page) == ["Árvores da Amazônia"]
    assert "1 item" in page.text


async def test_what_was_deleted_is_not_found_by_words() -> None:
    assert "No results." in (await page_of(library(), "/search?q=was")).text


async def test_facets_narrow_down_and_can_be_removed() -> None:
    browsed = await page_of(library(), "/search")
    assert "/search?type=Dataset" in browsed.links
    assert "/search?language=pt" in browsed.links
    assert "Portuguese" in browsed.text

    narrowed = await page_of(library(), "/search?type=Dataset&language=en")

    assert titles(narrowed) == ["Trees of the Amazon"]
    assert {"/search?type=Dataset", "/search?language=en"} <= set(narrowed.links)
    # Of the form with the words, and of that with the years.
    assert [each.get("name") for each in narrowed.all("input", type="hidden")] == 2 * ["type", "language"]


def dated(year: int, title: str, **others: object) -> DescriptiveMetadata:
    return replace(described(title), date=(Text(str(year)),), **others)  # type: ignore[arg-type]


def dated_library() -> ArchiveApp:
    summary = "An account of ice, " + "and so on, " * 40 + "with a word on penguins <b> & others."
    ice = dated(2001, "Ice & snow", description=(Text(summary),), subject=(Text("Glaciers"), Text("<Ice>")))
    return archive_app(
        kept("lab.br/arq/2011/01.01.00.01", metadata=ice),
        kept("lab.br/arq/2011/01.01.00.02", metadata=dated(1999, "Snow")),
        kept("lab.br/arq/2011/01.01.00.03", metadata=replace(dated(2012, "Rain"), date=(Text("2012-03"),))),
        kept("lab.br/arq/2011/01.01.00.04", metadata=described("Undated")),
    )


async def test_years_stand_in_their_order_and_a_span_can_be_chosen() -> None:
    app = dated_library()
    page = await page_of(app, "/search?q=&sort=title")

    (picture,) = page.all("svg", class_="years-picture")
    assert [each.text for each in picture.iter("{http://www.w3.org/2000/svg}title")] or "1999: 1" in page.text
    years = [link for link in page.links if "year=" in link]
    assert years == [f"/search?year={year}&sort=title" for year in (1999, 2001, 2011, 2012)]
    assert titles(await page_of(app, "/search?from=2000&to=2011&sort=title")) == ["Ice & snow", "Undated"]
    assert titles(await page_of(app, "/search?from=2011&to=2000&sort=title")) == ["Ice & snow", "Undated"]
    assert titles(await page_of(app, "/search?from=2012&to=")) == ["Rain"]
    assert "2000–2011" in (await page_of(app, "/search?year=2000..2011")).text
    assert len(titles(await page_of(app, "/search?from=x&to=y"))) == 4


async def test_what_was_sought_is_marked_and_escaped() -> None:
    page = await page_of(dated_library(), "/search?q=penguins+title:ice")

    marks = [each.text for each in page.root.iter("mark")]
    assert marks == ["Ice", "penguins"]
    (line,) = page.all("p", class_="summary small")
    assert "".join(line.itertext()).startswith("… ")
    assert "penguins <b> & others." in "".join(line.itertext())


async def test_a_list_tells_the_date_of_the_work() -> None:
    page = await page_of(dated_library(), "/search?sort=title")
    assert [each.get("datetime") for each in page.root.iter("time")] == [
        "2001",
        "2012-03",
        "1999",
        "2011-01-01T00:04:00Z",
    ]
    assert "March 2012" in page.text


async def test_subjects_lead_to_all_items_that_have_them() -> None:
    app = dated_library()
    assert {"/search?subject=Glaciers", "/search?subject=%3CIce%3E"} <= set((await page_of(app, "/search")).links)
    assert titles(await page_of(app, "/search?subject=%3CIce%3E")) == ["Ice & snow"]
    item = await page_of(app, "/col/lab.br/arq/2011/01.01.00.01/metadata", accept="text/html")
    assert {"/search?subject=Glaciers", "/search?subject=%3CIce%3E"} <= set(item.links)


async def test_a_slip_of_the_pen_is_answered_with_what_may_have_been_meant() -> None:
    app = library()
    page = await page_of(app, "/search?q=title:arvroes&language=pt")
    assert "Did you mean" in page.text
    assert "/search?q=title%3Aarvores&language=pt" in page.links
    assert "Did you mean" not in (await page_of(app, "/search?q=xyzzyx")).text


class InText:
    """Finds one item in the text of its files, whatever is sought, as what comes with the first page."""

    def __init__(self, app: ArchiveApp) -> None:
        self._catalog = app.site.catalog

    async def find(self, query: SearchQuery) -> tuple[TextMatch, ...]:
        line = (MarkedText("of "), MarkedText("<trees>", is_sought=True))
        items = self._catalog.items() if query.page == 1 else ()
        return tuple(TextMatch(item, line) for item in items if item.rep == parse(REP))


async def test_what_is_in_the_text_of_files_stands_below_with_a_line_of_it() -> None:
    items = [kept(REP, IBIP, metadata=described("Árvores")), kept(OTHER, metadata=described("Trees"))]
    app = archive_app(*items, texts=InText(archive_app(*items)))

    page = await page_of(app, "/search?q=trees")

    assert titles(page) == ["Trees", "Árvores"]
    assert "In the text of files" in page.text
    assert [each.text for each in page.root.iter("mark")] == ["Trees", "<trees>"]
    assert "In the text of files" not in (await page_of(app, "/search?q=trees&page=2")).text


async def test_a_list_of_no_items_does_not_count_them_above_what_is_in_the_text_of_files() -> None:
    items = [kept(REP, IBIP, metadata=described("Árvores"))]
    page = await page_of(archive_app(*items, texts=InText(archive_app(*items))), "/search?q=trees")

    assert "0 items" not in page.text
    assert "Found in the text of files alone" in page.text


async def test_lists_are_sorted_and_paged() -> None:
    app = library(45)

    first, last = await page_of(app, "/search?sort=oldest"), await page_of(app, "/search?sort=oldest&page=3")

    assert "47 items" in first.text
    assert titles(first)[0] == "Árvores da Amazônia"
    assert titles(last)[-1] == "Trees of the Amazon"
    assert "/search?sort=oldest&page=2" in first.links
    assert "page 3 of 3" in last.text


async def test_a_list_tells_what_is_not_for_every_reader_yet() -> None:
    past, coming = Instant(NOW.seconds - 1), Instant(NOW.seconds + 1)
    items = [kept(REP, visibility=Visibility(embargo=past)), kept(OTHER, visibility=Visibility(embargo=coming))]

    badges = [each.text for each in (await page_of(archive_app(*items), "/")).all("span", class_="badge restricted")]

    assert badges == ["Embargo"]


async def test_a_search_is_for_no_search_engine() -> None:
    assert ("robots", "noindex, nofollow") in (await page_of(library(), "/search?q=trees")).meta
    assert not [name for name, _ in (await page_of(library(), "/search")).meta if name == "robots"]


@pytest.mark.parametrize("name", ["q", "creator", "sort", "page", "year", "language", "type", "prefix"])
async def test_strangers_words_stay_words(name: str) -> None:
    page = await page_of(library(), f"/search?{name}={quote(HOSTILE)}")

    assert all(HOSTILE not in each.get("href", "") for each in page.root.iter("a"))


@given(st.text(max_size=40), st.sampled_from(["q", "year", "creator", "type", "language", "prefix", "sort", "page"]))
async def test_any_query_gives_a_page(words: str, name: str) -> None:
    answer = await library().get(f"/search?{name}={quote(words.encode('utf-8', 'replace'))}")

    assert answer.status in {200, 302}
    if answer.status == 200:
        read_page(answer.body)


def test_an_address_and_a_query_say_the_same() -> None:
    text = "q=trees&creator=Ana&year=2011&year=2012&sort=title&page=3"

    query = query_of(QueryParams(text))

    assert query.filters == ((Facet.YEAR, "2011"), (Facet.YEAR, "2012"), (Facet.CREATOR, "Ana"))
    assert query.order is Order.TITLE
    assert query_of(QueryParams(search_address(query).partition("?")[2])) == query


# --- feed ------------------------------------------------------------------------------------------------------------


async def test_the_feed_has_the_newest_items_of_a_search() -> None:
    answer = await library().get("/search.atom?q=trees")

    root = ElementTree.fromstring(answer.body)
    assert answer.headers["content-type"].startswith("application/atom+xml")
    assert [each.text for each in root.findall(f"{ATOM}entry/{ATOM}title")] == ["Trees of the Amazon"]
    (own,) = [each.get("href") for each in root.findall(f"{ATOM}link") if each.get("rel") == "self"]
    assert own == f"{BASE}/search.atom?q=trees"


async def test_pages_name_their_feeds() -> None:
    page = await page_of(library(), "/search?q=trees&type=Dataset")

    (feed,) = page.all("link", type="application/atom+xml")
    assert feed.get("href") == "/search.atom?q=trees&type=Dataset"


# --- beyond the pages that have numbers ------------------------------------------------------------------------------


class FewRanked(MemorySearch):
    """Ranks, numbers and counts forty items, as if those were twenty thousand."""

    def search(self, query: SearchQuery) -> SearchPage:
        return super().search(replace(query, most=40))

    def facets(self, query: SearchQuery) -> FacetCounts:
        return super().facets(replace(query, most=40))


def long_library() -> ArchiveApp:
    names = [f"lab.br/arq/2011/01.01.{number // 60:02}.{number % 60:02}" for number in range(95)]
    items = [kept(name, metadata=described(f"Volume {number:02}")) for number, name in enumerate(names)]
    return archive_app(*items, search=Searching(FewRanked(archive_app(*items).site.catalog)))


def next_of(page: Page) -> str | None:
    return next((each.get("href") for each in page.all("a") if "next" in (each.get("rel") or "").split()), None)


@pytest.mark.parametrize("path", ["/search", "/search?sort=oldest", "/search?sort=title", "/search?q=volume"])
async def test_a_reader_comes_to_the_end_of_a_long_list(path: str) -> None:
    app, pages = long_library(), []
    following: str | None = path
    while following is not None:
        pages.append(await page_of(app, following))
        following = next_of(pages[-1])

    assert [len(titles(page)) for page in pages] == [20, 20, 20, 20, 15]
    assert len({title for page in pages for title in titles(page)}) == 95
    assert "page 3" in pages[2].text
    assert "page 3 of" not in pages[2].text
    assert "First page" in pages[2].text


async def test_a_feed_goes_on_to_the_end_of_a_long_list() -> None:
    app, entries = long_library(), 0
    following: str | None = "/search.atom?q=volume"
    while following is not None:
        feed = ElementTree.fromstring((await app.get(following.removeprefix(BASE))).body)
        entries += len(feed.findall(f"{ATOM}entry"))
        following = next((each.get("href") for each in feed.findall(f"{ATOM}link") if each.get("rel") == "next"), None)
    assert entries == 95


async def test_counts_say_that_there_are_more() -> None:
    page = await page_of(long_library(), "/search")
    assert "More than 40 items" in page.text
    assert "Counts cover the newest 40 items only." in page.text
    assert all("".join(each.itertext()).endswith("+") for each in page.all("span") if each.get("class") == "count")
    assert "Counts cover" not in (await page_of(library(), "/search")).text


@pytest.mark.parametrize(
    "after", ["", "nonsense", HOSTILE, "lab.br/arq/2020/13.01.00.00", "lab.br/arq/2001/01.01.00.00"]
)
async def test_a_place_that_is_none_does_no_harm(after: str) -> None:
    await page_of(library(), f"/search?after={quote(after)}&page=7")


# --- while a search is typed ------------------------------------------------------------------------------------------


async def suggested(app: ArchiveApp, text: str) -> list[object]:
    answer = await app.get(f"{SUGGESTIONS}?q={quote(text)}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/x-suggestions+json"
    found = json.loads(answer.body)
    assert isinstance(found, list)
    return found


async def test_items_whose_words_begin_so_are_suggested() -> None:
    text, titles, labels, addresses = await suggested(library(), "amaz")

    assert text == "amaz"
    assert titles == ["Trees of the Amazon", "Árvores da Amazônia"]
    assert labels == [OTHER, IBIP]
    assert addresses == [f"{BASE}/col/{OTHER}/metadata", f"{BASE}/col/{REP}/metadata"]


@pytest.mark.parametrize("text", ["", "a", " á ", "zzz", '"', "\0", "deleted OR", "title:"])
async def test_nothing_is_suggested_for_what_finds_nothing(text: str) -> None:
    _, *lists = await suggested(library(), text)

    assert lists == [[], [], []]


async def test_few_of_many_are_suggested() -> None:
    _, titles, *_ = await suggested(long_library(), "volume")

    assert isinstance(titles, list)
    assert len(titles) == 6


async def test_a_hostile_title_is_suggested_as_text() -> None:
    answer = await archive_app(kept(REP, IBIP, metadata=described(HOSTILE))).get(f"{SUGGESTIONS}?q=script")

    assert json.loads(answer.body)[1] == [HOSTILE]
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_browsers_learn_how_to_search_here() -> None:
    app = library()
    page = await page_of(app, "/explain")
    (link,) = (each for each in page.all("link") if each.get("rel") == "search")
    answer = await app.get(str(link.get("href")))

    assert answer.headers["content-type"].startswith("application/opensearchdescription+xml")
    described_search = ElementTree.fromstring(answer.body)
    urls = {each.get("type"): each.get("template") for each in described_search if each.tag.endswith("Url")}
    assert urls == {
        "text/html": f"{BASE}/search?q={{searchTerms}}",
        "application/x-suggestions+json": f"{BASE}{SUGGESTIONS}?q={{searchTerms}}",
    }
