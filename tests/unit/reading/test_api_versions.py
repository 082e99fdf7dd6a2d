"""`/api/items/<label>/versions`, and the page with the versions of an item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ibi.items.service.versions import Versions
from ibi.people.model.account import Scope
from ibi.standard.label import parse
from tests.support.page_reader import read_page
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app

ANONYMOUS = {"authorization": ""}


async def two_versions(app: RecordsApp, **said: Any) -> str:
    """An item that was published twice: a.txt changed, b.txt went, c.txt came."""
    rep: str = (await app.deposit({**SAID, **said}, a=b"first", b=b"b"))["rep"]
    draft = (await app.ask("POST", f"{RECORDS}/{rep}/draft")).json()
    place = f"{RECORDS}/{draft['id']}"
    await app.ask("PUT", place, {**said, "metadata": {"title": "Outra"}})
    await app.send(place, "a.txt", b"second")
    await app.send(place, "c.txt", b"c")
    await app.ask("DELETE", f"{place}/files/b.txt")
    await app.publish(place)
    return rep


async def test_versions_are_listed_with_who_when_why_and_what(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        answer = await app.ask("GET", f"{RECORDS}/{rep}/versions", headers=ANONYMOUS)
        assert answer.status == 200
        new, old = answer.json()["versions"]
        assert (new["number"], new["current"], new["message"]) == (2, True, "Updated")
        assert "who" not in new  # accounts are told to those with a token alone
        assert (await listed(app, rep))[0]["who"] == "ana"
        assert (new["files_added"], new["files_changed"], new["files_removed"]) == (["c.txt"], ["a.txt"], ["b.txt"])
        assert new["changed"] == ["metadata.title"]
        assert (old["number"], old["current"], old["files_added"]) == (1, False, ["a.txt", "b.txt"])
        assert [each["number"] for each in await listed(app, rep, "?limit=1&before=2")] == [1]
        assert await listed(app, rep, "?before=1") == []
        for wrong in ("limit=0", "limit=101", "before=x"):
            assert (await app.ask("GET", f"{RECORDS}/{rep}/versions?{wrong}")).status == 400


async def listed(app: RecordsApp, rep: str, query: str = "") -> list[dict[str, Any]]:
    versions: list[dict[str, Any]] = (await app.ask("GET", f"{RECORDS}/{rep}/versions{query}")).json()["versions"]
    return versions


async def test_a_list_ends_early_where_records_are_long(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        await app.ask("POST", f"{RECORDS}/{rep}/versions/1/restore")
        item = app.store.find(parse(rep))
        for most_read, pages in ((1, [[3], [2], [1]]), (1 << 20, [[3, 2, 1]])):
            versions, before, listed = Versions(app.store.content, most_read=most_read), None, []
            while page := versions.list(item, before=before, most=100):
                listed.append([each.number for each in page])
                before = page[-1].number
            assert listed == pages
        assert [each.number for each in versions.list(item, most=2)] == [3, 2]


async def test_an_earlier_version_is_as_closed_as_it_was_itself(tmp_path: Path) -> None:
    """What was taken away before an item was opened stays closed, and names that were not listed are not told."""
    closed = {"networks": ["10.9.0.0/16"], "listing": False}
    async with records_app(tmp_path) as app:
        rep = (await app.deposit({**SAID, "visibility": closed}, ok=b"ok", secret=b"secret"))["rep"]
        place = (await app.ask("POST", f"{RECORDS}/{rep}/draft")).json()["id"]
        draft = f"{RECORDS}/{place}"
        await app.ask("DELETE", f"{draft}/files/secret.txt")
        assert (await app.ask("PUT", draft, {**SAID, "target": "ok.txt", "visibility": {}})).status == 200
        await app.publish(draft)
        for path, now, then in (("ok.txt", 200, 401), ("secret.txt", 404, 401)):
            bytes_now = await app.ask("GET", f"/col/{rep}/doc/{path}", headers=ANONYMOUS)
            assert bytes_now.status == now
            first = f"{RECORDS}/{rep}/versions/1/files/{path}"
            assert (await app.ask("GET", first, headers=ANONYMOUS)).status == then
            assert (await app.ask("GET", first)).status == 200  # of the owner
            page = await app.ask("GET", f"/col/{rep}/doc/{path}?ibiversion=1", headers=ANONYMOUS)
            assert (page.status, b"secret" in page.body) == (302, False)
        for told in (f"{RECORDS}/{rep}/versions", f"{RECORDS}/{rep}/versions/1", f"/col/{rep}/versions"):
            answer = await app.ask("GET", told, headers=ANONYMOUS)
            assert (answer.status, b"secret.txt" in answer.body) == (200, False), told


async def test_an_earlier_version_is_read_and_downloaded(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        record = (await app.ask("GET", f"{RECORDS}/{rep}/versions/1", headers=ANONYMOUS)).json()
        assert record["metadata"]["title"] == [{"value": "Uma tese"}]
        assert [file["path"] for file in record["files"]] == ["a.txt", "b.txt"]
        url = record["files"][0]["url"].partition("/col/")
        first = await app.ask("GET", f"/col/{url[2]}", headers=ANONYMOUS)
        assert (first.status, first.body) == (200, b"first")
        assert (await app.ask("GET", f"/col/{rep}/doc/a.txt")).body == b"second"
        assert (await app.ask("GET", f"{RECORDS}/{rep}/versions/1/files/b.txt", headers=ANONYMOUS)).body == b"b"
        part = await app.ask("GET", f"{RECORDS}/{rep}/versions/1/files/a.txt", headers={"range": "bytes=1-2"})
        assert (part.status, part.body) == (206, b"ir")
        assert part.headers["content-disposition"].startswith("attachment;")
        as_script = {"sec-fetch-dest": "script"}
        assert (await app.ask("GET", f"{RECORDS}/{rep}/versions/1/files/a.txt", headers=as_script)).status == 404
        for missing in ("/versions/3", "/versions/0", "/versions/1/files/c.txt", "/versions/x", "/versions/1/other"):
            assert (await app.ask("GET", f"{RECORDS}/{rep}{missing}")).status == 404, missing
        assert (await app.ask("GET", f"/col/{rep}/doc/a.txt?ibiversion=9")).status == 404


async def test_the_page_shows_every_version_and_leads_to_its_files(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        assert f"/col/{rep}/versions" in (await app.ask("GET", f"/col/{rep}/metadata")).body.decode()
        answer = await app.ask("GET", f"/col/{rep}/versions", headers=ANONYMOUS)
        read_page(answer.body)  # strict: broken mark-up is an error
        page = answer.body.decode()
        assert f"/col/{rep}/doc/b.txt?ibiversion=1" in page
        assert "Files removed:" in page
        assert "Title" in page


async def test_versions_are_as_restricted_as_the_item_is_now(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        restricted = {"networks": ["10.0.0.0/8"], "listing": False}
        draft = (await app.ask("POST", f"{RECORDS}/{rep}/draft")).json()
        await app.ask("PUT", f"{RECORDS}/{draft['id']}", {**SAID, "visibility": restricted})
        await app.publish(f"{RECORDS}/{draft['id']}")
        body = (await app.ask("GET", f"{RECORDS}/{rep}/versions", headers=ANONYMOUS)).body
        page = (await app.ask("GET", f"/col/{rep}/versions", headers=ANONYMOUS)).body
        record = (await app.ask("GET", f"{RECORDS}/{rep}/versions/1", headers=ANONYMOUS)).body
        assert b"b.txt" not in body + page + record
        assert (await app.ask("GET", f"/col/{rep}/doc/b.txt?ibiversion=1", headers=ANONYMOUS)).status == 302
        assert (await app.ask("GET", f"{RECORDS}/{rep}/versions/1/files/b.txt", headers=ANONYMOUS)).status == 401
        another = app.bearer(Scope.DEPOSIT, "bia")
        assert (await app.ask("GET", f"{RECORDS}/{rep}/versions/1/files/b.txt", headers=another)).status == 403
        for headers in ({}, app.bearer(Scope.EDIT, "bia"), app.bearer(Scope.COPY, "bia")):
            assert (await app.ask("GET", f"{RECORDS}/{rep}/versions/1/files/b.txt", headers=headers)).body == b"b"


@pytest.mark.parametrize("purge", [False, True])
async def test_versions_of_a_deleted_item_are_for_its_owner_and_editors_and_none_is_left_by_a_purge(
    tmp_path: Path, *, purge: bool
) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        admin = app.bearer(Scope.ADMIN)
        asked = f"{RECORDS}/{rep}?reason=x&purge={'true' if purge else 'false'}"
        assert (await app.ask("DELETE", asked, headers=admin)).status == 200
        for rest, status in (("", 401), ("/1", 401), ("/1/files/a.txt", 401)):
            assert (await app.ask("GET", f"{RECORDS}/{rep}/versions{rest}", headers=ANONYMOUS)).status == status
            reader, another = app.bearer(Scope.READ, "bia"), app.bearer(Scope.DEPOSIT, "bia")
            for headers in (reader, another):
                assert (await app.ask("GET", f"{RECORDS}/{rep}/versions{rest}", headers=headers)).status == 403
        assert (await app.ask("GET", f"/col/{rep}/versions", headers=ANONYMOUS)).status == 410
        assert (await app.ask("GET", f"/col/{rep}/doc/a.txt?ibiversion=1", headers=ANONYMOUS)).status == 410
        bytes_of_first = await app.ask("GET", f"{RECORDS}/{rep}/versions/1/files/a.txt", headers=admin)
        if purge:
            assert bytes_of_first.status == 404
        else:
            assert bytes_of_first.body == b"first"
        refused = await app.ask("POST", f"{RECORDS}/{rep}/versions/1/restore", headers=admin)
        assert refused.status == 409


async def test_an_earlier_version_is_restored_as_a_new_one(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        restored = await app.ask("POST", f"{RECORDS}/{rep}/versions/1/restore", {"message": "The first was right"})
        assert restored.status == 201
        assert restored.json()["version"] == 3
        item = app.store.find(parse(rep))
        assert item.metadata.titles() == ("Uma tese",)
        assert [file.path for file in item.files] == ["a.txt", "b.txt"]
        assert (await app.ask("GET", f"/col/{rep}/doc/a.txt")).body == b"first"
        assert app.store.verify_item(rep).problems == ()
        assert (await listed(app, rep))[0]["message"] == "The first was right"
        for number, status in ((3, 409), (9, 404)):
            assert (await app.ask("POST", f"{RECORDS}/{rep}/versions/{number}/restore")).status == status
        another = app.bearer(Scope.DEPOSIT, "bia")
        for headers, status in ((ANONYMOUS, 401), (app.bearer(Scope.READ), 403), (another, 403)):
            refused = await app.ask("POST", f"{RECORDS}/{rep}/versions/1/restore", headers=headers)
            assert refused.status == status


async def test_a_restored_version_keeps_who_may_see_it_and_its_other_names(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        draft = (await app.ask("POST", f"{RECORDS}/{rep}/draft")).json()
        said = {**SAID, "visibility": {"networks": ["10.0.0.0/8"]}, "alternates": ["doi:10.1000/182"]}
        await app.ask("PUT", f"{RECORDS}/{draft['id']}", said)
        await app.publish(f"{RECORDS}/{draft['id']}")
        await app.ask("POST", f"{RECORDS}/{rep}/versions/1/restore")
        item = app.store.find(parse(rep))
        assert item.visibility.networks
        assert [str(each) for each in item.alternates] == ["doi:10.1000/182"]


async def test_what_its_owner_withheld_is_restored_to_all_readers_by_the_owner_or_an_administrator(
    tmp_path: Path,
) -> None:
    """And once shown, a version is as open as it was, also after the file is taken away again."""
    closed = {"networks": ["10.9.0.0/16"]}
    async with records_app(tmp_path) as app:

        async def take_away(rep: str) -> None:
            place = f"{RECORDS}/{(await app.ask('POST', f'{RECORDS}/{rep}/draft')).json()['id']}"
            await app.ask("PUT", place, {**SAID, "target": "ok.txt", "visibility": {}})
            await app.ask("DELETE", f"{place}/files/secret.txt")
            await app.publish(place)

        async def status(place: str) -> int:
            return (await app.ask("GET", f"{RECORDS}/{place}", headers=ANONYMOUS)).status

        for scope, name in ((Scope.DEPOSIT, "ana"), (Scope.ADMIN, "bia")):
            said = {**SAID, "target": "ok.txt", "visibility": closed}
            rep = (await app.deposit(said, ok=b"ok", secret=b"secret"))["rep"]
            await take_away(rep)
            place, before = f"{RECORDS}/{rep}/versions/1/restore", app.store.find(parse(rep))
            refused = await app.ask("POST", place, headers=app.bearer(Scope.EDIT, "bia"))
            assert (refused.status, refused.json()["type"]) == (403, "urn:ibi:problem:not-your-item")
            assert "making it more visible" in refused.json()["detail"]
            assert app.store.find(parse(rep)) == before
            assert await status(f"{rep}/files/secret.txt") == 404
            assert await status(f"{rep}/versions/1/files/secret.txt") == 401
            assert (await app.ask("POST", place, headers=app.bearer(scope, name))).status == 201
            assert await status(f"{rep}/files/secret.txt") == 200
            await take_away(rep)
            seen = [await status(f"{rep}/versions/{number}/files/secret.txt") for number in (1, 2, 3, 4)]
            assert seen == [401, 404, 200, 404]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"networks": ["10.9.0.0/16"]}, {"networks": ["10.0.0.0/8"]}),
        ({"embargo": "2999-01-01T00:00:00Z"}, {"embargo": "2998-01-01T00:00:00Z"}),
        ({"listing": False}, {}),
    ],
)
async def test_any_restriction_of_an_earlier_version_counts_and_files_that_the_item_has_do_not(
    tmp_path: Path, before: dict[str, Any], now: dict[str, Any]
) -> None:
    async with records_app(tmp_path) as app:
        editor = app.bearer(Scope.EDIT, "bia")
        for changed, expected in ((b"other", 403), (b"ok", 201)):
            rep = (await app.deposit({**SAID, "visibility": before}, a=b"ok"))["rep"]
            place = f"{RECORDS}/{(await app.ask('POST', f'{RECORDS}/{rep}/draft')).json()['id']}"
            await app.ask("PUT", place, {"metadata": {"title": "Outra"}, "visibility": now})
            await app.send(place, "a.txt", changed)
            await app.publish(place)
            restored = await app.ask("POST", f"{RECORDS}/{rep}/versions/1/restore", headers=editor)
            assert restored.status == expected, restored.json()


async def test_the_address_of_a_service_that_was_restricted_is_not_restored_by_an_editor(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        said = {**SAID, "url": "http://secret.br/", "visibility": {"networks": ["10.0.0.0/8"]}}
        rep = (await app.publish(await app.begin(said)))["rep"]
        draft = (await app.ask("POST", f"{RECORDS}/{rep}/draft", {**SAID, "url": "http://open.br/"})).json()["id"]
        await app.publish(f"{RECORDS}/{draft}")
        for headers, status in ((app.bearer(Scope.EDIT, "bia"), 403), (app.bearer(), 201)):
            place = f"{RECORDS}/{rep}/versions/1/restore"
            assert (await app.ask("POST", place, headers=headers)).status == status


async def test_a_file_of_a_draft_may_have_the_name_of_a_version(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert (await app.send(draft, "versions/1/restore", b"x")).status == 201
        assert (await app.send(draft, "versions/1", b"x")).status in {201, 400}


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Restored from version 1"), ("pt-BR", "Restaurado da versão 1"), ("es", "Restaurado desde la versión 1")],
)
async def test_what_is_recorded_of_itself_is_shown_in_the_language_of_the_reader(
    tmp_path: Path, language: str, words: str
) -> None:
    async with records_app(tmp_path) as app:
        rep = await two_versions(app)
        await app.ask("POST", f"{RECORDS}/{rep}/versions/1/restore")
        headers = {"accept": "text/html", "accept-language": language}
        page = (await app.ask("GET", f"/col/{rep}/versions", headers=headers)).body.decode()
        assert words in page
        assert ("Deposited" in page) is (language == "en")
