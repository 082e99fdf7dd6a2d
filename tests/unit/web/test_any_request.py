"""Whatever is sent to `POST /api/labels`: labels, or a 4xx and nothing minted; never a failure."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from ibi.people.model.account import Scope
from tests.support.asgi_client import ask
from tests.support.memory.tokens import MemoryTokens
from tests.support.minting_app import add_token, minting_app

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from(["count", "Count", "key", ""]) | st.text(max_size=5), JSON_VALUES, max_size=3)
BODIES = st.one_of(
    st.binary(max_size=200),
    JSON_VALUES.map(lambda value: json.dumps(value).encode()),
    OBJECTS.map(lambda value: json.dumps(value).encode()),
    st.integers(-5, 50).map(lambda count: json.dumps({"count": count}).encode()),
    st.integers(1, 40_000).map(lambda depth: b"[" * depth),
    st.integers(1, 5_000).map(lambda digits: b'{"count":' + b"1" * digits + b"}"),
)
# What can stand in a header of HTTP/1.1: anything that ends no line.
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=60)
NAMES = st.sampled_from(
    [
        *("accept", "authorization", "content-type", "content-length", "content-encoding", "idempotency-key"),
        *("expect", "host", "transfer-encoding", "x-forwarded-for", "cookie"),
    ]
)
LIKELY = st.sampled_from(
    [
        *(("accept", each) for each in ("*/*", "application/x-ndjson", "application/json;q=0", "text/html, */*;q=0.1")),
        *(("content-type", each) for each in ("application/json", "application/json; charset=latin-1", "text/json")),
        *(("content-length", each) for each in ("0", "-1", "65536", "65537", "9" * 400, "1_0", "١")),
        *(("idempotency-key", each) for each in ("k", "", "é", "x" * 255, "x" * 256)),
    ]
).map(lambda pair: (pair[0], pair[1].encode("utf-8").decode("latin-1")))
HEADERS = st.lists(LIKELY | st.tuples(NAMES, VALUES), max_size=5)
METHODS = st.sampled_from([*["POST"] * 15, "GET", "HEAD", "PUT", "OPTIONS", "PROPFIND"])

TOKENS = MemoryTokens()
TEXTS = {scope: add_token(TOKENS, scope) for scope in Scope}
RIGHT = {f"Bearer {TEXTS[scope]}" for scope in (Scope.DEPOSIT, Scope.ADMIN)}
AUTHORIZATIONS = st.one_of(
    st.sampled_from(sorted(RIGHT)),
    st.sampled_from(sorted(RIGHT)),
    st.sampled_from([f"Bearer {TEXTS[Scope.READ]}", None]) | VALUES.map("Bearer {}".format),
)


def parted(body: bytes, parts: int) -> list[bytes]:
    size = len(body) // parts + 1
    return [body[start : start + size] for start in range(0, len(body), size)] or [b""]


@given(METHODS, AUTHORIZATIONS, HEADERS, BODIES, st.integers(1, 4), st.booleans())
async def test_any_request_is_minted_for_or_refused(
    method: str, authorization: str | None, headers: list[tuple[str, str]], body: bytes, parts: int, is_json: bool
) -> None:
    sent = [*headers]
    if is_json:
        sent = [pair for pair in sent if pair[0] != "content-type"] + [("content-type", "application/json")]
    if authorization is not None:
        sent.append(("authorization", authorization))
    async with minting_app(tokens=TOKENS) as minting:
        answer = await ask(minting.app, method, "/api/labels", sent, parted(body, parts))
        minted = not minting.nothing_minted()
    event(f"status {answer.status}")
    if answer.status == 201:
        assert minted
        check_minted(method, authorization, answer.body, answer.headers["content-type"])
    else:
        assert 400 <= answer.status < 500
        assert not minted
        check_problem(answer.json(), answer.status)


def check_minted(method: str, authorization: str | None, body: bytes, media: str) -> None:
    assert method == "POST"
    assert authorization in RIGHT
    lines = (
        body.splitlines()
        if media == "application/x-ndjson"
        else [json.dumps(each) for each in json.loads(body)["labels"]]
    )
    assert lines
    assert all(set(json.loads(line)) == {"rep", "ibip", "instant", "sandbox"} for line in lines)


def check_problem(problem: dict[str, Any], status: int) -> None:
    assert problem["status"] == status
    assert problem["type"].startswith("urn:ibi:problem:")
    assert problem["detail"]
    assert "field" in problem
