"""Reviews over HTTP: what a depositor publishes waits for a librarian, and does not change meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ibi.deposits.model import ReviewState
from ibi.deposits.service.reviews import MOST_ENTRIES
from ibi.people.model.account import Scope
from tests.support.form_bodies import FORM, item_form
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app

DAY = 86_400
REVIEWS = "/api/reviews"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[RecordsApp]:
    async with records_app(tmp_path, is_reviewed=True) as records:
        yield records


def librarian(app: RecordsApp) -> dict[str, str]:
    return app.bearer(Scope.EDIT, "lia")


async def submit(app: RecordsApp, said: object = None, who: dict[str, str] | None = None) -> str:
    """The id of a draft with one file that waits; it is ana's, or that of the token `who`."""
    place = await app.begin(said, headers=who)
    assert (await app.send(place, "a.txt", b"content", **(who or {}))).status == 201
    answer = await app.ask("POST", f"{place}/publish", headers=who)
    assert (answer.status, answer.json()["review"]) == (202, "submitted"), answer.json()
    return place.rpartition("/")[2]


async def queue(app: RecordsApp, query: str = "") -> list[dict[str, Any]]:
    answer = await app.ask("GET", REVIEWS + query, headers=librarian(app))
    assert answer.status == 200, answer.json()
    found = answer.json()["reviews"]
    assert isinstance(found, list)
    return found


async def acts(app: RecordsApp, draft: str) -> list[tuple[str, str, str]]:
    found = (await app.ask("GET", f"{REVIEWS}/{draft}")).json()
    return [(each["act"], each["name"], each["text"]) for each in found["entries"]]


async def test_a_draft_waits_is_sent_back_is_submitted_again_and_published(app: RecordsApp) -> None:
    draft = await submit(app)
    assert [each["id"] for each in await queue(app)] == [draft]
    back = await app.ask("POST", f"{REVIEWS}/{draft}/return", {"text": "The year is missing."}, librarian(app))
    assert (back.status, back.json()["state"]) == (200, "returned")
    assert await queue(app) == []
    changed = await app.ask("PUT", f"{RECORDS}/{draft}", {"metadata": {"title": "Uma tese", "date": "2026"}})
    assert (changed.status, changed.json()["review"]) == (200, "returned")
    assert (await app.ask("POST", f"{RECORDS}/{draft}/publish")).status == 202
    made = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert made.status == 201
    item = (await app.ask("GET", f"{RECORDS}/{made.json()['rep']}")).json()
    assert item["owner"] == "service:ana" or item["owner"] == "ana"
    assert await acts(app, draft) == [
        ("submitted", "ana", ""),
        ("returned", "lia", "The year is missing."),
        ("submitted", "ana", ""),
        ("published", "lia", ""),
    ]
    assert await queue(app) == []
    assert [each["id"] for each in await queue(app, "?state=published")] == [draft]


async def test_a_draft_under_review_is_frozen_for_its_depositor(app: RecordsApp) -> None:
    draft = await submit(app)
    place = f"{RECORDS}/{draft}"
    before = (await app.ask("GET", place)).json()
    for answer in (
        await app.ask("PUT", place, {"metadata": {"title": "Outra"}}),
        await app.ask("PUT", f"{place}/files/b.txt", body=b"more"),
        await app.ask("PUT", f"{place}/files/a.txt", body=b"other"),
        await app.ask("DELETE", f"{place}/files/a.txt"),
        await app.ask("DELETE", place),
    ):
        assert (answer.status, answer.json()["type"]) == (409, "urn:ibi:problem:under-review")
    assert (await app.ask("GET", place)).json() == before


async def test_a_draft_that_is_withdrawn_is_its_depositors_again(app: RecordsApp) -> None:
    draft = await submit(app)
    assert (await app.ask("POST", f"{REVIEWS}/{draft}/withdraw", {})).json()["state"] == "returned"
    assert await queue(app) == []
    assert (await app.ask("DELETE", f"{RECORDS}/{draft}")).status == 204


async def test_forced_browsing_a_depositor_neither_lists_nor_judges(app: RecordsApp) -> None:
    draft = await submit(app)
    for answer in (
        await app.ask("GET", REVIEWS),
        await app.ask("POST", f"{REVIEWS}/{draft}/return", {"text": "to myself"}),
    ):
        assert answer.status == 403
    assert (await app.ask("GET", REVIEWS, headers={"authorization": ""})).status == 401
    assert [each["id"] for each in await queue(app)] == [draft]


async def test_idor_another_depositor_finds_no_review(app: RecordsApp) -> None:
    draft, bia = await submit(app), app.bearer(Scope.DEPOSIT, "bia")
    for method, place, said in (
        ("GET", f"{REVIEWS}/{draft}", None),
        ("POST", f"{REVIEWS}/{draft}/comments", {"text": "hello"}),
        ("POST", f"{REVIEWS}/{draft}/return", {"text": "hello"}),
        ("POST", f"{REVIEWS}/{draft}/withdraw", {}),
        ("POST", f"{RECORDS}/{draft}/publish", None),
        ("GET", f"{REVIEWS}/draft-aaaaaaaaaaaaaaaa", None),
        ("GET", f"{REVIEWS}/..%2f..", None),
    ):
        answer = await app.ask(method, place, said, bia)
        assert answer.status == 404, (place, answer.json())
    assert len(await acts(app, draft)) == 1


async def test_what_is_judged_is_what_is_published(app: RecordsApp) -> None:
    draft = await submit(app)
    seen = await app.ask("GET", f"{REVIEWS}/{draft}", headers=librarian(app))
    tag = seen.headers["etag"]
    corrected = await app.ask("PUT", f"{RECORDS}/{draft}", {"metadata": {"title": "Tese"}}, librarian(app))
    assert corrected.status == 200  # by a librarian, while another one reads it
    late = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers={**librarian(app), "if-match": tag})
    assert late.status == 412
    late = await app.ask(
        "POST", f"{REVIEWS}/{draft}/return", {"text": "no"}, headers={**librarian(app), "if-match": tag}
    )
    assert late.status == 412
    assert [each["id"] for each in await queue(app)] == [draft]


async def test_a_draft_under_review_does_not_expire_and_has_its_days_again_when_it_is_sent_back(
    app: RecordsApp,
) -> None:
    draft = await submit(app)
    app.clocks.advance(100 * DAY)
    app.drafts.sweep()
    assert [each["id"] for each in await queue(app)] == [draft]
    quota = (await app.ask("GET", f"{RECORDS}?state=draft")).json()["quota"]
    assert quota["drafts"] == 1
    await app.ask("POST", f"{REVIEWS}/{draft}/return", {"text": "sorry, late"}, librarian(app))
    app.clocks.advance(29 * DAY)
    app.drafts.sweep()
    assert (await app.ask("GET", f"{RECORDS}/{draft}")).status == 200
    app.clocks.advance(2 * DAY)
    app.drafts.sweep()
    assert (await app.ask("GET", f"{RECORDS}/{draft}")).status == 404
    app.drafts.sweep()
    assert app.drafts.reviews is not None
    assert app.drafts.reviews.store.find(draft) is None  # nor is what was said of it kept


async def test_librarians_and_administrators_publish_at_once(app: RecordsApp) -> None:
    for scope in (Scope.EDIT, Scope.ADMIN):
        headers = app.bearer(scope, "lia")
        begun = await app.ask("POST", RECORDS, SAID, headers)
        place = f"{RECORDS}/{begun.json()['id']}"
        await app.ask("PUT", f"{place}/files/a.txt", headers=headers, body=b"content")
        assert (await app.ask("POST", f"{place}/publish", headers=headers)).status == 201
    assert await queue(app) == []


async def test_a_whole_item_and_a_batch_wait_too(app: RecordsApp) -> None:
    whole = await app.ask("POST", RECORDS, headers=FORM, body=item_form({"a.txt": b"content"}, SAID))
    assert (whole.status, whole.json()["review"]) == (202, "submitted")
    assert [file["path"] for file in whole.json()["files"]] == ["a.txt"]
    batch = await app.ask("POST", f"{RECORDS}/batch", headers=FORM, body=item_form({"a.txt": b"content"}, SAID))
    assert [each["status"] for each in batch.json()["results"]] == [202]
    assert len(await queue(app)) == 2
    assert (await app.ask("GET", f"{RECORDS}?q=tese")).json().get("items", []) == []


async def test_the_same_key_is_submitted_once_also_after_it_was_published(app: RecordsApp) -> None:
    headers = {**FORM, "idempotency-key": "k"}
    first = await app.ask("POST", RECORDS, headers=headers, body=item_form({"a.txt": b"content"}, SAID))
    again = await app.ask("POST", RECORDS, headers=headers, body=item_form({"a.txt": b"content"}, SAID))
    assert (first.status, again.status) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    other = await app.ask("POST", RECORDS, headers=headers, body=item_form({"a.txt": b"other"}, SAID))
    assert other.status == 422
    made = await app.ask("POST", f"{RECORDS}/{first.json()['id']}/publish", headers=librarian(app))
    late = await app.ask("POST", RECORDS, headers=headers, body=item_form({"a.txt": b"content"}, SAID))
    assert (late.status, late.json()["rep"]) == (201, made.json()["rep"])
    assert await queue(app) == []


async def test_what_could_not_be_published_is_not_submitted(app: RecordsApp) -> None:
    place = await app.begin({"metadata": {}})
    await app.send(place, "a.txt", b"content")
    answer = await app.ask("POST", f"{place}/publish")
    assert answer.status == 400
    assert await queue(app) == []


async def test_an_update_waits_and_shows_what_its_owner_wants(app: RecordsApp) -> None:
    """A librarian does not open the items of others, but publishes the update by which their owner does."""
    closed = {**SAID, "visibility": {"networks": ["10.0.0.0/8"]}}
    draft = await submit(app, closed)
    rep = (await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))).json()["rep"]
    begun = await app.ask("POST", f"{RECORDS}/{rep}/draft", {**SAID, "visibility": {}})
    assert begun.status == 201
    update = begun.json()["id"]
    assert (await app.ask("POST", f"{RECORDS}/{update}/publish")).status == 202
    denied = await app.ask("PUT", f"{RECORDS}/{update}", {**SAID, "visibility": {}}, librarian(app))
    assert denied.status == 403
    made = await app.ask("POST", f"{RECORDS}/{update}/publish", headers=librarian(app))
    assert (made.status, made.json()["version"]) == (201, 2)


async def test_comments_are_checked_and_bounded(app: RecordsApp) -> None:
    draft = await submit(app)
    place = f"{REVIEWS}/{draft}/comments"
    assert (await app.ask("POST", place, {"text": "Linha um\r\nlinha dois  "})).status == 200
    assert (await acts(app, draft))[-1] == ("commented", "ana", "Linha um\nlinha dois")
    for text in ("", "  \n ", "x" * 5001, "a\x00b", "a\x1b[31m", "\u202eevil\u0007"):
        answer = await app.ask("POST", place, {"text": text})
        assert (answer.status, answer.json()["field"]) == (400, "text")
    assert app.drafts.reviews is not None
    store = app.drafts.reviews.store
    for _ in range(MOST_ENTRIES - 2):
        review = store.find(draft)
        assert review is not None
        store.change(draft, lambda before: (review, store.entries(draft)[1]))  # noqa: B023 - called at once
    assert (await app.ask("POST", place, {"text": "one more"})).status == 400


async def test_a_publication_that_was_not_noted_is_noted_when_it_is_seen(app: RecordsApp) -> None:
    """As after a SIGKILL between the publication and its note, or between the item and the record of its draft."""
    assert app.drafts.reviews is not None
    reviews = app.drafts.reviews
    for loses in ("note", "record"):
        draft = await submit(app)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(reviews), "note_published", lambda *_: None)
            if loses == "record":
                patch.setattr(type(app.drafts._files), "conclude", lambda *_: None)
            made = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
        review = reviews.store.find(draft)
        assert review is not None
        assert review.state is ReviewState.SUBMITTED
        app.clocks.advance(3 * DAY)  # a server that was away for longer than published drafts are remembered
        app.drafts.sweep()
        assert await queue(app) == []
        found = (await app.ask("GET", f"{REVIEWS}/{draft}")).json()
        assert found["state"] == "published"
        assert found["links"]["item"].endswith(made.json()["rep"])


async def test_a_draft_that_is_gone_does_not_wait(app: RecordsApp) -> None:
    draft = await submit(app)
    app.drafts._files.remove(draft)
    assert await queue(app) == []


async def test_the_audit_log_tells_who_judged(app: RecordsApp) -> None:
    draft = await submit(app)
    await app.ask("POST", f"{REVIEWS}/{draft}/return", {"text": "why"}, librarian(app))
    assert app.store._audit is not None
    entries = [each for each in app.store._audit.entries() if each.subject == f"draft:{draft}"]
    assert [(each.act, each.account, each.detail) for each in entries] == [
        ("submit for review", "service:ana", ""),
        ("send back", "service:lia", "why"),
    ]


CLAIMS = {
    "edition_of": ("next_edition", {}),
    "translation_of": ("translations", {"language": "fr"}),
    "describes": ("metadata_item", {}),
}


async def publish_claim(app: RecordsApp, item: str, claim: str, who: dict[str, str]) -> str:
    """The label of an item that makes the claim: drafted by `who`, published by the librarian."""
    said = {"metadata": {"title": "Nova"}, claim: item, **CLAIMS[claim][1]}
    draft = await submit(app, said, who)
    answer = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    assert answer.status == 201, answer.json()
    return str(answer.json()["rep"])


async def deposit_reviewed(app: RecordsApp) -> str:
    """The label of an item of ana's, in Portuguese."""
    draft = await submit(app, {**SAID, "language": "pt"})
    answer = await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=librarian(app))
    return str(answer.json()["rep"])


async def claims_that_wait(app: RecordsApp, who: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """Those that ana, or the token `who`, may answer: the item claimed, and the claimant."""
    found = (await app.ask("GET", "/api/items/claims", headers=who)).json()["claims"]
    return [(each["item"], each["claimant"]) for each in found]


@pytest.mark.parametrize("claim", CLAIMS)
async def test_a_claim_on_the_item_of_another_waits_though_a_librarian_publishes_it(
    app: RecordsApp, claim: str
) -> None:
    item = await deposit_reviewed(app)
    claimant = await publish_claim(app, item, claim, app.bearer(name="bruno"))
    assert not (await app.ask("GET", f"{RECORDS}/{item}")).json().get(CLAIMS[claim][0])
    assert await claims_that_wait(app) == [(item, claimant)]
    accepted = {"item": item, "claimant": claimant, "answer": "accept"}
    assert (await app.ask("POST", "/api/items/claims", accepted)).status == 200
    assert claimant in str((await app.ask("GET", f"{RECORDS}/{item}")).json()[CLAIMS[claim][0]])


@pytest.mark.parametrize("claim", CLAIMS)
async def test_a_claim_on_the_depositors_own_item_holds_once_a_librarian_publishes_it(
    app: RecordsApp, claim: str
) -> None:
    item = await deposit_reviewed(app)
    claimant = await publish_claim(app, item, claim, app.bearer())
    assert claimant in str((await app.ask("GET", f"{RECORDS}/{item}")).json()[CLAIMS[claim][0]])
    assert await claims_that_wait(app) == []


async def test_a_librarians_draft_makes_a_claim_that_waits_if_another_publishes_it_and_holds_if_they_do(
    app: RecordsApp,
) -> None:
    first, second = await deposit_reviewed(app), await deposit_reviewed(app)
    zoe = app.bearer(Scope.EDIT, "zoe")
    for item, who in ((first, librarian(app)), (second, zoe)):
        place = await app.begin({"metadata": {"title": "Nova"}, "edition_of": item}, headers=zoe)
        assert (await app.send(place, "a.txt", b"content", **zoe)).status == 201
        assert (await app.ask("POST", f"{place}/publish", headers=who)).status == 201
    assert [item for item, _ in await claims_that_wait(app)] == [first]
    assert (await app.ask("GET", f"{RECORDS}/{second}")).json()["next_edition"]


@pytest.mark.parametrize("owner", [None, "service:lia"])
async def test_a_claim_on_an_item_of_the_archive_or_of_the_librarian_waits_too(
    app: RecordsApp, owner: str | None
) -> None:
    item = await deposit_reviewed(app)
    given = await app.ask("PUT", f"{RECORDS}/{item}/owner", {"owner": owner}, app.bearer(Scope.ADMIN, "root"))
    assert given.status == 200, given.json()
    claimant = await publish_claim(app, item, "edition_of", app.bearer(name="bruno"))
    assert await claims_that_wait(app, librarian(app)) == [(item, claimant)]


async def test_the_audit_log_names_the_librarian_who_published_a_claim(app: RecordsApp) -> None:
    item = await deposit_reviewed(app)
    claimant = await publish_claim(app, item, "edition_of", app.bearer(name="bruno"))
    assert app.store._audit is not None
    entries = [(each.act, each.subject, each.account) for each in app.store._audit.entries()]
    assert ("publish", claimant, "service:lia") in entries
    assert [subject for act, subject, _ in entries if act == "relate"] == []


async def test_the_queue_is_paged(app: RecordsApp) -> None:
    drafts = [await submit(app) for _ in range(3)]
    page = await app.ask("GET", f"{REVIEWS}?limit=2", headers=librarian(app))
    assert [each["id"] for each in page.json()["reviews"]] == drafts[:2]
    rest = await app.ask("GET", page.json()["links"]["next"].partition("br")[2], headers=librarian(app))
    assert [each["id"] for each in rest.json()["reviews"]] == drafts[2:]
    for query in ("?limit=0", "?limit=1001", "?after=-1", "?state=x", "?after=%D9%A1", "?who=x"):
        assert (await app.ask("GET", REVIEWS + query, headers=librarian(app))).status == 400


async def test_without_reviews_there_is_no_queue(tmp_path: Path) -> None:
    async with records_app(tmp_path) as records:
        assert (await records.ask("GET", REVIEWS, headers=records.bearer(Scope.EDIT, "lia"))).status == 404
