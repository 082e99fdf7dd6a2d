"""A source that lies: refused with the reason, within the quota, nothing left behind, no Original touched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha512
from pathlib import Path
from typing import Any

import pytest

from ibi.copies.ports import UnsafeSource
from ibi.copies.rules.copies import (
    CopiesTooLarge,
    CopyHasTooManyFiles,
    CopyRules,
    CopyTooLarge,
    OwnLabel,
    SandboxItem,
    WrongObject,
)
from ibi.items.model.content import Bytes
from ibi.items.model.item_json import encode_item
from ibi.items.rules.errors import LabelTaken
from ibi.net.errors import InsecureServer, UnexpectedAnswer
from ibi.standard.errors import IbiError
from ibi.standard.label import parse
from tests.support.copy_world import (
    IBIP,
    REP,
    SourceRequest,
    Taker,
    chain_said,
    object_said,
    original,
    other_said,
    source_archive,
    taker,
)
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft

LABEL = parse(IBIP)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Taker]:
    with taker(tmp_path / "data") as found:
        yield found
        assert list(found.store.content.iterate()) == []
        assert list(found.store.catalog.items()) == []
        assert found.left() == []
        assert {path.name for path in tmp_path.iterdir()} == {"data"}


def refused(
    here: Taker, expected: type[IbiError], said: object, contents: dict[str, bytes] | None = None, **options: Any
) -> str:
    with source_archive(said, contents, **options) as source, pytest.raises(expected) as error:
        here.copying.bring(LABEL, source.url)
    return str(error.value)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a/../../b", "a\\b", "a//b", "nul\x00l", "."])
def test_a_file_outside_is_refused(here: Taker, path: str) -> None:
    one, contents = original(files={"a.txt": b"x"})
    record = json.loads(encode_item(one))
    record["files"][0]["path"], record["target"] = path, path
    text = json.dumps(record).encode()
    assert IBIP in refused(here, WrongObject, object_said(one, item_json=text), contents)


@pytest.mark.parametrize("path", ["../../x", "/x", "local.json", "item.json", "transferred.json", "doc/a.txt", "a\nb"])
def test_a_further_file_outside_or_in_the_place_of_a_record_is_refused(here: Taker, path: str) -> None:
    one, contents = original()
    refused(here, IbiError, object_said(one, others=[other_said(path, b"x")]), contents)


def test_more_files_than_a_copy_may_have_are_refused(here: Taker) -> None:
    one, _ = original()
    record = json.loads(encode_item(one))
    file = record["files"][0]
    record["files"] = [file | {"path": f"{number}"} for number in range(100_001)]
    record.pop("target")
    text = json.dumps(record, separators=(",", ":")).encode()
    assert "100000" in refused(here, CopyHasTooManyFiles, object_said(one, item_json=text))


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"metadata": {"title": [{"value": "x"}], "subject": [{"value": "x"}] * 20_000}}, "20001 values"),
        ({"metadata": {"title": [{"value": "x" * 100_000}] * 22}}, "bytes, and 2097152 are the most"),
        ({"metadata": {"subject": [{"value": "x"}]}}, "no title"),
        ({"visibility": {"networks": [f"10.0.{n // 250}.{n % 250}" for n in range(1001)]}}, "1001 networks"),
        ({"version": 10**30}, "the number is too large"),
        ({"version": 2**31}, "published so many times"),
        ({"schema": 10**30}, "the number is too large"),
    ],
)
def test_a_description_that_could_not_be_deposited_is_refused(
    here: Taker, members: dict[str, Any], reason: str
) -> None:
    one, contents = original()
    text = json.dumps({**json.loads(encode_item(one)), **members}).encode()
    assert reason in refused(here, IbiError, object_said(one, item_json=text), contents)


def test_a_size_beyond_all_disks_is_refused(here: Taker) -> None:
    one, contents = original()
    record = json.loads(encode_item(one))
    for size in (2**63, 10**30):
        record["files"][0]["size"] = size
        refused(here, WrongObject, object_said(one, item_json=json.dumps(record).encode()), contents)


def test_a_wrong_digest_is_refused(here: Taker) -> None:
    one, _ = original(files={"a.txt": b"right"})
    assert "digest" in refused(here, WrongObject, object_said(one), {"a.txt": b"wrong"})


def test_a_wrong_digest_of_a_file_that_comes_along_is_refused(here: Taker) -> None:
    one, _ = original(files={"a.txt": b"right"})
    refused(here, WrongObject, object_said(one, contents={"a.txt": "d3Jvbmc="}))


def test_a_record_that_was_changed_on_the_way_is_refused(here: Taker) -> None:
    one, contents = original()
    said = object_said(one, item_sha512="0" * 128)
    assert "digest" in refused(here, UnexpectedAnswer, said, contents)
    said = object_said(one, others=[other_said("provenance/1.json", b"1", sha512="0" * 128)])
    assert "digest" in refused(here, UnexpectedAnswer, said, contents)


@pytest.mark.parametrize("content", [b"{}", b"", b"null", b"[" * 50_000, b"\xff", b'{"schema":1,"statement":"a.b.c"}'])
def test_provenance_that_is_none_is_refused(here: Taker, content: bytes) -> None:
    one, contents = original()
    said = object_said(one, others=[other_said("provenance/1.json", content)])
    assert "does not prove where the Original is" in refused(here, WrongObject, said, contents)


def test_provenance_that_is_not_of_the_item_and_the_source_is_refused(here: Taker) -> None:
    one, contents = original()
    other, _ = original("lab.br/arq/2010/01.02.03.04")
    chain = chain_said(one)
    for others, reason in (
        (chain_said(other), "it is about"),
        (chain_said(one, "elsewhere.example/ibi/2020/01.01.00.00"), "elsewhere.example"),
        (chain_said(one, links=1), "not at that Archive"),
        (chain[1:], "a link before it is missing"),
        ([chain[0], {**chain_said(one, seed=b"g")[1]}], "follows another link"),
    ):
        assert reason in refused(here, WrongObject, object_said(one, others=others), contents)


def test_a_refresh_from_the_true_home_leaves_nothing_of_forged_provenance(tmp_path: Path) -> None:
    one, contents = original()
    with taker(tmp_path) as here:
        with source_archive(object_said(one, others=chain_said(one)), contents) as source:
            here.copying.bring(LABEL, source.url)
        with source_archive(object_said(one), contents) as home:
            assert here.copying.bring(LABEL, home.url).changed
            assert not here.copying.bring(LABEL, home.url).changed
        assert here.store.content.read(REP).head.files.keys() == {"item.json", "local.json", "doc/a.txt"}


def test_another_item_than_was_asked_for_is_refused(here: Taker) -> None:
    other, contents = original("lab.br/arq/2010/01.02.03.04")
    assert "2010/01.02.03.04" in refused(here, WrongObject, object_said(other), contents)
    one, _ = original()
    said = object_said(one, item_json=encode_item(other))
    assert "2010/01.02.03.04" in refused(here, WrongObject, said, contents)


def endless(request: SourceRequest) -> bool:
    """Streams for ever, without a length."""
    if "/files/" not in request.path:
        return False
    request.send_response(200)
    request.send_header("Connection", "close")
    request.end_headers()
    while True:
        request.wfile.write(b"x" * 65_536)


def endless_chunks(request: SourceRequest) -> bool:
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    while True:
        request.wfile.write(b"10000\r\n" + b" " * 65_536 + b"\r\n")


def endless_headers(request: SourceRequest) -> bool:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        request.wfile.write(b"X-Header: again\r\n")


def endless_promises(request: SourceRequest) -> bool:
    while True:
        request.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("stream", [endless, endless_chunks, endless_headers, endless_promises])
def test_an_endless_stream_is_refused(here: Taker, stream: Callable[[SourceRequest], bool]) -> None:
    one, _ = original(files={"a.txt": b"x" * 100_000})
    refused(here, UnexpectedAnswer, object_said(one), special=stream)


def test_a_file_that_is_longer_than_its_record_says_is_refused(here: Taker) -> None:
    one, _ = original(files={"a.txt": b"x" * 100})
    assert "101" in refused(here, UnexpectedAnswer, object_said(one), {"a.txt": b"x" * 101})


def test_a_record_of_a_hundred_megabytes_is_refused_when_it_is_announced(here: Taker) -> None:
    def announce(request: SourceRequest) -> bool:
        request.send_response(200)
        request.send_header("Content-Length", "100000000")
        request.end_headers()
        while True:
            request.wfile.write(b" " * 65_536)

    assert "100000000" in refused(here, UnexpectedAnswer, {}, special=announce)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(here: Taker, status: int) -> None:
    with source_archive({}) as inner:

        def redirect(request: SourceRequest) -> bool:
            request.send(b"", status, Location=f"{inner.url}/secret")
            return True

        assert "elsewhere" in refused(here, UnexpectedAnswer, {}, special=redirect)
        assert inner.asked == []


def test_a_server_is_not_sent_to_loopback_addresses(tmp_path: Path) -> None:
    with taker(tmp_path, guarded=True) as here, source_archive(object_said(original()[0])) as source:
        for url in (
            source.url,
            source.url.replace("127.0.0.1", "localhost"),
            "http://169.254.169.254",
            "http://10.0.0.1",
        ):
            with pytest.raises(UnsafeSource):
                here.copying.bring(LABEL, url)
        assert source.asked == []


def test_a_token_goes_to_no_archive_over_plain_http(tmp_path: Path) -> None:
    with taker(tmp_path) as here, pytest.raises(InsecureServer):
        here.copying.bring(LABEL, "http://archive.example.org", "secret")


def test_a_label_of_ours_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    rules = CopyRules(prefixes=frozenset({"lab.br/arq", "8JMKD3MGP8W"}))
    one, contents = original()
    with taker(tmp_path, rules) as here, source_archive(object_said(one), contents) as source:
        for label in (REP, IBIP):
            with pytest.raises(OwnLabel):
                here.copying.bring(parse(label), source.url)
        assert source.asked == []


def test_a_label_of_ours_beside_another_is_refused(tmp_path: Path) -> None:
    rules = CopyRules(prefixes=frozenset({"8JMKD3MGP8W"}))
    one, contents = original()
    with taker(tmp_path, rules) as here, source_archive(object_said(one), contents) as source:
        with pytest.raises(OwnLabel):
            here.copying.bring(parse(REP), source.url)
        assert list(here.store.content.iterate()) == []


def test_the_second_label_of_an_original_here_is_refused(tmp_path: Path) -> None:
    with taker(tmp_path) as here:
        mine = deposits(here.store, CountedLabels()).deposit(draft("a.txt"), {"a.txt": Bytes(b"mine")}, WHO)
        one, contents = original(f"far.br/arq/{mine.rep.suffix}", str(mine.labels.ibip))
        with source_archive(object_said(one), contents) as source, pytest.raises(IbiError) as error:
            here.copying.bring(one.rep, source.url)
        assert error.value.code in {"label-taken", "already-there"}
        assert [str(each.rep) for each in here.store.catalog.items()] == [str(mine.rep)]
        assert list(here.store.content.iterate()) == [str(mine.rep)]


def test_a_label_that_is_taken_meanwhile_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with taker(tmp_path) as here:
        one, contents = original()
        monkeypatch.setattr(here.store, "list", lambda stored: (_ for _ in ()).throw(LabelTaken(label=IBIP)))
        with source_archive(object_said(one), contents) as source, pytest.raises(LabelTaken):
            here.copying.bring(LABEL, source.url)
        assert list(here.store.content.iterate()) == []


def test_an_archive_that_is_no_sandbox_takes_no_item_of_one(here: Taker) -> None:
    sandboxed, contents = original("localhost/ibi.8765/2026/01.02.03.04")
    with source_archive(object_said(sandboxed), contents) as source:
        with pytest.raises(SandboxItem, match="no sandbox"):
            here.copying.bring(sandboxed.rep, source.url)
        assert source.asked == []
    one, contents = original()
    assert "no sandbox" in refused(here, SandboxItem, object_said(one, sandbox=True), contents)


def test_sandboxes_give_each_other_items_over_loopback_alone(tmp_path: Path) -> None:
    sandboxed, contents = original("localhost/ibi.8765/2026/01.02.03.04")
    with (
        taker(tmp_path, CopyRules(is_sandbox=True), guarded=True) as here,
        source_archive(object_said(sandboxed, sandbox=True), contents) as source,
    ):
        with here.copying.opened(source.url) as archive:
            archive.is_on_loopback = False
            with pytest.raises(SandboxItem, match="loopback"):
                here.copying.bring_from(archive, sandboxed.rep, lambda _: None, who=WHO)
        assert here.copying.bring(sandboxed.rep, source.url).is_new


def test_the_quota_is_never_exceeded(tmp_path: Path) -> None:
    one, contents = original(files={"a.txt": b"a" * 600})
    other, more = original("lab.br/arq/2010/01.02.03.04", files={"b.txt": b"b" * 600})
    with taker(tmp_path, CopyRules(quota=1000)) as here:
        with source_archive(object_said(one), contents) as source:
            here.copying.bring(LABEL, source.url)
        with source_archive(object_said(other), more) as source, pytest.raises(CopiesTooLarge, match="1200"):
            here.copying.bring(other.rep, source.url)
        assert list(here.store.content.iterate()) == [REP]
        assert here.left() == []


def test_what_is_on_its_way_counts_for_the_quota(tmp_path: Path) -> None:
    one, contents = original(files={"a.txt": b"a" * 600})
    other, more = original("lab.br/arq/2010/01.02.03.04", files={"b.txt": b"b" * 600})
    with taker(tmp_path, CopyRules(quota=1000)) as here, taker(tmp_path, CopyRules(quota=1000)) as beside:
        outcomes: list[IbiError] = []

        def meanwhile(request: SourceRequest) -> bool:
            if "/files/" in request.path:
                with source_archive(object_said(other), more) as source, pytest.raises(CopiesTooLarge) as error:
                    beside.copying.bring(other.rep, source.url)
                outcomes.append(error.value)
            return False

        with source_archive(object_said(one), contents, special=meanwhile) as source:
            here.copying.bring(LABEL, source.url)
        assert len(outcomes) == 1


def test_an_item_that_is_too_large_is_refused_before_its_files_are_asked_for(tmp_path: Path) -> None:
    one, contents = original(files={"a.txt": b"a" * 600})
    with taker(tmp_path, CopyRules(largest=500)) as here, source_archive(object_said(one), contents) as source:
        with pytest.raises(CopyTooLarge, match="600"):
            here.copying.bring(LABEL, source.url)
        assert not [path for path, _ in source.asked if "/files/" in path]


def test_a_size_that_is_a_lie_does_not_get_around_the_quota(tmp_path: Path) -> None:
    one, _ = original(files={"a.txt": b"a"})
    lie = replace(one.files[0], sha512=sha512(b"a" * 10_000).hexdigest())
    one = replace(one, files=(lie,))
    with taker(tmp_path, CopyRules(quota=1000)) as here:
        with source_archive(object_said(one), {"a.txt": b"a" * 10_000}) as source, pytest.raises(IbiError):
            here.copying.bring(LABEL, source.url)
        assert here.left() == []


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b'{"schema":2}', b"[" * 100_000, b'{"schema":1}', b"\xff"])
def test_what_is_no_record_is_refused(here: Taker, body: bytes) -> None:
    def answer(request: SourceRequest) -> bool:
        request.send(body)
        return True

    refused(here, UnexpectedAnswer, {}, special=answer)
