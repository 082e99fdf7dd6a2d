"""`/claims` and `/api/claims`: what Archives claim against the word of an item's home."""

from __future__ import annotations

import html5lib
from starlette.applications import Starlette

from ibi.membership.model.registration import ClaimKind
from ibi.resolver.pages.records import ClaimPages
from ibi.standard.label import parse
from tests.support.asgi_client import ask
from tests.support.memory.beliefs import MemoryBeliefs

ITEM = parse("lab.br/arq/2009/07.21.14.43")
LIAR, HOME = parse("example.org/liar/2008/03.17.15.17"), parse("lab.br/arq/2008/03.17.15.17")


def app(beliefs: MemoryBeliefs) -> Starlette:
    return Starlette(routes=ClaimPages(beliefs).routes())


def contested() -> MemoryBeliefs:
    beliefs = MemoryBeliefs()
    for at, kind in enumerate(ClaimKind):
        beliefs.record_claim(ITEM, LIAR, HOME, kind, 1_800_000_000 + at)
    beliefs.record_claim(ITEM, LIAR, HOME, ClaimKind.ORIGINAL, 1_800_000_009)
    return beliefs


async def test_programs_get_the_claims_those_seen_last_first() -> None:
    answer = await ask(app(contested()), "GET", "/api/claims")
    first, *others = answer.json()["claims"]
    assert first == {
        "label": str(ITEM),
        "claimant": str(LIAR),
        "home": str(HOME),
        "claim": "Original",
        "first_seen": "2027-01-15T08:00:00Z",
        "last_seen": "2027-01-15T08:00:09Z",
        "times": 2,
    }
    assert [each["claim"] for each in others] == ["next edition", "Deleted"]
    assert answer.headers["cache-control"] == "no-store"


async def test_people_get_a_page_in_their_language() -> None:
    headings = set()
    for language in ("en", "pt-BR", "es"):
        answer = await ask(app(contested()), "GET", "/claims", {"accept-language": language})
        page = answer.body.decode()
        document = html5lib.HTMLParser(strict=True).parse(page)
        headings.add(next(document.iter("{http://www.w3.org/1999/xhtml}h1")).text)
        assert page.count(str(LIAR)) == 3
    assert len(headings) == 3


async def test_a_page_without_claims_says_so() -> None:
    answer = await ask(app(MemoryBeliefs()), "GET", "/claims", {"accept-language": "en"})
    assert "There are none." in answer.body.decode()
