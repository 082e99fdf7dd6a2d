"""The rights on items over HTTP: every cell of the table, and what a second depositor does not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ibi.items.model.item import Item
from ibi.people.model.account import Scope
from ibi.standard.label import RepositoryName
from tests.support.archive_app import SERVICE
from tests.support.asgi_client import Answer
from tests.support.form_bodies import FORM, item_form
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app
from tests.support.rights_cells import (
    ALLOWED,
    OPENING,
    PUBLIC,
    RESTRICTED,
    UNCHANGING,
    Cell,
    RightsWorld,
    cells,
    earlier_version,
)

ELSEWHERE = "lab.br/arq/2019/01.02.03.04"
SHOWN = {"networks": ["10.0.0.0/8"], "listing": False}
EMBARGOED: dict[str, Any] = {**SHOWN, "embargo": "2027-01-01T00:00:00Z"}


async def attempt(app: RecordsApp, cell: Cell, item: Item, bearer: dict[str, str] | None = None) -> Answer:
    place, headers = f"{RECORDS}/{item.rep}", bearer or app.bearer(cell.scope, "ana")
    if cell.act == "read":
        return await app.ask("GET", place, headers=headers)
    if cell.act == "files":
        return await app.ask("GET", f"{place}/files/a.txt", headers=headers)
    if cell.act == "deposit":
        body = item_form({"a.txt": b"content"}, {**SAID, "visibility": SHOWN if cell.visibility == RESTRICTED else {}})
        return await app.ask("POST", RECORDS, headers={**FORM, **headers}, body=body)
    if cell.act == "give":
        return await app.ask("PUT", f"{place}/owner", {"owner": "ana"}, headers)
    if cell.act.startswith("restore"):
        return await app.ask("POST", f"{place}/versions/{earlier_version(app, item)}/restore", headers=headers)
    if cell.act == "relate":
        return await app.ask("POST", f"{place}/relations", {"next_edition": ELSEWHERE}, headers)
    if cell.act in {"delete", "purge"}:
        query = "?reason=test" + ("&purge=true" if cell.act == "purge" else "")
        return await app.ask("DELETE", place + query, headers=headers)
    visibility = {} if cell.act == "open" else EMBARGOED if cell.act == "narrow" else SHOWN
    said: dict[str, Any] = {
        "metadata": {"title": "Outra"},
        "visibility": visibility if cell.visibility == RESTRICTED else {},
    }
    if item.target_url is not None:
        said["url"] = "http://elsewhere.br/"
    begun = await app.ask("POST", f"{place}/draft", said, headers)
    if begun.status != 201:
        return begun
    return await app.ask("POST", f"{RECORDS}/{begun.json()['id']}/publish", headers=headers)


async def attempt_draft(app: RecordsApp, scope: Scope, draft: str, bearer: dict[str, str] | None = None) -> Answer:
    """Read it, describe it anew with what it says, send a file and take it away, and publish it: all, or none."""
    place, headers = f"{RECORDS}/{draft}", bearer or app.bearer(scope, "ana")
    found = await app.ask("GET", place, headers=headers)
    said = found.json()
    said = {name: said.get(name) for name in ("metadata", "visibility", "url") if name in said} or SAID
    answers = [
        found,
        await app.ask("PUT", place, said, headers),
        await app.ask("PUT", f"{place}/files/b.txt", headers=headers, body=b"content"),
        await app.ask("DELETE", f"{place}/files/b.txt", headers=headers),
        await app.ask("POST", f"{place}/publish", headers=headers),
    ]
    assert len({answer.status >= 400 for answer in answers}) == 1, [answer.status for answer in answers]
    return answers[-1]


async def test_each_cell_is_answered_as_the_table_says(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        world, seen = RightsWorld(app), 0
        for cell in cells():
            item = world.item(cell.owner, cell.visibility, cell.act)
            if cell.act == "draft":
                answer = await attempt_draft(app, cell.scope, world.draft(cell.owner, cell.visibility))
            elif cell.act == "answer":
                said = {"item": str(item.rep), "claimant": str(world.claimant(item).rep), "answer": "decline"}
                answer = await app.ask("POST", f"{RECORDS}/claims", said, app.bearer(cell.scope, "ana"))
            else:
                answer = await attempt(app, cell, item)
            assert (answer.status in {200, 201}) is cell.is_allowed, (str(cell), answer.status, answer.body)
            if cell.is_allowed and cell.act == "relate":
                gone = await app.ask(
                    "DELETE",
                    f"{RECORDS}/{item.rep}/relations?next_edition={ELSEWHERE}",
                    headers=app.bearer(Scope.ADMIN),
                )
                assert gone.status == 200
            if cell.is_allowed and cell.act not in UNCHANGING:
                world.note_changed(cell)
            if not cell.is_allowed:
                assert answer.status in ({403, 404} if cell.act == "draft" else {403}), (str(cell), answer.body)
                assert app.store.find(item.rep) == item, str(cell)
            seen += 1
        assert seen == sum(len(owners) * (1 if act in OPENING else 2) * len(Scope) for act, owners in ALLOWED.items())


async def test_a_refusal_names_the_owner_and_the_scope(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = RightsWorld(app).item("another's", RESTRICTED)
        refused = await attempt(app, Cell("update", "another's", Scope.DEPOSIT, RESTRICTED), item)
        problem = refused.json()
        assert problem["type"] == "urn:ibi:problem:not-your-item"
        assert (
            f"{item.rep} belongs to bia: changing it needs a token of that account, or one of the scope edit"
            in (problem["detail"])
        )
        assert 'error="insufficient_scope", scope="edit"' in refused.headers["www-authenticate"]
        refused = await attempt(app, Cell("open", "another's", Scope.EDIT, RESTRICTED), item)
        assert (
            "making it more visible needs a token of that account, or one of the scope admin"
            in (refused.json()["detail"])
        )


async def test_new_items_are_for_scopes_that_deposit_and_belong_to_the_account(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        for scope in Scope:
            answer = await app.ask("POST", RECORDS, SAID, app.bearer(scope, "ana"))
            assert answer.status == (403 if scope in {Scope.READ, Scope.COPY} else 201)
        made = await app.deposit()
        assert app.store.find(RepositoryName.parse(made["rep"])).owner == "service:ana"
        shown = await app.ask("GET", f"{RECORDS}/{made['rep']}")
        assert shown.json()["owner"] == "service:ana"
        assert "owner" not in (await app.ask("GET", f"{RECORDS}/{made['rep']}", headers={"authorization": ""})).json()


async def test_drafts_of_others_are_for_scopes_that_edit_and_stay_theirs(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        for scope in Scope:
            expected = 403 if scope in {Scope.READ, Scope.COPY} else 404 if scope is Scope.DEPOSIT else 200
            assert (await app.ask("GET", draft, headers=app.bearer(scope, "bia"))).status == expected
        published = await app.ask("POST", f"{draft}/publish", headers=app.bearer(Scope.EDIT, "bia"))
        assert app.store.find(RepositoryName.parse(published.json()["rep"])).owner == "service:ana"


# --- what was seen ----------------------------------------------------------------------------------------------------


async def test_a_second_depositor_does_not_make_a_restricted_item_public(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit({**SAID, "visibility": {"networks": ["10.0.0.0/8"]}}))["rep"]
        bia = app.bearer(name="bia")
        assert (await app.ask("POST", f"{RECORDS}/{rep}/draft", SAID, bia)).status == 403
        assert (await app.ask("PUT", f"{RECORDS}/{rep}/draft", SAID, bia)).status == 404
        assert app.store.find(RepositoryName.parse(rep)).visibility.networks


async def test_a_draft_that_was_begun_by_an_editor_does_not_open_the_item_later(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        said = {**SAID, "visibility": {"networks": ["10.0.0.0/8"]}}
        rep, lib = (await app.deposit(said))["rep"], app.bearer(Scope.EDIT, "lib")
        begun = await app.ask("POST", f"{RECORDS}/{rep}/draft", None, lib)
        assert begun.status == 201
        place = f"{RECORDS}/{begun.json()['id']}"
        assert (await app.ask("PUT", place, SAID, lib)).status == 403
        # Restricted by its owner after the draft was begun: the item is judged as it is at the publication.
        public = (await app.deposit())["rep"]
        draft = f"{RECORDS}/{(await app.ask('POST', f'{RECORDS}/{public}/draft', None, lib)).json()['id']}"
        narrowed = await app.ask("PUT", f"{RECORDS}/{public}/draft", said)
        await app.ask("POST", f"{RECORDS}/{narrowed.json()['id']}/publish")
        await app.ask("POST", f"{draft}/publish", headers=lib)  # on top of the owner's access, if at all
        assert app.store.find(RepositoryName.parse(public)).visibility.networks


async def test_a_second_depositor_does_not_point_the_service_item_elsewhere(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = RightsWorld(app).item("service", PUBLIC)
        for scope in (Scope.DEPOSIT, Scope.EDIT):
            answer = await app.ask(
                "POST", f"{RECORDS}/{item.rep}/draft", {**SAID, "url": "http://evil.br/"}, app.bearer(scope, "bia")
            )
            assert (answer.status, answer.json()["type"]) == (403, "urn:ibi:problem:not-your-item")
            assert "belongs to the Archive itself" in answer.json()["detail"]
        assert app.store.find(SERVICE.labels[0]).target_url == "http://arq.lab.br/"


async def test_a_second_depositor_does_not_redirect_another_s_item_by_its_relations(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit({**SAID, "language": "pt"}))["rep"]
        bia = app.bearer(name="bia")
        mine = (await app.ask("POST", f"{await app.begin(headers=bia)}/publish", headers=bia)).status
        assert mine == 400  # without files
        for said in (
            {"next_edition": ELSEWHERE},
            {"translation": ELSEWHERE, "language": "fr"},
            {"metadata_item": ELSEWHERE},
        ):
            assert (await app.ask("POST", f"{RECORDS}/{rep}/relations", said, bia)).status == 403
        item = app.store.find(RepositoryName.parse(rep))
        assert (item.next_edition, item.translations, item.metadata_item) == (None, (), None)


async def test_claims_are_listed_accepted_and_declined(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = (await app.deposit({**SAID, "language": "pt"}))["rep"]
        bia, place = app.bearer(name="bia"), f"{RECORDS}/claims"
        made = []
        for said in (
            {"edition_of": item},
            {"translation_of": item, "language": "fr"},
            {"describes": item},
            {"edition_of": item},
        ):
            draft = await app.begin({**SAID, **said}, headers=bia)
            await app.ask("PUT", f"{draft}/files/a.txt", headers=bia, body=b"content")
            made.append((await app.ask("POST", f"{draft}/publish", headers=bia)).json()["rep"])
        assert (await app.ask("GET", f"{RECORDS}/{item}/relations")).json().keys() == {"links"}
        listed = (await app.ask("GET", place)).json()["claims"]
        assert [(claim["claimant"], claim["relation"]) for claim in listed] == list(
            zip(made, ("edition_of", "translation_of", "describes", "edition_of"), strict=True)
        )
        assert {claim["item_owner"] for claim in listed} == {"service:ana"}
        assert {claim["claimant_owner"] for claim in listed} == {"service:bia"}
        assert len((await app.ask("GET", place, headers=bia)).json()["claims"]) == 4
        assert (await app.ask("GET", place, headers=app.bearer(name="other"))).json()["claims"] == []
        for scope, status in ((Scope.READ, 403), (Scope.DEPOSIT, 403), (Scope.COPY, 403)):
            said = {"item": item, "claimant": made[0], "answer": "accept"}
            assert (await app.ask("POST", place, said, app.bearer(scope, "bia"))).status == status
        for claimant, answer in zip(made, ("accept", "accept", "accept", "decline"), strict=True):
            said = {"item": item, "claimant": claimant, "answer": answer}
            assert (await app.ask("POST", place, said)).status == 200
        related = (await app.ask("GET", f"{RECORDS}/{item}/relations")).json()
        assert related["next_edition"]["rep"] == made[0]
        assert related["translations"]["fr"]["rep"] == made[1]
        assert related["metadata_item"]["rep"] == made[2]
        assert (await app.ask("GET", place)).json()["claims"] == []
        declined = (await app.ask("GET", f"{place}?state=declined")).json()["claims"]
        assert [claim["claimant"] for claim in declined] == [made[3]]


async def test_a_wrong_answer_to_a_claim_is_a_problem(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item, other = (await app.deposit())["rep"], (await app.deposit())["rep"]
        for said, problem in (
            ({}, "member-missing"),
            ({"item": item, "claimant": other}, "member-missing"),
            ({"item": item, "claimant": other, "answer": "maybe"}, "invalid-member"),
            ({"item": item, "claimant": 1, "answer": "accept"}, "invalid-member"),
            ({"item": "?", "claimant": other, "answer": "accept"}, "invalid-member"),
            ({"item": item, "claimant": other, "answer": "accept", "why": "x"}, "unknown-member"),
            ({"item": item, "claimant": other, "answer": "accept"}, "no-such-claim"),
            ({"item": item, "claimant": ELSEWHERE, "answer": "decline"}, "unknown-item"),
        ):
            answer = await app.ask("POST", f"{RECORDS}/claims", said)
            assert answer.json()["type"] == f"urn:ibi:problem:{problem}", said
        for query in ("state=maybe", "after=x"):
            assert (await app.ask("GET", f"{RECORDS}/claims?{query}")).status == 400
