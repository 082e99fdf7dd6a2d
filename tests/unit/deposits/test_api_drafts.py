"""`/api/items`: drafts, from the first word to the published item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ibi.items.model.content import Change, Keep
from ibi.items.model.item import Draft
from ibi.items.model.metadata import Text
from ibi.people.model.account import COMMAND, Scope
from ibi.standard.label import parse
from ibi.standard.messages import State
from ibi.web.record_requests import parse_description
from tests.support.archive_app import BASE
from tests.support.flat_items import replace
from tests.support.form_bodies import FORM, item_form
from tests.support.records_app import RECORDS, SAID, records_app


async def test_a_deposit_from_the_first_word_to_the_item(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        begun = await app.ask("POST", RECORDS, {**SAID, "language": "pt", "target": "a.txt"})
        draft = begun.json()
        assert (begun.status, begun.headers["location"]) == (201, draft["links"]["self"])
        assert draft["state"] == "draft"
        assert draft["owner"] == "ana"
        place = f"{RECORDS}/{draft['id']}"
        await app.send(place, "a.txt", b"a")
        await app.send(place, "folder/b.txt", b"b")
        assert [file["path"] for file in (await app.ask("GET", place)).json()["files"]] == ["a.txt", "folder/b.txt"]
        published = await app.publish(place)
        rep, ibip = published["rep"], published["ibip"]
        assert published == {
            "rep": rep,
            "ibip": ibip,
            "persistent_url": f"{BASE}/{ibip}",
            "url": f"{BASE}/col/{rep}/doc/a.txt",
            "version": 1,
            "removed": [],
            "warnings": [],
            "links": {"self": f"{BASE}/api/items/{rep}", "metadata": f"{BASE}/col/{rep}/metadata"},
        }
        item = app.store.find(parse(rep))
        assert (item.state, item.language and str(item.language)) == (State.ORIGINAL, "pt")
        assert [file.path for file in item.files] == ["a.txt", "folder/b.txt"]
        assert next(iter(app.store.verify())).problems == ()
        assert app.store.content.read(rep).head.change.user == "ana"


async def test_a_web_service_has_a_url_and_no_files(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        published = await app.publish(await app.begin({**SAID, "url": "https://example.org/service"}))
        assert published["url"] == "https://example.org/service"


async def test_a_draft_lacks_what_it_likes_until_it_is_published(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin({})
        refused = await app.ask("POST", f"{draft}/publish")
        assert (refused.status, refused.json()["type"]) == (400, "urn:ibi:problem:title-missing")
        await app.ask("PUT", draft, {**SAID, "target": "b.txt"})
        assert (await app.ask("POST", f"{draft}/publish")).status == 400
        await app.send(draft, "a.txt")
        refused = await app.ask("POST", f"{draft}/publish")
        assert (refused.status, refused.json()["field"]) == (400, "target")
        await app.ask("PUT", draft, SAID)
        assert (await app.publish(draft))["version"] == 1


async def test_one_draft_becomes_one_item_however_often_it_is_asked_for(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        first = await app.publish(draft, idempotency_key="k")
        assert await app.publish(draft, idempotency_key="k") == first
        assert await app.publish(draft) == first
        assert len(list(app.store.catalog.items())) == 1
        shown = (await app.ask("GET", draft)).json()
        assert (shown["state"], shown["files"]) == ("published", [])
        assert shown["links"]["item"] == first["links"]["self"]


async def test_a_key_gives_the_item_of_the_first_draft_also_for_another(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        old = await app.deposit()
        made = []
        for _ in range(2):
            draft = await app.begin({**SAID, "edition_of": old["rep"]})
            await app.send(draft, "a.txt")
            made.append(await app.publish(draft, idempotency_key="the same"))
        assert made[0] == made[1]
        assert len(list(app.store.catalog.items())) == 2
        other = {**app.bearer(name="other")}
        draft = (await app.ask("POST", RECORDS, SAID, headers=other)).json()["id"]
        await app.ask("PUT", f"{RECORDS}/{draft}/files/a.txt", headers=other, body=b"x")
        key = {**other, "idempotency-key": "the same"}
        assert (await app.ask("POST", f"{RECORDS}/{draft}/publish", headers=key)).json()["rep"] != made[0]["rep"]


async def test_what_was_published_does_not_change_any_more(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        await app.publish(draft)
        for answer in (
            await app.send(draft, "b.txt"),
            await app.ask("PUT", draft, SAID),
            await app.ask("DELETE", f"{draft}/files/a.txt"),
        ):
            assert (answer.status, answer.json()["type"]) == (409, "urn:ibi:problem:draft-published")


# --- updates ---


async def test_an_item_is_changed_through_a_draft_of_it(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit(a=b"a", b=b"b"))["rep"]
        begun = await app.ask("POST", f"{RECORDS}/{rep}/draft")
        draft = begun.json()
        assert (begun.status, draft["base_version"], draft["labels"]["rep"]) == (201, 1, rep)
        assert [file["path"] for file in draft["files"]] == ["a.txt", "b.txt"]
        place = f"{RECORDS}/{draft['id']}"
        assert (await app.ask("GET", f"{RECORDS}/{rep}/draft")).json() == draft
        assert (await app.send(place, "a.txt", b"other")).status == 200
        assert (await app.ask("DELETE", f"{place}/files/b.txt")).status == 204
        await app.send(place, "c.txt", b"c")
        await app.ask("PUT", place, {"metadata": {"title": "Outra"}})
        published = await app.publish(place)
        assert (published["rep"], published["version"], published["removed"]) == (rep, 2, ["b.txt"])
        item = app.store.find(parse(rep))
        assert [(file.path, file.size) for file in item.files] == [("a.txt", 5), ("c.txt", 1)]
        assert item.metadata.titles() == ("Outra",)
        assert await app.publish(place) == published
        assert app.store.find(parse(rep)).version == 2
        assert (await app.ask("GET", f"{RECORDS}/{rep}/draft")).status == 404


async def test_who_comes_second_is_told_that_the_item_has_changed(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        one, other = [(await app.ask("POST", f"{RECORDS}/{rep}/draft")).json()["id"] for _ in range(2)]
        await app.ask("PUT", f"{RECORDS}/{one}", {"metadata": {"title": "Um"}})
        await app.publish(f"{RECORDS}/{one}")
        await app.ask("PUT", f"{RECORDS}/{other}", {"metadata": {"title": "Outro"}})
        refused = await app.ask("POST", f"{RECORDS}/{other}/publish")
        assert (refused.status, refused.json()["type"]) == (409, "urn:ibi:problem:draft-outdated")


async def test_a_draft_of_an_item_is_described_in_one_step(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        place = f"{RECORDS}/{rep}/draft"
        first, second = await app.ask("PUT", place, SAID), await app.ask("PUT", place, {"metadata": {"title": "B"}})
        assert (first.status, second.status) == (201, 200)
        assert first.json()["id"] == second.json()["id"]
        assert (await app.ask("DELETE", place)).status == 204
        assert (await app.ask("GET", place)).status == 404
        assert (await app.ask("DELETE", place)).status == 404


async def test_relations_are_no_matter_of_updates(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        for field in ("edition_of", "describes"):
            refused = await app.ask("PUT", f"{RECORDS}/{rep}/draft", {**SAID, field: "lab.br/arq/2020/01.02.03.04"})
            assert (refused.status, refused.json()["field"]) == (400, field)


async def test_a_draft_of_metadata_becomes_the_metadata_of_what_it_describes(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        draft = await app.begin({**SAID, "describes": rep})
        assert (await app.ask("GET", draft)).json()["describes"] == {"rep": rep}
        await app.send(draft, "a.txt")
        about = (await app.publish(draft))["rep"]
        assert (await app.ask("GET", f"{RECORDS}/{rep}")).json()["metadata_item"]["rep"] == about
        assert (await app.ask("GET", f"{RECORDS}/{about}")).json()["describes"]["rep"] == rep
        second = await app.begin({**SAID, "describes": rep})
        await app.send(second, "a.txt")
        refused = await app.ask("POST", f"{second}/publish")
        assert (refused.status, refused.json()["type"]) == (409, "urn:ibi:problem:second-metadata-item")
        assert about in refused.json()["detail"]


@pytest.mark.parametrize(
    ("method", "rest"), [("PUT", "/files/x"), ("DELETE", "/files/x"), ("POST", "/publish"), ("PUT", "")]
)
async def test_an_item_itself_is_not_written_to(tmp_path: Path, method: str, rest: str) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        answer = await app.ask(method, f"{RECORDS}/{rep}{rest}", None if rest else SAID)
        assert (answer.status, answer.json()["type"]) == (409, "urn:ibi:problem:not-a-draft")


# --- whose they are ---


async def test_a_draft_is_its_owners_and_the_librarians(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        stranger = app.bearer(name="other")
        for method, rest, said in (
            ("GET", "", None),
            ("PUT", "", SAID),
            ("DELETE", "", None),
            ("GET", "/files", None),
            ("PUT", "/files/x", None),
            ("DELETE", "/files/x", None),
            ("POST", "/publish", None),
        ):
            answer = await app.ask(method, f"{draft}{rest}", said, headers=stranger)
            assert (answer.status, answer.json()["type"]) == (404, "urn:ibi:problem:unknown-draft"), (method, rest)
        assert (await app.ask("GET", draft, headers=app.bearer(Scope.ADMIN, "lib"))).status == 200
        assert (await app.ask("GET", draft, headers=app.bearer(Scope.READ))).status == 403
        assert (await app.ask("GET", draft, headers={"authorization": ""})).status == 401


async def test_an_owner_who_gets_a_new_token_under_the_old_name_finds_the_drafts(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        del app.texts[Scope.DEPOSIT, "ana"]
        app.texts[Scope.READ, "filler"] = ""
        assert (await app.ask("GET", draft)).status == 200
        nameless = [(await app.ask("GET", draft, headers=app.bearer(name=""))).status]
        assert nameless == [404]


async def test_drafts_are_listed_page_by_page(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        ids = sorted([(await app.begin()).rpartition("/")[2] for _ in range(3)])
        await app.begin(headers=app.bearer(name="other"))
        await app.deposit()
        first = (await app.ask("GET", f"{RECORDS}?state=draft&limit=2")).json()
        assert [draft["id"] for draft in first["drafts"]] == ids[:2]
        rest = (await app.ask("GET", first["links"]["next"].removeprefix(BASE))).json()
        assert [draft["id"] for draft in rest["drafts"]] == ids[2:]
        assert "next" not in rest["links"]
        everybody = await app.ask("GET", f"{RECORDS}?state=draft", headers=app.bearer(Scope.ADMIN, "lib"))
        assert len(everybody.json()["drafts"]) == 4


@pytest.mark.parametrize(
    "query", ["", "?state=published", "?state=draft&limit=0", "?state=draft&limit=x", "?state=draft&after=x"]
)
async def test_a_wrong_question_for_a_list_is_a_problem(tmp_path: Path, query: str) -> None:
    async with records_app(tmp_path) as app:
        assert (await app.ask("GET", f"{RECORDS}{query}")).status == 400


async def test_a_discarded_draft_is_gone(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        assert (await app.ask("DELETE", draft)).status == 204
        assert (await app.ask("GET", draft)).status == 404
        assert list((tmp_path / "drafts").glob("*draft-*")) == []


async def test_a_draft_that_its_owner_does_not_come_back_to_goes(tmp_path: Path) -> None:
    async with records_app(tmp_path, days=30) as app:
        draft = await app.begin()
        app.clocks.advance(20 * 86_400)
        await app.send(draft, "a.txt")
        app.clocks.advance(29 * 86_400)
        assert (await app.ask("GET", draft)).status == 200
        app.clocks.advance(2 * 86_400)
        assert (await app.ask("GET", draft)).status == 404
        assert app.drafts.sweep() == 1
        assert list((tmp_path / "drafts").glob("*draft-*")) == []


async def test_a_publication_is_remembered_for_two_days(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        first = await app.publish(draft)
        app.clocks.advance(47 * 3600)
        assert await app.publish(draft) == first
        app.clocks.advance(2 * 3600)
        assert app.drafts.sweep() == 1
        assert (await app.ask("POST", f"{draft}/publish")).status == 404


# --- conditions ---


async def test_a_change_may_be_for_one_state_of_the_draft_only(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        tag = (await app.ask("GET", draft)).headers["etag"]
        await app.send(draft, "a.txt")
        now = (await app.ask("GET", draft)).headers["etag"]
        assert now != tag
        for method, rest, said in (("PUT", "", SAID), ("POST", "/publish", None), ("DELETE", "", None)):
            answer = await app.ask(method, f"{draft}{rest}", said, headers={"if-match": tag})
            assert (answer.status, answer.json()["field"]) == (412, "If-Match")
        assert (await app.ask("PUT", draft, SAID, headers={"if-match": now})).status == 200


# --- what is said ---


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"titel": "x"}, "body"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"title": [{"value": 1}]}}, "metadata.title[0].value"),
        ({"metadata": {"colour": ["red"]}}, "metadata"),
        ({"metadata": {"creator": {"name": "x"}}}, "metadata.creator"),
        ({"metadata": {"licence": "not a licence"}}, "metadata.licence"),
        ({"metadata": {"creator": ["x"] * 12_000, "subject": ["x"] * 12_000}}, "metadata"),
        ({"language": "zz"}, "language"),
        ({"language": 1}, "language"),
        ({"target": "../x"}, "target"),
        ({"url": "javascript:alert(1)"}, "url"),
        ({"edition_of": "nonsense"}, "edition_of"),
        ({"edition_of": {"rep": "nonsense"}}, "edition_of"),
        ({"describes": "nonsense"}, "describes"),
        ({"visibility": {"networks": ["10.0.0.1/8"]}}, "visibility.networks"),
        ({"visibility": {"networks": ["10.0.0.0/8"] * 1001}}, "visibility.networks"),
        ({"visibility": {"embargo": "tomorrow"}}, "visibility.embargo"),
    ],
)
async def test_a_wrong_member_is_named(tmp_path: Path, said: dict[str, Any], field: str) -> None:
    async with records_app(tmp_path) as app:
        answer = await app.ask("POST", RECORDS, said)
        assert (answer.status, answer.json()["field"]) == (400, field)


UNLISTED = {**SAID, "metadata": {**SAID["metadata"], "licence": "CC-BY-9.9"}}
PAST = {**SAID, "visibility": {"embargo": "2001-01-01T00:00:00Z"}}
ALONE = {**SAID, "visibility": {"embargo_reason": "A patent."}}
REFUSED = [(UNLISTED, "metadata.licence"), (PAST, "visibility.embargo"), (ALONE, "visibility.embargo_reason")]


@pytest.mark.parametrize(("said", "field"), REFUSED)
async def test_what_the_form_refuses_is_refused_of_programs(tmp_path: Path, said: dict[str, Any], field: str) -> None:
    async with records_app(tmp_path) as app:
        whole = await app.ask("POST", RECORDS, headers=FORM, body=[item_form({"a.txt": b"a"}, said)])
        place = await app.begin(SAID)
        for answer in (await app.ask("POST", RECORDS, said), await app.ask("PUT", place, said), whole):
            assert (answer.status, answer.json()["field"]) == (400, field)
        assert (await app.ask("PUT", place, SAID)).status == 200


@pytest.mark.parametrize(("said", "field"), REFUSED)
async def test_what_an_item_says_already_stays(tmp_path: Path, said: dict[str, Any], field: str) -> None:
    async with records_app(tmp_path) as app:
        rep = parse(str((await app.deposit(SAID))["rep"]))
        item, kept = app.store.find(rep), parse_description(said)
        sources = {file.path: Keep(file.path) for file in item.files}
        draft = Draft(description=kept, files=tuple(item.files))
        app.services.deposits_of(COMMAND).update(rep, draft, sources, "x")
        begun = (await app.ask("POST", f"{RECORDS}/{rep.spelling}/draft")).json()
        place = f"{RECORDS}/{begun['id']}"
        assert (await app.ask("PUT", place, {**said, "metadata": {**said["metadata"], "title": ["B"]}})).status == 200
        other = {**said, "metadata": {**said["metadata"], "licence": "Other-1.0"}}
        assert (await app.ask("PUT", place, other)).json()["field"] == "metadata.licence"


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"\xff", b'{"metadata": {}, "metadata": {}}', b"[" * 100_000, b"NaN", b"1"]
)
async def test_what_is_no_object_is_refused(tmp_path: Path, body: bytes) -> None:
    async with records_app(tmp_path) as app:
        answer = await app.ask("POST", RECORDS, headers={"content-type": "application/json"}, body=body)
        assert (answer.status, answer.json()["type"]) == (400, "urn:ibi:problem:malformed-body")


async def test_texts_may_stand_for_values(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        said = {"metadata": {"title": ["a", {"value": "b", "language": "en"}], "creator": "Ana"}}
        draft = (await app.ask("POST", RECORDS, said)).json()
        titles = [{"value": "a"}, {"value": "b", "language": "en"}]
        assert draft["metadata"] == {"creator": [{"name": "Ana"}], "title": titles}


@pytest.mark.parametrize(
    "said", [{"message": ""}, {"message": 1}, {"message": "a\nb"}, {"message": "x" * 1001}, {"x": 1}]
)
async def test_a_wrong_message_is_refused(tmp_path: Path, said: dict[str, Any]) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        assert (await app.ask("POST", f"{draft}/publish", said)).status == 400
        assert len(list(app.store.catalog.items())) == 0


async def test_a_date_that_is_none_is_refused_beside_its_field_and_kept_where_it_was_before(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        wrong = {"metadata": {"title": "t", "date": "ca. 1999"}, "url": "https://example.org/"}
        refused = await app.ask("POST", RECORDS, wrong)
        assert refused.status == 400
        assert refused.json()["field"] == "date"
        rep = (await app.publish(await app.begin({**wrong, "metadata": {"title": "t", "date": "1999/2001"}})))["rep"]
        item = app.store.find(parse(rep))
        old = replace(item, metadata=replace(item.metadata, date=(Text("ca. 1999"),)))
        head = app.store.read(rep).head
        app.store.list(app.store.annotate(old, Change("ana", "by an older version", item.updated), head))
        begun = (await app.ask("POST", f"{RECORDS}/{rep}/draft")).json()
        place = f"{RECORDS}/{begun['id']}"
        assert (await app.ask("PUT", place, {**wrong, "metadata": {"title": "u", "date": "1999?"}})).status == 400
        assert (await app.ask("PUT", place, {**wrong, "metadata": {"title": "u", "date": "ca. 1999"}})).status == 200
        await app.publish(place)
        assert app.store.find(parse(rep)).metadata.date == (Text("ca. 1999"),)


@pytest.mark.parametrize("draft", ["draft-zzzz", "draft-", "draft-V6CIIQD35HQDLHRN", "draft-v6ciiqd35hqdlhrnx"])
async def test_what_is_no_id_of_a_draft_is_told_so_and_is_no_label(tmp_path: Path, draft: str) -> None:
    async with records_app(tmp_path) as app:
        for rest in ("", "/files", "/files/a.txt"):
            answer = await app.ask("GET", f"{RECORDS}/{draft}{rest}")
            assert (answer.status, answer.json()["type"]) == (404, "urn:ibi:problem:unknown-draft")
            assert draft[:40] in answer.json()["detail"]


RECORD = (
    rb"@thesis{x, title={On naming things}, author={{\'A}vila, Jo{\~a}o}, year=2020, language={portuguese}, note={-}}"
)


async def test_a_record_of_another_system_is_read_as_a_description_that_begins_a_draft(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        answer = await app.ask("POST", "/api/items/import", body=RECORD)
        assert answer.status == 200
        (found,) = answer.json()["records"]
        assert (found["format"], found["passed_over"]) == ("BibTeX", ["note"])
        assert found["description"]["metadata"]["creator"] == [{"name": "Ávila, João"}]
        draft = await app.ask("POST", RECORDS, found["description"])
        assert (draft.status, draft.json()["language"]) == (201, "pt")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "unreadable-record"),
        (b"hello", 400, "unreadable-record"),
        (b"@book{x, title={A", 400, "unreadable-record"),
        (b"\xff", 400, "malformed-body"),
        (b"x" * 1_000_001, 413, "body-too-large"),
    ],
)
async def test_what_is_no_record_is_refused_with_its_reason(
    tmp_path: Path, body: bytes, status: int, code: str
) -> None:
    async with records_app(tmp_path) as app:
        answer = await app.ask("POST", "/api/items/import", body=body)
        assert (answer.status, answer.json()["type"]) == (status, f"urn:ibi:problem:{code}")


async def test_a_record_is_read_for_depositors_alone(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert (await app.ask("POST", "/api/items/import", headers={"authorization": ""}, body=RECORD)).status == 401
        reader = app.bearer(Scope.READ, "bia")
        assert (await app.ask("POST", "/api/items/import", headers=reader, body=RECORD)).status == 403
