"""The first visit after a first start: sign in, look around, follow links."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Opened, Site
from tests.browser.test_every_page import AXE, RUN


def test_the_link_that_was_printed_signs_in_once_and_out_again(site: Site, opened: Opened) -> None:
    page = opened()
    page.goto(site.enter)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_text("admin", exact=True)).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    page.goto(site.enter)
    expect(page.get_by_role("alert")).to_contain_text("was already used")


def test_a_password_chosen_on_the_account_page_signs_in(site: Site, opened: Opened) -> None:
    site.command("person", "create", "ana", "--role", "librarian")
    link = site.command("person", "link", "ana").out.strip()
    page = opened()
    page.goto(re.sub(r"^http://[^/]+", site.url, link))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    page.goto(f"{site.url}/account")
    page.get_by_label("New password").fill("nove rios voadores")
    page.locator("form", has=page.get_by_label("New password")).get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Your password was changed")
    other = opened()
    other.goto(f"{site.url}/sign-in?to=/search")
    other.get_by_label("Name or e-mail address").fill("ana")
    other.get_by_label("Password", exact=True).fill("nove rios voadores")
    other.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(other).to_have_url(f"{site.url}/search")


def test_from_the_home_page_to_an_item_and_its_persistent_link(site: Site, opened: Opened) -> None:
    page = opened()
    page.goto(site.url)

    page.get_by_role("main").get_by_role("combobox").fill("rainfall")
    page.get_by_role("main").get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Monthly rainfall at three stations, 2023 to 2025").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Monthly rainfall")
    expect(page.get_by_role("link", name="2023.csv", exact=True).first).to_be_visible()
    answer = page.goto(site.link("rainfall"))
    assert answer is not None
    assert answer.text().startswith("Monthly rain at three stations")


def test_items_are_offered_while_a_search_is_typed(site: Site, opened: Opened) -> None:
    page = opened("pt-BR")
    page.goto(site.url)
    field = page.get_by_role("main").get_by_role("combobox")

    field.press_sequentially("rainf")
    offered = page.get_by_role("listbox", name="Sugestões").get_by_role("option")
    expect(offered.first).to_contain_text("Monthly rainfall at three stations")
    page.evaluate(AXE)
    assert page.evaluate(RUN) == []
    field.press("ArrowDown")
    expect(offered.first).to_have_attribute("aria-selected", "true")
    field.press("Escape")
    expect(offered).to_have_count(0)
    expect(field).to_have_value("rainf")
    field.press_sequentially("all")
    expect(offered.first).to_be_visible()
    field.press("ArrowDown")
    field.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Monthly rainfall")


def test_enter_without_a_choice_searches_for_what_was_typed(site: Site, opened: Opened) -> None:
    page = opened(width=360)
    page.goto(site.item("rainfall"))

    field = page.get_by_role("banner").get_by_role("combobox")
    field.press_sequentially("read")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    field.press("Enter")
    expect(page).to_have_url(f"{site.url}/search?q=read")


def test_an_identifier_in_the_box_leads_to_its_item(site: Site, opened: Opened) -> None:
    page = opened()
    page.goto(site.url)

    page.get_by_role("main").get_by_role("combobox").fill(site.labels["images"])
    page.get_by_role("main").get_by_role("button", name="Search").click()

    expect(page).to_have_url(site.item("images"))


def test_an_exclamation_mark_leads_to_the_newer_edition(site: Site, opened: Opened) -> None:
    page = opened()
    page.goto(site.item("thesis, first edition"))

    expect(page.get_by_text("There is a newer edition")).to_be_visible()
    page.goto(site.link("thesis, first edition", "!:"))
    expect(page).to_have_url(site.item("thesis, second edition"))


def test_a_plus_leads_to_the_translation_that_the_browser_reads(site: Site, opened: Opened) -> None:
    for language, title in {"pt-BR": "Como ler um IBI", "es": "Cómo leer un IBI", "en": "How to read an IBI"}.items():
        page = opened(language)
        page.goto(site.link("guide in en", "+"))
        expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_what_was_deleted_has_a_stone_that_says_why(site: Site, opened: Opened) -> None:
    page = opened()
    answer = page.goto(site.item("withdrawn tables"))

    assert answer is not None
    assert answer.status == 410
    expect(page.get_by_role("main")).to_contain_text("read in inches")
    page.get_by_role("main").get_by_role(
        "link", name=re.compile("Monthly rainfall at three stations, 2023")
    ).first.click()
    expect(page).to_have_url(re.compile(re.escape(site.labels["rainfall"])))


def test_a_restricted_item_shows_its_page_and_not_its_file(site: Site, opened: Opened) -> None:
    page = opened()
    page.goto(site.link("notebook"))

    expect(page.get_by_role("heading", level=1)).to_contain_text("Field notebook")
    expect(page).to_have_url(site.item("notebook"))


def test_explain_takes_a_link_apart_and_shows_how_it_is_resolved(site: Site, opened: Opened) -> None:
    page = opened()
    page.goto(f"{site.url}/explain")

    page.get_by_role("main").get_by_role("textbox").fill(site.link("thesis, first edition", "!"))
    page.get_by_role("main").get_by_role("button", name="Explain").click()
    expect(page.get_by_role("main")).to_contain_text("ibi.localhost")
    expect(page.locator("svg").first).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Text description")


def test_a_trace_of_a_link_is_a_page(site: Site, opened: Opened) -> None:
    page = opened()
    answer = page.goto(site.link("thesis, first edition", "!?ibiurl.trace=html"))

    assert answer is not None
    assert answer.status == 200
    expect(page.locator("svg").first).to_be_visible()


def test_an_identifier_that_is_not_in_use_gives_a_page_that_says_what_to_do(site: Site, opened: Opened) -> None:
    page = opened("pt-BR")
    answer = page.goto(f"{site.url}/localhost/ibi/2020/01.01.00.00")

    assert answer is not None
    assert answer.status == 404
    assert page.locator("html").get_attribute("lang") == "pt-BR"
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_a_language_chosen_on_a_page_stays(site: Site, opened: Opened) -> None:
    page = opened("en")
    page.goto(site.item("rainfall"))

    page.get_by_role("banner").locator("a[hreflang=es]").click()

    expect(page).to_have_url(site.item("rainfall"))
    assert page.locator("html").get_attribute("lang") == "es"
    page.goto(site.url)
    assert page.locator("html").get_attribute("lang") == "es"


def test_a_citation_is_copied(site: Site, opened: Opened) -> None:
    page = opened()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(site.item("thesis, first edition"))

    page.get_by_role("button", name=re.compile("^Copy")).nth(1).click()

    copied = page.evaluate("navigator.clipboard.readText()")
    assert "Ávila, A. B." in copied


def test_what_a_depositor_wrote_cannot_act_on_the_site(site: Site, opened: Opened) -> None:
    folder = site.command.home / "hostile"
    folder.mkdir(exist_ok=True)
    (folder / "page.html").write_text("<h1>mine</h1><script>document.title = 'acted'; fetch('/account')</script>")
    done = site.command("deposit", str(folder / "page.html"), "--title", "<script>alert(1)</script>", "--json")
    label = re.search(r'"rep": "([^"]+)"', done.out)
    assert label, done.err
    page = opened(scripts=True)
    page.goto(f"{site.url}/col/{label[1]}/metadata")

    expect(page.get_by_role("heading", level=1)).to_have_text("<script>alert(1)</script>")
    assert page.title() != "acted"


def test_a_pdf_is_shown_on_its_items_page_by_the_browsers_own_program(site: Site, opened: Opened) -> None:
    page = opened()
    with page.expect_event("framenavigated", lambda frame: frame.url.startswith("chrome-extension://")):
        page.goto(site.item("thesis, first edition"))
        page.locator("iframe.look").scroll_into_view_if_needed()
