"""Why an answer was not believed, as people are told it, on a page in three languages."""

from __future__ import annotations

import pytest

from ibi.resolver.validity import RULES as VALIDITY
from ibi.web.pages.trace_words import RULES
from tests.resolver_app import REP, A, B, item, resolver_app
from tests.scripted_archives import body

LYING = body(A, "rep lab.br/arq/1999/01.01.01.01", url="http://a.example.org/x", contenttype="Data", state="Original")
FOREIGN = item(A, host="evil.example.com")


def test_there_are_words_for_every_rule() -> None:
    assert set(RULES) == {rule.__name__ for rule in VALIDITY}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (LYING, "an answer that breaks a rule: it is about another item"),
        (FOREIGN, "a URL that is not believed: its URL is on a host that the Archive did not declare"),
    ],
)
async def test_a_page_says_why_an_answer_is_not_believed_in_three_languages(answer: bytes, words: str) -> None:
    app = resolver_app({A: answer, B: item(B)})
    _, page = await app.page(f"/{REP}?ibiurl.trace=html")
    assert words in page
    for language in ("pt-BR", "es"):
        _, page = await app.page(f"/{REP}?ibiurl.trace=html", language)
        assert "is_" not in page
        assert words.partition(": ")[2] not in page


async def test_programs_are_told_the_rule_by_its_name_and_that_the_url_was_the_reason() -> None:
    answer = await resolver_app({A: FOREIGN, B: item(B)}).get(f"/{REP}?ibiurl.trace=json")
    told = {each["address"]: each for each in answer.json()["hops"][0]["archives"]}["a.example.org"]
    assert (told["broken_rule"], told["why"]) == ("is_on_a_declared_host", "its URL was not believed")
