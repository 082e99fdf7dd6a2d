"""Where deposits are reviewed, a depositor asks for the deletion of a published item, and a librarian decides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from ibi.deposits.model import Review, ReviewEntry
from ibi.deposits.rules.drafts import deletion_id
from ibi.deposits.service.ledger import Depositor
from ibi.items.model.item import Item
from ibi.people.model.account import Role, Scope
from ibi.standard.label import RepositoryName, parse
from ibi.standard.vocabulary import State
from tests.support.asgi_client import Answer, ask
from tests.support.depositing_person import DepositingPerson
from tests.support.flat_items import replace
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app

REVIEWS: Final = "/api/reviews"
WHY: Final = "The data are wrong."
ANA: Final = Depositor("service:ana", "ana")


@pytest.fixture
def people() -> MemoryPeople:
    return MemoryPeople()


@pytest.fixture
async def app(tmp_path: Path, people: MemoryPeople) -> AsyncIterator[RecordsApp]:
    async with records_app(tmp_path, people=people, is_reviewed=True) as made:
        yield made


def librarian(app: RecordsApp) -> dict[str, str]:
    return app.bearer(Scope.EDIT, "bia")


async def published(app: RecordsApp) -> str:
    """An item of ana's, which a librarian published."""
    place = await app.begin(SAID)
    assert (await app.send(place, "a.txt", b"content")).status == 201
    assert (await app.ask("POST", f"{place}/publish")).status == 202
    answer = await app.ask("POST", f"{place}/publish", headers=librarian(app))
    assert answer.status == 201
    return str(answer.json()["rep"])


async def delete(
    app: RecordsApp, rep: str, reason: str = WHY, who: dict[str, str] | None = None, **more: str
) -> Answer:
    return await app.ask("DELETE", f"{RECORDS}/{rep}?{urlencode({'reason': reason, **more})}", headers=who)


async def asked(app: RecordsApp, rep: str) -> str:
    """The draft of a deletion that waits."""
    answer = await delete(app, rep)
    assert answer.status == 202, answer.body
    return str(answer.json()["id"])


def item(app: RecordsApp, rep: str) -> Item:
    return app.store.find(RepositoryName.parse(rep))


async def queue(app: RecordsApp, state: str = "submitted") -> list[dict[str, Any]]:
    found = (await app.ask("GET", f"{REVIEWS}?state={state}", headers=librarian(app))).json()["reviews"]
    assert isinstance(found, list)
    return found


def audit(app: RecordsApp) -> list[str]:
    assert app.store._audit is not None
    return [each.act for each in app.store._audit.entries()]


def problem(answer: Answer) -> tuple[int, str]:
    return answer.status, str(answer.json()["type"]).rpartition(":")[2]


# --- over the API -----------------------------------------------------------------------------------------------------


async def test_a_deletion_waits_and_the_item_is_unchanged_until_a_librarian_deletes_it(app: RecordsApp) -> None:
    rep = await published(app)
    before = item(app, rep)
    answer = await delete(app, rep)
    document = answer.json()
    assert (answer.status, document["review"], document["deletion"]) == (202, "submitted", {"reason": WHY})
    assert item(app, rep) == before
    draft = document["id"]
    (waiting,) = await queue(app)
    assert (waiting["id"], waiting["deletes"], waiting["title"]) == (draft, True, "Uma tese")
    assert waiting["links"]["item"].endswith(rep)
    made = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert (made.status, made.json()["state"], made.json()["warnings"]) == (200, "Deleted", [])
    found = item(app, rep)
    assert found.tombstone is not None
    assert (found.state, found.tombstone.why) == (State.DELETED, WHY)
    assert await queue(app) == []
    entries = (await app.ask("GET", f"{REVIEWS}/{draft}")).json()["entries"]
    assert [(each["act"], each["name"], each["text"]) for each in entries] == [
        ("submitted", "ana", WHY),
        ("published", "bia", ""),
    ]
    again = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert (again.status, again.json()["state"]) == (200, "Deleted")
    acts = audit(app)
    assert [each for each in acts if "delet" in each] == ["ask for deletion", "delete", "delete after review"]


async def test_a_deletion_that_is_declined_leaves_the_item_and_can_be_asked_for_again(app: RecordsApp) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    back = await app.ask("POST", f"{REVIEWS}/{draft}/return", {"text": "It is cited."}, librarian(app))
    assert (back.status, back.json()["state"]) == (200, "returned")
    assert item(app, rep).state is State.ORIGINAL
    refused = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert problem(refused) == (409, "not-under-review")
    assert item(app, rep).state is State.ORIGINAL
    answer = await delete(app, rep, "Still wrong.")
    assert (answer.status, answer.json()["id"], answer.json()["deletion"]["reason"]) == (202, draft, "Still wrong.")
    assert (await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))).status == 200
    tombstone = item(app, rep).tombstone
    assert tombstone is not None
    assert tombstone.why == "Still wrong."
    assert "decline deletion" in audit(app)


async def test_a_deletion_that_waits_is_asked_for_once_and_is_withdrawn(app: RecordsApp) -> None:
    rep = await published(app)
    answers = await asyncio.gather(*(delete(app, rep, f"Reason {number}") for number in range(8)))
    assert {each.status for each in answers} == {202}
    assert len({each.json()["id"] for each in answers}) == 1
    assert len({(await delete(app, rep)).json()["deletion"]["reason"] for _ in range(3)}) == 1
    (waiting,) = await queue(app)
    draft = waiting["id"]
    assert len((await app.ask("GET", f"{REVIEWS}/{draft}")).json()["entries"]) == 1
    assert (await app.ask("POST", f"{REVIEWS}/{draft}/withdraw", {})).json()["state"] == "returned"
    assert await queue(app) == []
    assert item(app, rep).state is State.ORIGINAL
    assert "withdraw deletion request" in audit(app)


async def test_librarians_and_administrators_delete_at_once(app: RecordsApp) -> None:
    for who in (librarian(app), app.bearer(Scope.ADMIN, "root")):
        rep = await published(app)
        assert (await delete(app, rep, who=who)).status == 200
        assert item(app, rep).state is State.DELETED
    assert await queue(app) == []


async def test_a_deletion_that_would_be_refused_is_refused_at_once(app: RecordsApp) -> None:
    rep = await published(app)
    assert problem(await delete(app, rep, who=app.bearer(Scope.DEPOSIT, "rui"))) == (403, "not-your-item")
    assert problem(await delete(app, rep, purge="true")) == (403, "not-allowed")
    assert (await delete(app, rep, " ")).status == 400
    assert (await delete(app, "inpe.br/sid/2026/01.01.00.00")).status == 404
    await delete(app, rep, who=librarian(app))
    assert (await delete(app, rep)).status == 409
    assert await queue(app) == []


async def test_a_deletion_names_the_item_that_takes_the_place(app: RecordsApp) -> None:
    rep, other = await published(app), await published(app)
    answer = await delete(app, rep, replaced_by=other)
    assert other in json.dumps(answer.json()["deletion"]["replaced_by"])
    draft = answer.json()["id"]
    await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    tombstone = item(app, rep).tombstone
    assert tombstone is not None
    assert tombstone.replaced_by is not None
    assert tombstone.replaced_by.rep == RepositoryName.parse(other)


async def test_a_request_is_no_draft_of_the_item_and_takes_no_content(app: RecordsApp) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    assert (await app.ask("GET", f"{RECORDS}/{rep}/draft")).status == 404
    listed = (await app.ask("GET", f"{RECORDS}?state=draft")).json()
    assert (listed["drafts"], listed["quota"]["drafts"]) == ([], 0)
    for who in (None, librarian(app)):
        assert problem(await app.ask("PUT", f"{RECORDS}/{draft}", SAID, who)) == (409, "deletion-request")
        sent = await app.ask("PUT", f"{RECORDS}/{draft}/files/b.txt", headers=who, body=b"b")
        assert problem(sent) == (409, "deletion-request")
    assert (await app.ask("DELETE", f"{RECORDS}/{draft}")).status == 409
    assert (await app.ask("POST", f"{RECORDS}/{draft}/publish")).status == 202
    # An update of the item goes on beside it.
    assert (await app.ask("POST", f"{RECORDS}/{rep}/draft")).status == 201


async def test_another_depositor_learns_nothing_of_a_request(app: RecordsApp) -> None:
    rep = await published(app)
    draft, rui = await asked(app, rep), app.bearer(Scope.DEPOSIT, "rui")
    for method, place in (
        ("GET", f"{RECORDS}/{draft}"),
        ("POST", f"{RECORDS}/{draft}/publish"),
        ("GET", f"{REVIEWS}/{draft}"),
        ("POST", f"{REVIEWS}/{draft}/withdraw"),
        ("POST", f"{REVIEWS}/{draft}/return"),
    ):
        said = {"text": "x"} if method == "POST" and place.startswith(REVIEWS) else None
        assert problem(await app.ask(method, place, said, rui)) == (404, "unknown-draft")


class KeptNews:
    """`ReviewNews` that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def tell(self, review: Review, entry: ReviewEntry) -> None:
        self.told.append((str(entry.act), "deletion" if review.deletes else "draft", entry.text))

    def tell_withheld(self, owner: str, depositor: str, title: str, label: str) -> None:
        self.told.append(("withheld", owner, depositor, title, label))


async def test_librarians_are_told_of_deletions_and_of_access_that_is_restricted_at_once(app: RecordsApp) -> None:
    rep, news, reviews = await published(app), KeptNews(), app.drafts.reviews
    assert reviews is not None
    reviews._news = news
    embargo = {"metadata": SAID["metadata"], "visibility": {"embargo": "2090-01-01T00:00:00Z"}}
    said = {**(await app.ask("GET", f"{RECORDS}/{rep}")).json()}
    change = await app.ask("PUT", f"{RECORDS}/{rep}/draft", {**embargo, "target": said.get("target")})
    assert change.status == 201, change.body
    made = await app.ask("POST", f"{RECORDS}/{change.json()['id']}/publish")
    assert made.status == 201
    assert item(app, rep).visibility.embargo is not None
    assert news.told == [("withheld", "service:ana", "ana", "Uma tese", rep)]
    await asked(app, rep)
    assert news.told[1:] == [("submitted", "deletion", WHY)]
    # A librarian who restricts access is not news to librarians.
    other = await published(app)
    news.told.clear()
    change = await app.ask("PUT", f"{RECORDS}/{other}/draft", embargo, librarian(app))
    await app.ask("POST", f"{RECORDS}/{change.json()['id']}/publish", headers=librarian(app))
    assert news.told == []


# --- races ------------------------------------------------------------------------------------------------------------


async def test_an_item_that_was_deleted_meanwhile_ends_the_request(app: RecordsApp) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    await delete(app, rep, "Deleted by the librarian.", librarian(app))
    assert await queue(app) == []
    assert [each["id"] for each in await queue(app, "published") if each.get("deletes")] == [draft]
    answer = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert (answer.status, answer.json()["state"]) == (200, "Deleted")
    tombstone = item(app, rep).tombstone
    assert tombstone is not None
    assert tombstone.why == "Deleted by the librarian."


async def test_an_item_that_was_changed_meanwhile_is_deleted_as_it_is(app: RecordsApp, people: MemoryPeople) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    change = (await app.ask("PUT", f"{RECORDS}/{rep}/draft", {"metadata": {"title": "Duas"}}, librarian(app))).json()
    await app.ask("POST", f"{RECORDS}/{change['id']}/publish", headers=librarian(app))
    bia = DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    assert "was changed since" in read_page((await bia.get(f"/review/{draft}")).body).text
    assert (await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))).status == 200
    assert item(app, rep).state is State.DELETED


async def test_who_lost_the_item_meanwhile_does_not_have_it_deleted(app: RecordsApp) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    admin = app.bearer(Scope.ADMIN, "root")
    deposits = app.services
    assert deposits is not None
    who = Depositor("service:root", "root", Scope.ADMIN)
    deposits.deposits_of(who.actor).give(parse(rep), "service:rui", "root")
    answer = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert problem(answer) == (409, "deletion-lapsed")
    assert item(app, rep).state is State.ORIGINAL
    # The new owner asks for themselves.
    other = await delete(app, rep, who=app.bearer(Scope.DEPOSIT, "rui"))
    assert (other.status, other.json()["id"] != draft) == (202, True)
    back = await app.ask("POST", f"{REVIEWS}/{draft}/return", {"text": "Not yours any more."}, admin)
    assert back.status == 200
    assert (await app.ask("POST", f"{RECORDS}/{other.json()['id']}/publish", headers=librarian(app))).status == 200


async def test_an_item_that_was_transferred_meanwhile_is_not_deleted_and_the_request_can_be_declined(
    app: RecordsApp,
) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    services = app.services
    assert services is not None
    services.deposits_of(Depositor("service:root", "root", Scope.ADMIN).actor).change(
        {parse(rep): lambda now: replace(now, state=State.COPY, source="other.example")}, "root", "Transferred"
    )
    answer = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert answer.status == 409
    assert item(app, rep).state is State.COPY
    assert (await app.ask("POST", f"{REVIEWS}/{draft}/return", {"text": "It went."}, librarian(app))).status == 200


async def test_a_deletion_that_broke_off_after_the_item_was_deleted_is_settled_at_the_next_look(
    app: RecordsApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    reviews = app.drafts.reviews
    assert reviews is not None
    with monkeypatch.context() as broken:

        def die(*_: object) -> None:
            raise SystemExit

        broken.setattr(reviews, "note_published", die)
        with pytest.raises(SystemExit):
            app.drafts.publish(Depositor("service:bia", "bia", Scope.EDIT), draft, None)  # type: ignore[arg-type]
    assert item(app, rep).state is State.DELETED
    assert reviews.store.is_waiting(draft)
    assert await queue(app) == []
    assert reviews.look(ANA, draft).review.state == "published"


async def test_a_request_outlives_the_switching_off_of_reviews(app: RecordsApp) -> None:
    rep = await published(app)
    draft = await asked(app, rep)
    app.drafts.is_reviewed = False
    assert (await app.ask("POST", f"{RECORDS}/{draft}/publish")).status == 200
    assert item(app, rep).state is State.DELETED


# --- pages ------------------------------------------------------------------------------------------------------------


async def published_by_form(lia: DepositingPerson, bia: DepositingPerson) -> str:
    place = await lia.begin([("a.txt", b"one")], title="Uma")
    await lia.send(place, {"act": "publish"})
    location = (await bia.send(place, {"act": "publish"})).headers["location"]
    return location.removeprefix("/col/").removesuffix("/metadata")


async def post(app: RecordsApp, who: DepositingPerson, path: str, **fields: str) -> Answer:
    headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", **who.cookie}
    body = urlencode({"csrf": who.csrf, **fields}).encode()
    return await ask(app.app, "POST", path, {"accept": "text/html", **headers}, body)


async def test_pages_ask_for_a_deletion_and_a_librarian_declines_or_deletes(
    app: RecordsApp, people: MemoryPeople
) -> None:
    lia, bia = DepositingPerson(app, people), DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    rep = await published_by_form(lia, bia)
    form = f"/account/items/{rep}/delete"
    page = read_page((await lia.get(form)).body)
    assert "A librarian decides" in page.text
    assert "Ask for the deletion" in page.text
    assert "A librarian decides" not in read_page((await bia.get(form)).body).text
    answer = await post(app, lia, form, reason=WHY, confirm="yes")
    own = answer.headers["location"]
    draft = own.split("/")[3]
    assert own == f"/account/drafts/{deletion_id(item(app, rep), 'person:lia')}/review"
    page = read_page((await lia.get(own)).body)
    assert "The deletion waits for a librarian. The item is unchanged until then." in page.text
    assert WHY in page.text
    assert own in read_page((await lia.get(form)).body).links
    assert own in read_page((await lia.get("/account/items")).body).links
    assert (await lia.get(f"/deposit/{draft}")).headers["location"] == own
    assert "Deletion of an item" in read_page((await bia.get("/review")).body).text
    judged = f"/review/{draft}"
    page = read_page((await bia.get(judged)).body)
    assert WHY in page.text
    seal = page.one("input", name="seal").attrib["value"]
    assert (await post(app, bia, judged, act="publish", seal="other")).status == 409
    assert (await post(app, bia, judged, act="return", seal=seal, text="It is cited.")).status == 303
    page = read_page((await lia.get(own)).body)
    assert "The deletion was declined. The item is unchanged." in page.text
    assert "It is cited." in page.text
    await post(app, lia, form, reason=WHY, confirm="yes")
    unconfirmed = await post(app, bia, judged, act="publish", seal=seal, deletes="1")
    assert (unconfirmed.status, "Confirm the deletion." in read_page(unconfirmed.body).text) == (400, True)
    assert (await post(app, bia, judged, act="publish", seal=seal, deletes="1", confirm="yes")).status == 303
    assert item(app, rep).state is State.DELETED
    assert "The item was deleted." in read_page((await lia.get(own)).body).text
    assert (await bia.get(judged)).status == 200


@pytest.mark.parametrize("reason", ["<script>alert(1)</script>", "a\u202eb", "x" * 9_000, "one\r\ntwo"])
async def test_a_reason_is_shown_as_text(app: RecordsApp, people: MemoryPeople, reason: str) -> None:
    lia, bia = DepositingPerson(app, people), DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    rep = await published_by_form(lia, bia)
    answer = await post(app, lia, f"/account/items/{rep}/delete", reason=reason, confirm="yes")
    assert answer.status == 303
    for who, place in ((lia, answer.headers["location"]), (bia, f"/review/{answer.headers['location'].split('/')[3]}")):
        page = read_page((await who.get(place)).body)
        assert "alert(1)</script>" not in page.source
