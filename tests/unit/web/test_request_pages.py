"""What readers ask for, and who answers: forms that are open to all, and links to files that are not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from ibi.deposits.model import Review, ReviewAct, ReviewEntry, ReviewState
from ibi.deposits.service.letters import (
    DELETION_SUBJECTS,
    DELETION_WORDS,
    REVIEW_SUBJECTS,
    REVIEW_WORDS,
    WITHHELD_SUBJECT,
    WITHHELD_WORDS,
    AddressBook,
    LetterBox,
    ReviewLetters,
)
from ibi.items.service.archive_store import ArchiveStore
from ibi.people.model.account import COMMAND, Person, Role
from ibi.requests.model import RequestState
from ibi.requests.rules import RequestRules, TooManyRequests, UnknownRequest
from ibi.requests.service import ReaderRequests
from ibi.requests.store import SqliteRequests
from ibi.standard.errors import InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.mail import Letter
from ibi.web.errors import retry_header
from ibi.web.reader import letter_translations
from tests.support.archive_app import SERVICE
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import Page, read_page
from tests.support.records_app import SAID, RecordsApp, records_app
from tests.support.set_clocks import SetClocks
from tests.support.signed_in_person import SignedInPerson

CLOSED = {**SAID, "visibility": {"networks": ["10.0.0.0/8"]}}
ASKED = {"name": "Rui Reis", "mail": "rui@example.org", "text": "Para um estudo.\nObrigado!"}
DAY = 86_400
REVIEW = Review(
    draft="draft-aaaaaaaaaaaaaaaa",
    owner="person:dan@example.org",
    depositor="dan@example.org",
    title="Uma\ntese\r\nBcc: x@example.org",
    state=ReviewState.SUBMITTED,
    submitted=0,
    changed=0,
)


class KeptMail:
    """The port `Mailer` that keeps what it gets."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []

    def send(self, letter: Letter) -> None:
        self.letters.append(letter)


@dataclass
class World:
    app: RecordsApp
    requests: ReaderRequests
    box: LetterBox
    mail: KeptMail
    ada: SignedInPerson
    """A librarian."""
    dan: SignedInPerson
    """The depositor who owns the items, whose name is an address."""
    eve: SignedInPerson
    people: MemoryPeople

    async def deposit(self, said: object = CLOSED) -> str:
        rep = str((await self.app.deposit(said))["rep"])
        self.app.services.deposits_of(COMMAND).give(parse(rep), "person:dan@example.org", "x")
        return rep

    async def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        sent = {"content-type": "application/x-www-form-urlencoded", "accept": "text/html"}
        sent |= {"sec-fetch-site": "same-origin", **{name.replace("_", "-"): text for name, text in headers.items()}}
        return await ask(self.app.app, "POST", path, sent, urlencode(fields).encode())

    async def get(self, path: str, **headers: str) -> Answer:
        return await ask(self.app.app, "GET", path, {"accept": "text/html", **headers})

    async def ask_copy(self, rep: str, **fields: str) -> Answer:
        return await self.post(f"/request/copy?item={quote(rep)}", {**ASKED, **fields})

    async def sent_letters(self) -> list[Letter]:
        self.box.drain()
        found, self.mail.letters = self.mail.letters, []
        return found


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    people, mail = MemoryPeople(), KeptMail()
    box = LetterBox(mail)

    def requests_of(store: ArchiveStore, clocks: SetClocks) -> ReaderRequests:
        book = AddressBook(people, "admin@example.org")
        return ReaderRequests(
            opened,
            store,
            clocks,
            RequestRules(180),
            box,
            book,
            "http://arq.lab.br",
            service=SERVICE,
            translations_of=letter_translations,
        )

    with closing(SqliteRequests(tmp_path)) as opened, closing(box):
        async with records_app(tmp_path, people=people, requests_of=requests_of) as app:
            requests = app.parts.requests
            assert requests is not None
            yield World(
                app,
                requests,
                box,
                mail,
                SignedInPerson(app, people, "ada", Role.LIBRARIAN),
                SignedInPerson(app, people, "dan@example.org", Role.DEPOSITOR),
                SignedInPerson(app, people, "eve", Role.DEPOSITOR),
                people,
            )


def page_of(answer: Answer, status: int = 200) -> Page:
    assert answer.status == status, answer.body.decode()
    return read_page(answer.body)


def kept_bytes(data: Path) -> bytes:
    return b"".join(each.read_bytes() for each in data.glob("state.sqlite*"))


def link_in(answer: Answer) -> str:
    found = re.search(r"http://arq\.lab\.br(/request/files/[\w-]+)", answer.body.decode())
    assert found is not None
    return found[1]


async def test_a_copy_is_asked_for_granted_fetched_counted_and_revoked(world: World) -> None:
    rep = await world.deposit()
    item = page_of(await world.get(f"/col/{rep}/metadata"))
    (asking,) = [link for link in item.links if link.startswith("/request/copy")]
    page_of(await world.get(asking))
    answer = await world.ask_copy(rep)
    assert (answer.status, answer.headers["location"]) == (303, "/request/sent")
    page_of(await world.get("/request/sent"))
    (letter,) = await world.sent_letters()
    assert (letter.to, letter.reply_to) == ("dan@example.org", None)
    assert "> Obrigado!" in letter.text
    assert "/requests/1" in page_of(await world.dan.get("/requests")).links
    page_of(await world.dan.get("/requests/1"))
    granted = await world.dan.post("/requests/1", {"act": "grant", "days": "7", "text": "Boa leitura"})
    page_of(granted)
    place = link_in(granted)
    (letter,) = await world.sent_letters()
    assert letter.to == "rui@example.org"
    assert place in letter.text
    assert ASKED["text"] not in letter.text  # a stranger's words go to no address that the stranger names
    listed = await world.get(place)
    assert f"{place}/a.txt" in page_of(listed).links
    assert (listed.headers["referrer-policy"], listed.headers["cache-control"]) == ("no-referrer", "no-store")
    file = await world.get(f"{place}/a.txt")
    assert (file.status, file.body) == (200, b"content")
    assert file.headers["content-disposition"].startswith("attachment")
    assert "1 file downloaded" in page_of(await world.dan.get("/requests/1")).text
    assert place.rpartition("/")[2] not in (await world.dan.get("/requests/1")).body.decode()  # shown once
    assert (await world.dan.post("/requests/1", {"act": "revoke"})).status == 303
    for path in (place, f"{place}/a.txt"):
        assert (await world.get(path)).status == 404
    acts = [each.act for each in world.app.store._audit.entries() if each.subject == rep]  # type: ignore[union-attr]
    assert acts[-3:] == ["grant copy", "use copy", "revoke copy"]
    text = "".join(map(str, world.app.store._audit.entries()))  # type: ignore[union-attr]
    assert "rui@" not in text  # the log is kept for good, and names no reader
    assert "Rui" not in text


async def test_a_link_ends_with_its_days_and_with_the_item(world: World) -> None:
    rep = await world.deposit()
    await world.ask_copy(rep)
    place = link_in(await world.dan.post("/requests/1", {"act": "grant", "days": "2", "text": ""}))
    world.app.clocks.advance(2 * DAY - 1)
    assert (await world.get(place)).status == 200
    world.app.clocks.advance(1)
    assert (await world.get(place)).status == 404
    world.app.clocks.jump(-DAY)
    assert (await world.get(f"{place}/b.txt")).status == 404
    await world.app.ask(
        "DELETE", f"/api/items/{rep}?reason=x", headers=world.app.bearer(scope=COMMAND.scope, name="root")
    )
    assert (await world.get(place)).status == 404


async def test_links_are_not_guessed_and_are_kept_as_digests(world: World, tmp_path: Path) -> None:
    rep = await world.deposit()
    await world.ask_copy(rep)
    place = link_in(await world.dan.post("/requests/1", {"act": "grant", "days": "2", "text": ""}))
    secret = place.rpartition("/")[2]
    assert len(secret) == 43
    assert secret.encode() not in kept_bytes(tmp_path)
    for other in (secret[:-1], secret + "A", secret.swapcase(), "x" * 43, "%00", quote("'; --"), "ü"):
        assert (await world.get(f"/request/files/{other}")).status == 404
    for path in ("../../doc/a.txt", "%2e%2e%2fitem.json", "A.txt", "a.txt%00"):
        assert (await world.get(f"{place}/{path}")).status == 404
    assert (await world.get(f"{place}/a.txt", **{"sec-fetch-dest": "script"})).status == 404


async def test_a_request_is_declined_with_a_reason_once(world: World) -> None:
    rep = await world.deposit()
    await world.ask_copy(rep)
    await world.sent_letters()
    empty = await world.ada.post("/requests/1", {"act": "decline", "days": "7", "text": ""})
    assert page_of(empty, 400).one("textarea").attrib["aria-invalid"] == "true"
    assert "say why" in page_of(empty, 400).text
    assert (await world.ada.post("/requests/1", {"act": "decline", "days": "7", "text": "Sob sigilo."})).status == 303
    (letter,) = await world.sent_letters()
    assert (letter.to, "> Sob sigilo." in letter.text) == ("rui@example.org", True)
    again = await world.dan.post("/requests/1", {"act": "grant", "days": "7", "text": ""})
    assert again.status == 409
    assert await world.sent_letters() == []


async def test_a_message_reaches_the_depositor_whose_address_is_not_shown(world: World) -> None:
    rep = await world.deposit(SAID)
    place = f"/request/message?item={quote(rep)}"
    shown = page_of(await world.get(f"/col/{rep}/metadata"))
    assert [link for link in shown.links if link.startswith("/request/")] == [place]
    for path in (place, f"/col/{rep}/metadata", "/request/sent"):
        assert "dan@example.org" not in (await world.get(path)).body.decode()
    answer = await world.post(place, ASKED)
    assert (answer.status, answer.headers["location"]) == (303, "/request/sent")
    (letter,) = await world.sent_letters()
    assert (letter.to, letter.reply_to) == ("dan@example.org", "rui@example.org")
    assert (await world.dan.post("/requests/1", {"act": "close"})).status == 303
    assert world.requests.look(COMMAND, 1).request.state is RequestState.CLOSED
    assert (await world.dan.post("/requests/1", {"act": "grant", "days": "7", "text": ""})).status == 404


async def test_nothing_is_asked_for_that_every_reader_gets(world: World) -> None:
    rep = await world.deposit(SAID)
    assert "no request is needed" in page_of(await world.get(f"/request/copy?item={quote(rep)}")).text
    assert (await world.ask_copy(rep)).status == 409
    closed = await world.deposit()
    by_right = await world.dan.post(f"/request/copy?item={quote(closed)}", ASKED)
    assert by_right.status == 409, "who may read the files has nothing to ask for"
    assert (await world.eve.post(f"/request/copy?item={quote(closed)}", ASKED)).status == 303
    for place in (
        "/request/copy",
        "/request/copy?item=x",
        "/request/copy?item=lab.br/arq/2019/01.02.03.04",
        "/request/x",
    ):
        assert (await world.get(place)).status == 404


@pytest.mark.parametrize(
    ("field_name", "text"),
    [
        ("name", "Rui\r\nBcc: all@example.org"),
        ("name", "Rui\nSubject: x"),
        ("name", ""),
        ("name", "x" * 201),
        ("mail", "rui@example.org\r\nBcc: all@example.org"),
        ("mail", "rui@example.org, all@example.org"),
        ("mail", "rui@example.org\x00"),
        ("mail", "<rui@example.org>"),
        ("mail", "=?utf-8?q?x?=@example.org"),
        ("mail", "rui"),
        ("text", ""),
        ("text", "a\x00b"),
        ("text", "x" * 3001),
    ],
)
async def test_mail_header_injection_is_refused_beside_its_field(world: World, field_name: str, text: str) -> None:
    rep = await world.deposit()
    answer = await world.ask_copy(rep, **{field_name: text})
    shown = page_of(answer, 400)
    tag = "textarea" if field_name == "text" else "input"
    assert shown.one(tag, name=field_name).attrib["aria-invalid"] == "true"
    if field_name != "name":
        assert shown.one("input", name="name").attrib["value"] == ASKED["name"]  # nothing typed is lost
    assert await world.sent_letters() == []


async def test_all_that_is_wrong_is_said_at_once_and_what_it_is(world: World) -> None:
    rep = await world.deposit()
    shown = page_of(await world.ask_copy(rep, name="Rui\u202egpj", mail="rui", text=""), 400)
    assert shown.one("input", name="name").attrib["aria-invalid"] == "true"
    assert shown.one("input", name="mail").attrib["aria-invalid"] == "true"
    assert shown.one("textarea", name="text").attrib["aria-invalid"] == "true"
    assert "it has a character that cannot be seen, [U+202E]" in shown.text


@pytest.mark.parametrize(
    "parts",
    [
        ("a@example.org\r\nBcc: b@example.org", "x", "x"),
        ("a@example.org", "x", "x", "b@example.org\nBcc: c@example.org"),
        ("a@example.org", "x\r\nBcc: b@example.org", "x"),
    ],
)
def test_mail_header_injection_no_letter_can_be_made_with_it(parts: tuple[str, ...]) -> None:
    with pytest.raises((InvalidMessage, ValueError)):
        Letter(*parts)


async def test_mail_header_injection_by_the_title_of_an_item(world: World) -> None:
    rep = await world.deposit({**CLOSED, "metadata": {"title": "Uma\u2028tese\u0085Bcc: all@example.org"}})
    await world.ask_copy(rep)
    (letter,) = await world.sent_letters()
    assert letter.subject.isprintable()


async def test_flooding_of_one_network_is_bounded_and_others_go_on(world: World) -> None:
    rep = await world.deposit()
    for _ in range(5):
        assert (await world.ask_copy(rep)).status == 303
    late = await world.ask_copy(rep)
    assert "try again" in page_of(late, 429).text
    assert late.headers["retry-after"] == "3600"
    assert late.body.decode().count(ASKED["name"]) == 1  # and what was typed is still there
    world.app.clocks.advance(3601)
    assert (await world.ask_copy(rep)).status == 303


@pytest.mark.parametrize("counts", [(5, 0, 0), (0, 20, 0), (0, 0, 500)])
def test_who_asks_too_often_is_told_when_to_ask_again_at_most_an_hour_later(counts: tuple[int, int, int]) -> None:
    with pytest.raises(TooManyRequests) as refused:
        RequestRules().check(*counts)
    assert retry_header(refused.value) == {"retry-after": "3600"}


async def test_csrf_no_form_of_another_site_is_taken(world: World) -> None:
    rep = await world.deposit()
    foreign = await world.post(f"/request/copy?item={quote(rep)}", ASKED, sec_fetch_site="cross-site")
    assert foreign.status == 403
    await world.ask_copy(rep)
    for answer in (
        await world.dan.post("/requests/1", {"act": "grant", "days": "7", "text": ""}, csrf="0"),
        await world.dan.post("/requests/1", {"act": "grant", "days": "7", "text": ""}, csrf=world.eve.csrf),
    ):
        assert answer.status == 403
    assert world.requests.look(COMMAND, 1).request.state is RequestState.WAITING


async def test_idor_and_forced_browsing_only_who_cares_for_the_item_sees_who_asks(world: World) -> None:
    rep = await world.deposit()
    await world.ask_copy(rep)
    for answer in (
        await world.eve.get("/requests/1"),
        await world.eve.post("/requests/1", {"act": "grant", "days": "7", "text": ""}),
        await world.eve.get("/requests/2"),
        await world.eve.get("/requests/x"),
        await world.eve.get("/requests/99999999999999999999"),
    ):
        assert answer.status == 404
    assert "Rui" not in (await world.eve.get("/requests")).body.decode()
    assert "Rui" in (await world.ada.get("/requests")).body.decode()
    for path in ("/requests", "/requests/1"):
        assert (await world.get(path)).status == 303


async def test_a_program_that_fills_in_every_field_is_not_heard(world: World) -> None:
    rep = await world.deposit()
    assert (await world.ask_copy(rep, website="http://spam.example")).status == 303
    assert world.requests.list(COMMAND) == ()


async def test_personal_data_is_deleted_after_the_days_that_are_set(world: World, tmp_path: Path) -> None:
    rep = await world.deposit()
    await world.ask_copy(rep)
    world.app.clocks.advance(180 * DAY + 1)
    with pytest.raises(UnknownRequest):
        world.requests.look(COMMAND, 1)
    (cleaning,) = world.requests.jobs()
    assert cleaning.step() is None
    assert world.requests.forget_old() == 0
    assert b"rui@example.org" not in kept_bytes(tmp_path)


_WITHOUT_MAIL = {
    "en": ("sends no e-mail", "The answer comes from them, to the address that you gave", "does not send e-mail"),
    "pt-BR": ("não envia e-mail", "A resposta vem deles, para o endereço que você informou", "não envia e-mail"),
    "es": ("no envía correo", "La respuesta viene de ellos, a la dirección que usted indicó", "no envía correo"),
}


@pytest.mark.parametrize("language", list(_WITHOUT_MAIL))
async def test_without_a_mail_server_no_page_promises_a_mail(world: World, language: str) -> None:
    rep = await world.deposit()
    world.box._mailer = None
    form, sent, answering = _WITHOUT_MAIL[language]
    for kind in ("copy", "message"):
        shown = await world.get(f"/request/{kind}?item={quote(rep)}", **{"accept-language": language})
        assert form in page_of(shown).text
    assert (await world.ask_copy(rep)).status == 303
    assert sent in page_of(await world.get("/request/sent", **{"accept-language": language})).text
    assert answering in page_of(await world.dan.get("/requests/1", accept_language=language)).text


async def test_without_a_mail_server_who_answers_is_told_so_before_and_after(world: World) -> None:
    rep = await world.deposit()
    world.box._mailer = None
    for _ in range(2):
        await world.ask_copy(rep)
    before = page_of(await world.dan.get("/requests/1")).text
    assert "This server does not send e-mail: write to the reader yourself, at the address above." in before
    assert "The reader gets a link to the files by e-mail" not in before
    granted = page_of(await world.dan.post("/requests/1", {"act": "grant", "days": "7", "text": ""})).text
    assert "give this link to the reader" in granted
    empty = page_of(await world.dan.post("/requests/2", {"act": "decline", "days": "7", "text": ""}), 400).text
    assert "say why: it is kept with the request" in empty
    assert "by mail" not in empty
    assert (await world.dan.post("/requests/2", {"act": "decline", "days": "7", "text": "Não."})).status == 303
    declined = page_of(await world.dan.get("/requests/2")).text
    assert "This server does not send e-mail: write your answer to the reader, at the address below." in declined


async def test_with_a_mail_server_pages_say_that_the_answer_comes_by_mail(world: World) -> None:
    rep = await world.deposit()
    for kind in ("copy", "message"):
        assert "answer by e-mail" in page_of(await world.get(f"/request/{kind}?item={quote(rep)}")).text
    await world.ask_copy(rep)
    assert "They will answer by e-mail" in page_of(await world.get("/request/sent")).text
    assert "gets a link to the files by e-mail" in page_of(await world.dan.get("/requests/1")).text
    assert (await world.dan.post("/requests/1", {"act": "decline", "days": "7", "text": "Não."})).status == 303
    assert "does not send e-mail" not in page_of(await world.dan.get("/requests/1")).text


async def test_pages_speak_three_languages(world: World) -> None:
    rep = await world.deposit()
    for language, words in (("pt-BR", "Pedir uma cópia"), ("es", "Pedir una copia")):
        answer = await world.get(f"/request/copy?item={quote(rep)}", **{"accept-language": language})
        assert words in page_of(answer).text


def test_mails_of_reviews_go_to_librarians_and_to_the_depositor_and_never_to_who_did_it() -> None:
    people, mail = MemoryPeople(), KeptMail()
    app_people = [
        ("ada@example.org", Role.LIBRARIAN),
        ("bia@example.org", Role.LIBRARIAN),
        ("dan@example.org", Role.DEPOSITOR),
    ]
    for name, role in app_people:
        people.add(Person(name, role, Instant(0), mail=name if role is Role.LIBRARIAN else None))
    letters = ReviewLetters(LetterBox(mail), AddressBook(people), "http://arq.lab.br")
    review = REVIEW

    def to(act: ReviewAct, account: str) -> list[str]:
        made = letters.letters(review, ReviewEntry(act, 0, account, "x", "words"))
        assert all(letter.subject.isprintable() for letter in made)
        return [letter.to for letter in made]

    assert to(ReviewAct.SUBMITTED, "person:dan@example.org") == ["ada@example.org", "bia@example.org"]
    assert to(ReviewAct.COMMENTED, "person:dan@example.org") == ["ada@example.org", "bia@example.org"]
    assert to(ReviewAct.WITHDRAWN, "person:dan@example.org") == []
    assert to(ReviewAct.RETURNED, "person:ada@example.org") == ["dan@example.org"]
    assert to(ReviewAct.PUBLISHED, "person:ada@example.org") == ["dan@example.org"]
    label = "lab.br/arq/2020/01.02.03.04"
    entry = ReviewEntry(ReviewAct.PUBLISHED, 0, "person:ada@example.org", "ada", "")
    (letter,) = replace(letters, resolver="http://urlib.net").letters(replace(review, label=label), entry)
    assert f"http://urlib.net/{label}" in letter.text.split()


def test_mails_of_a_deletion_say_what_is_asked_for_and_what_became_of_it() -> None:
    people = MemoryPeople()
    for name, role in (("ada", Role.LIBRARIAN), ("dan", Role.DEPOSITOR)):
        people.add(Person(name, role, Instant(0), mail=f"{name}@example.org"))
    letters = ReviewLetters(LetterBox(KeptMail()), AddressBook(people), "http://arq.lab.br")
    review = replace(REVIEW, owner="person:dan", depositor="Dan", title="Uma tese", deletes=True)

    def mail(act: ReviewAct, account: str, text: str = "") -> tuple[str, str, str]:
        (letter,) = letters.letters(review, ReviewEntry(act, 0, account, "Ada", text))
        return letter.to, letter.subject, letter.text

    to, subject, text = mail(ReviewAct.SUBMITTED, "person:dan", "The data are wrong.")
    assert (to, subject) == ("ada@example.org", "Deletion waits for a librarian: Uma tese")
    assert "The item is unchanged until a librarian deletes it." in text
    assert "> The data are wrong." in text
    assert f"http://arq.lab.br/review/{review.draft}" in text
    to, subject, text = mail(ReviewAct.RETURNED, "person:ada", "It is cited.")
    assert (to, subject) == ("dan@example.org", "Your request for deletion was declined: Uma tese")
    assert "> It is cited." in text
    assert mail(ReviewAct.PUBLISHED, "person:ada")[1] == "Your item was deleted: Uma tese"


def test_mails_of_a_restriction_go_to_librarians_alone_and_break_no_line() -> None:
    people = MemoryPeople()
    for name, role in (("ada", Role.LIBRARIAN), ("dan", Role.DEPOSITOR), ("eva", Role.DEPOSITOR)):
        people.add(Person(name, role, Instant(0), mail=f"{name}@example.org"))
    letters = ReviewLetters(LetterBox(KeptMail()), AddressBook(people), "http://arq.lab.br")
    (letter,) = letters.withheld_letters("person:dan", "Dan", "Uma\ntese\r\nBcc: x@example.org", "lab.br/arq/1")
    assert letter.to == "ada@example.org"
    assert letter.subject.isprintable()
    assert "Dan restricted access to" in letter.text
    assert "http://arq.lab.br/lab.br/arq/1" in letter.text


_REVIEW_MAILS = {
    "en": ("Sent back to you: Uma tese", 'Ada sent back "Uma tese". Change what is asked for, and submit it again.'),
    "pt-BR": ("Devolvido para você: Uma tese", "Altere o que foi pedido e envie-o de novo."),
    "es": ("Devuelto a usted: Uma tese", "Cambie lo que se pide y envíelo de nuevo."),
}


@pytest.mark.parametrize("language", [None, *_REVIEW_MAILS])
def test_mails_of_reviews_are_in_the_language_of_who_gets_them(language: str | None) -> None:
    people = MemoryPeople()
    people.add(Person("dan", Role.DEPOSITOR, Instant(0), mail="dan@example.org", language=language))
    letters = ReviewLetters(
        LetterBox(KeptMail()), AddressBook(people), "http://arq.lab.br", translations_of=letter_translations
    )
    entry = ReviewEntry(ReviewAct.RETURNED, 0, "person:ada", "Ada", "O título!")
    (letter,) = letters.letters(replace(REVIEW, owner="person:dan", title="Uma tese"), entry)
    subject, words = _REVIEW_MAILS[language or "en"]
    assert letter.subject == subject
    assert words in letter.text


_CARER_MAILS = {
    "en": ("A reader asks for a copy: ", "asks for the files of", "To answer, sign in:"),
    "pt-BR": ("Um leitor pede uma cópia: ", "pede os arquivos de", "Para responder, entre:"),
    "es": ("Un lector pide una copia: ", "pide los archivos de", "Para responder, entre:"),
}
_READER_MAILS = {
    "en": ("Your request: ", "They are not given:"),
    "pt-BR": ("Seu pedido: ", "Eles não foram cedidos:"),
    "es": ("Su solicitud: ", "No se conceden:"),
}


@pytest.mark.parametrize("language", list(_CARER_MAILS))
async def test_a_reader_is_answered_in_the_language_of_the_form_and_a_carer_told_in_their_own(
    world: World, language: str
) -> None:
    rep = await world.deposit()
    world.people.change("dan@example.org", lambda dan: replace(dan, language=language))
    await world.post(f"/request/copy?item={quote(rep)}", ASKED, accept_language="es")
    (told,) = await world.sent_letters()
    subject, asks, answer = _CARER_MAILS[language]
    assert told.subject.startswith(subject)
    assert asks in told.text
    assert answer in told.text

    await world.post(f"/request/copy?item={quote(rep)}", ASKED, accept_language=language)
    await world.sent_letters()
    await world.dan.post("/requests/2", {"act": "decline", "text": "Não."})
    (declined,) = await world.sent_letters()
    assert declined.subject.startswith(_READER_MAILS[language][0])
    assert _READER_MAILS[language][1] in declined.text
    await world.post(f"/request/copy?item={quote(rep)}", ASKED, accept_language=language)
    await world.sent_letters()
    await world.dan.post("/requests/3", {"act": "grant", "days": "1", "text": ""})
    (granted,) = await world.sent_letters()
    days = {"en": "for 1 day:", "pt-BR": "por 1 dia:", "es": "durante 1 día:"}
    assert days[language] in granted.text


@pytest.mark.parametrize("language", ["pt-BR", "es"])
def test_every_word_of_a_mail_is_translated(language: str) -> None:
    of_deletions = (*DELETION_SUBJECTS.values(), *DELETION_WORDS.values(), WITHHELD_SUBJECT, WITHHELD_WORDS)
    for words in (*REVIEW_SUBJECTS.values(), *REVIEW_WORDS.values(), *of_deletions):
        assert letter_translations(language).gettext(words) != words
