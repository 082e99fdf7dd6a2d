"""Files sent in several requests: the protocol tus 1.0, what is kept of them, and to whom they belong."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from ibi.deposits.rules.drafts import DraftQuota
from ibi.deposits.store.draft_files import DraftFiles
from ibi.people.model.account import Role
from ibi.people.model.account import Scope as TokenScope
from tests.support.asgi_client import Answer, ask
from tests.support.depositing_person import DepositingPerson
from tests.support.memory.people import MemoryPeople
from tests.support.records_app import RecordsApp, records_app

TUS = {"tus-resumable": "1.0.0"}
STREAM = {"content-type": "application/offset+octet-stream"}
CONTENT = bytes(range(256)) * 1000


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode("ascii")


def told(path: str, length: int, media_type: str | None = None) -> dict[str, str]:
    metadata = f"filename {encoded(path)}" + (f",filetype {encoded(media_type)}" if media_type else "")
    return {**TUS, "upload-length": str(length), "upload-metadata": metadata}


@pytest.fixture
def people() -> MemoryPeople:
    return MemoryPeople()


@pytest.fixture
async def app(tmp_path: Path, people: MemoryPeople) -> AsyncIterator[RecordsApp]:
    async with records_app(tmp_path, people=people) as made:
        yield made


@pytest.fixture
async def draft(app: RecordsApp) -> str:
    return await app.begin()


async def begun(app: RecordsApp, draft: str, path: str = "a/b.bin", length: int = len(CONTENT)) -> str:
    answer = await app.ask("POST", f"{draft}/uploads", headers=told(path, length, "image/png"))
    assert (answer.status, answer.headers["upload-offset"]) == (201, "0")
    assert answer.headers["upload-expires"].endswith("GMT")
    return f"{draft}/uploads/{answer.headers['location'].rpartition('/')[2]}"


async def patch(
    app: RecordsApp, upload: str, offset: int, body: bytes | Sequence[bytes], headers: Mapping[str, str] | None = None
) -> Answer:
    sent = {**TUS, **STREAM, "upload-offset": str(offset), **(headers or {})}
    return await app.ask("PATCH", upload, headers=sent, body=body)


async def offset_of(app: RecordsApp, upload: str) -> int:
    answer = await app.ask("HEAD", upload, headers=TUS)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    return int(answer.headers["upload-offset"])


async def files_of(app: RecordsApp, draft: str) -> dict[str, tuple[int, str, str]]:
    found = (await app.ask("GET", draft)).json()["files"]
    return {each["path"]: (each["size"], each["sha512"], each["media_type"]) for each in found}


def kept(content: bytes, media_type: str = "image/png") -> tuple[int, str, str]:
    return len(content), hashlib.sha512(content).hexdigest(), media_type


async def test_a_file_comes_in_several_requests_and_is_one_with_the_last(app: RecordsApp, draft: str) -> None:
    upload = await begun(app, draft)
    assert (await patch(app, upload, 0, CONTENT[:100_000])).headers["upload-offset"] == "100000"
    assert await files_of(app, draft) == {}
    assert await offset_of(app, upload) == 100_000
    listed = (await app.ask("GET", f"{draft}/uploads")).json()["uploads"]
    assert [(each["path"], each["length"], each["offset"]) for each in listed] == [("a/b.bin", len(CONTENT), 100_000)]
    answer = await patch(app, upload, 100_000, [CONTENT[100_000:200_000], CONTENT[200_000:]])
    assert (answer.status, answer.headers["upload-offset"]) == (204, str(len(CONTENT)))
    assert await files_of(app, draft) == {"a/b.bin": kept(CONTENT)}
    assert await offset_of(app, upload) == len(CONTENT)
    assert (await app.ask("GET", f"{draft}/uploads")).json()["uploads"] == []
    assert (await app.publish(draft))["version"] == 1


async def test_a_file_comes_with_its_announcement(app: RecordsApp, draft: str) -> None:
    headers = {**told("a.txt", 5), **STREAM, "content-length": "5"}
    answer = await app.ask("POST", f"{draft}/uploads", headers=headers, body=b"hello")
    assert (answer.status, answer.headers["upload-offset"]) == (201, "5")
    assert (await app.ask("POST", f"{draft}/uploads", headers=told("empty.txt", 0))).status == 201
    part = {**told("c.txt", 9), **STREAM, "content-length": "4"}
    answer = await app.ask("POST", f"{draft}/uploads", headers=part, body=b"half")
    assert (answer.status, answer.headers["upload-offset"]) == (201, "4")
    assert await files_of(app, draft) == {"a.txt": kept(b"hello", "text/plain"), "empty.txt": kept(b"", "text/plain")}


async def test_what_has_come_is_kept_when_the_server_dies(tmp_path: Path, people: MemoryPeople) -> None:
    """Another process goes on, which has hashed nothing of it; and what was whole, but not kept yet, is kept when its
    sender asks."""
    async with records_app(tmp_path, people=people) as app:
        draft = await app.begin()
        one, other = await begun(app, draft), await begun(app, draft, "whole.bin", 1000)
        await patch(app, one, 0, CONTENT[:70_000])
        # As a process leaves it that was killed after the last byte.
        folder = tmp_path / "drafts" / draft.rpartition("/")[2] / "bytes"
        (folder / other.rpartition("/")[2]).write_bytes(CONTENT[:1000])
        app.drafts.sweep()
    async with records_app(tmp_path) as app:
        app.drafts.sweep()
        assert await offset_of(app, one) == 70_000
        assert (await patch(app, one, 70_000, CONTENT[70_000:])).status == 204
        assert await offset_of(app, other) == 1000
        assert await files_of(app, draft) == {"a/b.bin": kept(CONTENT), "whole.bin": kept(CONTENT[:1000])}
        assert (await app.publish(draft))["version"] == 1


async def test_a_request_that_is_cut_off_leaves_what_came(app: RecordsApp, draft: str) -> None:
    upload = await begun(app, draft)

    coming: Iterator[Message] = iter(
        [{"type": "http.request", "body": CONTENT[:80_000], "more_body": True}, {"type": "http.disconnect"}]
    )

    async def cut(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send

        async def receive_some() -> Message:
            return next(coming)

        async def drop(_: Message) -> None:
            """There is no client any more."""

        with suppress(ClientDisconnect):
            await app.app(scope, receive_some, drop)

    headers = {**app.bearer(), **TUS, **STREAM, "upload-offset": "0"}
    with suppress(ValueError):  # there is no answer
        await ask(cut, "PATCH", upload, headers)
    assert await offset_of(app, upload) == 80_000
    assert (await patch(app, upload, 80_000, CONTENT[80_000:])).status == 204
    assert await files_of(app, draft) == {"a/b.bin": kept(CONTENT)}


async def test_a_wrong_offset_changes_nothing(app: RecordsApp, draft: str) -> None:
    upload = await begun(app, draft)
    await patch(app, upload, 0, CONTENT[:10])
    for offset in (0, 9, 11, 10**18 - 1):
        assert (await patch(app, upload, offset, b"x")).status == 409
    assert (await patch(app, upload, 10, b"", {"upload-offset": "-1"})).status == 400
    assert (await patch(app, upload, 10, b"", {"upload-offset": "9" * 5000})).status == 400
    assert await offset_of(app, upload) == 10


async def test_more_than_was_announced_is_refused_and_the_rest_can_still_come(app: RecordsApp, draft: str) -> None:
    upload = await begun(app, draft, length=10)
    assert (await patch(app, upload, 0, b"x" * 11)).status == 413
    assert await offset_of(app, upload) == 0
    assert (await patch(app, upload, 0, b"x" * 10)).status == 204


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
async def test_a_checksum_is_compared_and_what_is_wrong_is_dropped(app: RecordsApp, draft: str, algorithm: str) -> None:
    upload = await begun(app, draft)
    right = b64encode(hashlib.new(algorithm, CONTENT[:100]).digest()).decode("ascii")
    assert (await patch(app, upload, 0, CONTENT[:100], {"upload-checksum": f"{algorithm} {right}"})).status == 204
    answer = await patch(app, upload, 100, b"spoiled", {"upload-checksum": f"{algorithm} {right}"})
    assert (answer.status, answer.headers["tus-resumable"]) == (460, "1.0.0")
    assert await offset_of(app, upload) == 100
    assert (await patch(app, upload, 100, b"", {"upload-checksum": "md5 AAAA"})).status == 400
    assert (await patch(app, upload, 100, CONTENT[100:])).status == 204
    assert await files_of(app, draft) == {"a/b.bin": kept(CONTENT)}


async def test_an_upload_is_given_up_and_a_file_that_is_whole_stays(
    app: RecordsApp, tmp_path: Path, draft: str
) -> None:
    upload, whole = await begun(app, draft), await begun(app, draft, "c.bin", 3)
    await patch(app, upload, 0, CONTENT[:10])
    await patch(app, whole, 0, b"abc")
    for each in (upload, whole):
        assert (await app.ask("DELETE", each, headers=TUS)).status == 204
        assert (await app.ask("HEAD", each, headers=TUS)).status == 404
    assert await files_of(app, draft) == {"c.bin": kept(b"abc")}
    folder = tmp_path / "drafts" / draft.rpartition("/")[2] / "bytes"
    assert len(list(folder.iterdir())) == 1


async def test_two_senders_do_not_write_one_file(app: RecordsApp, tmp_path: Path, draft: str) -> None:
    upload = await begun(app, draft)
    store, name = DraftFiles(tmp_path, app.clocks), draft.rpartition("/")[2]
    partial = store.find_partial(name, upload.rpartition("/")[2])
    assert partial is not None
    other = store.go_on(name, partial)
    assert (await patch(app, upload, 0, b"x")).status == 423
    other.close()
    assert (await patch(app, upload, 0, b"x")).status == 204


async def test_what_the_server_can_do_is_told_without_a_token(app: RecordsApp, draft: str) -> None:
    answer = await ask(app.app, "OPTIONS", f"{draft}/uploads")
    assert (answer.status, answer.headers["tus-version"], answer.headers["tus-max-size"]) == (204, "1.0.0", "10000000")
    assert set(answer.headers["tus-extension"].split(",")) >= {"creation", "termination", "expiration", "checksum"}


async def test_another_version_of_the_protocol_is_refused(app: RecordsApp, draft: str) -> None:
    for version in ({}, {"tus-resumable": "0.2.2"}):
        answer = await app.ask("POST", f"{draft}/uploads", headers={**told("a", 1), "tus-resumable": "", **version})
        assert (answer.status, answer.headers["tus-version"]) == (412, "1.0.0")


async def test_a_method_in_a_header_is_taken_for_the_method(app: RecordsApp, draft: str) -> None:
    upload = await begun(app, draft, length=3)
    headers = {**TUS, **STREAM, "upload-offset": "0", "x-http-method-override": "PATCH"}
    assert (await app.ask("POST", upload, headers=headers, body=b"abc")).status == 204
    assert (await app.ask("POST", upload, headers={**headers, "x-http-method-override": "PUT"})).status == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"upload-length": "x"},
        {"upload-length": "9" * 100},
        {"upload-metadata": "filename !!!"},
        {"upload-metadata": "title dGVzdA=="},
        {"upload-metadata": f"filename {encoded('../../etc/passwd')}"},
        {"upload-metadata": f"filename {encoded('a' * 300)}"},
        {"upload-metadata": "a " * 9000},
        {"upload-metadata": "filename /w=="},
    ],
)
async def test_a_bad_announcement_is_refused(app: RecordsApp, draft: str, headers: dict[str, str]) -> None:
    assert (await app.ask("POST", f"{draft}/uploads", headers={**told("a", 1), **headers})).status == 400
    assert (await app.ask("GET", f"{draft}/uploads")).json() == {"uploads": []}


async def test_what_is_on_its_way_counts_for_the_quota_and_is_refused_beyond_it(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=DraftQuota(size=1000)) as app:
        draft = await app.begin()
        assert (await app.ask("POST", f"{draft}/uploads", headers=told("a", 1001))).status == 413
        upload = await begun(app, draft, "a", 900)
        assert (await patch(app, upload, 0, b"x" * 600)).status == 204
        assert (await app.ask("POST", f"{draft}/uploads", headers=told("b", 500))).status == 413
        assert (await patch(app, upload, 600, b"x" * 300)).status == 204
        quota = (await app.ask("GET", "/api/items?state=draft")).json()["quota"]
        assert quota["size"] == 900


# --- who may ----------------------------------------------------------------------------------------------------------


async def test_uploads_of_another_do_not_exist(app: RecordsApp, draft: str) -> None:
    upload = await begun(app, draft)
    rui = app.bearer(name="rui")
    for method, path, headers in (
        ("POST", f"{draft}/uploads", told("x", 1)),
        ("GET", f"{draft}/uploads", {}),
        ("HEAD", upload, TUS),
        ("PATCH", upload, {**TUS, **STREAM, "upload-offset": "0"}),
        ("DELETE", upload, TUS),
    ):
        assert (await app.ask(method, path, headers={**headers, **rui})).status == 404
        assert (await ask(app.app, method, path, headers)).status == 401
        assert (await app.ask(method, path, headers={**headers, **app.bearer(TokenScope.READ, "r")})).status == 403
    # Nor through a draft of one's own.
    own = await app.begin(headers=rui)
    stolen = f"{own}/uploads/{upload.rpartition('/')[2]}"
    assert (await app.ask("HEAD", stolen, headers={**TUS, **rui})).status == 404
    assert await offset_of(app, upload) == 0


@pytest.mark.parametrize("upload", ["x", "..", "%2e%2e", "0" * 32, "../../draft.json", "..%2f..%2fdraft"])
async def test_ids_that_were_not_given_name_nothing(app: RecordsApp, draft: str, upload: str) -> None:
    assert (await app.ask("HEAD", f"{draft}/uploads/{upload}", headers=TUS)).status == 404
    assert (await app.ask("DELETE", f"{draft}/uploads/{upload}", headers=TUS)).status == 404


async def test_a_session_sends_with_the_token_of_its_forms_alone(app: RecordsApp, people: MemoryPeople) -> None:
    lia = DepositingPerson(app, people)
    place = await lia.begin(title="Uma")
    path = f"/api/items/{place.removeprefix('/deposit/')}/uploads"
    headers = {**told("a.txt", 3), **STREAM, "content-length": "3", **lia.cookie}
    for forged in (
        {},
        {"x-csrf-token": "wrong"},
        {"x-csrf-token": lia.csrf, "sec-fetch-site": "cross-site"},
        {"x-csrf-token": lia.csrf, "origin": "https://evil.example"},
    ):
        assert (await ask(app.app, "POST", path, {**headers, **forged}, b"abc")).status in {401, 403}
    right = {"x-csrf-token": lia.csrf, "sec-fetch-site": "same-origin"}
    assert (await ask(app.app, "POST", path, {**headers, **right}, b"abc")).status == 201
    reader = DepositingPerson(app, people, "leo", Role.READER)
    theirs = {**headers, **reader.cookie, "x-csrf-token": reader.csrf, "sec-fetch-site": "same-origin"}
    assert (await ask(app.app, "POST", path, theirs, b"abc")).status == 403
    rui = DepositingPerson(app, people, "rui")
    theirs = {**headers, **rui.cookie, "x-csrf-token": rui.csrf, "sec-fetch-site": "same-origin"}
    assert (await ask(app.app, "POST", path, theirs, b"abc")).status == 404
