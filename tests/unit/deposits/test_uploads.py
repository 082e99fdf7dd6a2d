"""`/api/items/<draft>/files/<path>`: files sent, whole or not at all."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from ibi.deposits.api.uploads import UploadPages
from ibi.deposits.service.uploads import Upload
from ibi.deposits.store import draft_files
from ibi.deposits.store.draft_files import DraftFiles
from ibi.web.body import PIECE, body_pieces
from ibi.web.request_errors import UploadTooSlow
from tests.support.asgi_client import ask
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app
from tests.support.virtual_time import in_virtual_time, now

HOSTILE = [
    "../x",
    "%2e%2e/x",
    "a/%2e%2e/%2e%2e/etc",
    "%2fetc%2fpasswd",
    "a%00b",
    "a%0ab",
    "con.txt",
    "%ff%fe",
    "x%5cy",
    "a//b",
    ".",
    "a%20",
    "a%e2%80%aeb",
    "x" * 256,
    "a%3Fb",
]


def left(data: Path) -> list[str]:
    """What is on the disk of files that were sent."""
    return [path.name for path in data.glob("drafts/*/bytes/*")]


async def paths(app: RecordsApp, draft: str) -> list[str]:
    return [file["path"] for file in (await app.ask("GET", f"{draft}/files")).json()["files"]]


async def test_a_file_comes_in_pieces_and_is_what_was_sent(tmp_path: Path) -> None:
    content = bytes(range(256)) * (3 * PIECE // 256) + b"end"
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        parts = [content[start : start + 65_536] for start in range(0, len(content), 65_536)]
        answer = await app.send(draft, "a%20b/big.bin", parts)
        digest = hashlib.sha512(content)
        assert (answer.status, answer.json()["path"]) == (201, "a b/big.bin")
        assert answer.json()["sha512"] == digest.hexdigest()
        assert answer.headers["repr-digest"] == f"sha-512=:{base64.b64encode(digest.digest()).decode()}:"
        assert answer.headers["location"].endswith("/files/a%20b/big.bin")
        rep = (await app.publish(draft))["rep"]
        with app.store.content.open(rep, "doc/a b/big.bin") as file:
            assert file.read(0, file.size) == content


async def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert (await app.send(draft, "empty", b"")).json()["size"] == 0
        assert (await app.publish(draft))["version"] == 1


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_name_that_cannot_be_kept_is_refused_and_named(tmp_path: Path, name: str) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        answer = await app.send(draft, name)
        assert (answer.status, answer.json()["type"]) == (400, "urn:ibi:problem:invalid-file-name")
        assert "The file '" in answer.json()["detail"]
        assert await paths(app, draft) == []
        assert left(tmp_path) == []


async def test_names_that_look_like_places_of_the_api_are_names(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        for name in ("publish", "a/files/b", "x/usage", "y/draft", "z/relations", "files"):
            assert (await app.send(draft, name)).status == 201
        assert len(await paths(app, draft)) == 6


async def test_one_name_to_many_systems_is_one_name(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        assert (await app.send(draft, "A.TXT")).status == 400
        assert (await app.send(draft, "a.txt/b")).status == 400
        for path in ("Data/a.txt", "data/b.txt"):  # folders are compared when all files are there
            assert (await app.send(draft, path)).status == 201
        refused = await app.ask("POST", f"{draft}/publish")
        assert (refused.status, refused.json()["type"]) == (400, "urn:ibi:problem:invalid-file-name")


async def test_sent_anew_it_takes_the_place_of_what_it_was(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert (await app.send(draft, "a.txt", b"one")).status == 201
        assert (await app.send(draft, "a.txt", b"other")).status == 200
        assert await paths(app, draft) == ["a.txt"]
        assert len(left(tmp_path)) == 1
        assert (await app.ask("DELETE", f"{draft}/files/a.txt")).status == 204
        assert (await app.ask("DELETE", f"{draft}/files/a.txt")).status == 404
        assert left(tmp_path) == []


# --- digests ---


def fields(content: bytes) -> list[dict[str, str]]:
    long = base64.b64encode(hashlib.sha512(content).digest()).decode()
    short = base64.b64encode(hashlib.sha256(content).digest()).decode()
    return [
        {"repr_digest": f"sha-512=:{long}:"},
        {"repr_digest": f"sha-256=:{short}:, sha-512=:{long}:"},
        {"content_digest": f"sha-256=:{short}:"},
        {"digest": f"SHA-256={short}"},
        {"digest": f"md5=AAAA, sha-512={long}"},
    ]


@pytest.mark.parametrize("number", range(5))
async def test_a_digest_is_checked(tmp_path: Path, number: int) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert (await app.send(draft, "a.txt", b"content", **fields(b"content")[number])).status == 201
        wrong = await app.send(draft, "a.txt", b"contents", **fields(b"content")[number])
        assert (wrong.status, wrong.json()["type"]) == (400, "urn:ibi:problem:digest-mismatch")
        assert len(left(tmp_path)) == 1
        listed = (await app.ask("GET", f"{draft}/files")).json()["files"]
        assert [file["size"] for file in listed] == [7]


@pytest.mark.parametrize(
    "text", ["", "sha-512", "sha-512=:x:", "sha-512=AAAA", "md5=AAAA", "sha-256=:AAAA", "x" * 5000]
)
async def test_a_digest_that_cannot_be_checked_is_refused(tmp_path: Path, text: str) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        answer = await app.send(draft, "a.txt", b"content", repr_digest=text or " ")
        assert (answer.status, answer.json()["field"]) == (400, "Repr-Digest")


# --- conditions ---


async def test_a_file_may_be_sent_for_one_state_only(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert (await app.send(draft, "a.txt", if_match="*")).status == 412
        tag = (await app.send(draft, "a.txt", if_none_match="*")).headers["etag"]
        assert (await app.send(draft, "a.txt", if_none_match="*")).status == 412
        assert (await app.send(draft, "a.txt", b"other", if_match=tag)).status == 200
        assert (await app.send(draft, "a.txt", b"third", if_match=tag)).status == 412
        gone = await app.ask("DELETE", f"{draft}/files/a.txt", headers={"if-match": tag})
        assert gone.status == 412


@pytest.mark.parametrize(
    ("headers", "status", "field"),
    [
        ({"content_range": "bytes 0-1/2"}, 400, "Content-Range"),
        ({"content_encoding": "gzip"}, 415, "Content-Encoding"),
        ({"transfer_encoding": "gzip, chunked"}, 415, "Transfer-Encoding"),
        ({"content_type": "nonsense"}, 400, "Content-Type"),
        ({"content_type": "application/pdf; a, text/html;charset=utf-8"}, 400, "Content-Type"),
    ],
)
async def test_what_is_not_the_whole_file_as_it_is_is_refused(
    tmp_path: Path, headers: dict[str, str], status: int, field: str
) -> None:
    async with records_app(tmp_path) as app:
        answer = await app.send(await app.begin(), "a.txt", b"content", **headers)
        assert (answer.status, answer.json()["field"]) == (status, field)


@pytest.mark.parametrize(
    ("name", "given", "media"),
    [
        ("a.pdf", "", "application/pdf"),
        ("a.pdf", "application/octet-stream", "application/pdf"),
        ("a.pdf", "application/x-www-form-urlencoded", "application/pdf"),
        ("a", "text/x-tex; charset=utf-8", "text/x-tex; charset=utf-8"),
        ("a", "", "application/octet-stream"),
    ],
)
async def test_what_a_file_is_its_sender_or_its_name_tells(tmp_path: Path, name: str, given: str, media: str) -> None:
    async with records_app(tmp_path) as app:
        answer = await app.send(await app.begin(), name, content_type=given)
        assert answer.json()["media_type"] == media


# --- limits ---


async def test_more_than_the_archive_takes_is_refused_before_it_has_come(tmp_path: Path) -> None:
    async with records_app(tmp_path, largest=1000) as app:
        draft = await app.begin()
        assert (await app.send(draft, "a", b"x" * 600)).status == 201
        announced = await app.send(draft, "b", b"", content_length="401")
        assert (announced.status, announced.json()["type"]) == (413, "urn:ibi:problem:deposit-too-large")
        unannounced = await app.send(draft, "b", [b"x" * 300, b"x" * 300])
        assert unannounced.status == 413
        endless = await app.send(draft, "b", b"", content_length="9" * 4000)
        assert endless.status == 413
        assert (await app.send(draft, "a", b"y" * 1000)).status == 200
        assert len(left(tmp_path)) == 1


async def test_a_draft_has_so_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibi.deposits.rules.drafts.MOST_FILES", 2)
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert [(await app.send(draft, name)).status for name in ("a", "b", "c", "a")] == [201, 201, 413, 200]


async def test_an_upload_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        scope = {
            "type": "http",
            "method": "PUT",
            "path": f"{draft}/files/a.txt",
            "raw_path": f"{draft}/files/a.txt".encode(),
            "query_string": b"",
            "headers": [(b"authorization", app.bearer()["authorization"].encode())],
            "client": None,
        }
        arriving: list[Message] = [
            {"type": "http.request", "body": b"x" * 100, "more_body": True},
            {"type": "http.disconnect"},
        ]

        async def receive() -> Message:
            return arriving.pop(0)

        async def send(_: object) -> None:
            raise ClientDisconnect

        await app.app(scope, receive, send)
        assert left(tmp_path) == []
        assert await paths(app, draft) == []


async def test_a_draft_is_there_after_a_restart(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
    async with records_app(tmp_path) as app:
        assert await paths(app, draft) == ["a.txt"]
        assert (await app.publish(draft))["version"] == 1


async def test_a_caller_that_waits_for_a_draft_keeps_no_reader_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_files, "_PATIENCE", 600)
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        draft = await app.begin()
        with DraftFiles(tmp_path, app.clocks).alone_on(draft.rpartition("/")[2]):
            waiting = [asyncio.ensure_future(app.ask("PUT", draft, SAID)) for _ in range(40)]
            await asyncio.sleep(0)  # each of them has begun
            async with asyncio.timeout(60):
                read = await ask(app.app, "GET", f"/col/{rep}/doc/a.txt")
            assert (read.status, read.body) == (200, b"content")
            assert not any(each.done() for each in waiting)
        assert {answer.status for answer in await asyncio.gather(*waiting)} == {200}


async def test_uploads_that_wait_for_the_disk_keep_no_other_change_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, threads = threading.Event(), set()
    write = Upload.write

    def blocked(self: Upload, piece: bytes) -> None:
        threads.add(threading.current_thread())
        assert go_on.wait(60)
        write(self, piece)

    monkeypatch.setattr(Upload, "write", blocked)
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        sending = [asyncio.ensure_future(app.send(draft, f"{number}.txt")) for number in range(20)]
        try:
            async with asyncio.timeout(60):
                while len(left(tmp_path)) < len(sending):  # until each of them has begun
                    assert (await app.ask("GET", draft)).status == 200
                assert (await app.ask("PUT", draft, SAID)).status == 200
        finally:
            go_on.set()
        await asyncio.gather(*sending)
        assert len(await paths(app, draft)) == len(sending)
    assert len(threads) <= 2


# --- how fast ---


def dripping(pieces: int, size: int, pause: float) -> Receive:
    """A body of so many pieces, each after a pause."""
    left = iter(range(pieces))

    async def receive() -> Message:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": b"x" * size, "more_body": next(left) < pieces - 1}

    return receive


def taken(receive: Receive) -> tuple[float, int]:
    """How long it took, in virtual seconds, and how many bytes came."""

    async def run() -> tuple[float, int]:
        began, size = now(), 0
        try:
            async for piece in body_pieces(receive, 30.0, 1000):
                size += len(piece)
        except UploadTooSlow:
            size = -1
        return now() - began, size

    return in_virtual_time(run())


@pytest.mark.parametrize(
    ("pieces", "size", "pause"),
    [(3600, 1100, 1.0), (100, 29_500, 29.0), (2, 10, 14.9), (1, 1, 29.9), (5_000, 1, 0.0001)],
    ids=["steady", "in bursts", "nearly nothing", "late", "tiny pieces"],
)
def test_what_comes_fast_enough_may_take_any_time(pieces: int, size: int, pause: float) -> None:
    assert taken(dripping(pieces, size, pause))[1] == pieces * size


@pytest.mark.parametrize(
    ("size", "pause"), [(1, 1.0), (1, 29.0), (900, 1.0), (10, 31.0)], ids=["drip", "rare drip", "slow", "stalled"]
)
def test_what_comes_too_slowly_is_ended(size: int, pause: float) -> None:
    seconds, came = taken(dripping(100_000, size, pause))
    assert came == -1
    assert seconds <= (301 if size == 900 else 31)


def test_a_fast_beginning_buys_no_more_than_the_usual_patience() -> None:
    pauses = iter([0.0] * 1000 + [3600.0])

    async def receive() -> Message:
        await asyncio.sleep(next(pauses))
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    seconds, came = taken(receive)
    assert came == -1
    assert seconds == pytest.approx(30, abs=0.1)


async def test_one_that_stalls_is_answered_408_and_the_draft_has_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = UploadPages.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "patience", 0.01)
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "kept.txt", b"kept")
        scope = {
            "type": "http",
            "method": "PUT",
            "path": f"{draft}/files/a.txt",
            "raw_path": f"{draft}/files/a.txt".encode(),
            "query_string": b"",
            "headers": [(b"authorization", app.bearer()["authorization"].encode()), (b"content-length", b"1000")],
            "client": None,
        }
        arriving, sent = [b"begun"], list[Message]()

        async def receive() -> Message:
            if not arriving:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": arriving.pop(), "more_body": True}

        async def send(message: Message) -> None:
            sent.append(message)

        await app.app(scope, receive, send)
        assert sent[0]["status"] == 408
        assert b"upload-too-slow" in sent[1]["body"]
        assert await paths(app, draft) == ["kept.txt"]
        assert len(left(tmp_path)) == 1
        told = (await app.ask("GET", "/metrics")).body.decode()
        assert 'ibi_uploads_refused_total{code="upload-too-slow"} 1.0' in told


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("dir", "dir/x.txt", "dir is a file, and no folder can have its name"),
        ("dir/x.txt", "dir", "dir/x.txt has a folder of this name"),
        ("a/Dir", "a/dir/x/y.txt", "a/Dir is a file, and no folder can have its name"),
        ("a/dir/x/y.txt", "A/DIR", "a/dir/x/y.txt has a folder of this name"),
    ],
)
async def test_a_name_is_not_a_file_here_and_a_folder_there(tmp_path: Path, first: str, second: str, said: str) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert (await app.send(draft, first)).status == 201
        for _ in range(2):
            answer = await app.send(draft, second)
            assert answer.status == 400
            assert said in answer.json()["detail"]
        assert (await app.send(draft, first, b"again")).status in {200, 204}
        # The file of a published item counts as well; what is removed does not.
        rep = (await app.publish(draft))["rep"]
        draft = f"{RECORDS}/{(await app.ask('POST', f'{RECORDS}/{rep}/draft')).json()['id']}"
        assert (await app.send(draft, second)).status == 400
        assert (await app.ask("DELETE", f"{draft}/files/{first}")).status == 204
        assert (await app.send(draft, second)).status == 201
        assert (await app.send(draft, first)).status == 400
        assert (await app.ask("DELETE", f"{draft}/files/{second}")).status == 204
        assert (await app.send(draft, first)).status == 201
