"""`/resolver` and `/api/beliefs`: which Archives are asked, why one was not reached, and who is believed."""

from __future__ import annotations

import html5lib
import pytest
from starlette.applications import Starlette

from ibi.membership.model.registration import ClaimKind, KnownDeletion, Ruling
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import CallBack
from ibi.resolver.pages.records import RegisterPages
from ibi.resolver.ports import HOLDER_AGE
from ibi.resolver.resources import BelievedHolder
from ibi.resolver.service.belief_report import BeliefReport
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.reply import Failure
from tests.support.asgi_client import ask
from tests.support.membership_app import REP, MembershipApp
from tests.support.memory.beliefs import MemoryBeliefs

ITEM, FOREIGN = "sid.inpe.br/mtc-m21/2020/01.01.00.00", "lab.br/arq/2009/07.21.14.43"
HEIR, LIAR = parse("example.org/heir/2008/03.17.15.17"), parse("example.org/liar/2008/03.17.15.17")
OWN = ArchiveRef(LabelForms.of(parse("example.org/own/2008/03.17.15.17")), "own.example.org")
AT = 1_800_000_000


class Served:
    def __init__(self, *, own: ArchiveRef | None = None, now: float = AT) -> None:
        async def call(_: ArchiveRef) -> CallBack:
            return CallBack(False, None, Failure.BAD_CERTIFICATE)

        self.membership, self.beliefs = MembershipApp(answers=call), MemoryBeliefs()
        report = BeliefReport(self.membership.registry, self.beliefs, own, lambda: now)
        self.report = report
        self.app = Starlette(routes=RegisterPages(self.membership.admin, report).routes())

    def why(self, label: str) -> str | None:
        """Return why an Archive is believed about a label."""
        believed = self.report.about(label).believed
        return None if believed is None else believed.why

    async def page(self, path: str = "/resolver", language: str = "en") -> str:
        answer = await ask(self.app, "GET", path, {"accept-language": language})
        assert answer.status == 200
        page = answer.body.decode()
        html5lib.HTMLParser(strict=True).parse(page)
        return page


async def test_the_page_says_why_an_archive_was_not_reached_in_three_languages() -> None:
    served = Served()
    await served.membership.register()
    await served.membership.send()
    for language, words in (
        ("en", "not reached: its certificate was not accepted"),
        ("pt-BR", "não alcançado: o seu certificado não foi aceito"),
        ("es", "no alcanzado: no se aceptó su certificado"),
    ):
        assert words in await served.page(language=language)


async def test_the_page_tells_the_prefixes_of_which_an_archive_is_the_home() -> None:
    served = Served()
    await served.membership.register()
    assert ">sid.inpe.br/mtc-m21</bdi>" in await served.page()


async def test_the_page_lists_the_archive_of_the_server_itself() -> None:
    assert "example.org/own/2008/03.17.15.17" in await Served(own=OWN).page()
    assert "There are none." in await Served().page()


async def test_the_home_is_believed_since_it_was_registered() -> None:
    served = Served()
    await served.membership.register()
    facts = served.report.about(ITEM)
    assert facts.believed == BelievedHolder("home", REP, "2026-11-20T10:00:00Z")
    assert [(home.archive, home.included) for home in facts.homes] == [(REP, False)]
    assert "It is the home of this label" in await served.page(f"/resolver?about={ITEM}")


async def test_a_successor_that_the_home_named_is_believed_and_its_claims_and_copies_are_told() -> None:
    served = Served()
    await served.membership.register()
    served.beliefs.record_successors(parse(ITEM), (HEIR,), AT)
    served.beliefs.record_copies(parse(REP), frozenset({HEIR}), AT)
    served.beliefs.record_claim(parse(ITEM), LIAR, HEIR, ClaimKind.ORIGINAL, AT)
    facts = served.report.about(f"http://urlib.net/{ITEM}!")
    assert facts.believed == BelievedHolder("successor", str(HEIR), "2027-01-15T08:00:00Z")
    assert facts.homes[0].copies_at == [str(HEIR)]
    assert [claim.claimant for claim in facts.claims] == [str(LIAR)]
    page = await served.page(f"/resolver?about={ITEM}")
    assert "transferred the Original to this Archive" in page
    assert str(LIAR) in page


@pytest.mark.parametrize(("age", "why"), [(0, "holder"), (HOLDER_AGE - 1, "holder"), (HOLDER_AGE, "none")])
def test_a_known_holder_is_believed_for_a_day_where_there_is_no_home(age: int, why: str) -> None:
    served = Served(now=AT + age)
    served.beliefs.record_holder(parse(FOREIGN), HEIR, AT)
    assert served.why(FOREIGN) == why


async def test_a_prefix_tells_its_home_and_what_is_claimed_of_its_labels() -> None:
    served = Served()
    await served.membership.register()
    served.beliefs.record_successors(parse(ITEM), (HEIR,), AT)
    served.beliefs.record_claim(parse(ITEM), LIAR, HEIR, ClaimKind.DELETED, AT)
    served.beliefs.record_claim(parse(FOREIGN), LIAR, HEIR, ClaimKind.DELETED, AT)
    answer = await ask(served.app, "GET", "/api/beliefs?about=sid.inpe.br/mtc-m21.80")
    facts = answer.json()
    assert (facts["label"], facts["prefix"], facts["given_on"]) == (None, "sid.inpe.br/mtc-m21", 1)
    assert [claim["label"] for claim in facts["claims"]] == [ITEM]
    assert facts["believed"] is None


@pytest.mark.parametrize(("when", "shown"), [(AT, str(Instant(AT))), (None, None)])
async def test_beliefs_tell_that_an_item_was_deleted_and_by_whose_word(when: int | None, shown: str | None) -> None:
    served = Served()
    served.beliefs.record_deletion(parse(ITEM), KnownDeletion(HEIR, when), AT)
    facts = (await ask(served.app, "GET", f"/api/beliefs?about={ITEM}")).json()
    assert facts["deleted"] == {"archive": str(HEIR), "when": shown}
    assert "according to" in await served.page(f"/resolver?about={ITEM}")
    assert "according to" not in await served.page(f"/resolver?about={FOREIGN}")


def test_the_archive_of_the_server_is_the_home_of_its_prefix() -> None:
    facts = Served(own=OWN).report.about("example.org/own")
    assert [home.own for home in facts.homes] == [True]


async def test_what_is_neither_label_nor_prefix_is_explained_on_the_page() -> None:
    page = await Served().page("/resolver?about=%3Cscript%3E")
    assert "<script>" not in page
    assert 'role="alert"' in page


async def test_what_the_administrator_said_is_told_as_such() -> None:
    served = Served()
    item = parse(ITEM)
    served.beliefs.record_successors(item, (LIAR,), AT)
    served.beliefs.rule(Ruling(item, LIAR, frozenset({LIAR, HEIR}), AT, "ana"))
    assert served.why(ITEM) == "ruling"
    assert "Decided by the administrator of the resolver" in await served.page(f"/resolver?about={ITEM}")
    served.beliefs.record_successors(item, (LIAR, HEIR), AT)  # given on since
    assert served.why(ITEM) != "ruling"
