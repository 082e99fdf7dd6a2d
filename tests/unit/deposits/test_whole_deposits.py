"""Items deposited whole, one or many in a request: each there or not at all, under the rules of drafts."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import MutableMapping
from hashlib import sha256, sha512
from pathlib import Path
from typing import Any

import pytest

from ibi.deposits.api import whole_deposits
from ibi.deposits.rules.drafts import DraftQuota, Holding
from ibi.deposits.service.ledger import Depositor
from ibi.deposits.service.publishing import MOST_BYTES
from ibi.people.model.account import Scope, service_account
from tests.support.counted_sha512 import counted_sha512, high_bytes
from tests.support.form_bodies import FORM, SAID, batch_form, file_part, form, item_form, item_part, part
from tests.support.records_app import RECORDS, RecordsApp, records_app

ANA = Depositor(service_account("ana"), "ana")
BATCH = f"{RECORDS}/batch"
LARGE = MOST_BYTES + 100_000


async def post(app: RecordsApp, body: bytes, path: str = RECORDS, **headers: str) -> Any:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    pieces = [body[start : start + 50_000] for start in range(0, len(body), 50_000)]
    return await app.ask("POST", path, headers={**FORM, **named}, body=pieces)


def problem_of(answer: Any) -> str:
    return str(answer.json()["type"]).removeprefix("urn:ibi:problem:")


def assert_nothing_left(app: RecordsApp, data: Path) -> None:
    assert app.drafts.holding(ANA) == Holding()
    assert list(data.glob("drafts/draft-*")) == []


@pytest.mark.parametrize("sizes", [(10, 0), (200_000, 3), (LARGE, 10), (10, LARGE)])
async def test_one_request_deposits_an_item_whole(tmp_path: Path, sizes: tuple[int, int]) -> None:
    files = {"a/b.txt": high_bytes(sizes[0]), "c.bin": high_bytes(sizes[1])}
    async with records_app(tmp_path) as app:
        with counted_sha512() as count:
            answer = await post(app, item_form(files, {**SAID, "target": "a/b.txt"}))
        assert answer.status == 201, answer.json()
        assert count.entered == sum(sizes)
        (item,) = app.store.catalog.items()
        assert answer.json()["rep"] == item.rep.spelling
        assert answer.headers["location"].endswith(f"{RECORDS}/{item.rep.spelling}")
        found = {file.path: (file.size, file.sha512) for file in item.files}
        assert found == {path: (len(content), sha512(content).hexdigest()) for path, content in files.items()}
        assert [file.media_type for file in item.files if file.path == "a/b.txt"] == ["text/plain"]
        assert item.target == "a/b.txt"
        assert [verified.problems for verified in app.store.verify()] == [()]
        assert_nothing_left(app, tmp_path)


async def test_a_service_without_files_is_deposited_too(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        answer = await post(app, item_form({}, {**SAID, "url": "https://example.org/"}))
        assert answer.status == 201
        assert answer.json()["url"] == "https://example.org/"


async def test_a_key_of_an_item_that_was_deleted_tells_so(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        body = item_form({"a.txt": b"one"})
        first = (await post(app, body, idempotency_key="k")).json()
        assert "state" not in first
        assert (await app.ask("DELETE", f"{RECORDS}/{first['rep']}?reason=x")).status == 200
        again = await post(app, body, idempotency_key="k")
        told = again.json()
        assert (again.status, told["rep"], told["state"]) == (201, first["rep"], "Deleted")
        assert told["url"].endswith("/metadata")
        assert f"{first['rep']} was deleted on" in told["warnings"][0]


@pytest.mark.parametrize("size", [10, LARGE])
async def test_the_same_key_gives_the_same_item(tmp_path: Path, size: int) -> None:
    async with records_app(tmp_path) as app:
        body = item_form({"a.bin": high_bytes(size)})
        first, second = [await post(app, body, idempotency_key="k") for _ in range(2)]
        assert (first.status, second.status) == (201, 201)
        assert first.json() == second.json()
        assert (await post(app, body)).json()["rep"] != first.json()["rep"]
        assert len(list(app.store.catalog.items())) == 2
        assert_nothing_left(app, tmp_path)


async def test_the_same_key_gives_the_item_that_a_second_one_would_contradict(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        old = (await post(app, item_form({"a": b"a"}))).json()["rep"]
        body = item_form({"a": b"b"}, {**SAID, "edition_of": old})
        first, second = [await post(app, body, idempotency_key="k") for _ in range(2)]
        assert first.json()["rep"] == second.json()["rep"]
        assert (await post(app, body)).status == 409


@pytest.mark.parametrize("size", [10, LARGE])
@pytest.mark.parametrize("algorithm", ["sha-256", "sha-512"])
async def test_a_digest_of_a_part_is_checked(tmp_path: Path, size: int, algorithm: str) -> None:
    content = high_bytes(size)
    known = {"sha-256": sha256, "sha-512": sha512}[algorithm](content).digest()

    def body(digest: bytes) -> bytes:
        header = f"Repr-Digest: {algorithm}=:{b64encode(digest).decode()}:"
        return form(item_part(), file_part("a.bin", content, header))

    async with records_app(tmp_path) as app:
        refused = await post(app, body(bytes(len(known))))
        assert (refused.status, problem_of(refused)) == (400, "digest-mismatch")
        assert list(app.store.catalog.items()) == []
        assert_nothing_left(app, tmp_path)
        assert (await post(app, body(known))).status == 201


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (form(item_part({"metadata": {}}), file_part("a", b"a")), 400, "title-missing"),
        (form(item_part()), 400, "nothing-to-publish"),
        (form(item_part({"colour": "red"}), file_part("a", b"a")), 400, "invalid-member"),
        (form(item_part([]), file_part("a", b"a")), 400, "malformed-body"),
        (form(part('form-data; name="item"', b"{"), file_part("a", b"a")), 400, "malformed-body"),
        (form(file_part("a", b"a"), item_part()), 400, "malformed-body"),
        (form(item_part(), part('form-data; name="file"', b"a")), 400, "malformed-body"),
        (form(item_part(), part('form-data; name="other"', b"a")), 400, "malformed-body"),
        (form(item_part(), file_part("../a", b"a")), 400, "invalid-file-name"),
        (form(item_part(), file_part("a", b"a"), file_part("a", b"b")), 400, "invalid-file-name"),
        (form(item_part(), file_part("a", b"a"), file_part("A", b"b")), 400, "invalid-file-name"),
        (form(item_part(), file_part("a", b"a"), file_part("a/b", b"b")), 400, "invalid-file-name"),
        (form(item_part(), file_part("a", b"a" * LARGE), file_part("A", b"b")), 400, "invalid-file-name"),
        (form(item_part({**SAID, "target": "b"}), file_part("a", b"a")), 400, "invalid-item"),
        (form(item_part(), file_part("a", b"a"), item_part()), 400, "malformed-body"),
        (form(item_part(), file_part("a", b"a" * LARGE), item_part()), 400, "malformed-body"),
        (form(item_part(), file_part("a", b"a" * LARGE))[:-9], 400, "malformed-body"),
        (form(item_part(), file_part("a", b"a"))[:-9], 400, "malformed-body"),
        (form(), 400, "member-missing"),
        (form(item_part(), file_part("a", b"a" * 4_000_000)), 413, "deposit-too-large"),
    ],
)
async def test_what_is_refused_leaves_nothing(tmp_path: Path, body: bytes, status: int, problem: str) -> None:
    async with records_app(tmp_path, largest=3_000_000) as app:
        answer = await post(app, body)
        assert (answer.status, problem_of(answer)) == (status, problem), answer.json()
        assert list(app.store.catalog.items()) == []
        assert_nothing_left(app, tmp_path)


async def test_a_token_to_deposit_is_needed(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        for path in (RECORDS, BATCH):
            assert (await post(app, item_form({"a": b"a"}), path, authorization="")).status == 401
            refused = await post(app, item_form({"a": b"a"}), path, **app.bearer(Scope.READ))
            assert refused.status == 403
        assert list(app.store.catalog.items()) == []


async def test_quotas_of_bytes_and_disk_are_those_of_drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with records_app(tmp_path, quota=DraftQuota(drafts=1, size=1000, reserve=1)) as app:
        refused = await post(app, item_form({"a": b"a" * 1001}))
        assert (refused.status, problem_of(refused)) == (413, "drafts-too-large")
        draft = await app.begin()
        await app.send(draft, "a.txt", b"a" * 500)
        assert (await post(app, item_form({"a": b"a" * 501}))).status == 413
        assert (await post(app, item_form({"a": b"a" * 500}))).status == 201
        assert app.drafts.holding(ANA) == Holding(1, 500)
        monkeypatch.setattr("ibi.deposits.store.draft_files.DraftFiles.free", lambda _: 0)
        refused = await post(app, item_form({"a": b"a"}))
        assert (refused.status, problem_of(refused)) == (507, "disk-nearly-full")


async def test_what_all_requests_hold_in_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound, small items go through drafts too."""
    monkeypatch.setattr(whole_deposits, "_MOST_MEMORY", 100)
    async with records_app(tmp_path) as app:
        answers = await asyncio.gather(*(post(app, item_form({"a": b"a" * 1000, "b": b"b"})) for _ in range(4)))
        assert {answer.status for answer in answers} == {201}
        assert len(list(app.store.catalog.items())) == 4
        assert_nothing_left(app, tmp_path)


async def test_files_without_bytes_are_not_held_beyond_the_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibi.deposits.service.publishing.MOST_FILES", 30)
    monkeypatch.setattr(whole_deposits, "MOST_BYTES", 5_000)
    held: list[int] = []
    hold = whole_deposits._Reading._hold

    def watch(reading: whole_deposits._Reading, item: whole_deposits._Coming, size: int) -> None:
        hold(reading, item, size)
        held.append(item.size)

    monkeypatch.setattr(whole_deposits._Reading, "_hold", watch)
    async with records_app(tmp_path) as app:
        refused = await post(app, item_form({f"{number}.txt": b"" for number in range(31)}))
        assert (refused.status, problem_of(refused)) == (413, "too-many-files")
        assert_nothing_left(app, tmp_path)
        assert (await post(app, item_form({f"{number}.txt": b"" for number in range(30)}))).status == 201
        (item,) = app.store.catalog.items()
        assert len(item.files) == 30
    assert max(held) < 6_000


# --- batches ---


async def test_each_item_of_a_batch_is_there_or_not_at_all(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        items: list[tuple[object, dict[str, bytes]]] = [
            (None, {"a.txt": b"a"}),
            ({"metadata": {}}, {"a.txt": b"a", "b.txt": b"b"}),
            (None, {"../a": b"a", "b": b"b"}),
            (None, {"large.bin": high_bytes(LARGE), "small": b"s"}),
            ({"colour": "red"}, {"a.txt": b"a" * LARGE}),
            (None, {"a.txt": b"b", "b.txt": b""}),
        ]
        with counted_sha512() as count:
            answer = await post(app, batch_form(items), BATCH)
        assert count.entered == LARGE
        assert answer.status == 200
        results = answer.json()["results"]
        assert [each["status"] for each in results] == [201, 400, 400, 201, 400, 201]
        assert results[1]["problem"]["type"] == "urn:ibi:problem:title-missing"
        listed = {item.rep.spelling: {file.path for file in item.files} for item in app.store.catalog.items()}
        assert listed == {results[number]["item"]["rep"]: set(items[number][1]) for number in (0, 3, 5)}
        assert [verified.problems for verified in app.store.verify()] == [()] * 3
        assert_nothing_left(app, tmp_path)


async def test_a_batch_of_many_items_is_deposited_in_the_order_in_which_it_came(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        body = batch_form([({"metadata": {"title": f"N {number}"}}, {"a": b"%d" % number}) for number in range(150)])
        results = (await post(app, body, BATCH, idempotency_key="k")).json()["results"]
        reps = [each["item"]["rep"] for each in results]
        titles = {item.rep.spelling: str(item.metadata.title[0].value) for item in app.store.catalog.items()}
        assert [titles[rep] for rep in reps] == [f"N {number}" for number in range(150)]
        again = (await post(app, body, BATCH, idempotency_key="k")).json()["results"]
        assert [each["item"]["rep"] for each in again] == reps
        assert len(titles) == 150


async def test_a_batch_that_ends_too_early_tells_what_became_of_the_items_before(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        body = batch_form([(None, {"a": b"a"}), (None, {"b": b"b"})])
        answer = await post(app, body[:-30], BATCH)
        assert answer.status == 200
        assert [each["status"] for each in answer.json()["results"]] == [201]
        assert answer.json()["problem"]["type"] == "urn:ibi:problem:malformed-body"
        assert [[file.path for file in item.files] for item in app.store.catalog.items()] == [["a"]]


async def test_a_batch_is_bounded_in_number_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_deposits, "MOST_ITEMS", 2)
    async with records_app(tmp_path) as app:
        answer = await post(app, batch_form([(None, {"a": b"a"})] * 3), BATCH)
        assert [each["status"] for each in answer.json()["results"]] == [201, 201]
        assert "more than 2 items" in answer.json()["problem"]["detail"]
        monkeypatch.setattr(whole_deposits, "MOST_BATCH", 1000)
        answer = await post(app, batch_form([(None, {"a": b"a" * 2000})]), BATCH)
        assert (answer.status, problem_of(answer)) == (413, "body-too-large")


async def test_a_batch_without_items_is_refused(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert problem_of(await post(app, form(), BATCH)) == "member-missing"
        assert (await app.ask("POST", BATCH, {})).status == 415


async def test_a_client_that_goes_away_leaves_no_draft(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        body = item_form({"a": b"a" * (2 * LARGE)})
        scope = {
            "type": "http", "method": "POST", "path": RECORDS, "raw_path": RECORDS.encode(), "query_string": b"",
            "headers": [(name.encode(), text.encode()) for name, text in {**FORM, **app.bearer()}.items()],
            "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        messages = iter([{"type": "http.request", "body": body[:-100_000], "more_body": True}])

        async def receive() -> dict[str, Any]:
            return next(messages, {"type": "http.disconnect"})

        async def send(_: object) -> None:
            """No answer reaches it."""

        await app.app(scope, receive, send)
        assert list(app.store.catalog.items()) == []
        assert_nothing_left(app, tmp_path)


@pytest.mark.parametrize("is_cut", [True, False])
@pytest.mark.parametrize("place", [RECORDS, BATCH])
async def test_what_came_whole_of_a_small_batch_is_deposited_when_no_more_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, *, is_cut: bool
) -> None:
    defaults = whole_deposits.WholeDepositPages.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "patience", 0.01)
    async with records_app(tmp_path) as app:
        items = [(None, {"a": b"a"}), (None, {"b": b"b"}), (None, {"c": b"c" * 100})]
        body = batch_form(items) if place == BATCH else item_form({"a": b"a" * 100})
        scope = {
            "type": "http", "method": "POST", "path": place, "raw_path": place.encode(), "query_string": b"",
            "headers": [(name.encode(), text.encode()) for name, text in {**FORM, **app.bearer()}.items()],
            "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        arriving, sent = [body[:-100]], list[MutableMapping[str, Any]]()

        async def receive() -> dict[str, Any]:
            if not arriving and not is_cut:
                await asyncio.Event().wait()
            if not arriving:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": arriving.pop(), "more_body": True}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        await app.app(scope, receive, send)
        kept = [[file.path for file in item.files] for item in app.store.catalog.items()]
        assert kept == ([["a"], ["b"]] if place == BATCH else [])
        assert_nothing_left(app, tmp_path)
        if not is_cut:
            told = b"".join(message.get("body", b"") for message in sent).decode()
            assert "upload-too-slow" in told
            assert "draft has" not in told
            assert ("come whole before that are deposited" if place == BATCH else "nothing was deposited") in told
