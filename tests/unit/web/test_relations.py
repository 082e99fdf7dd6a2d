"""Items related, deleted and shown in full through the API; how the Archive stands; all of it as described."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.people.model.account import Scope
from ibi.standard.label import RepositoryName, parse
from ibi.standard.messages import State
from ibi.usage.model import UsageDay, UsageKind, day_of
from tests.support.archive_app import BASE, NOW, SERVICE
from tests.support.asgi_client import Answer
from tests.support.form_bodies import FORM, batch_form, item_form
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app
from tests.unit.reading.test_records import DOCUMENT, check


async def two(app: RecordsApp, **said: object) -> tuple[str, str]:
    return (await app.deposit({**SAID, **said}))["rep"], (await app.deposit())["rep"]


async def test_a_next_edition_is_said_and_withdrawn(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        old, new = await two(app)
        place = f"{RECORDS}/{old}/relations"
        said = await app.ask("POST", place, {"next_edition": new})
        assert (said.status, said.json()["next_edition"]["rep"]) == (200, new)
        assert (await app.ask("GET", f"{RECORDS}/{new}/relations")).json()["edition_of"]["rep"] == old
        again = await app.ask("POST", place, {"next_edition": "lab.br/arq/2020/01.02.03.04"})
        assert (again.status, again.json()["type"]) == (409, "urn:ibi:problem:second-successor")
        withdrawn = await app.ask("DELETE", f"{place}?next_edition={new}")
        assert "next_edition" not in withdrawn.json()
        nothing = await app.ask("DELETE", f"{place}?next_edition={new}")
        assert (nothing.status, nothing.json()["type"]) == (409, "urn:ibi:problem:not-related")


async def test_a_translation_is_said_and_withdrawn(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        source, text = await two(app, language="pt")
        place = f"{RECORDS}/{source}/relations"
        said = await app.ask("POST", place, {"translation": text, "language": "en"})
        assert said.json()["translations"]["en"]["rep"] == text
        assert (await app.ask("GET", f"{RECORDS}/{text}/relations")).json()["translation_of"]["rep"] == source
        withdrawn = await app.ask("DELETE", f"{place}?translation={text}&language=en")
        assert withdrawn.status == 200
        assert "en" not in withdrawn.json().get("translations", {})


async def test_metadata_is_said_and_withdrawn(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item, about = await two(app)
        place = f"{RECORDS}/{item}/relations"
        said = await app.ask("POST", place, {"metadata_item": about})
        assert (said.status, said.json()["metadata_item"]["rep"]) == (200, about)
        assert (await app.ask("GET", f"{RECORDS}/{about}/relations")).json()["describes"]["rep"] == item
        elsewhere = {"metadata_item": "lab.br/arq/2020/01.02.03.04"}
        for other, problem in (
            (place, "second-metadata-item"),
            (f"{RECORDS}/{about}/relations", "metadata-of-metadata"),
        ):
            refused = await app.ask("POST", other, elsewhere)
            assert (refused.status, refused.json()["type"]) == (409, f"urn:ibi:problem:{problem}")
        withdrawn = await app.ask("DELETE", f"{place}?metadata_item={about}")
        assert (withdrawn.status, "metadata_item" in withdrawn.json()) == (200, False)
        assert "describes" not in (await app.ask("GET", f"{RECORDS}/{about}")).json()
        nothing = await app.ask("DELETE", f"{place}?metadata_item={about}")
        assert (nothing.status, nothing.json()["type"]) == (409, "urn:ibi:problem:not-related")
        itself = await app.ask("POST", place, {"metadata_item": item})
        assert (itself.status, itself.json()["type"]) == (409, "urn:ibi:problem:metadata-of-itself")


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({}, "next_edition, translation or metadata_item"),
        ({"next_edition": "x", "translation": "y"}, "next_edition, translation or metadata_item"),
        ({"next_edition": "x", "metadata_item": "y"}, "next_edition, translation or metadata_item"),
        ({"metadata_item": "nonsense"}, "metadata_item"),
        ({"translation": "lab.br/arq/2020/01.02.03.04"}, "language"),
        ({"translation": "lab.br/arq/2020/01.02.03.04", "language": "zz"}, "language"),
        ({"next_edition": "nonsense"}, "next_edition"),
        ({"next_edition": 1}, "next_edition"),
        ({"previous": "x"}, "previous"),
    ],
)
async def test_what_cannot_be_understood_is_named(tmp_path: Path, said: dict[str, object], field: str) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        answer = await app.ask("POST", f"{RECORDS}/{rep}/relations", said)
        assert (answer.status, answer.json()["field"]) == (400, field)


# --- deletion ---


async def test_a_deleted_item_leaves_a_tombstone(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        old, new = await two(app)
        answer = await app.ask("DELETE", f"{RECORDS}/{old}?reason=n%C3%A3o%20serve&replaced_by={new}")
        assert (answer.status, answer.json()["state"]) == (200, "Deleted")
        assert answer.json()["tombstone"]["why"] == "não serve"
        assert answer.json()["tombstone"]["replaced_by"]["rep"] == new
        assert (await app.ask("GET", f"{RECORDS}/{old}")).status == 410
        assert (await app.ask("DELETE", f"{RECORDS}/{old}?reason=again")).status == 409
        assert (await app.ask("POST", f"{RECORDS}/{old}/draft")).status == 409


async def test_only_a_librarian_purges(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        place = f"{RECORDS}/{rep}?reason=x&purge=true"
        refused = await app.ask("DELETE", place)
        assert (refused.status, refused.headers["www-authenticate"].rpartition("scope=")[2]) == (403, '"admin"')
        assert app.store.find(parse(rep)).state is State.ORIGINAL
        purged = await app.ask("DELETE", place, headers=app.bearer(Scope.ADMIN, "lib"))
        assert purged.json()["tombstone"]["purged"] is True
        assert len(app.store.content.read(rep).versions) == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "reason"),
        ("?reason=%20", "reason"),
        (f"?reason={'x' * 10_001}", "reason"),
        ("?reason=x&purge=yes", "purge"),
        ("?reason=x&replaced_by=nonsense", "replaced_by"),
        ("?reason=x&why=y", "why"),
    ],
)
async def test_a_deletion_that_cannot_be_understood_deletes_nothing(tmp_path: Path, query: str, field: str) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        answer = await app.ask("DELETE", f"{RECORDS}/{rep}{query}")
        assert (answer.status, answer.json()["field"]) == (400, field)
        assert app.store.find(parse(rep)).state is State.ORIGINAL


# --- what a token shows ---


async def test_with_a_token_that_allows_to_read_all_files_are_listed(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit({**SAID, "visibility": {"listing": False}}))["rep"]
        nobody, reader = {"authorization": ""}, app.bearer(Scope.READ, "r")
        for rest in ("", "/files"):
            seen = await app.ask("GET", f"{RECORDS}/{rep}{rest}", headers=reader)
            assert [file["path"] for file in seen.json()["files"]] == ["a.txt"]
            assert seen.headers["cache-control"].startswith("private")
        assert "files" not in (await app.ask("GET", f"{RECORDS}/{rep}", headers=nobody)).json()
        assert (await app.ask("GET", f"{RECORDS}/{rep}/files", headers=nobody)).status == 403


async def test_how_the_archive_stands(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert (await app.ask("GET", "/api/archive", headers={"authorization": ""})).status == 401
        told = (await app.ask("GET", "/api/archive", headers=app.bearer(Scope.READ, "r"))).json()
        assert told == {
            "begun": True,
            "in_doubt": None,
            "unheard": [],
            "rep": str(SERVICE.rep),
            "ibip": str(SERVICE.ibip),
            "public_url": BASE,
            "content_url": BASE,
            "resolver": None,
            "membership": "off",
        }


async def test_the_use_of_all_is_told_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibi.web.status.MOST_TOTALS", 2)
    async with records_app(tmp_path) as app:
        names = [f"lab.br/arq/2020/01.02.03.0{number}" for number in range(3)]
        for name in names:
            app.usage.count(UsageDay(RepositoryName.parse(name), day_of(NOW)), UsageKind.DOWNLOAD)
        first = (await app.ask("GET", "/api/usage")).json()
        assert [item["rep"] for item in first["items"]] == names[:2]
        rest = (await app.ask("GET", first["links"]["next"].removeprefix(BASE))).json()
        assert [(item["rep"], item["downloads"]) for item in rest["items"]] == [(names[2], 1)]
        assert (await app.ask("GET", "/api/usage?after=nonsense")).status == 400


# --- the description ---


def described(answer: Answer, method: str, path: str) -> None:
    responses = DOCUMENT["paths"][path][method.lower()]["responses"]
    response = responses[str(int(answer.status))]
    if answer.status == 204:
        assert answer.body == b""
        return
    check(answer.json(), response["content"][answer.headers["content-type"]]["schema"])
    for name in response.get("headers", {}):
        assert name.lower() in answer.headers


async def test_every_answer_is_as_the_description_says(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        begun = await app.ask("POST", RECORDS, {**SAID, "visibility": {"listing": False}, "language": "pt"})
        described(begun, "POST", "/api/items")
        draft = f"{RECORDS}/{begun.json()['id']}"
        described(await app.ask("POST", RECORDS, {"x": 1}), "POST", "/api/items")
        whole = item_form({"a.txt": b"a"})
        described(await app.ask("POST", RECORDS, headers=FORM, body=whole), "POST", "/api/items")
        described(await app.ask("POST", RECORDS, headers=FORM, body=whole[:-9]), "POST", "/api/items")
        batch = batch_form([(None, {"a.txt": b"a"}), ({}, {"a.txt": b"a"})])
        for body in (batch, batch[:-9], b""):
            answer = await app.ask("POST", f"{RECORDS}/batch", headers=FORM, body=body)
            described(answer, "POST", "/api/items/batch")
        described(await app.ask("GET", f"{RECORDS}?state=draft"), "GET", "/api/items")
        described(await app.ask("GET", RECORDS), "GET", "/api/items")
        file = "/api/items/{label}/files/{path}"
        for answer in (await app.send(draft, "a.txt"), await app.send(draft, "a.txt"), await app.send(draft, "..")):
            described(answer, "PUT", file)
        described(await app.send(draft, "a.txt", if_none_match="*"), "PUT", file)
        described(await app.send(draft, "b.txt", content_encoding="gzip"), "PUT", file)
        described(await app.ask("DELETE", f"{draft}/files/b.txt"), "DELETE", file)
        described(await app.ask("GET", f"{draft}/files"), "GET", "/api/items/{label}/files")
        described(await app.ask("PUT", draft, SAID), "PUT", "/api/items/{label}")
        described(await app.ask("GET", draft), "GET", "/api/items/{label}")
        published = await app.ask("POST", f"{draft}/publish")
        described(published, "POST", "/api/items/{label}/publish")
        described(await app.send(draft, "c.txt"), "PUT", file)
        rep = published.json()["rep"]
        update = "/api/items/{label}/draft"
        for method in ("GET", "POST", "GET", "PUT", "DELETE", "DELETE"):
            described(await app.ask(method, f"{RECORDS}/{rep}/draft", SAID), method, update)
        described(await app.ask("POST", f"{RECORDS}/{rep}/publish"), "POST", "/api/items/{label}/publish")
        relations = "/api/items/{label}/relations"
        described(await app.ask("GET", f"{RECORDS}/{rep}/relations"), "GET", relations)
        other = (await app.deposit())["rep"]
        for said in ({"next_edition": other}, {}, {"next_edition": rep}):
            described(await app.ask("POST", f"{RECORDS}/{rep}/relations", said), "POST", relations)
        described(await app.ask("DELETE", f"{RECORDS}/{rep}/relations?next_edition={other}"), "DELETE", relations)
        described(await app.ask("POST", f"{RECORDS}/{rep}/relations", {"metadata_item": other}), "POST", relations)
        described(await app.ask("DELETE", f"{RECORDS}/{rep}/relations?metadata_item={other}"), "DELETE", relations)
        described(await app.ask("POST", RECORDS, {**SAID, "describes": rep}), "POST", "/api/items")
        described(await app.ask("DELETE", f"{RECORDS}/{rep}?reason=x"), "DELETE", "/api/items/{label}")
        described(await app.ask("DELETE", f"{RECORDS}/{rep}"), "DELETE", "/api/items/{label}")
        for path in ("/api/usage", "/api/archive"):
            described(await app.ask("GET", path), "GET", path)
            described(await app.ask("GET", path, headers={"authorization": ""}), "GET", path)


async def test_every_part_of_a_deleted_item_is_gone(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        assert (await app.ask("DELETE", f"{RECORDS}/{rep}?reason=test")).status == 200
        for rest in ("", "/relations", "/usage", "/files", "/manifest", "/files/a.txt"):
            assert (await app.ask("GET", f"{RECORDS}/{rep}{rest}")).status == 410, rest
