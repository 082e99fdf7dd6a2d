"""The page of transfers, as a librarian's browser has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from ibi.items.model.item import Item
from ibi.people.pages.sign_in import SignInPages
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.standard.errors import IbiError
from ibi.standard.vocabulary import State
from ibi.transfers.model import OpenItem, OpenProblem, ReceiverStage
from ibi.transfers.pages import TRANSFERS, TransfersPage
from ibi.web.errors import problem
from ibi.web.reader import Sessions
from tests.support.deposit_samples import CountedLabels, deposits, put
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page
from tests.support.people_site import PASSWORD, Browser, account_page, known_site
from tests.support.set_clocks import SetClocks
from tests.support.transfer_archives import TransferArchive, two_archives

NOW = "2027-01-15T08:00:00Z"


class Site:
    """The pages of `b`, to which `a` offers items."""

    def __init__(self, a: TransferArchive, b: TransferArchive) -> None:
        self.a, self.b, self.made = a, b, deposits(a.store, CountedLabels(9))
        clocks, people, self.hasher = SetClocks(NOW), MemoryPeople(), SecretHasher(PasswordHasher(1, 8, 1))
        admin, sign_in = PersonAdmin(people, clocks, self.hasher), SignIn(people, clocks, self.hasher)
        sessions = Sessions(sign_in, "https://ibi.example")

        async def refuse(_: Request, error: Exception) -> Response:
            assert isinstance(error, IbiError)
            return problem(error)

        routes = [
            *SignInPages(sign_in, sessions).routes(),
            *account_page(sign_in, sessions).routes(),
            *TransfersPage(b.worker, sessions).routes(),
        ]
        self.app = Starlette(
            routes=routes, middleware=[known_site(sessions, routes)], exception_handlers={IbiError: refuse}
        )
        for name, role in (("ada", "librarian"), ("dan", "depositor")):
            admin.create(name, role, PASSWORD)

    def offer(self) -> Item:
        item = put(self.made)
        self.a.sending.begin(item, self.b.url)
        return item

    def stage(self, item: Item) -> ReceiverStage | None:
        kept = self.b.ledger.incoming(item.rep)
        return None if kept is None else kept.stage

    async def browser(self, name: str) -> Browser:
        browser = Browser(self.app)
        assert (await browser.post("/sign-in", {"name": name, "password": PASSWORD})).status == 303
        return browser


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with two_archives(tmp_path) as (a, b):
        made = Site(a, b)
        yield made
        made.hasher.close()


async def csrf(browser: Browser) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', (await browser.get("/account")).body.decode())
    assert found is not None
    return found[1]


async def test_an_offer_is_accepted_and_seen_on_its_way(site: Site) -> None:
    item, browser = site.offer(), await site.browser("ada")
    page = await browser.get(TRANSFERS)
    read_page(page.body)
    assert item.rep.spelling in page.body.decode()
    assert str(site.a.keys.signing_key().public) in page.body.decode()
    fields = {"csrf": await csrf(browser), "item": item.rep.spelling, "answer": "accept"}
    assert (await browser.post(TRANSFERS, fields)).headers["location"] == TRANSFERS
    under_way = (await browser.get(TRANSFERS)).body.decode()
    assert "the Copy is being made" in under_way
    assert 'value="accept"' not in under_way
    for _ in range(3):
        site.b.receiving.go_on(item.rep)
        site.a.sending.go_on(item.rep)
    assert site.b.state(item.rep) is State.ORIGINAL
    assert item.rep.spelling not in (await browser.get(TRANSFERS)).body.decode()


async def test_all_offers_of_one_archive_are_answered_at_once(site: Site) -> None:
    items, browser = [site.offer() for _ in range(3)], await site.browser("ada")
    fields = {"csrf": await csrf(browser), "from": site.a.url, "answer": "decline"}
    assert (await browser.post(TRANSFERS, {**fields, "from": "http://c.example"})).status == 404
    assert (await browser.post(TRANSFERS, fields)).status == 303
    assert [site.stage(item) for item in items] == [ReceiverStage.DECLINED] * 3


async def test_what_goes_to_others_is_shown(site: Site) -> None:
    item, browser = put(deposits(site.b.store)), await site.browser("ada")
    site.b.sending.begin(item, site.a.url)
    for language, words in (("en", "offered"), ("pt-BR", "oferecida"), ("es", "ofrecida")):
        page = await browser.get(TRANSFERS, **{"accept-language": language})
        read_page(page.body)
        assert words in page.body.decode()


async def test_a_wrong_form_changes_nothing_and_is_told(site: Site) -> None:
    item, browser = site.offer(), await site.browser("ada")
    good = {"csrf": await csrf(browser), "item": item.rep.spelling, "answer": "accept"}
    for change, status in (
        ({"answer": "perhaps"}, 400),
        ({"item": "nonsense"}, 400),
        ({"item": "lab.br/none/2009/01.01.00.00"}, 409),
        ({"csrf": "0" * 64}, 403),
    ):
        assert (await browser.post(TRANSFERS, {**good, **change})).status == status
    assert (await browser.post(TRANSFERS, good, origin="https://evil.example")).status == 403
    assert site.stage(item) is ReceiverStage.WAITING


async def test_the_page_is_for_librarians(site: Site) -> None:
    item = site.offer()
    assert (await Browser(site.app).get(TRANSFERS)).headers["location"] == f"/sign-in?to={TRANSFERS}"
    depositor = await site.browser("dan")
    assert (await depositor.get(TRANSFERS)).status == 403
    assert (await depositor.post(TRANSFERS, {"item": item.rep.spelling, "answer": "accept"})).status == 403
    assert TRANSFERS.encode() not in (await depositor.get("/account")).body
    assert TRANSFERS.encode() in (await (await site.browser("ada")).get("/account")).body


async def test_transfers_that_are_not_complete_are_shown(site: Site) -> None:
    browser, rep = await site.browser("ada"), put(site.made).rep
    assert "Incomplete transfers" not in (await browser.get(TRANSFERS)).body.decode()
    site.b.comparison.note(rep)
    assert "Incomplete transfers" not in (await browser.get(TRANSFERS)).body.decode()  # it is looked at soon
    asked = ("http://c.example: <no item>",)
    missing = OpenItem(rep, OpenProblem.NOT_FETCHED, "a.example/ibi/2020/01.01.00.00", "<none>", asked, since=7)
    site.b.ledger.change_open(rep, lambda _: missing)
    for language, words in (
        ("en", "The Original belongs here, and no Archive that was asked has its files."),
        ("pt-BR", "Transferências incompletas"),
        ("es", "Transferencias incompletas"),
    ):
        page = await browser.get(TRANSFERS, **{"accept-language": language})
        read_page(page.body)
        shown = page.body.decode()
        assert words in shown
        assert rep.spelling in shown
        assert "http://c.example: &lt;no item&gt;" in shown
        assert "&lt;none&gt;" in shown
