"""`POST /api/labels`, asked without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from ibi import parse
from ibi.minting.api import CHUNK
from ibi.minting.rules.minter import MAX_COUNT, Rules
from ibi.people.model.account import Scope
from ibi.standard.clock import SECOND
from ibi.standard.identity import Identity
from ibi.web.body import MOST
from tests.support.asgi_client import Answer, ask
from tests.support.minting_app import IDENTITY, ONE, MintingApp, minting_app

JSON = {"content-type": "application/json"}
NDJSON = {"accept": "application/x-ndjson"}


def labels_of(answer: Answer) -> list[dict[str, object]]:
    assert answer.status == 201, answer.body
    if answer.headers["content-type"] == "application/x-ndjson":
        return [json.loads(line) for line in answer.body.splitlines()]
    labels: list[dict[str, object]] = answer.json()["labels"]
    return labels


async def post(minting: MintingApp, body: bytes | Sequence[bytes], headers: Mapping[str, str] | None = None) -> Answer:
    return await ask(
        minting.app, "POST", "/api/labels", {**minting.bearer(), **(JSON if headers is None else headers)}, body
    )


# --- what is minted ---------------------------------------------------------------------------------------------------


async def test_a_label_has_both_forms_of_one_instant() -> None:
    async with minting_app() as minting:
        (label,) = labels_of(await minting.mint())
    assert label == {
        "rep": "inpe.br/sid/2026/11.20.10.00",
        "ibip": "8JMKD3MGP8W/4D9UHEH",
        "instant": "2026-11-20T10:00:00Z",
        "sandbox": False,
    } | {"ibip": label["ibip"]}
    assert parse(str(label["ibip"])).instant == parse(str(label["rep"])).instant


async def test_an_identity_without_an_address_mints_repository_names_alone() -> None:
    async with minting_app(identity=Identity("sid.inpe.br")) as minting:
        (label,) = labels_of(await minting.mint())
    assert label["ibip"] is None


async def test_a_label_of_a_sandbox_says_so() -> None:
    async with minting_app(identity=Identity.of_sandbox(8765)) as minting:
        answers = [await minting.mint(), await minting.mint(2, NDJSON)]
    assert [label["sandbox"] for answer in answers for label in labels_of(answer)] == [True, True, True]


@pytest.mark.parametrize("headers", [{}, JSON, {"content-type": "text/plain"}])
async def test_no_body_asks_for_one_label(headers: dict[str, str]) -> None:
    async with minting_app() as minting:
        assert len(labels_of(await post(minting, b"", headers))) == 1


@pytest.mark.parametrize("count", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
async def test_as_many_labels_come_as_were_asked_for(count: int, accept: str) -> None:
    async with minting_app() as minting:
        answer = await minting.mint(count, {"accept": accept})
    labels = labels_of(answer)
    assert answer.headers["content-type"] == accept
    assert len({label["rep"] for label in labels}) == len({label["ibip"] for label in labels}) == count
    instants = [parse(str(label["rep"])).instant for label in labels]
    assert instants == sorted(instants)
    assert [str(each) for each in instants] == [label["instant"] for label in labels]


async def test_both_forms_of_the_answer_hold_the_same_labels() -> None:
    async with minting_app() as minting:
        keyed = {"idempotency-key": "one"}
        plain = await minting.mint(CHUNK + 1, keyed)
        lines = await minting.mint(CHUNK + 1, {**keyed, **NDJSON})
    assert labels_of(plain) == labels_of(lines)


async def test_a_large_answer_comes_in_parts_and_without_a_length() -> None:
    async with minting_app() as minting:
        answer = await minting.mint(10 * CHUNK, NDJSON)
    assert "content-length" not in answer.headers
    assert max(chunk.count(b"\n") for chunk in answer.chunks) == CHUNK


async def test_every_other_caller_gets_a_turn_while_a_large_answer_is_rendered() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with minting_app() as minting:
        counting = asyncio.create_task(count_turns())
        await minting.mint(50 * CHUNK)
        counting.cancel()
    assert turns >= 50


async def test_an_answer_with_labels_is_never_cached() -> None:
    async with minting_app() as minting:
        for headers in ({}, NDJSON):
            for count in (1, CHUNK + 1):
                assert (await minting.mint(count, headers)).headers["cache-control"] == "no-store"


async def test_concurrent_callers_get_different_labels() -> None:
    async with minting_app(Rules(wait_bound=Fraction(0))) as minting:
        answers = await asyncio.gather(*(minting.mint(3) for _ in range(200)))
    assert len({label["rep"] for answer in answers for label in labels_of(answer)}) == 600


async def test_the_mint_log_names_the_token_by_its_id() -> None:
    async with minting_app() as minting:
        await minting.mint()
        lines = list(minting.ticks.log())
    assert json.loads(lines[-1])["who"] == [[f"token:{minting.texts[Scope.DEPOSIT].split('_')[1]}", 1]]
    assert minting.texts[Scope.DEPOSIT].encode() not in b"".join(lines)


# --- the client goes away ---------------------------------------------------------------------------------------------


async def test_a_client_that_goes_away_stops_the_rendering_and_its_labels_come_again_by_their_key() -> None:
    async with minting_app() as minting:
        headers = {**minting.bearer(), **JSON, **NDJSON, "idempotency-key": "k"}
        seen, gone = bytearray(), asyncio.Event()
        body = [{"type": "http.request", "body": b'{"count": 100000}', "more_body": False}]

        async def receive() -> dict[str, object]:
            if body:
                return body.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            part = message.get("body", b"")
            assert isinstance(part, bytes)
            seen.extend(part)
            if seen.count(b"\n") >= 3 * CHUNK:
                gone.set()

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "POST",
            "path": "/api/labels",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        await minting.app(scope, receive, send)  # type: ignore[arg-type]
        again = await minting.mint(100_000, {**NDJSON, "idempotency-key": "k"})
    assert seen.count(b"\n") < 100_000
    assert again.body.startswith(bytes(seen))
    assert again.body.count(b"\n") == 100_000


async def test_a_client_that_goes_away_before_its_body_has_come_mints_nothing() -> None:
    async with minting_app() as minting:

        async def receive() -> dict[str, object]:
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            pytest.fail("nobody is there to be answered")

        headers = [(name.encode(), value.encode()) for name, value in minting.bearer().items()]
        scope = {"type": "http", "method": "POST", "path": "/api/labels", "headers": headers}
        await minting.app(scope, receive, send)  # type: ignore[arg-type]
        assert minting.nothing_minted()


# --- keys -------------------------------------------------------------------------------------------------------------


async def test_the_same_key_gets_the_same_labels() -> None:
    async with minting_app() as minting:
        first, other, again = [await minting.mint(5, {"idempotency-key": key}) for key in ("a", "b", "a")]
    assert labels_of(first) == labels_of(again)
    assert not {label["rep"] for label in labels_of(first)} & {label["rep"] for label in labels_of(other)}


async def test_two_requests_with_one_key_at_once_share_their_labels() -> None:
    async with minting_app() as minting:
        answers = await asyncio.gather(*(minting.mint(2, {"idempotency-key": "a"}) for _ in range(20)))
    assert len({answer.body for answer in answers}) == 1


async def test_a_key_belongs_to_its_token() -> None:
    async with minting_app() as minting:
        mine = await minting.mint(1, {"idempotency-key": "a"})
        theirs = await minting.mint(1, {"idempotency-key": "a", **minting.bearer(Scope.ADMIN)})
    assert labels_of(mine) != labels_of(theirs)


async def test_the_same_key_for_another_count_is_refused() -> None:
    async with minting_app() as minting:
        await minting.mint(5, {"idempotency-key": "a"})
        last = minting.ticks.state().last
        answer = await minting.mint(6, {"idempotency-key": "a"})
        assert minting.ticks.state().last == last
    assert answer.status == 422
    assert answer.json()["type"] == "urn:ibi:problem:idempotency-conflict"
    assert answer.json()["field"] == "Idempotency-Key"


@pytest.mark.parametrize("key", ["x", " ~", "x" * 255, '"quoted"'])
async def test_a_key_is_any_printable_text(key: str) -> None:
    async with minting_app() as minting:
        assert (await minting.mint(1, {"idempotency-key": key})).status == 201


# --- what is refused --------------------------------------------------------------------------------------------------

COUNTS = [
    b"0",
    b"-1",
    b"-0",
    b"1000001",
    b"1000000000000",
    b"9" * 300,
    b"9" * 4_400,
    b"9" * 30_000,
    b"1.0",
    b"1e3",
    b"1E400",
    b"true",
    b"null",
    b'"1"',
    b'""',
    b"[1]",
    b"{}",
]
BODIES = [
    b" ",
    b"1",
    b"null",
    b'"count"',
    b"[]",
    b"[1]",
    b"{",
    b"{count: 1}",
    b"{'count': 1}",
    b'{"count": 1',
    b'{"count": 1}}',
    b'{"count": 1} {"count": 1}',
    b'{"count": 01}',
    b'{"count": NaN}',
    b'\xef\xbb\xbf{"count": 1}',
    b'{"count": 1, "\xff": 1}',
    '{"count": 1}'.encode("utf-16"),
    b"[" * 60_000,
    b'{"count": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    b'{"count":' * 5_000 + b"1" + b"}" * 5_000,
    b"count=1",
    b"\x00",
]


async def refused(minting: MintingApp, answer: Answer, status: int, field: str | None) -> None:
    """The answer is a problem of that status that names that field, and nothing was minted."""
    problem = answer.json()
    assert answer.status == problem["status"] == status, problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"].startswith("urn:ibi:problem:")
    assert problem["title"]
    assert problem["detail"]
    assert len(problem["detail"]) < 400
    assert problem.get("field") == field
    assert answer.headers["cache-control"] == "no-store"
    assert minting.nothing_minted()


@pytest.mark.parametrize("count", COUNTS, ids=lambda count: count[:12].decode())
async def test_what_is_no_number_of_labels_is_refused_and_named(count: bytes) -> None:
    async with minting_app() as minting:
        await refused(minting, await post(minting, b'{"count": ' + count + b"}"), 400, "count")


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:12]))
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    async with minting_app() as minting:
        await refused(minting, await post(minting, body), 400, "body")


@pytest.mark.parametrize(
    ("body", "field"),
    [(b"{}", "count"), (b'{"number": 1}', "number"), (b'{"count": 1, "key": "x"}', "key"), (b'{"Count": 1}', "Count")],
)
async def test_members_that_are_missing_or_unknown_are_named(body: bytes, field: str) -> None:
    async with minting_app() as minting:
        await refused(minting, await post(minting, body), 400, field)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": ""},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/jsonp"},
        {"content-type": "multipart/form-data; boundary=application/json"},
    ],
)
async def test_a_body_that_is_not_said_to_be_json_is_refused(headers: dict[str, str]) -> None:
    async with minting_app() as minting:
        await refused(minting, await post(minting, ONE, headers), 415, "Content-Type")


@pytest.mark.parametrize("media", ["application/json", "Application/JSON", "application/json; charset=utf-8"])
async def test_json_is_known_by_its_media_type(media: str) -> None:
    async with minting_app() as minting:
        assert (await post(minting, ONE, {"content-type": media})).status == 201


async def test_a_coded_body_is_refused() -> None:
    async with minting_app() as minting:
        answer = await post(minting, ONE, {**JSON, "content-encoding": "gzip"})
        await refused(minting, answer, 415, "Content-Encoding")


async def test_a_body_announced_too_large_is_refused_unread() -> None:
    async with minting_app() as minting:
        for length in (str(MOST + 1), "1" * 5000):
            await refused(minting, await post(minting, ONE, {**JSON, "content-length": length}), 413, "body")


async def test_a_body_that_turns_out_too_large_is_refused() -> None:
    async with minting_app() as minting:
        parts = [b" " * 16_384] * 4 + [b" ", ONE]
        await refused(minting, await post(minting, parts), 413, "body")


async def test_a_body_of_the_greatest_size_is_read() -> None:
    async with minting_app() as minting:
        padded = ONE.ljust(MOST)
        assert (await post(minting, [padded[:30_000], padded[30_000:]])).status == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "\x7f", "a\tb"])
async def test_a_malformed_key_is_refused(key: str) -> None:
    async with minting_app() as minting:
        await refused(minting, await minting.mint(1, {"idempotency-key": key}), 400, "Idempotency-Key")


async def test_two_keys_are_refused() -> None:
    async with minting_app() as minting:
        headers = [*minting.bearer().items(), *JSON.items(), ("idempotency-key", "a"), ("idempotency-key", "a")]
        answer = await ask(minting.app, "POST", "/api/labels", headers, ONE)
        await refused(minting, answer, 400, "Idempotency-Key")


async def test_a_client_that_takes_none_of_the_forms_is_refused() -> None:
    async with minting_app() as minting:
        await refused(minting, await minting.mint(1, {"accept": "text/html"}), 406, "Accept")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])
async def test_another_method_is_refused_and_the_right_one_named(method: str) -> None:
    async with minting_app() as minting:
        answer = await ask(minting.app, method, "/api/labels", {**minting.bearer(), **JSON}, ONE)
        await refused(minting, answer, 405, "method")
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/api/labels/", "/api/label", "/api", "/API/labels", "//api/labels", "/api/labels/1"])
async def test_another_path_is_not_found(path: str) -> None:
    async with minting_app() as minting:
        answer = await ask(minting.app, "POST", path, {**minting.bearer(), **JSON}, ONE)
        await refused(minting, answer, 404, "path")


# --- who asks ---------------------------------------------------------------------------------------------------------


async def test_without_a_token_nothing_is_minted() -> None:
    async with minting_app() as minting:
        answer = await ask(minting.app, "POST", "/api/labels", JSON, ONE)
        await refused(minting, answer, 401, "Authorization")
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer ibi_x_y",
        f"Bearer ibi_{'a' * 16}_{'a' * 52}",
        "Basic aWJpOmliaQ==",
        "Bearer \xe9",
        "Bearer {right}x",
        "Bearer {right} x",
        "Token {right}",
        "{right}",
        "Bearer {wrong secret}",
    ],
)
async def test_a_wrong_token_mints_nothing(authorization: str) -> None:
    async with minting_app() as minting:
        right = minting.bearer()["authorization"].removeprefix("Bearer ")
        wrong = right[:-1] + ("a" if right[-1] != "a" else "b")
        sent = authorization.replace("{right}", right).replace("{wrong secret}", wrong)
        answer = await ask(minting.app, "POST", "/api/labels", {**JSON, "authorization": sent}, ONE)
        await refused(minting, answer, 401, "Authorization")
        assert right not in answer.body.decode()


async def test_two_tokens_are_one_too_many() -> None:
    async with minting_app() as minting:
        answer = await ask(minting.app, "POST", "/api/labels", [*minting.bearer().items()] * 2, b"")
        await refused(minting, answer, 401, "Authorization")


async def test_the_scheme_is_read_in_any_case() -> None:
    async with minting_app() as minting:
        sent = minting.bearer()["authorization"].replace("Bearer", "bEARER")
        assert (await post(minting, b"", {"authorization": sent})).status == 201


async def test_a_token_to_read_does_not_mint() -> None:
    async with minting_app() as minting:
        answer = await minting.mint(1, minting.bearer(Scope.READ))
        await refused(minting, answer, 403, "Authorization")
        assert 'scope="deposit"' in answer.headers["www-authenticate"]


async def test_a_token_of_the_greatest_scope_mints() -> None:
    async with minting_app() as minting:
        assert (await minting.mint(1, minting.bearer(Scope.ADMIN))).status == 201


async def test_a_revoked_token_does_not_mint() -> None:
    async with minting_app() as minting:
        minting.tokens.revoke(minting.bearer()["authorization"].split("_")[1], minting.clocks.read().wall)
        await refused(minting, await minting.mint(), 401, "Authorization")


async def test_a_token_in_the_query_is_no_token() -> None:
    async with minting_app() as minting:
        right = minting.bearer()["authorization"].removeprefix("Bearer ")
        answer = await ask(minting.app, "POST", f"/api/labels?access_token={right}&token={right}", JSON, ONE)
        await refused(minting, answer, 401, "Authorization")


async def test_who_asks_is_looked_at_before_what_for() -> None:
    async with minting_app() as minting:
        for body in (b"{", b" " * (MOST + 1)):
            answer = await ask(minting.app, "POST", "/api/labels", {"content-type": "text/plain"}, body)
            assert answer.status == 401


# --- the clock --------------------------------------------------------------------------------------------------------


async def test_while_the_clock_is_behind_nothing_is_minted_and_the_answer_says_when_to_ask_again() -> None:
    async with minting_app() as minting:
        await minting.mint()
        last = minting.ticks.state().last
        minting.clocks.advance(100)
        await minting.mint()
        last = minting.ticks.state().last
        minting.clocks.jump(-60)
        answer = await minting.mint()
        assert minting.ticks.state().last == last
    problem = answer.json()
    assert (answer.status, problem["type"]) == (503, "urn:ibi:problem:clock-jumped")
    assert int(answer.headers["retry-after"]) == problem["retry_after"] == 60


async def test_the_server_mints_again_when_the_clock_is_back() -> None:
    async with minting_app() as minting:
        await minting.mint()
        minting.clocks.jump(-60)
        assert (await minting.mint()).status == 503
        minting.clocks.jump(60)
        assert (await minting.mint()).status == 201


async def test_a_clock_far_behind_asks_for_no_more_than_an_hour_of_patience() -> None:
    async with minting_app(Rules(behind_limit=Fraction(5))) as minting:
        minting.clocks.jump(86_400 * 365 * 15)
        await minting.mint()
        # Another start of the machine, so that the jump itself cannot be seen.
        minting.clocks.boot("another")
        minting.clocks.jump(-86_400 * 365 * 15)
        answer = await minting.mint()
    assert (answer.status, answer.json()["type"]) == (503, "urn:ibi:problem:clock-behind")
    assert answer.headers["retry-after"] == "3600"


async def test_labels_asked_for_again_while_the_clock_is_far_behind_are_refused_at_once_and_not_waited_for() -> None:
    async with minting_app() as minting:
        first = await minting.mint(1, {"idempotency-key": "a"})
        minting.clocks.jump(-86_400)
        assert (await minting.mint(1, {"idempotency-key": "a"})).status == 503
        minting.clocks.jump(86_400)
        assert (await minting.mint(1, {"idempotency-key": "a"})).body == first.body


async def test_more_labels_than_a_fixed_granularity_gives_in_time_are_refused() -> None:
    async with minting_app(Rules(SECOND)) as minting:
        answer = await minting.mint(1000)
        assert (answer.status, answer.json()["field"]) == (503, "count")
        assert answer.json()["type"] == "urn:ibi:problem:queue-too-long"
        assert minting.nothing_minted()


async def test_the_greatest_count_is_a_million() -> None:
    assert MAX_COUNT == 1_000_000


def test_the_identity_of_these_tests_is_global() -> None:
    assert IDENTITY.is_global
