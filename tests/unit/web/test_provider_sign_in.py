"""Signing in by an OpenID Connect provider: a real one, and one that lies."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from urllib.error import HTTPError
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import oidc_provider_mock
import pytest

from ibi.people.client import OidcProvider
from ibi.people.model.account import Role
from ibi.people.ports import IdentityProvider
from ibi.people.service.provider_sign_in import CALLS_AT_ONCE, RETURNS_OF_NETWORK
from tests.support.asgi_client import Answer
from tests.support.lying_provider import LyingProvider, lying_provider
from tests.support.page_reader import read_page
from tests.support.people_site import PASSWORD, Browser, PeopleSite, signed_in

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the provider's own
CALLBACK = "/sign-in/provider/callback"
MAIL = {"email": "joao@lab.example", "email_verified": True}


@contextmanager
def open_site(provider: IdentityProvider, role: Role | None = None) -> Iterator[PeopleSite]:
    site = PeopleSite(provider=provider, role=role)
    site.clocks.advance(int(time.time()) - site.clocks.read().wall.seconds)
    yield site
    site.hasher.close()


# --- a real provider --------------------------------------------------------------------------------------------------


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def consent(url: str, subject: str) -> str:
    """The way back of a browser whose user signs in at the provider as `subject`: path and query."""
    try:
        build_opener(_Stay).open(url, urlencode({"sub": subject}).encode())
    except HTTPError as answer:
        with answer:
            assert answer.code == 302
            target = urlsplit(answer.headers["location"])
            return f"{target.path}?{target.query}"
    raise AssertionError("the provider does not lead back")


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    users = [
        oidc_provider_mock.User(sub="joao", claims={"name": "João Ávila", **MAIL}),
        oidc_provider_mock.User(sub="homonym", claims={"name": "João Ávila"}),
        oidc_provider_mock.User(
            sub="mallory", claims={"name": "M", "email": "ada@lab.example", "email_verified": True}
        ),
    ]
    with oidc_provider_mock.run_server_in_thread(user_claims=users, require_nonce=True) as server:
        yield f"http://localhost:{server.server_port}"


async def by_provider(browser: Browser, subject: str, to: str = "/") -> Answer:
    there = await browser.get(f"/sign-in/provider?{urlencode({'to': to})}")
    assert there.status == 303
    return await browser.get(await asyncio.to_thread(consent, there.headers["location"], subject))


async def test_a_person_signs_in_by_a_real_provider_and_gets_an_account(real: str) -> None:
    with open_site(OidcProvider(real, "ibi", "secret", "Universidade"), Role.DEPOSITOR) as site:
        assert "Sign in with Universidade" in read_page((await site.browser().get("/sign-in")).body).text
        first, again, other = site.browser(), site.browser(), site.browser()
        answer = await by_provider(first, "joao", "/search")
        assert (answer.status, answer.headers["location"]) == (303, "/search")
        assert first.errand is None
        await by_provider(again, "joao")
        await by_provider(other, "homonym")
        assert [(one.name, one.role, one.mail) for one in site.people.list()] == [
            ("ada", Role.LIBRARIAN, None),
            ("João Ávila", Role.DEPOSITOR, "joao@lab.example"),
            ("João Ávila 2", Role.DEPOSITOR, None),
        ]
        assert len(site.people.sessions_of("João Ávila")) == 2
        assert any("link provider account person:João Ávila" in line for line in site.audit.said)


async def test_without_a_role_for_new_people_the_provider_lets_in_those_who_linked_their_account(real: str) -> None:
    with open_site(OidcProvider(real, "ibi", "secret")) as site:
        refused = await by_provider(site.browser(), "joao")
        assert refused.status == 403
        assert "No account here is linked" in read_page(refused.body).text
        ada = await signed_in(site)
        page = read_page((await ada.send("/account", act="link")).body)
        (way,) = [link for link in page.links if link.startswith(real)]
        linked = await ada.get(await asyncio.to_thread(consent, way, "joao"))
        assert linked.headers["location"] == "/account?done=linked"
        browser = site.browser()
        assert (await by_provider(browser, "joao")).status == 303
        assert "ada" in read_page((await browser.get("/account")).body).text
        assert (await ada.send("/account", act="unlink")).status == 303
        assert (await by_provider(site.browser(), "joao")).status == 403


async def test_an_address_alone_never_signs_in_as_the_person_who_has_it(real: str) -> None:
    with open_site(OidcProvider(real, "ibi", "secret"), Role.READER) as site:
        site.admin.describe("ada", mail="ada@lab.example")
        browser = site.browser()
        assert (await by_provider(browser, "mallory")).status == 303
        page = read_page((await browser.get("/account")).body).text
        assert "ada" not in page
        assert "ada@lab.example" not in page


async def test_a_person_who_is_disabled_is_not_let_in_by_the_provider(real: str) -> None:
    with open_site(OidcProvider(real, "ibi", "secret"), Role.READER) as site:
        await by_provider(site.browser(), "joao")
        site.admin.disable("João Ávila")
        assert (await by_provider(site.browser(), "joao")).status == 403


# --- one that lies ----------------------------------------------------------------------------------------------------


@pytest.fixture
def liar() -> Iterator[LyingProvider]:
    with lying_provider() as provider:
        yield provider


@pytest.fixture
def site(liar: LyingProvider) -> Iterator[PeopleSite]:
    with open_site(OidcProvider(liar.url, "ibi", "top secret"), Role.READER) as made:
        yield made


async def asked(browser: Browser, liar: LyingProvider) -> dict[str, str]:
    """What the browser takes along to the provider, which remembers the nonce."""
    there = await browser.get("/sign-in/provider")
    sent = dict(parse_qsl(urlsplit(there.headers["location"]).query))
    liar.nonce = sent["nonce"]
    return sent


async def come_back(browser: Browser, liar: LyingProvider, **changes: str | None) -> Answer:
    sent = await asked(browser, liar)
    said: dict[str, str | None] = {"code": "c", "state": sent["state"], **changes}
    return await browser.get(f"{CALLBACK}?{urlencode({name: text for name, text in said.items() if text is not None})}")


def is_refused(answer: Answer, site: PeopleSite) -> bool:
    assert [one.name for one in site.people.list()] == ["ada"]
    return answer.status == 403 and "failed" in read_page(answer.body).text


async def test_an_honest_answer_signs_in_with_a_proof_key_and_is_asked_for_in_full(
    site: PeopleSite, liar: LyingProvider
) -> None:
    browser = site.browser()
    sent = await asked(browser, liar)
    assert (sent["response_type"], sent["code_challenge_method"], sent["client_id"]) == ("code", "S256", "ibi")
    assert sent["redirect_uri"] == f"https://ibi.example{CALLBACK}"
    assert len({sent["state"], sent["nonce"], sent["code_challenge"]}) == 3
    assert (await browser.get(f"{CALLBACK}?code=c&state={sent['state']}")).status == 303
    assert len(liar.asked[0]["code_verifier"]) >= 43
    assert (await browser.get("/account")).status == 200


@pytest.mark.parametrize("verified", [None, False, "true", "false", 1, [True], {}])
async def test_an_address_that_the_provider_did_not_verify_is_not_the_address_of_the_account(
    site: PeopleSite, liar: LyingProvider, verified: object
) -> None:
    liar.claims |= {"name": "Eva", "email": "eva@lab.example", "email_verified": verified}
    assert (await come_back(site.browser(), liar)).status == 303
    assert {one.name: one.mail for one in site.people.list()}["Eva"] is None
    liar.claims |= {"sub": "s-2", "name": "Ida", "email": "ida@lab.example", "email_verified": True}
    assert (await come_back(site.browser(), liar)).status == 303
    assert {one.name: one.mail for one in site.people.list()}["Ida"] == "ida@lab.example"


@pytest.mark.parametrize("state", [None, "", "0" * 64, "é"])
async def test_a_wrong_state_is_refused_before_the_provider_is_asked(
    site: PeopleSite, liar: LyingProvider, state: str | None
) -> None:
    assert is_refused(await come_back(site.browser(), liar, state=state), site)
    assert liar.asked == []


async def test_the_state_of_another_browser_is_refused(site: PeopleSite, liar: LyingProvider) -> None:
    victim, attacker = site.browser(), site.browser()
    theirs = await asked(attacker, liar)
    await asked(victim, liar)
    for browser in (victim, site.browser()):
        assert is_refused(await browser.get(f"{CALLBACK}?code=c&state={theirs['state']}"), site)
    assert liar.asked == []


async def test_of_two_states_neither_counts(site: PeopleSite, liar: LyingProvider) -> None:
    browser = site.browser()
    sent = await asked(browser, liar)
    assert is_refused(await browser.get(f"{CALLBACK}?code=c&state=x&state={sent['state']}"), site)


@pytest.mark.parametrize("nonce", [None, "", "0" * 64, 7])
async def test_a_wrong_nonce_is_refused(site: PeopleSite, liar: LyingProvider, nonce: object) -> None:
    liar.claims["nonce"] = nonce
    assert is_refused(await come_back(site.browser(), liar), site)


@pytest.mark.parametrize("issuer", [None, "", "https://evil.example", "HTTP://127.0.0.1"])
async def test_a_token_of_a_wrong_issuer_is_refused(site: PeopleSite, liar: LyingProvider, issuer: object) -> None:
    liar.claims["iss"] = issuer
    assert is_refused(await come_back(site.browser(), liar), site)


@pytest.mark.parametrize("claims", [{"aud": None}, {"aud": "another"}, {"aud": []}, {"aud": ["ibi", "b"], "azp": "b"}])
async def test_a_token_for_a_wrong_audience_is_refused(
    site: PeopleSite, liar: LyingProvider, claims: dict[str, object]
) -> None:
    liar.claims |= claims
    assert is_refused(await come_back(site.browser(), liar), site)


@pytest.mark.parametrize("signing", ["other", "none", "HS256"])
async def test_a_token_that_is_signed_by_a_wrong_key_is_refused(
    site: PeopleSite, liar: LyingProvider, signing: str
) -> None:
    liar.signing = signing
    assert is_refused(await come_back(site.browser(), liar), site)


@pytest.mark.parametrize(
    "claims", [{"exp": 1}, {"exp": None}, {"iat": 2**40}, {"sub": None}, {"sub": ""}, {"sub": 7}, {"sub": "x" * 300}]
)
async def test_a_token_that_is_over_or_names_no_one_is_refused(
    site: PeopleSite, liar: LyingProvider, claims: dict[str, object]
) -> None:
    liar.claims |= claims
    assert is_refused(await come_back(site.browser(), liar), site)


async def test_a_mix_up_of_providers_is_refused(site: PeopleSite, liar: LyingProvider) -> None:
    """The browser comes back from another provider, whose code would go to ours (RFC 9207)."""
    assert is_refused(await come_back(site.browser(), liar, iss="https://evil.example"), site)
    assert liar.asked == []
    assert (await come_back(site.browser(), liar, iss=liar.url)).status == 303


async def test_a_provider_that_names_itself_has_to(liar: LyingProvider) -> None:
    liar.about["authorization_response_iss_parameter_supported"] = True
    with open_site(OidcProvider(liar.url, "ibi"), Role.READER) as site:
        assert is_refused(await come_back(site.browser(), liar), site)
        assert (await come_back(site.browser(), liar, iss=liar.url)).status == 303


@pytest.mark.parametrize(
    "about", [{"issuer": "https://evil.example"}, {"issuer": None}, {"authorization_endpoint": None}]
)
async def test_a_provider_that_says_it_is_another_is_not_gone_to(liar: LyingProvider, about: dict[str, object]) -> None:
    liar.about |= about
    with open_site(OidcProvider(liar.url, "ibi"), Role.READER) as site:
        browser = site.browser()
        assert is_refused(await browser.get("/sign-in/provider"), site)
        assert browser.errand is None


async def test_no_secret_goes_to_a_server_without_tls(liar: LyingProvider) -> None:
    liar.about["token_endpoint"] = "http://evil.example/token"
    with open_site(OidcProvider(liar.url, "ibi", "top secret"), Role.READER) as site:
        assert is_refused(await come_back(site.browser(), liar), site)


@pytest.mark.parametrize("name", ["token_endpoint", "jwks_uri"])
async def test_no_provider_leads_to_what_exists_beside_a_machine_only(
    site: PeopleSite, liar: LyingProvider, name: str
) -> None:
    """Such as the metadata service of a cloud."""
    liar.about[name] = "https://169.254.169.254/latest"
    assert is_refused(await come_back(site.browser(), liar), site)


@pytest.mark.parametrize(
    ("said", "name", "shown"),
    [
        ("Ávila, João", "Ávila João", "Ávila, João"),
        ("José (Pepe) García", "José Pepe García", "José (Pepe) García"),
        ("  Ada   Lovelace ", "Ada Lovelace", ""),
        ("joao@lab.example", "joao at lab.example", "joao@lab.example"),
        ("«王小明»", "王小明", "«王小明»"),
        ("- Eva -", "Eva -", "- Eva -"),
        ("Eva \u202e", "Eva", ""),
        ("Аda", "person", "Аda"),
        ("🦊", "person", "🦊"),
        (None, "person", ""),
        ("", "person", ""),
        ("x" * 90, "x" * 53, "x" * 90),
    ],
)
async def test_a_new_person_is_called_as_near_as_can_be_to_what_the_provider_says(
    site: PeopleSite, liar: LyingProvider, said: str | None, name: str, shown: str
) -> None:
    liar.claims["name"] = said
    assert (await come_back(site.browser(), liar)).status == 303
    (person,) = [one for one in site.people.list() if one.name != "ada"]
    assert (person.name, person.shown) == (name, shown)


async def test_any_number_of_people_may_have_one_name_at_the_provider(site: PeopleSite, liar: LyingProvider) -> None:
    liar.claims["name"] = "x" * 60
    for number in range(23):
        liar.claims["sub"] = f"s-{number}"
        assert (await come_back(site.browser(), liar)).status == 303
    assert len(site.people.list()) == 24


@pytest.mark.parametrize("place", ["cross-site", "same-site"])
async def test_a_link_of_another_site_leads_to_the_page_to_sign_in_and_not_to_the_provider(
    site: PeopleSite, place: str
) -> None:
    browser = site.browser()
    answer = await browser.get("/sign-in/provider?to=/search", **{"sec-fetch-site": place})
    assert (answer.status, browser.errand) == (200, None)
    assert "/sign-in/provider?to=/search" in read_page(answer.body).links
    for own in ("same-origin", "none"):
        assert (await browser.get("/sign-in/provider", **{"sec-fetch-site": own})).status == 303


@pytest.mark.parametrize("url", ["http://evil.example/authorize", "javascript:alert(1)", "//evil.example", "https://["])
async def test_no_browser_is_sent_to_a_page_without_tls(liar: LyingProvider, url: str) -> None:
    liar.about["authorization_endpoint"] = url
    with open_site(OidcProvider(liar.url, "ibi"), Role.READER) as site:
        assert is_refused(await site.browser().get("/sign-in/provider"), site)


async def test_a_provider_that_failed_is_asked_again_seconds_later(liar: LyingProvider) -> None:
    seconds, liar.about["issuer"] = 0.0, "https://evil.example"
    with open_site(OidcProvider(liar.url, "ibi", monotonic=lambda: seconds), Role.READER) as site:
        for _ in range(3):
            assert is_refused(await site.browser().get("/sign-in/provider"), site)
        assert liar.looked_at == 1
        del liar.about["issuer"]
        seconds = 6.0
        assert (await site.browser().get("/sign-in/provider")).status == 303


async def test_a_network_whose_answers_are_made_up_is_slowed_down_and_a_right_one_does_not_count(
    site: PeopleSite, liar: LyingProvider
) -> None:
    for _ in range(RETURNS_OF_NETWORK + 1):
        assert (await come_back(site.browser(), liar)).status == 303
    liar.signing, before = "other", len(liar.asked)
    statuses = [(await come_back(site.browser(), liar)).status for _ in range(RETURNS_OF_NETWORK + 3)]
    assert statuses == [403] * RETURNS_OF_NETWORK + [429] * 3
    assert len(liar.asked) - before == RETURNS_OF_NETWORK
    site.seconds += 3601
    liar.signing = "RS256"
    assert (await come_back(site.browser(), liar)).status == 303


class Hanging(OidcProvider):
    """Answers when it is let go."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.let_go = Event()

    def authorization_url(self, *_: str) -> str:
        self.let_go.wait()
        return "https://id.example/authorize"


async def test_a_provider_that_hangs_keeps_a_few_waiting_and_no_thread_that_serves_others() -> None:
    provider = Hanging("https://id.example", "ibi")
    with open_site(provider) as site:
        asking = [asyncio.create_task(site.browser().get("/sign-in/provider")) for _ in range(CALLS_AT_ONCE + 1)]
        try:
            done, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            answer = (await done.pop()).status, asyncio.get_running_loop()._default_executor  # type: ignore[attr-defined]
        finally:
            provider.let_go.set()
        assert answer == (503, None)
        statuses = [(await each).status for each in asking]
        assert sorted(statuses) == [303] * CALLS_AT_ONCE + [503]


async def test_a_provider_that_is_away_leaves_the_password(site: PeopleSite) -> None:
    with open_site(OidcProvider("http://127.0.0.1:9", "ibi")) as away:
        answer = await away.browser().get("/sign-in/provider")
        assert answer.status == 502
        assert "does not answer" in read_page(answer.body).text


async def test_a_proxy_of_the_environment_learns_no_secret(
    site: PeopleSite, liar: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert (await come_back(site.browser(), liar)).status == 303


async def test_an_answer_that_is_too_long_or_no_http_signs_in_no_person(site: PeopleSite, liar: LyingProvider) -> None:
    liar.about["more"] = "x" * (1 << 20)
    assert is_refused(await site.browser().get("/sign-in/provider"), site)
    with socket.create_server(("127.0.0.1", 0)) as mail:
        threading.Thread(target=_greet, args=(mail,), daemon=True).start()
        with open_site(OidcProvider(f"http://127.0.0.1:{mail.getsockname()[1]}", "ibi")) as away:
            assert (await away.browser().get("/sign-in/provider")).status == 502


def _greet(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"220 mail.example.org ESMTP\r\n")
        connection.recv(1 << 16)


async def test_a_refusal_of_the_provider_signs_in_no_person(site: PeopleSite, liar: LyingProvider) -> None:
    assert is_refused(await come_back(site.browser(), liar, code=None, error="access_denied"), site)


async def test_an_account_is_linked_only_by_a_form_of_ones_own_and_in_the_same_session(
    site: PeopleSite, liar: LyingProvider
) -> None:
    """Otherwise another site could link an account of its own with that of the person who looks at it."""
    ada = await signed_in(site)
    forged = await ada.post("/account", {"act": "link", "csrf": "0" * 40})
    assert (forged.status, ada.errand) == (403, None)
    page = read_page((await ada.send("/account", act="link")).body)
    (way,) = [link for link in page.links if link.startswith(liar.url)]
    sent = {name: texts[0] for name, texts in parse_qs(urlsplit(way).query).items()}
    liar.nonce = sent["nonce"]
    mallory = site.browser()
    mallory.errand = ada.errand
    assert (await mallory.get(f"{CALLBACK}?code=c&state={sent['state']}")).status == 403
    assert site.people.identities_of("ada") == ()
    assert (await ada.get(f"{CALLBACK}?code=c&state={sent['state']}")).status == 303
    assert site.people.identities_of("ada") == ((liar.url, "s-1"),)
    site.admin.create("eva", "reader", PASSWORD)
    eva = await signed_in(site, "eva")
    way = read_page((await eva.send("/account", act="link")).body).one("a", class_="button provider").attrib["href"]
    sent = dict(parse_qsl(urlsplit(way).query))
    liar.nonce = sent["nonce"]
    assert (await eva.get(f"{CALLBACK}?code=c&state={sent['state']}")).status == 409


@pytest.mark.parametrize("cookie", ["", "x", "x.y", "é.é", "." + "A" * 5000, "x.//8"])
async def test_any_errand_that_is_not_ours_is_refused(site: PeopleSite, cookie: str) -> None:
    browser = site.browser()
    browser.errand = cookie
    assert (await browser.get(f"{CALLBACK}?code=c&state=x")).status == 403


def test_no_repr_tells_the_secret_of_the_client() -> None:
    assert "top secret" not in repr(OidcProvider("https://id.example", "ibi", "top secret"))
