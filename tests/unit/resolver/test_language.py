"""Which translation is taken (SPEC §6), over all answers in hand."""

from __future__ import annotations

import pytest

from ibi.resolver.rules.outcome import Missing, Outcome, Redirect, RelatedItemMissing
from ibi.standard.messages import UrlRequest
from tests.support.scripted_archives import archive, body, resolve

LABEL = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
ONE, TWO = archive("one"), archive("two")


def offering(*languages: str, own: str = "") -> bytes:
    """An Archive that tells, filtered or not, all its languages; "-" is the text without one."""
    pairs: dict[str, str] = {}
    for each in languages:
        relation = ".translation" if each == "-" else f".translation({each})"
        pairs |= {f"url{relation}": f"http://one.example.org/{each}", f"state{relation}": "Copy"}
        pairs |= {f"contenttype{relation}": "Data"}
        pairs |= {f"ibi{relation}": f"{{rep {LABEL}}}"} if each == own else {}
    return body(ONE, f"rep {LABEL}", **pairs)


def ask(modifier: str, offered: bytes, accepted: str = "") -> Outcome:
    """What is asked by name is answered only for that name, as a filter does."""

    def answer(request: UrlRequest) -> bytes:
        if not request.relation.steps:
            url = "http://one.example.org/itself"
            return body(ONE, f"rep {LABEL}", url=url, state="Copy", contenttype="Data")
        return (
            offered
            if f".translation({request.relation.modifier[2:-1]})".encode() in offered
            or (request.relation.modifier == "+")
            else body(ONE, f"rep {LABEL}")
        )

    return resolve(f"{LABEL}{modifier}", {ONE: answer}, accepted)


@pytest.mark.parametrize(
    ("modifier", "offered", "accepted", "taken"),
    [
        ("+", "pt en", "pt-BR, en;q=0.9", "pt"),
        ("+", "pt-BR en", "pt", "pt-BR"),
        ("+", "pt en", "pt;q=0, en;q=0.1", "en"),
        ("+", "- en", "pt", "-"),
        ("+", "- pt", "pt", "pt"),
        ("+", "de en", "pt", "itself"),
        ("+(pt)", "pt pt-BR", "en", "pt"),
        ("+(pt)", "pt-BR en", "en", "pt-BR"),
        ("+(pt-BR)", "pt-BR pt", "", "pt-BR"),
    ],
)
def test_a_text_is_taken(modifier: str, offered: str, accepted: str, taken: str) -> None:
    outcome = ask(modifier, offering(*offered.split()), accepted)
    assert isinstance(outcome, Redirect)
    assert outcome.url == f"http://one.example.org/{taken}"


def test_without_anything_that_suits_the_items_own_language_is_taken() -> None:
    outcome = ask("+", offering("de", "en", own="en"), "pt")
    assert isinstance(outcome, Redirect)
    assert outcome.url == "http://one.example.org/en"


@pytest.mark.parametrize(
    ("modifier", "offered", "told"),
    [("+(pt)", "pt-BR pt-PT en", "en pt-BR pt-PT"), ("+(pt-BR)", "pt en", "en pt"), ("+(fr)", "- en", "en")],
)
def test_what_is_not_there_gives_a_notice_of_what_is(modifier: str, offered: str, told: str) -> None:
    outcome = ask(modifier, offering(*offered.split()))
    assert isinstance(outcome, RelatedItemMissing)
    assert (outcome.missing, " ".join(map(str, outcome.languages))) == (Missing.TRANSLATION, told)


def test_the_language_of_the_link_overrides_the_browsers() -> None:
    """E21."""
    outcome = resolve(f"{LABEL}+?ibiurl.language=en", {ONE: lambda _: offering("pt", "en")}, "pt")
    assert isinstance(outcome, Redirect)
    assert outcome.url == "http://one.example.org/en"


def test_the_languages_of_all_answers_count() -> None:
    portuguese = {"url": "http://two.example.org/pt", "state": "Copy", "contenttype": "Data"}
    pairs = {f"{name}.translation(pt)": value for name, value in portuguese.items()}
    two = body(TWO, f"rep {LABEL}", **pairs)
    outcome = resolve(f"{LABEL}+", {ONE: lambda _: offering("en"), TWO: lambda _: two}, "pt, en;q=0.5")
    assert isinstance(outcome, Redirect)
    assert outcome.archive == TWO
