"""Reviews as the browsers of librarians and depositors have them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from ibi.deposits.model import ReviewState
from ibi.deposits.pages import review as review_pages
from ibi.deposits.service.ledger import Depositor
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.people.model.account import Role, Scope
from ibi.standard.instant import Instant
from ibi.standard.networks import network
from ibi.web.sites import NoLabels
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import Page, read_page
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app
from tests.support.signed_in_person import SignedInPerson

SCRIPT = b"<html><script>alert(document.cookie)</script></html>"


FILES = (("a.txt", b"content"), ("mal\u00edcia/x.html", SCRIPT))


@dataclass
class World:
    app: RecordsApp
    ada: SignedInPerson
    """A librarian."""
    dan: SignedInPerson
    eve: SignedInPerson
    """Two depositors."""

    async def submit(
        self,
        title: str | list[str] = "Uma tese",
        name: str = "dan",
        files: Sequence[tuple[str, bytes]] = FILES,
        visibility: dict[str, Any] | None = None,
        **metadata: Any,
    ) -> str:
        """The id of a draft that waits."""
        drafts, reviews = self.app.drafts, self.app.drafts.reviews
        assert reviews is not None
        headers = self.app.bearer(Scope.DEPOSIT, name)
        said = {**SAID, "metadata": {"title": title, **metadata}, "visibility": visibility or {}}
        begun = await self.app.ask("POST", RECORDS, said, headers)
        draft = str(begun.json()["id"])
        # The draft of a person, as if it had been begun in a page.
        record = drafts._files.read(draft)
        assert record is not None
        object.__setattr__(record, "owner", f"person:{name}")
        drafts._files.write(record)
        who = Depositor(f"person:{name}", name)
        for path, content in files:
            upload = drafts.uploads.begin(who, draft, path, len(content))
            upload.write(content)
            upload.finish(None)
        reviews.submit(who, draft, lambda _: None, check=lambda _: None)
        return draft

    def state(self, draft: str) -> ReviewState:
        assert self.app.drafts.reviews is not None
        found = self.app.drafts.reviews.store.find(draft)
        assert found is not None
        return found.state


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    people = MemoryPeople()
    async with records_app(tmp_path, is_reviewed=True, people=people) as app:
        yield World(
            app,
            SignedInPerson(app, people, "ada", Role.LIBRARIAN),
            SignedInPerson(app, people, "dan", Role.DEPOSITOR),
            SignedInPerson(app, people, "eve", Role.DEPOSITOR, shown="Evelina Souza"),
        )


async def page(person: SignedInPerson, path: str) -> Page:
    answer = await person.get(path)
    assert answer.status == 200, answer.body.decode()
    return read_page(answer.body)


def hidden(found: Page, name: str) -> str:
    return str(found.one("input", name=name).attrib["value"])


async def test_the_queue_shows_the_oldest_first_and_pages_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_pages, "SHOWN", 2)
    drafts = [await world.submit(f"Obra {number} <b>") for number in range(3)]
    first = await page(world.ada, "/review")
    places = [f"/review/{draft}" for draft in drafts]
    assert [link for link in first.links if link in places] == places[:2]
    assert "Obra 0 <b>" in first.text
    (following,) = [link for link in first.links if "after=" in link]
    assert [link for link in (await page(world.ada, following)).links if link in places] == places[2:]
    for place in ("/review?after=x", "/review?state=x", "/review?state=published"):
        assert (await world.ada.get(place)).status == 200


def summary_of(details: Element) -> str:
    return " ".join("".join(details.find("{*}summary").itertext()).split())  # type: ignore[union-attr]


def folders_of(found: Page) -> list[Element]:
    return [each for each in found.all("details") if "/ " in summary_of(each)]


async def test_many_files_are_folded_into_their_folders(world: World) -> None:
    many = [(f"data/{number:03}.csv", b"x") for number in range(40)]
    draft = await world.submit(files=[*many, ("read me.txt", b"y")])
    found = await page(world.ada, f"/review/{draft}")
    (folder,) = folders_of(found)
    assert ("open" in folder.attrib, "data/ 40 files" in summary_of(folder)) == (False, True)
    assert f"/review/{draft}/files/data/007.csv" in found.links
    few = await page(world.ada, f"/review/{await world.submit(name='eve')}")
    assert ["open" in each.attrib for each in folders_of(few)] == [True]


async def test_a_draft_that_waits_is_offered_neither_for_editing_nor_for_discarding(world: World) -> None:
    draft = await world.submit()
    own = await page(world.dan, "/account/items")
    assert f"/account/drafts/{draft}/review" in own.links
    assert [each.attrib.get("value") for each in own.all("button", name="discard")] == []
    assert "Continue editing" not in own.text


async def test_a_draft_that_came_back_says_so_once(world: World) -> None:
    draft = await world.submit()
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    await world.ada.post(f"/review/{draft}", {"act": "return", "text": "O ano falta.", "seal": seal})
    for place in (f"/deposit/{draft}", f"/deposit/{draft}?saved=1"):
        found = await page(world.dan, place)
        assert found.text.count("A librarian returned this draft") == 1
        assert found.links.count(f"/account/drafts/{draft}/review") == 1


async def test_people_are_called_by_their_display_names(world: World) -> None:
    draft = await world.submit(name="eve")
    await world.eve.post(f"/account/drafts/{draft}/review", {"act": "comment", "text": "É a versão final."})
    for person, place in ((world.ada, "/review"), (world.ada, f"/review/{draft}")):
        found = await page(person, place)
        assert "by Evelina Souza" in found.text
        assert "eve" not in [each.text for each in found.all("bdi")]
    own = await page(world.eve, f"/account/drafts/{draft}/review")
    assert [each.text for each in own.all("strong")].count("eve") == 0


async def test_a_librarian_reads_comments_sends_back_and_publishes(world: World) -> None:
    draft = await world.submit()
    place = f"/review/{draft}"
    found = await page(world.ada, place)
    assert f"{place}/files/a.txt" in found.links
    seal = hidden(found, "seal")
    answer = await world.ada.post(place, {"act": "return", "text": "O ano falta.", "seal": seal})
    assert (answer.status, answer.headers["location"]) == (303, place)
    assert world.state(draft) is ReviewState.RETURNED
    own = await page(world.dan, f"/account/drafts/{draft}/review")
    assert "O ano falta." in own.text
    reviews = world.app.drafts.reviews
    assert reviews is not None
    reviews.submit(Depositor("person:dan", "dan"), draft, lambda _: None, check=lambda _: None)
    seal = hidden(await page(world.ada, place), "seal")
    assert (await world.ada.post(place, {"act": "publish", "text": "Obrigada", "seal": seal})).status == 303
    assert world.state(draft) is ReviewState.PUBLISHED
    after = await page(world.ada, place)
    assert any(link.startswith("/col/") for link in after.links)
    assert "Obrigada" in after.text
    assert "was published" in (await page(world.dan, f"/account/drafts/{draft}/review")).text


async def test_all_that_gets_published_is_shown_to_who_judges_it(world: World) -> None:
    draft = await world.submit(
        title=["Uma tese", "A thesis"],
        creator=[{"name": "Banon, Gerald", "affiliations": [{"name": "INPE", "ror": "04xbn6x09"}]}],
        funding=[{"name": "FAPESP", "award": "2009/1-2"}],
        places=[{"name": "São José dos Campos"}],
        related_identifiers=[{"relation": "Cites", "scheme": "doi", "value": "10.1000/182"}],
        type=["journal article"],
        resource_type="Text",
    )
    found = await page(world.ada, f"/review/{draft}")
    for words in ("A thesis", "INPE", "FAPESP", "2009/1-2", "São José dos Campos", "10.1000/182", "journal article"):
        assert words in found.text
    assert "https://ror.org/04xbn6x09" in found.links

    assert [term.text for term in found.all("dt")].count("Type") == 1


async def test_a_title_that_a_librarian_corrected_is_the_one_that_is_told(world: World) -> None:
    draft = await world.submit("Uma teze")
    drafts, reviews = world.app.drafts, world.app.drafts.reviews
    assert reviews is not None
    record = drafts._files.read(draft)
    assert record is not None
    corrected = replace(record.description, metadata=DescriptiveMetadata(title=(Text("Uma tese"),)))
    drafts.describe(Depositor("person:ada", "ada", Scope.EDIT), draft, corrected)
    place = f"/review/{draft}"
    found = await page(world.ada, place)
    assert found.one("h1").text == "Uma tese"
    assert (await world.ada.post(place, {"act": "publish", "seal": hidden(found, "seal")})).status == 303
    published = reviews.store.find(draft)
    assert published is not None
    assert published.title == "Uma tese"


async def test_what_was_not_seen_is_not_published(world: World) -> None:
    draft = await world.submit()
    place = f"/review/{draft}"
    seal = hidden(await page(world.ada, place), "seal")
    corrected = Depositor("person:ada", "ada", Scope.EDIT)
    upload = world.app.drafts.uploads.begin(corrected, draft, "b.txt", 1)
    upload.write(b"x")
    upload.finish(None)
    for act in ("publish", "return"):
        answer = await world.ada.post(place, {"act": act, "text": "typed words", "seal": seal})
        assert answer.status == 409
        again = read_page(answer.body)
        assert "Look at it again" in again.text
        assert "typed words" in str(again.one("textarea").text)  # nothing typed is lost
    assert world.state(draft) is ReviewState.SUBMITTED


async def test_a_reason_is_asked_for_beside_the_field(world: World) -> None:
    draft = await world.submit()
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    answer = await world.ada.post(f"/review/{draft}", {"act": "return", "text": " ", "seal": seal})
    assert answer.status == 400
    assert read_page(answer.body).one("textarea").attrib["aria-describedby"] == "text-problem"


async def test_csrf_no_form_of_another_site_is_taken(world: World) -> None:
    draft = await world.submit()
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    fields = {"act": "publish", "text": "", "seal": seal}
    for answer in (
        await world.ada.post(f"/review/{draft}", fields, csrf="0" * 64),
        await world.ada.post(f"/review/{draft}", fields, csrf=world.dan.csrf),
        await world.ada.post(f"/review/{draft}", fields, sec_fetch_site="cross-site"),
        await world.dan.post(f"/account/drafts/{draft}/review", {"act": "withdraw"}, csrf=""),
    ):
        assert answer.status == 403
    assert (await world.ada.get(f"/review/{draft}?act=publish&seal={seal}")).status == 200
    assert world.state(draft) is ReviewState.SUBMITTED


async def test_idor_another_depositors_draft_is_not_there(world: World) -> None:
    draft = await world.submit()
    own = f"/account/drafts/{draft}/review"
    for answer in (
        await world.eve.get(own),
        await world.eve.post(own, {"act": "withdraw", "text": ""}),
        await world.eve.post(own, {"act": "comment", "text": "x"}),
        await world.eve.get(f"/review/{draft}/files/a.txt"),
    ):
        assert answer.status == 404
    assert world.state(draft) is ReviewState.SUBMITTED


async def test_forced_browsing_the_queue_is_for_librarians(world: World) -> None:
    draft = await world.submit()
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    for answer in (
        await world.dan.get("/review"),
        await world.dan.get(f"/review/{draft}"),
        await world.dan.post(f"/review/{draft}", {"act": "publish", "text": "", "seal": seal}),
    ):
        assert answer.status == 403
    # The depositor's own page judges nothing, whatever it is sent.
    own = f"/account/drafts/{draft}/review"
    assert (await world.dan.post(own, {"act": "publish", "text": "", "seal": seal})).status == 404
    stranger = SignedInPerson.__new__(SignedInPerson)
    stranger.app, stranger.cookie, stranger.csrf = world.app, {}, ""
    for path in ("/review", f"/review/{draft}", f"/review/{draft}/files/a.txt", own):
        answer = await stranger.get(path)
        assert (answer.status, answer.headers["location"].startswith("/sign-in")) == (303, True)
    assert world.state(draft) is ReviewState.SUBMITTED


async def test_a_depositor_withdraws_what_waits(world: World) -> None:
    draft = await world.submit()
    answer = await world.dan.post(f"/account/drafts/{draft}/review", {"act": "withdraw", "text": "Um erro meu"})
    assert answer.status == 303
    assert world.state(draft) is ReviewState.RETURNED
    gone = await world.dan.post(f"/account/drafts/{draft}/review", {"act": "withdraw", "text": ""})
    assert gone.status == 409


async def test_the_page_of_a_draft_leads_its_depositor_to_what_was_said(world: World) -> None:
    draft = await world.submit()
    own = f"/account/drafts/{draft}/review"
    assert own in (await page(world.dan, f"/deposit/{draft}")).links
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    await world.ada.post(f"/review/{draft}", {"act": "return", "text": "O ano falta.", "seal": seal})
    assert own in (await page(world.dan, f"/deposit/{draft}")).links
    assert "O ano falta." in (await page(world.dan, own)).text


async def test_files_of_a_draft_do_nothing_in_the_librarians_browser(world: World) -> None:
    draft = await world.submit()
    html = await world.ada.get(f"/review/{draft}/files/mal%C3%ADcia/x.html?view")
    assert html.body == SCRIPT
    assert html.headers["content-disposition"].startswith("attachment")
    assert html.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert html.headers["cache-control"] == "no-store"
    text = await world.ada.get(f"/review/{draft}/files/a.txt?view")
    assert "content-disposition" not in text.headers
    assert "sandbox" in text.headers["content-security-policy"]
    saved = await world.dan.get(f"/review/{draft}/files/a.txt")
    assert saved.headers["content-disposition"].startswith("attachment")
    assert (await world.ada.get(f"/review/{draft}/files/a.txt", sec_fetch_dest="script")).status == 404
    for path in ("b.txt", "..%2f..%2fdraft.json", "%2e%2e/draft.json", "A.TXT", "/etc/passwd", "a.txt%00"):
        assert (await world.ada.get(f"/review/{draft}/files/{path}")).status == 404


async def test_pages_speak_three_languages(world: World) -> None:
    draft = await world.submit()
    for language, words in (("pt-BR", "Mensagem ao depositante"), ("es", "Mensaje al depositante")):
        answer = await world.ada.get(f"/review/{draft}", accept_language=language)
        assert words in read_page(answer.body).text


async def _publish_item(world: World, **visibility: Any) -> str:
    """An item of dan's, who deposited it, and its label."""
    draft = await world.submit(visibility=visibility)
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    assert (await world.ada.post(f"/review/{draft}", {"act": "publish", "seal": seal})).status == 303
    return str(next(item.rep for item in world.app.store.catalog.items()))


_WAITS = {
    "en": "It has another owner, who will be asked",
    "pt-BR": "Ele tem outro proprietário, que será consultado",
    "es": "Tiene otro propietario, a quien se consultará",
}
_HOLDS = {
    "en": "It links to this item as soon as this is published",
    "pt-BR": "Ele leva a este item assim que este for publicado",
    "es": "Lleva a este ítem en cuanto este se publique",
}


async def _submit_claim(world: World, name: str, **claim: str) -> str:
    draft = await world.submit("Nova", name)
    said = {"metadata": {"title": "Nova"}, **claim}
    answer = await world.app.ask("PUT", f"{RECORDS}/{draft}", said, world.app.bearer(Scope.EDIT, "lia"))
    assert answer.status == 200, answer.json()
    return draft


@pytest.mark.parametrize(("name", "words"), [("eve", _WAITS), ("dan", _HOLDS)])
async def test_the_page_of_a_review_tells_what_becomes_of_a_claim(
    world: World, name: str, words: dict[str, str]
) -> None:
    rep = await _publish_item(world)
    draft = await _submit_claim(world, name, edition_of=rep)
    for language, expected in words.items():
        found = read_page((await world.ada.get(f"/review/{draft}", accept_language=language)).body)
        assert expected in found.text
        (link,) = (each for each in found.all("a") if each.attrib["href"].endswith(f"{rep}/metadata"))
        assert "".join(link.itertext()) == "Uma tese"
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    assert (await world.ada.post(f"/review/{draft}", {"act": "publish", "seal": seal})).status == 303
    held = (await world.app.ask("GET", f"{RECORDS}/{rep}")).json()
    assert bool(held.get("next_edition")) == (words is _HOLDS)
    asked = await page(world.dan, "/account/claims")
    assert ("Nova" in asked.text) == (words is _WAITS)


async def test_a_claim_on_an_item_of_the_archive_or_elsewhere_is_told_as_such(world: World) -> None:
    rep = await _publish_item(world)
    root = world.app.bearer(Scope.ADMIN, "root")
    assert (await world.app.ask("PUT", f"{RECORDS}/{rep}/owner", {"owner": None}, root)).status == 200
    found = await page(world.ada, f"/review/{await _submit_claim(world, 'dan', describes=rep)}")
    assert "It belongs to the Archive: it links to this item once a librarian accepts." in found.text
    elsewhere = "other.example/sid/2026/11.20.10.00"
    found = await page(world.ada, f"/review/{await _submit_claim(world, 'dan', edition_of=elsewhere)}")
    assert any(link.endswith(f"/{elsewhere}") for link in found.links)
    assert "links to this item" not in found.text


async def _withhold(world: World, person: SignedInPerson, rep: str, **said: str) -> str:
    version = next(str(item.version) for item in world.app.store.catalog.items())
    answer = await person.post(f"/account/items/{rep}/access", {"version": version, "networks": "", **said})
    assert answer.status == 303, answer.body.decode()
    return answer.headers["location"]


@pytest.mark.parametrize("name", ["dan", "ada"])
async def test_what_waits_is_published_though_access_was_narrowed_meanwhile(world: World, name: str) -> None:
    rep = await _publish_item(world)
    edited = await world.dan.post(f"/account/items/{rep}/edit", {})
    draft = edited.headers["location"].removeprefix("/deposit/")
    who, drafts = Depositor("person:dan", "dan"), world.app.drafts
    before = drafts.find(who, draft).record.description
    other = replace(before, metadata=DescriptiveMetadata(title=(Text("Outra tese"),)))
    drafts.describe(who, draft, other)
    answer = await world.app.ask("GET", f"/col/{rep}/doc/a.txt", headers={"authorization": ""})
    assert answer.status == 200
    assert drafts.publish_or_submit(who, draft, NoLabels()) is not None
    assert world.state(draft) is ReviewState.SUBMITTED
    person = {"dan": world.dan, "ada": world.ada}[name]
    assert (await _withhold(world, person, rep, embargo="2099-01-31")).endswith("done=saved")
    answer = await world.app.ask("GET", f"/col/{rep}/doc/a.txt", headers={"authorization": ""})
    assert answer.status == 302  # withheld before anything was reviewed
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    answer = await world.ada.post(f"/review/{draft}", {"act": "publish", "seal": seal})
    assert answer.status == 303, answer.body.decode()
    (item,) = (each for each in world.app.store.catalog.items() if str(each.rep) == rep)
    assert item.metadata.titles() == ("Outra tese",)
    assert str(item.visibility.embargo) == "2099-01-31T00:00:00Z"
    assert world.state(draft) is ReviewState.PUBLISHED


async def test_a_change_of_access_that_waits_does_not_undo_a_later_one(world: World) -> None:
    rep = await _publish_item(world)
    assert (await _withhold(world, world.dan, rep, embargo="2099-01-31")).endswith("done=saved")
    assert (await _withhold(world, world.dan, rep)).endswith("done=waits")
    assert (await _withhold(world, world.ada, rep, embargo="2100-01-31")).endswith("done=saved")
    (draft,) = (each.draft for each in world.app.drafts.reviews.store.list(ReviewState.SUBMITTED, 0, 9))  # type: ignore[union-attr]
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    answer = await world.ada.post(f"/review/{draft}", {"act": "publish", "seal": seal})
    assert answer.status == 409
    (item,) = (each for each in world.app.store.catalog.items() if str(each.rep) == rep)
    assert str(item.visibility.embargo) == "2100-01-31T00:00:00Z"


def access_rows(found: Page) -> dict[str, str]:
    """What the page says of access, by the name of the row with its mark."""
    sections = found.all("section", aria_labelledby="access")
    if not sections:
        return {}
    rows = [" ".join("".join(each.itertext()).split()) for each in sections[0].iter() if each.tag[-2:] in {"dt", "dd"}]
    return dict(zip(rows[::2], rows[1::2], strict=True))


async def _submit_access(world: World, rep: str, **visibility: Any) -> str:
    """A draft of dan's that waits, and changes the access to an item, and its title."""
    edited = await world.dan.post(f"/account/items/{rep}/edit", {})
    draft = edited.headers["location"].removeprefix("/deposit/")
    who, drafts = Depositor("person:dan", "dan"), world.app.drafts
    before = drafts.find(who, draft).record.description
    title = DescriptiveMetadata(title=(Text("Outra tese"),))
    access = replace(before.visibility, **visibility)
    drafts.describe(who, draft, replace(before, metadata=title, visibility=access))
    drafts.publish_or_submit(who, draft, NoLabels())
    assert world.state(draft) is ReviewState.SUBMITTED
    return draft


_RESTRICTED = {
    "networks": ["10.1.2.0/24"],
    "embargo": "2099-01-31T00:00:00Z",
    "embargo_reason": "Uma patente",
    "listing": False,
}


async def test_who_judges_an_update_sees_what_it_opens(world: World) -> None:
    rep = await _publish_item(world, **_RESTRICTED)
    draft = await _submit_access(world, rep, networks=(), embargo=None, embargo_reason=None, listing=True)
    found = await page(world.ada, f"/review/{draft}")
    assert access_rows(found) == {
        "Embargo change": "Now: until January 31, 2099 Uma patente → After publication: no embargo",
        "Restricted to change": "Now: 10.1.2.0/24 → After publication: everyone (no restriction)",
        "List of files change": "Now: not shown → After publication: shown",
    }
    assert "readers may see more than they do now" in found.text
    assert access_rows(await page(world.dan, f"/account/drafts/{draft}/review")) == access_rows(found)
    for language, words in (
        ("pt-BR", "Agora: 10.1.2.0/24 → Ap\u00f3s a publica\u00e7\u00e3o: todos (sem restri\u00e7\u00e3o)"),
        ("es", "Ahora: 10.1.2.0/24 → Tras la publicaci\u00f3n: todos (sin restricci\u00f3n)"),
    ):
        answer = await world.ada.get(f"/review/{draft}", accept_language=language)
        assert words in access_rows(read_page(answer.body)).values()
    answer = await world.ada.post(f"/review/{draft}", {"act": "publish", "seal": hidden(found, "seal")})
    assert answer.status == 303, answer.body.decode()


async def test_who_judges_an_update_sees_what_it_closes(world: World) -> None:
    rep = await _publish_item(world)
    draft = await _submit_access(world, rep, networks=(network("10.1.2.0/24"), network("2001:db8::/32")), listing=False)
    found = await page(world.ada, f"/review/{draft}")
    assert access_rows(found) == {
        "Restricted to change": "Now: everyone (no restriction) → After publication: 10.1.2.0/24, 2001:db8::/32",
        "List of files change": "Now: shown → After publication: not shown",
    }
    assert "no reader sees more than now" in found.text


async def test_access_that_an_update_leaves_as_it_is_is_not_called_a_change(world: World) -> None:
    rep = await _publish_item(world, **_RESTRICTED)
    draft = await _submit_access(world, rep)
    assert access_rows(await page(world.ada, f"/review/{draft}")) == {
        "Embargo": "until January 31, 2099 Uma patente",
        "Restricted to": "10.1.2.0/24",
        "List of files": "not shown",
    }
    later = {"embargo": "2100-01-31", "networks": "10.1.2.128/25", "unlisted": "yes"}
    assert (await _withhold(world, world.ada, rep, **later)).endswith("done=saved")
    shown = access_rows(await page(world.ada, f"/review/{draft}"))  # what is published has the later access
    assert shown == {
        "Embargo": "until January 31, 2100",
        "Restricted to": "10.1.2.128/25",
        "List of files": "not shown",
    }


@pytest.mark.parametrize(
    ("visibility", "shown"),
    [
        ({"embargo": Instant.parse("2099-01-31T06:30:00Z")}, "until Jan 31, 2099, 6:30:00 AM UTC"),
        ({"embargo_reason": "Uma patente"}, "until January 31, 2099 Uma patente"),
    ],
)
async def test_an_embargo_that_ends_at_another_hour_or_has_another_reason_is_a_change(
    world: World, visibility: dict[str, Any], shown: str
) -> None:
    rep = await _publish_item(world, embargo="2099-01-31T00:00:00Z")
    draft = await _submit_access(world, rep, **visibility)
    rows = access_rows(await page(world.ada, f"/review/{draft}"))
    assert rows == {"Embargo change": f"Now: until January 31, 2099 → After publication: {shown}"}


async def test_access_to_a_new_deposit_is_shown_as_it_is_set(world: World) -> None:
    closed = await world.submit(visibility=_RESTRICTED)
    assert access_rows(await page(world.ada, f"/review/{closed}")) == {
        "Embargo": "until January 31, 2099 Uma patente",
        "Restricted to": "10.1.2.0/24",
        "List of files": "not shown",
    }
    assert access_rows(await page(world.ada, f"/review/{await world.submit()}")) == {}


async def test_an_update_of_public_access_that_stays_so_has_no_rows_of_access(world: World) -> None:
    draft = await _submit_access(world, await _publish_item(world))
    assert access_rows(await page(world.ada, f"/review/{draft}")) == {}


async def test_the_page_of_a_review_says_who_may_change_the_draft_and_leads_to_its_form(world: World) -> None:
    draft = await world.submit()
    own, form = f"/account/drafts/{draft}/review", f"/deposit/{draft}"
    waiting = await page(world.dan, own)
    assert "you cannot change it meanwhile, though a librarian may correct it" in waiting.text
    assert form not in waiting.links
    judged = await page(world.ada, f"/review/{draft}")
    assert "The depositor cannot change the draft while it waits; librarians can correct it." in judged.text
    assert form in judged.links
    locked = await page(world.dan, form)
    assert not [each for each in locked.all("button", name="act") if each.attrib["value"] in {"publish", "discard"}]
    assert "disabled" in locked.one("fieldset", class_="all").attrib
    assert own in locked.links

    assert (await world.dan.post(own, {"act": "withdraw"})).status == 303
    assert (await world.dan.post(own, {"act": "comment", "text": "Um engano."})).status == 303
    withdrawn = await page(world.dan, own)
    assert "The draft was withdrawn from review." in withdrawn.text
    assert "make the requested changes" not in withdrawn.text
    assert form in withdrawn.links

    who, reviews = Depositor("person:dan", "dan"), world.app.drafts.reviews
    assert reviews is not None
    reviews.submit(who, draft, lambda _: None, check=lambda _: None)
    seal = hidden(await page(world.ada, f"/review/{draft}"), "seal")
    await world.ada.post(f"/review/{draft}", {"act": "return", "text": "O ano falta.", "seal": seal})
    returned = await page(world.dan, own)
    assert "make the requested changes" in returned.text
    assert "withdrawn from review" not in returned.text
    assert form in returned.links
    assert (await page(world.dan, form)).all("button", name="act", value="publish")
