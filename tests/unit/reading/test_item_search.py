"""`GET /api/items`: the search for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from ibi.items.model.metadata import Agent, DescriptiveMetadata, Text
from ibi.items.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.items.service.searching import Searching
from ibi.standard.languages import LanguageTag
from tests.support.archive_app import BASE, IBIP, OTHER, REP, ArchiveApp, archive_app, deleted, kept
from tests.support.memory.search import MemorySearch
from tests.unit.items.test_search_page import InText
from tests.unit.reading.test_records import DOCUMENT, check


def described(title: str, creator: str = "Ana") -> DescriptiveMetadata:
    return DescriptiveMetadata(title=(Text(title),), creator=(Agent(creator),))


def library() -> ArchiveApp:
    return archive_app(
        kept(REP, IBIP, metadata=described("Árvores da Amazônia"), language=LanguageTag("pt")),
        kept(OTHER, metadata=described("Trees of the Amazon", "Bob"), language=LanguageTag("en")),
        deleted("lab.br/arq/2012/01.01.00.00", metadata=described("Amazon that was")),
    )


class FewRanked(MemorySearch):
    """Ranks and counts ten items, as if those were twenty thousand."""

    def search(self, query: SearchQuery) -> SearchPage:
        return super().search(replace(query, most=10))

    def facets(self, query: SearchQuery) -> FacetCounts:
        return super().facets(replace(query, most=10))


def long_library() -> ArchiveApp:
    names = [f"lab.br/arq/2011/01.01.{number // 60:02}.{number % 60:02}" for number in range(31)]
    items = [kept(name, metadata=described(f"Volume {number:02}")) for number, name in enumerate(names)]
    return archive_app(*items, search=Searching(FewRanked(archive_app(*items).site.catalog)))


async def found(app: ArchiveApp, query: str) -> dict[str, Any]:
    answer = await app.get(f"/api/items{query}")
    assert answer.status == 200, answer.body
    document = answer.json()
    check(document, DOCUMENT["components"]["schemas"]["Items"])
    assert isinstance(document, dict)
    return document


def names(document: dict[str, Any]) -> list[str]:
    return [each["labels"]["rep"] for each in document["items"]]


async def test_everything_is_listed_newest_first_and_what_was_deleted_is_not() -> None:
    page = await found(library(), "")
    assert names(page) == sorted([REP, OTHER], key=lambda name: name[-16:], reverse=True)
    assert (page["total"], page["is_more"]) == (2, False)
    assert page["links"] == {"self": f"{BASE}/api/items", "facets": f"{BASE}/api/items?facets=true"}


async def test_a_listed_item_has_what_its_record_has_but_no_files() -> None:
    app = library()
    page = await found(app, "?q=arvores")
    record = (await app.get(f"/api/items/{REP}")).json()
    links = {name: record["links"][name] for name in ("self", "persistent", "metadata")}
    expected = {name: value for name, value in record.items() if name not in {"files", "target"}}
    assert page["items"] == [{**expected, "links": links}]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?q=arvores", [REP]),
        ("?q=amaz", [OTHER, REP]),
        ("?language=en", [OTHER]),
        ("?creator=Ana", [REP]),
        ("?creator=Ana&creator=Bob", []),
        ("?prefix=lab.br%2Farq&sort=title", [REP, OTHER]),
        (f"?q={REP}", [REP]),
        ("?q=lab.br/arq/2012/01.01.00.00", ["lab.br/arq/2012/01.01.00.00"]),
        ("?q=%21", []),
        ("?q=nothing", []),
    ],
)
async def test_a_search_finds_what_the_page_finds(query: str, expected: list[str]) -> None:
    assert sorted(names(await found(library(), query))) == sorted(expected)


async def test_facets_are_counted_if_they_are_asked_for() -> None:
    page = await found(library(), "?facets=true")
    assert page["facets"]["creator"] == [{"value": "Ana", "number": 1}, {"value": "Bob", "number": 1}]
    assert page["facets"]["language"] == [{"value": "en", "number": 1}, {"value": "pt", "number": 1}]
    assert "facets" not in page["links"]


@pytest.mark.parametrize(
    "query", ["?size=4", "?size=4&sort=oldest", "?size=3&sort=title", "?q=volume&size=4", "?q=vol"]
)
async def test_a_program_comes_to_the_end_of_a_long_list(query: str) -> None:
    app, pages = long_library(), [await found(long_library(), query)]
    while "next" in pages[-1]["links"]:
        pages.append(await found(app, pages[-1]["links"]["next"].removeprefix(f"{BASE}/api/items")))
    seen = [name for page in pages for name in names(page)]
    assert (len(seen), len(set(seen))) == (31, 31)
    assert {(page["total"], page["is_more"]) for page in pages} == {(10, True)}
    assert all("first" in page["links"] for page in pages[1:])


async def test_a_page_that_a_program_has_is_not_sent_again() -> None:
    app = library()
    first = await app.get("/api/items?q=amazon")
    assert first.headers["cache-control"] == "no-cache"
    again = await app.get("/api/items?q=amazon", {"if-none-match": first.headers["etag"]})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert (await app.get("/api/items?q=arvores", {"if-none-match": first.headers["etag"]})).status == 200


async def test_a_record_that_is_too_long_for_a_list_is_listed_in_short() -> None:
    long = DescriptiveMetadata(title=(Text("Long"),), description=(Text("word " * 20_000),))
    app = archive_app(kept(REP, IBIP, metadata=long), kept(OTHER, metadata=described("Short")))
    page = await found(app, "?sort=title")
    assert [each.get("in_short") for each in page["items"]] == [True, None]
    assert set(page["items"][0]) == {"labels", "state", "created", "updated", "links", "in_short"}
    assert len((await app.get("/api/items")).body) < 10_000


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?yaer=2020", "yaer"),
        ("?sort=best", "sort"),
        ("?page=0", "page"),
        ("?page=1002", "page"),
        ("?page=x", "page"),
        ("?size=101", "size"),
        ("?size=%D9%A1", "size"),
        ("?after=nonsense", "after"),
        ("?after=", "after"),
        ("?facets=yes", "facets"),
        ("?q=a&q=b", "q"),
        (f"?{'&'.join('year=2020' for _ in range(21))}", "year"),
        ("?state=published", "state"),
    ],
)
async def test_what_cannot_be_read_is_refused_and_named(query: str, field: str) -> None:
    app = library()
    answer = await app.get(f"/api/items{query}")
    if field == "state":
        assert answer.status == 401  # only drafts have it, and those are for depositors
        return
    assert (answer.status, answer.json()["type"]) == (400, "urn:ibi:problem:invalid-parameter")
    assert answer.json()["detail"].startswith(f"{field}: ")


@pytest.mark.parametrize("text", ["\x00", "\ud800", '"' * 999, "-" * 999, "a " * 4000, "NEAR(", "·", "%"])
async def test_any_text_is_a_query(text: str) -> None:
    await found(library(), f"?q={quote(text.encode(errors='surrogatepass'))}")


async def test_a_wrong_token_is_refused_here_too() -> None:
    assert (await library().get("/api/items", {"authorization": "Bearer x"})).status == 401


async def test_what_is_in_the_text_of_files_comes_with_the_first_page_and_a_line_of_it() -> None:
    items = [kept(REP, IBIP, metadata=described("Árvores")), kept(OTHER, metadata=described("Trees"))]
    app = archive_app(*items, texts=InText(archive_app(*items)))

    document = await found(app, "?q=trees")

    assert (names(document), document["total"]) == ([OTHER], 1)
    (match,) = document["in_text"]
    assert (match["item"]["labels"]["rep"], match["line"]) == (REP, "of <trees>")
    assert "in_text" not in await found(app, "?q=trees&page=2")
    assert "in_text" not in await found(library(), "?q=trees")
