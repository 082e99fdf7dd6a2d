"""Minting over HTTP: a real server on a real port, its clock's memory on a real disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ibi import parse
from ibi.minting.rules.mint_log import verify
from ibi.minting.rules.minter import Rules
from ibi.minting.store.ticks import SqliteTicks
from ibi.net.api_client import ApiClient
from ibi.net.errors import ServerRefused
from ibi.people.model.account import Scope
from ibi.people.store.tokens import SqliteTokens
from tests.support.ibi_command import IbiCommand
from tests.support.minting_app import MintingApp, add_token, made
from tests.support.running_server import RunningServer, running
from tests.support.set_clocks import SetClocks

QUICK = Rules(wait_bound=Fraction(0))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@contextmanager
def serving(
    data: Path, rules: Rules = QUICK, clocks: SetClocks | None = None
) -> Iterator[tuple[MintingApp, RunningServer]]:
    """A server on the data directory; the same one again after it was left."""
    with ExitStack() as opened:
        ticks = opened.enter_context(closing(SqliteTicks(data, machine="here", lock_directory=data.parent / "locks")))
        tokens = opened.enter_context(closing(SqliteTokens(data)))
        minting = made(rules, clocks=clocks, ticks=ticks, tokens=tokens)
        yield minting, opened.enter_context(running(minting.app))


def client_of(minting: MintingApp, server: RunningServer, scope: Scope = Scope.DEPOSIT) -> ApiClient:
    return ApiClient(server.url, add_token(minting.tokens, scope))


def at_once(callers: int, call: Callable[[int], Any]) -> list[Any]:
    """The results of that many calls, all begun at one moment."""
    barrier = threading.Barrier(callers)

    def begin(number: int) -> Any:
        barrier.wait()
        return call(number)

    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(begin, range(callers)))


def test_concurrent_callers_get_labels_that_no_other_has(data: Path) -> None:
    with serving(data) as (minting, server):
        client = client_of(minting, server)
        batches = at_once(16, lambda number: [label for _ in range(10) for label in client.mint(number + 1)])
        entries = list(verify(minting.ticks.log()))
    labels = [label["rep"] for batch in batches for label in batch]
    assert len(set(labels)) == len(labels) == 10 * sum(range(1, 17))
    assert sum(entry.count for entry in entries) == len(labels)
    for batch in batches:
        instants = [parse(label["rep"]).instant for label in batch]
        assert instants == sorted(set(instants))


def test_labels_asked_for_at_once_under_one_key_are_the_same(data: Path) -> None:
    with serving(data) as (minting, server):
        client = client_of(minting, server)
        answers = at_once(8, lambda _: list(client.mint(3, "one key")))
    assert all(answer == answers[0] for answer in answers)


def test_a_key_is_remembered_over_a_restart_of_the_server(data: Path) -> None:
    clocks = SetClocks()
    with serving(data, clocks=clocks) as (minting, server):
        token = add_token(minting.tokens, Scope.DEPOSIT)
        first = list(ApiClient(server.url, token).mint(5, "key"))
    clocks.advance(86_000)
    with serving(data, clocks=clocks) as (_, server):
        client = ApiClient(server.url, token)
        assert list(client.mint(5, "key")) == first
        with pytest.raises(ServerRefused) as refusal:
            list(client.mint(6, "key"))
        later = list(client.mint(5))
    assert (refusal.value.status, refusal.value.problem) == (422, "idempotency-conflict")
    assert parse(str(later[0]["rep"])).instant > parse(str(first[-1]["rep"])).instant


def peak_memory(process: int) -> int:
    """The most memory that a process ever had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the memory of another process from /proc")
def test_a_hundred_thousand_labels_stream_through_little_memory(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    with command.up() as (process, url):
        client = ApiClient(url, command("token", "create", "--scope", "deposit").out.strip())
        assert sum(1 for _ in client.mint(10_000)) == 10_000
        before = peak_memory(process.pid)
        assert len({label["rep"] for label in client.mint(100_000)}) == 100_000
        # The answer has 13 MB.
        assert peak_memory(process.pid) - before < 3_000_000


def test_the_json_form_of_a_large_answer_is_whole_too(data: Path) -> None:
    with serving(data) as (minting, server):
        headers = {**minting.bearer(), "content-type": "application/json"}
        response, body = server.ask("POST", "/api/labels", b'{"count": 20000}', headers)
    assert response.getheader("transfer-encoding") == "chunked"
    assert len({label["rep"] for label in body["labels"]}) == 20_000


def test_a_client_that_hangs_up_gets_the_same_labels_when_it_asks_again(data: Path) -> None:
    with serving(data) as (minting, server):
        headers = {**minting.bearer(), "content-type": "application/json", "idempotency-key": "key"}
        headers["accept"] = "application/x-ndjson"
        with closing(server.connection()) as connection:
            connection.request("POST", "/api/labels", b'{"count": 50000}', headers)
            beginning = connection.getresponse().read(100_000)
        _, whole = server.ask("POST", "/api/labels", b'{"count": 50000}', headers)
        assert server.ask("GET", "/healthz")[0].status == 200
        minted = sum(entry.count for entry in verify(minting.ticks.log()))
    assert whole.startswith(beginning)
    assert whole.count(b"\n") == minted == 50_000


def test_while_the_clock_is_set_back_it_refuses_and_then_recovers_by_itself(data: Path) -> None:
    clocks = SetClocks()
    with serving(data, Rules(), clocks) as (minting, server):
        headers = {**minting.bearer(), "content-type": "application/json"}

        def mint() -> tuple[int, str | None, Any]:
            response, body = server.ask("POST", "/api/labels", b'{"count": 1}', headers)
            return response.status, response.getheader("retry-after"), body

        assert mint()[0] == 201
        log = list(minting.ticks.log())
        clocks.boot("a restart, after which nobody can tell a jump")
        clocks.jump(-90)
        status, retry, body = mint()
        assert (status, retry, body["type"]) == (503, "90", "urn:ibi:problem:clock-behind")
        assert server.ask("GET", "/readyz")[0].status == 503
        assert list(minting.ticks.log()) == log
        clocks.advance(91)
        assert mint()[0] == 201


BAD: list[tuple[str, bytes, dict[str, str], int, str]] = [
    ("count 0", b'{"count": 0}', {}, 400, "count"),
    ("count negative", b'{"count": -1}', {}, 400, "count"),
    ("count a million millions", b'{"count": 1000000000000}', {}, 400, "count"),
    ("count no number", b'{"count": "many"}', {}, 400, "count"),
    ("count a fraction", b'{"count": 1.5}', {}, 400, "count"),
    ("count a truth value", b'{"count": true}', {}, 400, "count"),
    ("count missing", b"{}", {}, 400, "count"),
    ("unknown member", b'{"count": 1, "number": 2}', {}, 400, "number"),
    ("malformed", b'{"count": 1', {}, 400, "body"),
    ("nested", b"[" * 30_000, {}, 400, "body"),
    ("no token", b'{"count": 1}', {"authorization": ""}, 401, "Authorization"),
    ("wrong token", b'{"count": 1}', {"authorization": f"Bearer ibi_{'a' * 16}_{'a' * 52}"}, 401, "Authorization"),
    ("wrong scope", b'{"count": 1}', {"authorization": "read"}, 403, "Authorization"),
    ("oversized", b'{"count": 1}'.ljust(65_537), {}, 413, "body"),
    ("oversized, chunked", b'{"count": 1}'.ljust(65_537), {"transfer-encoding": "chunked"}, 413, "body"),
    ("wrong type", b'{"count": 1}', {"content-type": "text/plain"}, 415, "Content-Type"),
    ("wrong form", b'{"count": 1}', {"accept": "image/png"}, 406, "Accept"),
    ("key too long", b'{"count": 1}', {"idempotency-key": "x" * 256}, 400, "Idempotency-Key"),
]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MintingApp, RunningServer]]:
    with serving(tmp_path_factory.mktemp("strict") / "data") as served:
        yield served


@pytest.mark.parametrize(("body", "headers", "status", "field"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_input_is_named_and_mints_nothing(
    body: bytes, headers: dict[str, str], status: int, field: str, strict: tuple[MintingApp, RunningServer]
) -> None:
    minting, server = strict
    sent = {**minting.bearer(), "content-type": "application/json", **headers}
    if headers.get("authorization") == "read":
        sent |= minting.bearer(Scope.READ)
    with closing(server.connection()) as connection:
        if "transfer-encoding" in headers:
            connection.request("POST", "/api/labels", iter([body[:40_000], body[40_000:]]), sent, encode_chunked=True)
        else:
            connection.request("POST", "/api/labels", body, sent)
        response = connection.getresponse()
        problem = json.loads(response.read())
    assert (response.status, problem["status"], problem["field"]) == (status, status, field)
    assert response.getheader("content-type") == "application/problem+json"
    assert minting.nothing_minted()


def test_the_command_line_client_tells_a_refusal_in_one_line(strict: tuple[MintingApp, RunningServer]) -> None:
    minting, server = strict
    with pytest.raises(ServerRefused) as refusal:
        list(client_of(minting, server, Scope.READ).mint(1))
    assert refusal.value.problem == "not-allowed"
    assert "scope deposit" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_stopping_answers_every_caller_that_asked(data: Path) -> None:
    with serving(data) as (minting, server):
        headers = {**minting.bearer(), "content-type": "application/json"}
        stopping = threading.Event()
        statuses: list[int] = []

        def ask(_: int) -> None:
            with closing(server.connection()) as connection:
                while True:
                    try:
                        connection.request("POST", "/api/labels", b'{"count": 1}', headers)
                        response = connection.getresponse()
                        response.read()
                    except OSError:
                        assert stopping.is_set()
                        return
                    statuses.append(response.status)
                    if len(statuses) == 50:
                        stopping.set()
                        server.server.should_exit = True

        at_once(8, ask)
        minted = sum(entry.count for entry in verify(minting.ticks.log()))
    assert set(statuses) <= {201, 503}
    assert minted == statuses.count(201)
