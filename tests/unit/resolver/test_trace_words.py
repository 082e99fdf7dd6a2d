"""Why an answer was not believed, as people are told it, on a page in three languages."""

from __future__ import annotations

import pytest

from ibi.resolver.rules.policy import RULES as VALIDITY
from ibi.resolver.rules.trace import Outranking, Verdict
from ibi.standard.reply import Failure
from ibi.web.words import FAILURES, OUTRANKINGS, RULES, VERDICTS
from tests.support.resolver_app import REP, A, B, item, resolver_app
from tests.support.scripted_archives import body

LYING = body(A, "rep lab.br/arq/1999/01.01.01.01", url="http://a.example.org/x", contenttype="Data", state="Original")
FOREIGN = item(A, host="evil.example.com")


def test_there_are_words_for_every_rule() -> None:
    assert set(RULES) == {rule.__name__ for rule in VALIDITY}


def test_there_are_words_for_whatever_becomes_of_an_answer() -> None:
    assert (set(VERDICTS), set(FAILURES), set(OUTRANKINGS)) == (set(Verdict), set(Failure), set(Outranking))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (LYING, "an answer that breaks a rule: it is about another item"),
        (FOREIGN, "a URL that is not trusted: its URL is on a host that the Archive did not declare"),
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


async def test_a_page_says_why_another_answer_was_better_in_three_languages() -> None:
    answers = {A: item(A, "Copy"), B: item(B)}  # asked by a resolver that knows nothing yet, each time
    for language, words in (
        ("en", "an answer, but not the best: another has the Original"),
        ("pt-BR", "uma resposta, mas não a melhor: outro tem o Original"),
        ("es", "una respuesta, pero no la mejor: otro tiene el Original"),
    ):
        _, page = await resolver_app(answers).page(f"/{REP}?ibiurl.trace=html", language)
        assert words in page
    answer = await resolver_app(answers).get(f"/{REP}?ibiurl.trace=json")
    told = {each["address"]: each for each in answer.json()["hops"][0]["archives"]}
    assert {name: (one["verdict"], one["because"]) for name, one in told.items()} == {
        "a.example.org": ("outranked", "another has the Original"),
        "b.example.org": ("chosen", None),
    }
