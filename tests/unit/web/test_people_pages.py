"""The pages of people: invitations, forgotten passwords, roles, tokens and sessions of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from ibi.net.smtp import MailNotSent
from ibi.people.model.account import Role
from ibi.people.rules.sign_in import INVITATION_SECONDS, LINK_SECONDS
from ibi.people.service.account_admin import MOST_TOKENS, MOST_TOKENS_A_DAY
from ibi.people.service.recovery import LETTERS_OF_ACCOUNT, LETTERS_OF_NETWORK
from ibi.people.service.sign_in import Device, TooManyGuesses
from ibi.standard.mail import Letter
from tests.support.page_reader import read_page
from tests.support.people_site import PASSWORD, URL, Browser, PeopleSite, PostBox, signed_in

NEW = "nove rios voadores"
LINK = re.compile(r"https://ibi\.example(/sign-in/\S+?)(?=[\s<])")


@pytest.fixture
def box() -> PostBox:
    return PostBox()


@pytest.fixture
def site(box: PostBox) -> Iterator[PeopleSite]:
    made = PeopleSite(mailer=box)
    made.admin.create("root", "admin", PASSWORD)
    yield made
    made.hasher.close()


def path_in(text: str) -> str:
    found = LINK.search(text)
    assert found is not None
    return found[1]


async def invited(site: PeopleSite, box: PostBox, mail: str = "joao@lab.example", role: str = "depositor") -> str:
    """The path of an invitation that was sent."""
    root = await signed_in(site, "root")
    assert (await root.send("/admin/people", act="invite", mail=mail, role=role)).status == 303
    return path_in(box.letters[-1].text)


# --- invitations ------------------------------------------------------------------------------------------------------


async def test_a_person_who_is_invited_makes_their_own_account(site: PeopleSite, box: PostBox) -> None:
    path = await invited(site, box)
    browser = site.browser()
    seen = await browser.get(path)
    answer = await browser.post(path, {"name": "  João   Ávila ", "new": PASSWORD})

    assert box.letters[0].to == "joao@lab.example"
    assert (seen.status, "joao@lab.example" in read_page(seen.body).text) == (200, True)
    assert (answer.status, answer.headers["location"]) == (303, "/account?welcome=1")
    assert "João Ávila" in read_page((await browser.get("/account")).body).text
    person = site.people.find("joão ávila")
    assert person is not None
    assert (person.role, person.mail) == (Role.DEPOSITOR, "joao@lab.example")
    for name in ("joão ávila", "JOAO@lab.example"):
        assert (await site.browser().post("/sign-in", {"name": name, "password": PASSWORD})).status == 303
    assert "person:root invite person mail:joao@lab.example role depositor" in site.audit.said
    assert any(line.startswith("person:João Ávila accept invitation person:João Ávila") for line in site.audit.said)


async def test_an_invitation_is_accepted_once_and_not_when_it_was_withdrawn_or_is_old(
    site: PeopleSite, box: PostBox
) -> None:
    path = await invited(site, box)
    assert (await site.browser().post(path, {"name": "João", "new": PASSWORD})).status == 303
    again = await site.browser().post(path, {"name": "Eva", "new": PASSWORD})
    assert (again.status, site.people.find("Eva")) == (403, None)

    second = await invited(site, box, "eva@lab.example")
    root = await signed_in(site, "root")
    waiting = site.admin.invitations()[0]
    assert (await root.send("/admin/people", act="withdraw", invitation=waiting.id)).status == 303
    assert (await site.browser().get(second)).status == 403

    third = await invited(site, box, "eva@lab.example")
    site.clocks.advance(INVITATION_SECONDS)
    assert (await site.browser().post(third, {"name": "Eva", "new": PASSWORD})).status == 403
    assert [person.name for person in site.people.list()] == ["ada", "João", "root"]


@pytest.mark.parametrize(
    ("name", "password", "words"),
    [
        ("ADA", PASSWORD, "Another person here has this name"),
        ("<b>", PASSWORD, "A name has letters of one script"),
        ("João", "short", "too short or too easy"),
        ("João", "", "too short or too easy"),
    ],
)
async def test_what_is_wrong_with_an_account_is_said_beside_the_field_with_nothing_lost(
    site: PeopleSite, box: PostBox, name: str, password: str, words: str
) -> None:
    path = await invited(site, box)

    answer = await site.browser().post(path, {"name": name, "new": password})

    page = read_page(answer.body)
    assert answer.status in {400, 409}
    assert words in page.text
    assert page.one("input", name="name").attrib["value"] == name
    assert len(page.all("input", aria_invalid="true")) == 1
    assert site.admin.invitations() != ()


async def test_where_no_mail_is_set_up_the_link_is_shown_once_to_hand_over() -> None:
    site = PeopleSite()
    site.admin.create("root", "admin", PASSWORD)
    root = await signed_in(site, "root")

    shown = await root.send("/admin/people", act="invite", mail="eva@lab.example", role="librarian")

    path = path_in(shown.body.decode())
    assert (shown.status, shown.headers["cache-control"]) == (200, "no-store")
    assert path not in (await root.get("/admin/people")).body.decode()
    assert (await site.browser().post(path, {"name": "Eva", "new": PASSWORD})).status == 303
    site.hasher.close()


async def test_an_invitation_that_could_not_be_sent_can_be_handed_over(site: PeopleSite, box: PostBox) -> None:
    box.refusal = MailNotSent(recipient="eva@lab.example", server="mail:25", reason="it did not answer")
    root = await signed_in(site, "root")

    shown = await root.send("/admin/people", act="invite", mail="eva@lab.example", role="reader")

    assert "it did not answer" in read_page(shown.body).text
    assert (await site.browser().get(path_in(shown.body.decode()))).status == 200


@pytest.mark.parametrize(
    ("mail", "words"), [("nonsense", "not an e-mail address"), ("ADA@lab.example", "Another person here has")]
)
async def test_an_invitation_to_no_address_or_a_known_one_is_refused_beside_the_field(
    site: PeopleSite, mail: str, words: str
) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    root = await signed_in(site, "root")

    page = read_page((await root.send("/admin/people", act="invite", mail=mail, role="librarian")).body)

    assert words in page.text
    (field,) = page.all("input", aria_invalid="true")
    assert field.attrib["value"] == mail
    assert site.admin.invitations() == ()


# --- administration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [Role.READER, Role.DEPOSITOR, Role.LIBRARIAN])
async def test_forced_browsing_to_the_page_of_people_is_refused_to_all_but_administrators(
    site: PeopleSite, role: Role
) -> None:
    site.admin.create("eva", role.value, PASSWORD)
    eva = await signed_in(site, "eva")

    assert (await eva.get("/admin/people")).status == 403
    assert (await eva.send("/admin/people", act="role", name="eva", role="admin")).status == 403
    assert (await site.browser().get("/admin/people")).headers["location"] == "/sign-in?to=/admin/people"
    found = site.people.find("eva")
    assert found is not None
    assert found.role is role


async def test_a_role_counts_from_the_next_page_on(site: PeopleSite) -> None:
    ada, root = await signed_in(site), await signed_in(site, "root")

    assert (await root.send("/admin/people", act="role", name="ada", role="admin")).status == 303
    assert (await ada.get("/admin/people")).status == 200
    await root.send("/admin/people", act="role", name="ada", role="reader")
    assert (await ada.get("/admin/people")).status == 403
    assert site.audit.said[-2:] == [
        "person:root change role person:ada from librarian to admin",
        "person:root change role person:ada from admin to reader",
    ]


async def test_a_person_who_is_disabled_is_out_at_the_next_request_and_can_be_let_in_again(site: PeopleSite) -> None:
    ada, root = await signed_in(site), await signed_in(site, "root")

    assert (await root.send("/admin/people", act="disable", name="ada")).status == 303
    assert (await ada.get("/account")).status == 303
    assert (await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD})).status == 403
    assert (await root.send("/admin/people", act="enable", name="ada")).status == 303
    assert (await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD})).status == 303
    assert [line.split(" ", 1)[1] for line in site.audit.said[-2:]] == [
        "disable person person:ada",
        "enable person person:ada",
    ]


@pytest.mark.parametrize("fields", [{"act": "disable"}, {"act": "role", "role": "reader"}])
async def test_the_last_administrator_cannot_be_locked_out(site: PeopleSite, fields: dict[str, str]) -> None:
    root = await signed_in(site, "root")

    answer = await root.send("/admin/people", name="root", **fields)

    assert answer.status == 409
    assert "only administrator" in read_page(answer.body).text
    assert (await root.get("/admin/people")).status == 200


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"act": "role", "name": "ada", "role": "king"}, 400),
        ({"act": "role", "name": "x", "role": "admin"}, 404),
        ({"act": "nothing"}, 400),
        ({}, 400),
        ({"act": "withdraw", "invitation": "x"}, 404),
        ({"act": "describe", "name": "ada", "mail": "x"}, 400),
        ({"act": "describe", "name": "ada", "shown": "x" * 101}, 400),
    ],
)
async def test_what_a_form_cannot_mean_is_refused_in_words(
    site: PeopleSite, fields: dict[str, str], status: int
) -> None:
    root = await signed_in(site, "root")

    answer = await root.send("/admin/people", **fields)

    assert answer.status == status
    assert read_page(answer.body).all("div", role="alert") != []


async def test_a_form_of_another_site_changes_no_person(site: PeopleSite) -> None:
    root = await signed_in(site, "root")
    csrf = await root.csrf()
    fields = {"act": "role", "name": "ada", "role": "admin"}

    assert (await root.post("/admin/people", {**fields, "csrf": "0" * 40})).status == 403
    assert (await root.post("/admin/people", {**fields, "csrf": csrf}, origin="https://evil.example")).status == 403
    ada = site.people.find("ada")
    assert ada is not None
    assert ada.role is Role.LIBRARIAN


async def test_a_link_made_on_the_page_signs_in(site: PeopleSite) -> None:
    root = await signed_in(site, "root")

    shown = await root.send("/admin/people", act="link", name="ada")

    assert (await site.browser().post(path_in(shown.body.decode()), {})).status == 303
    assert "person:root make sign-in link person:ada" in site.audit.said


@pytest.mark.parametrize("fields", [{"act": "disable"}, {"act": "role", "role": "librarian"}])
async def test_an_invitation_by_a_person_who_administers_no_more_makes_no_account(
    site: PeopleSite, box: PostBox, fields: dict[str, str]
) -> None:
    site.admin.create("chief", "admin", PASSWORD)
    path, chief = await invited(site, box, role="admin"), await signed_in(site, "chief")

    assert (await chief.send("/admin/people", name="root", **fields)).status == 303
    answer = await site.browser().post(path, {"name": "Mallory", "new": NEW})

    assert answer.status == 403
    assert site.people.find("Mallory") is None
    assert "person:chief withdraw invitation mail:joao@lab.example" in site.audit.said


async def test_an_invitation_whose_address_was_taken_meanwhile_says_so(site: PeopleSite, box: PostBox) -> None:
    path = await invited(site, box)
    site.admin.describe("ada", mail="joao@lab.example")

    answer = await site.browser().post(path, {"name": "João", "new": NEW})

    assert answer.status == 409
    assert "The e-mail address of this invitation already belongs to an account" in read_page(answer.body).text


async def test_the_name_of_an_account_is_not_the_address_of_another_invitation(site: PeopleSite, box: PostBox) -> None:
    await invited(site, box, "eva@lab.example")
    path = await invited(site, box)

    answer = await site.browser().post(path, {"name": "eva@lab.example", "new": NEW})

    assert answer.status == 409
    assert "Another person here has this name" in read_page(answer.body).text


async def test_an_administrator_who_has_only_links_to_sign_in_does_not_count_as_another(site: PeopleSite) -> None:
    site.admin.create("links", "admin")
    root = await signed_in(site, "root")

    refused = await root.send("/admin/people", act="disable", name="root")

    assert refused.status == 409
    assert "only administrator who can sign in" in read_page(refused.body).text


# --- forgotten passwords ----------------------------------------------------------------------------------------------


async def asked(site: PeopleSite, name: str, browser: Browser | None = None) -> tuple[int, str]:
    answer = await (browser or site.browser()).post("/sign-in/forgotten", {"name": name})
    await site.recovery.finish_letters()
    return answer.status, read_page(answer.body).text


async def test_a_forgotten_password_is_chosen_anew_by_a_link(site: PeopleSite, box: PostBox) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    before = await signed_in(site)
    await asked(site, "ADA@lab.example")
    path, browser = path_in(box.letters[0].text), site.browser()

    assert (await browser.get(path)).status == 200
    assert (await browser.post(path, {"new": "short"})).status == 400
    assert (await browser.post(path, {"new": NEW})).status == 303
    assert (await browser.get("/account")).status == 200
    assert (await before.get("/account")).status == 303
    assert (await site.browser().post(path, {"new": NEW})).status == 403
    assert (await site.browser().post("/sign-in", {"name": "ada", "password": NEW})).status == 303
    assert "- ask for new password person:ada" in site.audit.said
    assert "person:ada choose password by mail person:ada" in site.audit.said


async def test_a_visitor_who_asks_for_a_password_learns_nothing_about_accounts(site: PeopleSite, box: PostBox) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    site.admin.create("gone", "reader", PASSWORD, mail="gone@lab.example")
    site.admin.disable("gone")

    answers = {await asked(site, name) for name in ("ada", "ada@lab.example", "root", "gone", "x", "x@lab.example")}

    assert len(answers) == 1
    assert [letter.to for letter in box.letters] == ["ada@lab.example"] * 2


async def test_letters_are_bounded_for_each_account_and_each_network(site: PeopleSite, box: PostBox) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    statuses = [(await asked(site, "ada"))[0] for _ in range(LETTERS_OF_ACCOUNT + 3)]
    unknown = [(await asked(site, "x"))[0] for _ in range(LETTERS_OF_ACCOUNT + 3)]

    assert statuses == unknown == [200] * LETTERS_OF_ACCOUNT + [429] * 3
    assert len(box.letters) == LETTERS_OF_ACCOUNT
    for number in range(LETTERS_OF_NETWORK - 2 * LETTERS_OF_ACCOUNT):
        assert (await asked(site, f"n{number}"))[0] == 200
    assert (await asked(site, "another"))[0] == 429
    site.seconds += 3601
    assert (await asked(site, "ada"))[0] == 200


async def test_name_and_address_of_one_account_have_one_share_of_letters_and_answers_do_not_tell(
    site: PeopleSite, box: PostBox
) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    known = [await asked(site, name) for name in ("ada", "ada@lab.example") * LETTERS_OF_ACCOUNT]
    unknown = [await asked(site, name) for name in ("x", "x@lab.example") * LETTERS_OF_ACCOUNT]

    assert known == unknown
    assert [letter.to for letter in box.letters] == ["ada@lab.example"] * LETTERS_OF_ACCOUNT


async def test_a_network_that_is_refused_adds_nothing_to_what_accounts_wait(site: PeopleSite, box: PostBox) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    device, other = Device("192.0.2.0"), Device("198.51.100.0")

    def ask(name: str, device: Device) -> None:
        site.recovery.ask_for_password(
            name, device, "192.0.2.7", lambda person, secret: Letter(person.mail or "", "", secret)
        )

    for number in range(LETTERS_OF_NETWORK):
        ask(f"n{number}", device)
    await site.recovery.finish_letters()
    for _ in range(2 * LETTERS_OF_ACCOUNT):
        with pytest.raises(TooManyGuesses):
            ask("ada", device)
    for _ in range(LETTERS_OF_ACCOUNT):
        ask("ada", other)
    await site.recovery.finish_letters()
    assert len(box.letters) == LETTERS_OF_ACCOUNT


async def test_a_link_for_a_password_is_over_after_an_hour_and_is_no_link_to_sign_in(
    site: PeopleSite, box: PostBox
) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    await asked(site, "ada")
    path = path_in(box.letters[0].text)

    assert (await site.browser().post(path.replace("/password", ""), {})).status == 403
    assert (await site.browser().post(f"/sign-in/password/{site.admin.link('ada')}", {"new": NEW})).status == 403
    site.clocks.advance(LINK_SECONDS)
    assert (await site.browser().post(path, {"new": NEW})).status == 403


async def test_a_letter_to_an_old_address_leads_nowhere(site: PeopleSite, box: PostBox) -> None:
    site.admin.describe("ada", mail="ada@lab.example")
    await asked(site, "ada")
    path = path_in(box.letters[0].text)
    root = await signed_in(site, "root")
    await root.send("/admin/people", act="describe", name="ada", mail="new@lab.example")

    assert (await site.browser().get(path)).status == 403
    assert (await site.browser().post(path, {"new": NEW})).status == 403


# --- one's own account ------------------------------------------------------------------------------------------------


async def test_a_token_of_ones_own_is_shown_once_and_revoked(site: PeopleSite) -> None:
    ada = await signed_in(site)

    shown = await ada.send("/account", act="token", scope="edit", name="laptop", days="30")

    text = re.search(r"ibi_[a-z2-7]{16}_[a-z2-7]{52}", shown.body.decode())
    assert text is not None
    assert text[0] not in (await ada.get("/account")).body.decode()
    (token,) = site.tokens.tokens_of("ada")
    assert (token.person, token.name, str(token.scope)) == ("ada", "laptop", "edit")
    assert token.expires is not None
    assert token.expires.seconds == site.clocks.read().wall.seconds + 30 * 86_400
    assert (await ada.send("/account", act="revoke", token=token.id)).status == 303
    assert site.tokens.tokens_of("ada")[0].revoked is not None
    assert (await ada.send("/account", act="revoke", token=token.id)).status == 303
    assert [line.split(" ")[1:3] for line in site.audit.said[-2:]] == [["create", "token"], ["revoke", "token"]]


async def test_tokens_of_ones_own_are_bounded_at_a_time_and_in_a_day(site: PeopleSite) -> None:
    ada = await signed_in(site)
    csrf = await ada.csrf()

    async def make() -> tuple[int, str]:
        answer = await ada.post("/account", {"act": "token", "scope": "read", "csrf": csrf})
        return answer.status, read_page(answer.body).text

    for _ in range(MOST_TOKENS):
        assert (await make())[0] == 200
    status, text = await make()
    assert (status, "revoke one first" in text) == (409, True)
    for token in site.tokens.tokens_of("ada"):
        site.tokens.revoke_token(token.id)
    for _ in range(MOST_TOKENS_A_DAY - MOST_TOKENS):
        assert (await make())[0] == 200
    for token in site.tokens.tokens_of("ada"):
        site.tokens.revoke_token(token.id)
    status, text = await make()
    assert (status, "too many tokens today" in text) == (429, True)
    site.clocks.advance(86_400)
    ada = await signed_in(site)
    csrf = await ada.csrf()
    assert (await make())[0] == 200


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        (Role.READER, {"read"}),
        (Role.DEPOSITOR, {"read", "deposit"}),
        (Role.LIBRARIAN, {"read", "deposit", "edit", "copy"}),
        (Role.ADMIN, {"read", "deposit", "edit", "admin", "copy"}),
    ],
)
async def test_a_token_of_ones_own_never_allows_more_than_ones_role(
    site: PeopleSite, role: Role, scopes: set[str]
) -> None:
    site.admin.create("eva", role.value, PASSWORD)
    eva = await signed_in(site, "eva")

    made = {
        scope
        for scope in ("read", "deposit", "edit", "admin", "copy", "root", "")
        if (await eva.send("/account", act="token", scope=scope, name="x")).status == 200
    }

    assert made == scopes
    assert {str(token.scope) for token in site.tokens.tokens_of("eva")} == scopes


async def test_no_person_revokes_a_token_or_ends_a_session_of_another(site: PeopleSite) -> None:
    site.admin.create("eva", "reader", PASSWORD)
    ada, eva = await signed_in(site), await signed_in(site, "eva")
    await ada.send("/account", act="token", scope="read", name="mine")
    (token,), (session,) = site.tokens.tokens_of("ada"), site.people.sessions_of("ada")

    assert (await eva.send("/account", act="revoke", token=token.id)).status == 404
    assert (await eva.send("/account", act="end", session=session.id)).status == 303
    assert (await ada.get("/account")).status == 200
    assert site.tokens.tokens_of("ada")[0].revoked is None


async def test_sessions_are_seen_with_their_browser_and_ended(site: PeopleSite) -> None:
    firefox, chrome = site.browser(), site.browser()
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
    form = {"name": "ada", "password": PASSWORD}
    await firefox.post("/sign-in", form, **{"user-agent": agent})
    await chrome.post("/sign-in", form, **{"user-agent": "Mozilla/5.0 (Windows NT 10.0) Chrome/130 Safari/537.36"})

    page = read_page((await firefox.get("/account")).body)
    assert "Firefox, Linux" in page.text
    assert "Chrome, Windows" in page.text
    other = page.one("input", name="session").attrib["value"]
    assert (await firefox.send("/account", act="end", session=other)).status == 303
    assert (await chrome.get("/account")).status == 303
    assert (await firefox.get("/account")).status == 200
    assert site.audit.said[-1].startswith("person:ada end sessions person:ada")


async def test_all_other_sessions_end_together(site: PeopleSite) -> None:
    mine, *others = [await signed_in(site) for _ in range(4)]

    assert (await mine.send("/account", act="end")).status == 303
    assert [(await other.get("/account")).status for other in others] == [303] * 3
    assert (await mine.get("/account")).status == 200


async def test_a_person_changes_how_they_are_called_and_not_who_they_are(site: PeopleSite) -> None:
    ada = await signed_in(site)

    assert (await ada.send("/account", act="shown", shown="Ada King, Countess")).status == 303
    ada_now = site.people.find("ada")
    assert ada_now is not None
    assert (ada_now.name, ada_now.full_name) == ("ada", "Ada King, Countess")
    assert (await ada.send("/account", act="shown", shown="a\u202eb")).status == 400


@pytest.mark.parametrize("language", ["en", "pt-BR", "es"])
@pytest.mark.parametrize(
    "path", ["/account", "/admin/people", "/sign-in", "/sign-in/forgotten", "invitation", "password"]
)
async def test_each_page_is_strict_html_in_every_language(
    site: PeopleSite, box: PostBox, path: str, language: str
) -> None:
    site.admin.describe("ada", mail="ada@lab.example", shown="<Ada> & Co")
    browser = site.browser()
    if path == "invitation":
        path = await invited(site, box)
    elif path == "password":
        await asked(site, "ada")
        path = path_in(box.letters[-1].text)
    elif not path.startswith("/sign-in"):
        await invited(site, box)
        browser = await signed_in(site, "root")

    answer = await browser.get(path, **{"accept-language": language})

    assert answer.status == 200
    assert read_page(answer.body).root.attrib["lang"] == language
    assert URL


# --- the language of letters ------------------------------------------------------------------------------------------


NEW_PASSWORD = {"en": "New password at", "pt-BR": "Nova senha em", "es": "Contraseña nueva en"}
INVITATION = {"en": "Invitation to", "pt-BR": "Convite para", "es": "Invitación a"}


@pytest.mark.parametrize("language", list(NEW_PASSWORD))
async def test_a_password_letter_is_in_the_language_of_the_account_or_else_of_the_page(
    site: PeopleSite, box: PostBox, language: str
) -> None:
    site.admin.create("eva", "depositor", PASSWORD, mail="eva@lab.example")
    await site.browser().post("/sign-in/forgotten", {"name": "eva"}, **{"accept-language": language})
    await site.recovery.finish_letters()
    assert box.letters[-1].subject.startswith(NEW_PASSWORD[language])

    site.admin.describe("eva", language=language)
    await site.browser().post("/sign-in/forgotten", {"name": "eva"}, **{"accept-language": "en"})
    await site.recovery.finish_letters()
    assert box.letters[-1].subject.startswith(NEW_PASSWORD[language])


@pytest.mark.parametrize("language", list(INVITATION))
async def test_who_invites_chooses_the_language_of_the_letter(site: PeopleSite, box: PostBox, language: str) -> None:
    root = await signed_in(site, "root")
    await root.send("/admin/people", act="invite", mail="eva@lab.example", role="reader", language=language)
    assert box.letters[-1].subject.startswith(INVITATION[language])


async def test_the_first_sign_in_tells_the_language_of_mails_and_the_account_page_changes_it(site: PeopleSite) -> None:
    browser = site.browser()
    await browser.post("/sign-in", {"name": "ada", "password": PASSWORD}, **{"accept-language": "pt"})
    assert _language_of(site) == "pt-BR"
    await site.browser().post("/sign-in", {"name": "ada", "password": PASSWORD}, **{"accept-language": "es"})
    assert _language_of(site) == "pt-BR"
    assert (await browser.send("/account", act="language", language="es")).status == 303
    assert _language_of(site) == "es"
    assert (await browser.send("/account", act="language", language="xx")).status == 400
    assert _language_of(site) == "es"
    assert "person:ada describe person person:ada language es" in site.audit.said


def _language_of(site: PeopleSite) -> str | None:
    person = site.people.find("ada")
    assert person is not None
    return person.language
