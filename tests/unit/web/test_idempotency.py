"""A key of a deposit stands for its content: the same gives the same item, anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ibi.deposits.rules.drafts import Holding
from ibi.items.service.deposit_parts import first_version
from ibi.people.model.account import Scope
from tests.support.asgi_client import Answer
from tests.support.form_bodies import FORM, batch_form, item_form
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app

LARGE = (1 << 20) + 10
FILES = {"a.txt": b"content", "b.txt": b"more"}
FULL: dict[str, Any] = {
    **SAID,
    "language": "pt",
    "target": "a.txt",
    "alternates": ["doi:10.1000/182", "https://old.example.org/x"],
    "visibility": {"embargo": "2999-01-01T00:00:00Z", "networks": ["10.0.0.0/8"]},
}


async def post(app: RecordsApp, body: bytes, key: str = "k", place: str = RECORDS) -> Answer:
    return await app.ask("POST", place, headers={**FORM, "idempotency-key": key}, body=body)


def problem_of(answer: Answer) -> tuple[int, str]:
    return answer.status, str(answer.json()["type"]).removeprefix("urn:ibi:problem:")


@pytest.mark.parametrize(
    ("said", "files", "differs"),
    [
        ({**FULL, "metadata": {"title": "Outra"}}, FILES, "metadata"),
        ({**FULL, "language": "en"}, FILES, "language"),
        ({**FULL, "target": "b.txt"}, FILES, "target"),
        ({**FULL, "visibility": {}}, FILES, "visibility"),
        ({**FULL, "alternates": ["doi:10.1000/183"]}, FILES, "alternates"),
        (FULL, {"a.txt": b"content", "b.txt": b"MORE"}, "files"),
        (FULL, {"a.txt": b"content"}, "files"),
        (FULL, {**FILES, "c.txt": b""}, "files"),
    ],
)
async def test_a_whole_item_with_other_content_is_refused(
    tmp_path: Path, said: Any, files: dict[str, bytes], differs: str
) -> None:
    async with records_app(tmp_path) as app:
        first = await post(app, item_form(FILES, FULL))
        again = await post(app, item_form(FILES, FULL))
        assert (first.status, again.json()) == (201, first.json())
        other = await post(app, item_form(files, said))
        assert problem_of(other) == (422, "key-reused")
        assert f"({differs})" in other.json()["detail"]
        assert first.json()["rep"] in other.json()["detail"]
        assert other.json()["field"] == "Idempotency-Key"
        assert len(list(app.store.catalog.items())) == 1


async def test_a_large_item_with_other_content_is_refused_and_leaves_no_draft(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert (await post(app, item_form({"a.bin": b"a" * LARGE}))).status == 201
        assert (await post(app, item_form({"a.bin": b"a" * LARGE}))).status == 201
        assert problem_of(await post(app, item_form({"a.bin": b"b" * LARGE}))) == (422, "key-reused")
        assert problem_of(await post(app, item_form({"a.bin": b"a"}))) == (422, "key-reused")
        assert app.drafts.total() == Holding()


async def test_what_the_item_became_since_does_not_matter(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await post(app, item_form(FILES, FULL))).json()["rep"]
        draft = (await app.ask("POST", f"{RECORDS}/{rep}/draft", {**FULL, "metadata": {"title": "Outra"}})).json()["id"]
        await app.publish(f"{RECORDS}/{draft}")
        assert (await post(app, item_form(FILES, FULL))).json()["rep"] == rep
        changed = item_form(FILES, {**FULL, "metadata": {"title": "Outra"}})
        assert problem_of(await post(app, changed)) == (422, "key-reused")


async def test_relations_are_content_too(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        old = [(await post(app, item_form(FILES), key)).json()["rep"] for key in "ab"]
        said = [{**SAID, "edition_of": rep} for rep in old]
        first, again = [await post(app, item_form(FILES, said[0])) for _ in range(2)]
        assert first.json() == again.json()
        # Refused for itself too: there is no second next edition.
        assert problem_of(await post(app, item_form({"a.txt": b"x"}, said[0]))) == (422, "key-reused")
        assert problem_of(await post(app, item_form(FILES, said[1]))) == (422, "key-reused")
        assert problem_of(await post(app, item_form(FILES))) == (422, "key-reused")


async def test_each_item_of_a_batch_has_the_content_of_its_place(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        items = [(SAID, {"a.txt": str(number).encode()}) for number in range(4)]
        first = (await post(app, batch_form(items), place=f"{RECORDS}/batch")).json()["results"]
        assert (await post(app, batch_form(items), place=f"{RECORDS}/batch")).json()["results"] == first
        items[1], items[2] = items[2], items[1]
        told = (await post(app, batch_form(items), place=f"{RECORDS}/batch")).json()["results"]
        assert [each["status"] for each in told] == [201, 422, 422, 201]
        assert told[1]["problem"]["type"] == "urn:ibi:problem:key-reused"
        assert (told[0], told[3]) == (first[0], first[3])


async def test_another_draft_with_other_content_is_refused_and_stays(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        drafts = [await app.begin() for _ in range(3)]
        for draft, content in zip(drafts, (b"content", b"content", b"other"), strict=True):
            await app.send(draft, "a.txt", content)
        first, second = [await app.publish(draft, idempotency_key="k") for draft in drafts[:2]]
        assert first == second
        third = await app.ask("POST", f"{drafts[2]}/publish", headers={"idempotency-key": "k"})
        assert problem_of(third) == (422, "key-reused")
        assert (await app.publish(drafts[2], idempotency_key="l"))["rep"] != first["rep"]
        whole = await post(app, item_form({"a.txt": b"content"}))
        assert whole.json()["rep"] == first["rep"]


async def test_what_a_key_stands_for_outlives_the_process(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await post(app, item_form(FILES))).json()["rep"]
        first = first_version(app.store, rep)
    assert first is not None
    async with records_app(tmp_path) as app:
        assert first_version(app.store, rep) == first
        assert first_version(app.store, "lab.br/arq/2019/01.02.03.04") is None


async def test_the_key_of_an_item_that_was_purged_gives_what_is_left_of_it(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await post(app, item_form(FILES))).json()["rep"]
        admin = app.bearer(Scope.ADMIN, "adm")
        gone = await app.ask("DELETE", f"{RECORDS}/{rep}?reason=test&purge=true", headers=admin)
        assert gone.status == 200
        assert (await post(app, item_form(FILES))).json()["rep"] == rep
