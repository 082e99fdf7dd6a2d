"""What is not for everybody to see is not told in other ways: by digests, names of files or who passes a request on."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha512
from pathlib import Path

import pytest

from ibi.items.model.content import Bytes
from ibi.items.model.visibility import Visibility
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.networks import network
from tests.support import deposit_samples
from tests.support.archive_app import BASE, NOW, REP, SERVICE, archive_app, kept
from tests.support.asgi_client import Answer
from tests.support.flat_items import replace
from tests.support.records_app import SAID, RecordsApp, records_app

DOC, METADATA, RECORD = f"/col/{REP}/doc", f"/col/{REP}/metadata", f"/api/items/{REP}"
SECRET = b"PIN 4711"
DIGEST = sha512(SECRET).hexdigest()
CLOSED = Visibility((network("10.0.0.0/8"),))
EMBARGOED = Visibility(embargo=Instant(NOW.seconds + 3600))
READER = {"authorization": "", "accept": "text/html"}
FILES = {"secret.txt": ("text/plain", SECRET), "größe.txt": ("text/plain", b"1")}


def asked(clients: str, path: str = "") -> str:
    """A request of a resolver."""
    file = f"&parsedibiurl.filepath={path}" if path else ""
    ask = f"servicesubject=urlRequest&clientinformation.ipaddress={clients}&parsedibiurl.ibi={REP}{file}"
    return f"/{SERVICE.labels[0]}?{ask}"


def told(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """All but the name of the request."""
    return answer.status, {name: value for name, value in answer.headers.items() if name != "x-request-id"}, answer.body


# --- digests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("visibility", [CLOSED, EMBARGOED])
@pytest.mark.parametrize("path", [RECORD, f"{RECORD}/files", f"{METADATA}?format=json", METADATA, f"{DOC}/?list"])
async def test_no_reader_can_try_whether_a_guess_of_the_content_is_right(visibility: Visibility, path: str) -> None:
    answer = await archive_app(kept(REP, files=FILES, visibility=visibility)).get(path)
    assert answer.status == 200
    assert DIGEST.encode() not in answer.body
    assert b"secret.txt" in answer.body, "which files there are may be known: listing is not off"


@pytest.mark.parametrize("visibility", [Visibility.PUBLIC, Visibility(embargo=Instant(NOW.seconds - 1))])
async def test_of_what_every_reader_may_see_the_digests_are_told(visibility: Visibility) -> None:
    app = archive_app(kept(REP, files=FILES, visibility=visibility))
    for path in (RECORD, f"{RECORD}/files", f"{METADATA}?format=json"):
        assert DIGEST.encode() in (await app.get(path)).body


# --- names of files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("visibility", [CLOSED, EMBARGOED])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("headers", [{}, {"sec-fetch-dest": "script"}, {"range": "bytes=0-1"}])
async def test_who_may_not_list_the_files_cannot_try_their_names(
    visibility: Visibility, method: str, headers: Mapping[str, str]
) -> None:
    unlisted = Visibility(visibility.networks, visibility.embargo, listing=False)
    app = archive_app(kept(REP, files=FILES, visibility=unlisted))
    there = await app.get(f"{DOC}/secret.txt", headers, method=method)
    for name in ("nothing.txt", "SECRET.TXT", "gr%C3%B6%C3%9Fe.txt", "n%C3%A4her.txt"):
        answer = await app.get(f"{DOC}/{name}", headers, method=method)
        assert told(answer) == told(there)


@pytest.mark.parametrize("path", ["/secret.txt", "/nothing.txt"])
async def test_who_may_not_list_the_files_cannot_try_their_names_by_way_of_a_resolver(path: str) -> None:
    unlisted = Visibility(CLOSED.networks, listing=False)
    app = archive_app(kept(REP, files=FILES, visibility=unlisted))
    answer = await app.get(asked("8.8.8.8", path))
    assert f"url {BASE}{METADATA}\r\n".encode() in answer.body
    assert path.encode() not in answer.body


@pytest.mark.parametrize("visibility", [CLOSED, EMBARGOED])
@pytest.mark.parametrize(
    "path", [f"{DOC}/", DOC, METADATA, f"{METADATA}?format=json", f"{METADATA}?format=oai_dc", RECORD]
)
async def test_the_name_of_the_main_file_of_an_unlisted_item_is_not_told(visibility: Visibility, path: str) -> None:
    unlisted = Visibility(visibility.networks, visibility.embargo, listing=False)
    app = archive_app(kept(REP, files=FILES, target="secret.txt", visibility=unlisted))
    for wanted in ({}, {"accept": "text/html"}):
        answer = await app.get(path, wanted)
        assert answer.status in {200, 302}
        assert "secret.txt" not in answer.headers.get("location", "")
        assert b"secret.txt" not in answer.body


async def test_who_may_see_a_file_is_told_that_another_is_not_there() -> None:
    app = archive_app(kept(REP, files=FILES, visibility=Visibility(CLOSED.networks, listing=False)))
    assert (await app.get(f"{DOC}/secret.txt", client="10.1.1.1")).status == 200
    assert (await app.get(f"{DOC}/nothing.txt", client="10.1.1.1")).status == 404
    listed = archive_app(kept(REP, files=FILES, visibility=CLOSED))
    assert (await listed.get(f"{DOC}/nothing.txt")).status == 404


# --- who passes a request on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clients", "is_inside"),
    [
        ("8.8.8.8+10.0.0.5", False),
        ("8.8.8.8+10.0.0.5+10.0.0.6", False),
        ("10.1.1.1+10.0.0.5", True),
        ("8.8.8.8+10.1.1.1", True),  # a proxy of the reader's, and not one of ours
    ],
)
async def test_no_reader_is_inside_because_a_proxy_of_ours_is(clients: str, is_inside: bool) -> None:
    service = kept(REP, files={}, target_url="https://maps.lab.br/wms", visibility=CLOSED)
    app = archive_app(service, proxies=(network("10.0.0.0/24"),))
    answer = await app.get(asked(clients))
    assert (b"maps.lab.br" in answer.body) is is_inside


# --- a version that is not in the catalogue yet -----------------------------------------------------------------------


class Stopped(BaseException):
    """Ends a change where it is, as a process that dies does: nothing is undone."""


def revise_content_alone(app: RecordsApp, rep: str, visibility: Visibility, files: Mapping[str, bytes]) -> None:
    """Make a new version that the catalogue is not told of."""

    def stop(step: str) -> None:
        if step == "content kept":
            raise Stopped

    draft = replace(deposit_samples.draft(*files, title="Uma tese"), visibility=visibility, target=next(iter(files)))
    app.store.step = stop
    with pytest.raises(Stopped):
        deposit_samples.deposits(app.store).update(
            parse(rep), draft, {path: Bytes(content) for path, content in files.items()}, "ana"
        )


@pytest.mark.parametrize("path", ["doc/a.txt", "doc/b.html?view=links", "preview/a.txt", "metadata"])
async def test_a_new_version_for_fewer_readers_is_not_given_to_those_of_the_version_before(
    tmp_path: Path, path: str
) -> None:
    first = {"a.txt": b"unveiled", "b.html": b"<a href='ibi:A/B'>unveiled</a>"}
    async with records_app(tmp_path) as app:
        rep = await published(app, first)
        assert b"unveiled" in (await app.ask("GET", f"/col/{rep}/{path}", headers=READER)).body
        revise_content_alone(app, rep, CLOSED, {name: content + SECRET for name, content in first.items()})
        answer = await app.ask("GET", f"/col/{rep}/{path}", headers=READER)
        assert SECRET not in answer.body
        assert answer.status == (503 if path.startswith("doc") else 200)
        if answer.status == 503:
            assert answer.headers["retry-after"] == "1"
        else:
            assert b"unveiled" not in answer.body
        app.store.step = lambda _: None
        app.store.settle(rep)
        answer = await app.ask("GET", f"/col/{rep}/{path}", headers=READER)
        assert (answer.status in {200, 302}, SECRET in answer.body) == (True, False)


async def test_a_new_version_for_the_same_readers_is_given_at_once(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await published(app, {"a.txt": b"first"})
        revise_content_alone(app, rep, Visibility.PUBLIC, {"a.txt": b"second"})
        answer = await app.ask("GET", f"/col/{rep}/doc/a.txt", headers=READER)
        assert (answer.status, answer.body) == (200, b"second")


async def published(app: RecordsApp, files: Mapping[str, bytes]) -> str:
    place = await app.begin({**SAID, "target": next(iter(files))})
    for path, content in files.items():
        await app.send(place, path, content)
    rep: str = (await app.publish(place))["rep"]
    return rep
