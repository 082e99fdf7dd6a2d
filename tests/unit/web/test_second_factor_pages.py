"""A second factor, from its first code to the loss of the device, as a browser meets it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from ibi.jobs.limits import FREE
from ibi.people.rules.sign_in import CODE_SECONDS, PERIOD, code_at
from tests.support.page_reader import read_page
from tests.support.people_site import PASSWORD, Browser, PeopleSite, PostBox, signed_in

SIGN_IN = {"name": "ada", "password": PASSWORD, "to": "/search"}


@pytest.fixture
def box() -> PostBox:
    return PostBox()


@pytest.fixture
def site(box: PostBox) -> Iterator[PeopleSite]:
    made = PeopleSite(mailer=box)
    yield made
    made.hasher.close()


def code(site: PeopleSite, late: int = 0) -> str:
    factor = site.people.find_factor("ada")
    assert factor is not None
    return code_at(factor.secret, site.clocks.read().wall.seconds + late)


async def enrolled(site: PeopleSite) -> tuple[Browser, list[str]]:
    """Ada, whose device makes codes, and her recovery codes. The code of this half minute is used."""
    ada = await signed_in(site)
    assert (await ada.send("/account", act="factor-begin")).status == 303
    page = read_page((await ada.get("/account")).body)
    assert page.all("svg") != []
    shown = await ada.send("/account", act="factor-confirm", code=code(site))
    assert shown.status == 200
    codes = re.findall(r"<li>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</li>", shown.body.decode())
    assert codes[0] not in (await ada.get("/account")).body.decode()
    return ada, codes


async def half_way(site: PeopleSite) -> tuple[Browser, str]:
    """A browser with the right password, and the secret that its form carries."""
    browser = site.browser()
    answer = await browser.post("/sign-in", SIGN_IN)
    assert (answer.status, browser.cookie) == (200, None)
    return browser, read_page(answer.body).one("input", name="secret").attrib["value"]


async def test_the_password_alone_signs_in_no_more_and_the_code_does(site: PeopleSite) -> None:
    await enrolled(site)
    site.clocks.advance(PERIOD)
    browser, secret = await half_way(site)

    assert (await browser.get("/account")).status == 303
    answer = await browser.post("/sign-in/code", {"secret": secret, "code": code(site), "to": "/search"})

    assert (answer.status, answer.headers["location"]) == (303, "/search")
    assert (await browser.get("/account")).status == 200
    assert site.audit.said[-1] == "person:ada set up second factor person:ada"


async def test_a_code_signs_in_once(site: PeopleSite) -> None:
    await enrolled(site)
    site.clocks.advance(PERIOD)
    given = code(site)
    for status in (303, 403):
        browser, secret = await half_way(site)
        assert (await browser.post("/sign-in/code", {"secret": secret, "code": given})).status == status


async def test_a_recovery_code_signs_in_once_without_the_device(site: PeopleSite) -> None:
    _, codes = await enrolled(site)
    for status in (303, 403):
        browser, secret = await half_way(site)
        assert (await browser.post("/sign-in/code", {"secret": secret, "code": codes[0]})).status == status


async def test_guessing_codes_is_slowed_down_whatever_the_form_carries(site: PeopleSite) -> None:
    await enrolled(site)
    statuses = []
    for _ in range(FREE + 3):
        browser, secret = await half_way(site)
        statuses.append((await browser.post("/sign-in/code", {"secret": secret, "code": "000000"})).status)
    assert statuses == [403] * FREE + [429] * 3


async def test_what_the_form_carries_is_of_use_with_a_code_alone_and_not_for_long(site: PeopleSite) -> None:
    await enrolled(site)
    browser, secret = await half_way(site)
    assert (await browser.post(f"/sign-in/{secret}", {})).status == 403
    assert (await browser.post(f"/sign-in/password/{secret}", {"new": "nove rios voadores"})).status == 403
    assert (await browser.post("/sign-in/code", {"secret": "x", "code": code(site)})).status == 403
    site.clocks.advance(CODE_SECONDS)
    assert (await browser.post("/sign-in/code", {"secret": secret, "code": code(site)})).status == 403


async def test_links_and_new_passwords_ask_for_the_code_too(site: PeopleSite, box: PostBox) -> None:
    await enrolled(site)
    site.admin.describe("ada", mail="ada@lab.example")
    by_link = site.browser()
    answer = await by_link.post(f"/sign-in/{site.admin.link('ada')}", {})
    assert (answer.status, by_link.cookie) == (200, None)
    await site.browser().post("/sign-in/forgotten", {"name": "ada"})
    await site.recovery.finish_letters()
    found = re.search(r"(/sign-in/password/\S+)", box.letters[0].text)
    assert found is not None
    by_mail = site.browser()
    answer = await by_mail.post(found[1], {"new": "nove rios voadores"})
    assert (answer.status, by_mail.cookie) == (200, None)
    assert "Verification code" in read_page(answer.body).text


async def test_a_wrong_first_code_asks_for_nothing_yet(site: PeopleSite) -> None:
    ada = await signed_in(site)
    await ada.send("/account", act="factor-begin")
    wrong = await ada.send("/account", act="factor-confirm", code="000000")
    assert wrong.status == 403
    page = read_page(wrong.body)
    field = page.one("input", name="code").attrib["aria-describedby"]
    assert "This code is wrong" in str(page.one("p", id=field).text)
    assert (await site.browser().post("/sign-in", SIGN_IN)).status == 303


async def test_a_secret_that_is_in_use_is_not_shown_again_or_replaced(site: PeopleSite) -> None:
    ada, _ = await enrolled(site)
    before = site.people.find_factor("ada")
    await ada.send("/account", act="factor-begin")
    assert site.people.find_factor("ada") == before
    assert read_page((await ada.get("/account")).body).all("div", class_="scan") == []


async def test_turning_it_off_takes_a_code(site: PeopleSite) -> None:
    ada, codes = await enrolled(site)
    assert (await ada.send("/account", act="factor-end", code="000000")).status == 403
    assert (await ada.send("/account", act="factor-end", code=codes[1])).status == 303
    assert (await site.browser().post("/sign-in", SIGN_IN)).status == 303
    assert site.audit.said[-1] == "person:ada end second factor person:ada"


async def test_a_command_removes_it_when_the_device_is_lost(site: PeopleSite) -> None:
    await enrolled(site)
    site.admin.remove_factor("ADA", site.people)
    assert (await site.browser().post("/sign-in", SIGN_IN)).status == 303
    assert site.audit.said[-1].endswith("remove second factor person:ada")


@pytest.mark.parametrize("language", ["en", "pt-BR", "es"])
async def test_the_pages_with_codes_are_strict_html_in_every_language(site: PeopleSite, language: str) -> None:
    ada = await signed_in(site)
    await ada.send("/account", act="factor-begin")
    assert (await ada.get("/account", **{"accept-language": language})).status == 200
    await ada.send("/account", act="factor-confirm", code=code(site))
    read_page((await ada.get("/account", **{"accept-language": language})).body)
    read_page((await site.browser().post("/sign-in", SIGN_IN, **{"accept-language": language})).body)
