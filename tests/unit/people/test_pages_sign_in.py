"""Signing in and out, as a browser does it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from ibi.items.model.content import Damage, Problem
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.store.catalogue.catalog import FILE_NAME
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.web.reader import SECURE_COOKIE, SESSION_COOKIE
from tests.support.asgi_client import ask
from tests.support.people_site import HOST, PASSWORD, PeopleSite, signed_in


@pytest.fixture
def site() -> Iterator[PeopleSite]:
    made = PeopleSite()
    yield made
    made.hasher.close()


async def test_the_right_password_signs_in_and_leads_on(site: PeopleSite) -> None:
    browser = site.browser()

    answer = await browser.post("/sign-in", {"name": "ADA", "password": PASSWORD, "to": "/search?q=x"})

    assert (answer.status, answer.headers["location"]) == (303, "/search?q=x")
    assert b"ada" in (await browser.get("/account")).body


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(site: PeopleSite) -> None:
    answer = await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD})

    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Secure", "Path=/"))
    assert cookie.startswith("__Host-")
    assert "Domain" not in cookie


@pytest.mark.parametrize(
    "others", ['a={"b": 1}; ', "a; =; ;;,\x01 =é; ", f"a={'a' * 50_000}; ", f"x{SECURE_COOKIE}=y; "]
)
async def test_no_other_cookie_of_the_host_keeps_a_person_out(site: PeopleSite, others: str) -> None:
    browser = await signed_in(site)

    assert (await browser.get("/account", cookie=f"{others}{SECURE_COOKIE}={browser.cookie}")).status == 200


async def test_of_two_cookies_of_the_name_neither_counts(site: PeopleSite) -> None:
    mine, planted = await signed_in(site), await signed_in(site)

    both = f"{SECURE_COOKIE}={planted.cookie}; {SECURE_COOKIE}={mine.cookie}"
    assert (await mine.get("/account", cookie=both)).status == 303
    assert (
        await mine.get("/account", cookie=f"{SESSION_COOKIE}={mine.cookie}")
    ).status == 303  # anybody could plant that one


@pytest.mark.parametrize("fields", [{"name": "ada", "password": "wrong"}, {"name": "bob", "password": PASSWORD}, {}])
async def test_no_visitor_learns_who_has_an_account(site: PeopleSite, fields: dict[str, str]) -> None:
    answer = await site.browser().post("/sign-in", fields)

    assert answer.status == 403
    assert b"The name or the password is wrong" in answer.body
    assert "set-cookie" not in answer.headers


async def test_a_link_signs_in_once(site: PeopleSite) -> None:
    path = f"/sign-in/{site.admin.link('ada')}"
    browser = site.browser()

    assert (await browser.post(path, {})).status == 303
    assert (await browser.get("/account")).status == 200
    assert (await site.browser().post(path, {})).status == 403
    assert (await site.browser().get(path)).status == 403


async def test_a_link_that_is_only_looked_at_signs_no_person_in(site: PeopleSite) -> None:
    path = f"/sign-in/{site.admin.link('ada')}"
    browser = site.browser()

    assert (await ask(site.app, "HEAD", path, HOST)).status == 200
    seen = await browser.get(path)

    assert (seen.status, seen.headers["cache-control"]) == (200, "no-store")
    assert b"<bdi>ada</bdi>" in seen.body
    assert "set-cookie" not in seen.headers
    assert (await browser.get("/account")).status == 303


async def test_another_site_can_sign_no_person_in_by_a_link_of_its_own(site: PeopleSite) -> None:
    site.admin.create("mallory", "reader")
    path = f"/sign-in/{site.admin.link('mallory')}"
    victim = await signed_in(site)

    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "http://["}):
        assert (await victim.post(path, {}, **headers)).status == 403
    await victim.get(path, **{"sec-fetch-site": "cross-site"})

    assert b"<bdi>ada</bdi>" in (await victim.get("/account")).body


async def test_no_other_site_can_plant_a_session(site: PeopleSite) -> None:
    victim, planted = site.browser(), await signed_in(site)
    victim.cookie = before = planted.cookie

    await victim.post("/sign-in", {"name": "ada", "password": PASSWORD})

    assert victim.cookie != before
    assert (await planted.get("/account")).status == 303  # it ended when somebody signed in over it


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "", "referer": "https://evil.example/"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "https://ibi.example"},
    ],
)
async def test_another_site_can_sign_no_person_in_or_out(site: PeopleSite, headers: dict[str, str]) -> None:
    browser = await signed_in(site)
    csrf = await browser.csrf()

    assert (await browser.post("/sign-out", {"csrf": csrf}, **headers)).status == 403
    assert (await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD}, **headers)).status == 403
    assert (await browser.get("/account")).status == 200
    # Browsers send no cookie along with a form of another site; none of it is forgotten for the answer.
    without = await site.browser().post("/sign-out", {}, **headers)
    assert (without.status, without.cookies) == (403, ())


@pytest.mark.parametrize("csrf", ["", "0" * 40, "é"])
async def test_a_form_without_the_sessions_proof_does_nothing(site: PeopleSite, csrf: str) -> None:
    browser = await signed_in(site)

    assert (await browser.post("/sign-out", {"csrf": csrf})).status == 403
    assert (await browser.get("/account")).status == 200


async def test_a_person_who_signs_out_is_out_with_every_copy_of_the_cookie(site: PeopleSite) -> None:
    browser = await signed_in(site)
    cookie, csrf = browser.cookie, await browser.csrf()

    answer = await browser.post("/sign-out", {"csrf": csrf})

    assert answer.status == 303
    browser.cookie = cookie
    assert (await browser.get("/account")).status == 303


async def test_a_session_ends_by_itself(site: PeopleSite) -> None:
    browser = await signed_in(site)
    site.clocks.advance(13 * 3600)

    assert (await browser.get("/account")).headers["location"] == "/sign-in?to=/account"


async def test_a_new_password_ends_what_the_old_one_began(site: PeopleSite) -> None:
    browser, elsewhere = await signed_in(site), await signed_in(site)
    fields = {"csrf": await browser.csrf(), "current": PASSWORD, "new": "outra frase longa"}

    assert (await browser.post("/account", fields)).status == 303
    assert (await browser.get("/account")).status == 200
    assert (await elsewhere.get("/account")).status == 303
    assert (await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD})).status == 403


@pytest.mark.parametrize(("current", "new", "status"), [("wrong", "outra frase longa", 403), (PASSWORD, "short", 400)])
async def test_a_password_is_changed_by_its_owner_to_a_good_one(
    site: PeopleSite, current: str, new: str, status: int
) -> None:
    browser = await signed_in(site)

    answer = await browser.post("/account", {"csrf": await browser.csrf(), "current": current, "new": new})

    assert answer.status == status
    assert (await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD})).status == 303


async def test_a_password_with_the_name_in_it_is_refused_with_the_rule(site: PeopleSite) -> None:
    browser = await signed_in(site)
    new = "a secret of Ada, long enough"

    answer = await browser.post("/account", {"csrf": await browser.csrf(), "current": PASSWORD, "new": new})

    assert answer.status == 400
    assert "it must not contain your name" in answer.body.decode()


async def test_guessing_is_slowed_down_and_then_goes_on(site: PeopleSite) -> None:
    for _ in range(5):
        assert (await site.browser().post("/sign-in", {"name": "ada", "password": "wrong"})).status == 403

    refused = await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD})
    assert refused.status == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 2
    site.seconds += 2
    assert (await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD})).status == 303


async def test_no_person_is_led_away_after_signing_in(site: PeopleSite) -> None:
    answer = await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD, "to": "//evil.example"})

    assert answer.headers["location"] == "/"


async def test_what_a_stranger_types_is_shown_as_typed(site: PeopleSite) -> None:
    answer = await site.browser().post("/sign-in", {"name": '"><script>', "password": "x"})

    assert b"<script>" not in answer.body


async def test_a_body_that_is_no_form_is_refused(site: PeopleSite) -> None:
    json = {"content-type": "application/json"}

    assert (await site.browser().post("/sign-in", {}, **json)).status == 415
    many = urlencode([("a", "b")] * 60).encode()
    answer = await ask(site.app, "POST", "/sign-in", {"content-type": "application/x-www-form-urlencoded"}, many)
    assert answer.status == 400


@pytest.mark.parametrize(("language", "words"), [("pt-BR", "Sua conta"), ("es", "Su cuenta"), ("en", "Your account")])
async def test_the_account_speaks_the_readers_language(site: PeopleSite, language: str, words: str) -> None:
    browser = await signed_in(site)

    answer = await browser.get("/account", **{"accept-language": language})

    assert f"<h1>{words}</h1>" in answer.body.decode()
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("language", ["en", "pt-BR", "es"])
async def test_an_administrator_sees_whether_what_is_kept_is_whole(tmp_path: Path, language: str) -> None:
    name = "lab.br/arq/2009/07.21.14.43"
    with closing(SqliteIntegrity(tmp_path / FILE_NAME)) as ledger:
        site = PeopleSite(Integrity(ledger, lambda: 1_800_000_000))
        site.admin.create("eva", "admin", PASSWORD)
        seen = {}
        for person in ("ada", "eva"):
            browser = site.browser()
            form = await browser.get("/sign-in")
            found = re.search(r'name="csrf" value="([0-9a-f]+)"', form.body.decode())
            fields = {"name": person, "password": PASSWORD, "csrf": found[1] if found else ""}
            assert (await browser.post("/sign-in", fields)).status == 303
            whole = await browser.get("/account", **{"accept-language": language})
            ledger.record(name, [Problem(Damage.DAMAGED, "E092", "v1/content/doc/a", "wrong")], 1_800_000_000)
            damaged = await browser.get("/account", **{"accept-language": language})
            ledger.record(name, [], 1_800_000_001)
            seen[person] = ['id="whole"' in whole.body.decode(), name in damaged.body.decode()]
            assert name not in whole.body.decode()
    assert seen == {"ada": [False, False], "eva": [True, True]}
