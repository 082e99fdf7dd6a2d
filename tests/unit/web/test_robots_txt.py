"""What crawlers are told: items and files are theirs, and nothing that has no end."""

from __future__ import annotations

import re

import pytest

from ibi.harvesting.api.listings import robots_txt
from ibi.server.fast_path import RESERVED
from ibi.standard.label.grammar import IBIP_FORM
from tests.support.archive_app import BASE, IBIP, REP, archive_app, kept
from tests.support.one_port import OnePort


def may_fetch(text: str, target: str) -> bool:
    """As RFC 9309, section 2.2.2: the pattern that is longest decides; `*` and `$` are special."""
    rules = re.findall(r"^(Allow|Disallow): (.+)$", text, re.MULTILINE)
    found = [(len(pattern), kind == "Allow") for kind, pattern in rules if _pattern(pattern).match(target)]
    return max(found, default=(0, True))[1]


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\$", "$"))


OPEN = (
    *("/", f"/{REP}", f"/{IBIP}", f"/{IBIP}:", f"/{IBIP}!", f"/ibi/{REP}", f"/col/{REP}/doc/a.txt"),
    *(f"/col/{REP}/metadata", "/search", "/search?page=7", "/search.atom", "/static/ibi.css"),
    *("/jobs.example.org/x/2020/01.02.03.04", "/accountancy.br/x/2020/01.02.03.04", f"/{IBIP}?ibiurl.language=pt"),
    *("/sitemap.xml", f"/col/{REP}/doc/formats/format=1.txt"),
)
CLOSED = (
    *("/search?q=a", "/search?year=2020", "/search?q=a&creator=Silva", "/search?creator=Silva&page=2"),
    *("/search?sort=title", "/search?type=Text&year=2020", "/search?language=pt", "/search?prefix=lab.br"),
    *("/search.atom?q=a", f"/col/{REP}/metadata?format=json", f"/col/{REP}/metadata?a=b&format=oai_dc"),
    *(f"/{REP}?ibiurl.trace=html", f"/{REP}?ibiurl.info=json", f"/{IBIP}?a=b&ibiurl.trace=json"),
    *("/api/items", "/api", "/oai?verb=Identify", "/oai", "/explain?link=x", "/language/pt-BR?to=/", "/sign-in"),
    *(f"/{REP}?servicesubject=urlRequest", "/account", "/admin/people", "/jobs/7", "/inbox"),
)


@pytest.mark.parametrize("target", OPEN)
def test_crawlers_may_see_items_and_files(target: str) -> None:
    assert may_fetch(robots_txt(BASE, has_sitemap=False), target)


@pytest.mark.parametrize("target", CLOSED)
def test_crawlers_stay_out_of_what_has_no_end(target: str) -> None:
    assert not may_fetch(robots_txt(BASE, has_sitemap=False), target)


def test_the_sitemap_is_named_where_there_is_one() -> None:
    assert "Sitemap" not in robots_txt(BASE, has_sitemap=False)
    assert f"\nSitemap: {BASE}/sitemap.xml\n" in robots_txt(BASE, has_sitemap=True)


def test_below_a_path_the_rules_are_below_it_too() -> None:
    text = robots_txt("https://lab.br/archive", has_sitemap=False)
    assert not may_fetch(text, "/archive/search?q=a")
    assert may_fetch(text, "/search?q=a")


async def test_an_archive_and_a_resolver_serve_it() -> None:
    answers = [await archive_app(kept(REP)).get("/robots.txt"), await OnePort().get("/robots.txt")]
    for answer in answers:
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.body.decode().startswith("User-agent: *\nDisallow: /search*?q=\n")


@pytest.mark.parametrize("segment", sorted(RESERVED))
async def test_no_label_begins_with_a_reserved_segment(segment: str) -> None:
    label = f"{segment}/arq/2009/07.21.14.43"
    assert IBIP_FORM.match(f"{segment}/35MMLL8") is None
    port = OnePort()
    answer = await port.get(f"/{label}")
    assert (answer.status, answer.json()["type"]) == (404, "urn:ibi:problem:not-found")
    if re.fullmatch("[a-z]+", segment):  # others are no host of a label at all
        escaped = await port.get(f"/ibi/{label}")
        assert escaped.json()["type"] == "urn:ibi:problem:unknown-item"
