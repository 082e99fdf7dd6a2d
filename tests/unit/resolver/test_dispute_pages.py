"""`/disputes`, `/api/disputes` and `/api/register`."""

from __future__ import annotations

import html5lib
import pytest
from starlette.applications import Starlette

from ibi.membership.model.registration import ClaimKind, Registration
from ibi.membership.rules.signed_register import read_register
from ibi.people.model.account import Scope
from ibi.people.rules.sign_in import TOKEN_BYTES, new_token
from ibi.resolver.api.archives import DisputeEndpoints
from ibi.resolver.api.register_statement import RegisterStatementPage
from ibi.resolver.pages.records import DisputePages
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.register_publication import RegisterPublication
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages.identification import LabelForms
from ibi.web.authentication import Authentication
from ibi.web.page_answers import refusal
from tests.support.asgi_client import Answer, ask
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.keys import MemoryKeyStore
from tests.support.memory.registry import MemoryRegistry
from tests.support.memory.tokens import MemoryTokens
from tests.support.minting_app import CREATED
from tests.support.resolver_app import REP, A, item, resolver_app
from tests.support.set_clocks import SetClocks

ITEM = parse(REP)
HOME, LIAR = parse("lab.br/arq/2000/01.01.00.00"), parse("example.org/liar/2008/03.17.15.17")
AT = 1_800_000_000


class Served:
    def __init__(self) -> None:
        self.registry, self.beliefs, self.keys = MemoryRegistry(), MemoryBeliefs(), MemoryKeyStore()
        for label in (HOME, LIAR):
            self.registry.add(Registration(LabelForms.of(label), "", Instant(5)))
        tokens, clocks = MemoryTokens(), SetClocks(Instant(AT))
        self.text = {}
        for number, scope in enumerate((Scope.ADMIN, Scope.EDIT)):
            self.text[scope], token = new_token(bytes([number]) * TOKEN_BYTES, scope, CREATED, name="ana")
            tokens.add(token)
        self.disputes = Disputes(self.registry, self.beliefs, wall=lambda: AT)
        self.resolver = resolver_app({A: item(A)})
        self.publication = RegisterPublication(
            self.registry, self.beliefs, self.keys, resolver_url="http://r.example.org", wall=lambda: AT
        )
        endpoints = DisputeEndpoints(self.disputes, Authentication(tokens, clocks), self.resolver.site.resolving)
        pages = DisputePages(self.disputes).routes() + RegisterStatementPage(self.publication).routes()
        self.app = Starlette(
            routes=[*endpoints.routes(), *pages],
            exception_handlers={IbiError: lambda request, error: refusal(error, request.scope)},
        )

    def claim(self) -> None:
        self.beliefs.record_claim(ITEM, LIAR, HOME, ClaimKind.ORIGINAL, AT)

    async def page(self, language: str = "en") -> str:
        answer = await ask(self.app, "GET", "/disputes", {"accept-language": language})
        page = answer.body.decode()
        html5lib.HTMLParser(strict=True).parse(page)
        return page

    async def settle(self, holder: object, scope: Scope | None = Scope.ADMIN, label: str = REP) -> Answer:
        token = {} if scope is None else {"authorization": f"Bearer {self.text[scope]}"}
        body = b'{"holder": "%s"}' % str(holder).encode()
        headers = {"content-type": "application/json", **token}
        return await ask(self.app, "PUT", f"/api/disputes/{label}", headers, body)


async def test_an_open_dispute_is_an_alert_on_the_page_in_three_languages() -> None:
    served = Served()
    assert "There are none." in await served.page()
    served.claim()
    for language, words in (
        ("en", "open: the known holder stays"),
        ("pt-BR", "aberta: o detentor conhecido permanece"),
        ("es", "abierta: el poseedor conocido permanece"),
    ):
        page = await served.page(language)
        assert words in page
        assert 'role="alert"' in page
        assert LIAR.spelling in page
    served.disputes.settle(ITEM, HOME, "ana")
    page = await served.page()
    assert "settled by the administrator" in page
    assert 'role="alert"' not in page


async def test_the_list_has_open_disputes_and_all_of_them_if_asked() -> None:
    served = Served()
    served.claim()
    (one,) = (await ask(served.app, "GET", "/api/disputes")).json()["disputes"]
    assert (one["label"], one["holder"], one["claimant"], one["settled"]) == (REP, str(HOME), str(LIAR), None)
    served.disputes.settle(ITEM, HOME, "ana")
    assert (await ask(served.app, "GET", "/api/disputes")).json() == {"disputes": []}
    (one,) = (await ask(served.app, "GET", "/api/disputes?settled=yes")).json()["disputes"]
    assert (one["settled"], one["settled_at"]) == ("administrator", str(Instant(AT)))


async def test_the_archives_of_an_item_learn_how_a_dispute_over_it_was_settled() -> None:
    served = Served()
    assert (await ask(served.app, "GET", f"/api/disputes/{REP}")).json() == {"disputes": []}
    served.claim()
    served.disputes.settle(ITEM, LIAR, "ana")
    (one,) = (await ask(served.app, "GET", f"/api/disputes/{REP}")).json()["disputes"]
    assert (one["label"], one["holder"], one["settled"]) == (REP, str(LIAR), "administrator")
    assert (await ask(served.app, "GET", "/api/disputes/nothing")).status == 400


async def test_the_administrator_settles_a_dispute() -> None:
    served = Served()
    served.claim()
    answer = await served.settle(LIAR)
    assert (answer.status, answer.json()["disputes"][0]["holder"]) == (200, str(LIAR))
    assert served.beliefs.successors(ITEM) == (LIAR,)


async def test_what_was_kept_of_the_item_is_found_anew() -> None:
    served = Served()
    await served.resolver.get(f"/{REP}")
    asked = len(served.resolver.gateway.asked)
    served.claim()
    await served.settle(LIAR)
    await served.resolver.get(f"/{REP}")
    assert len(served.resolver.gateway.asked) > asked


@pytest.mark.parametrize(
    ("holder", "scope", "label", "status"),
    [
        (LIAR, None, REP, 401),
        (LIAR, Scope.EDIT, REP, 403),
        ("nonsense", Scope.ADMIN, REP, 400),
        ("other.br/x/2000/01.01.00.00", Scope.ADMIN, REP, 400),
        (LIAR, Scope.ADMIN, "nonsense", 400),
        (LIAR, Scope.ADMIN, "lab.br/arq/2001/01.01.00.00", 404),
    ],
)
async def test_what_is_refused(holder: object, scope: Scope | None, label: str, status: int) -> None:
    served = Served()
    served.claim()
    assert (await served.settle(holder, scope, label)).status == status
    assert served.disputes.count_open() == 1


async def test_the_register_is_a_statement_of_the_resolvers_key() -> None:
    served = Served()
    served.beliefs.record_copies(HOME, frozenset({LIAR}), AT)
    answer = await ask(served.app, "GET", "/api/register")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/jose")
    register = read_register(answer.body.decode())
    assert (register.signer, register.resolver) == (served.keys.signing_key().public, "http://r.example.org")
    named = {each.home.service.labels[0]: {copy.service for copy in each.home.copies} for each in register.archives}
    assert named == {HOME: {LIAR}, LIAR: set()}


async def test_the_register_is_signed_anew_when_it_has_changed_and_not_before() -> None:
    served = Served()
    first, again = [await ask(served.app, "GET", "/api/register") for _ in range(2)]
    assert (first.body, first.headers["etag"]) == (again.body, again.headers["etag"])
    known = await ask(served.app, "GET", "/api/register", {"if-none-match": first.headers["etag"]})
    assert (known.status, known.body) == (304, b"")
    served.registry.add(Registration(LabelForms.of(parse("new.br/x/2000/01.01.00.00")), "", Instant(6)))
    changed = await ask(served.app, "GET", "/api/register", {"if-none-match": first.headers["etag"]})
    one, other = read_register(first.body.decode()), read_register(changed.body.decode())
    assert (len(other.archives), other.issued > one.issued) == (3, True)
