"""The port `Tokens`, tried on every adapter."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.people.model.account import Scope, Token
from ibi.people.ports import Tokens
from ibi.people.rules.errors import TokenExists
from ibi.people.rules.sign_in import authenticate, new_token
from ibi.people.store.tokens import SqliteTokens
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import STATE
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked, StoreNewer
from ibi.storage.state import open_state
from tests.support.earlier_databases import open_earlier
from tests.support.memory.tokens import MemoryTokens

NOW = Instant.parse("2026-11-15T12:00:00Z")
LATER = Instant.parse("2026-11-16T12:00:00Z")


def drawn(number: int, scope: Scope = Scope.DEPOSIT, **others: object) -> tuple[str, Token]:
    text, token = new_token(bytes([number % 256]) * 42, scope, NOW)
    return text, replace(token, **others)  # type: ignore[arg-type]


TOKEN = drawn(7)[1]
ADAPTERS: dict[str, Callable[[Path], Tokens]] = {"memory": lambda _: MemoryTokens(), "sqlite": SqliteTokens}


@pytest.fixture(params=ADAPTERS)
def tokens(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tokens]:
    store = ADAPTERS[request.param](tmp_path / "data")
    yield store
    store.close()


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("name", ["", "São José ✓", "'; DROP TABLE tokens; --"])
@pytest.mark.parametrize(("expires", "revoked"), [(None, None), (LATER, None), (None, NOW), (LATER, NOW)])
def test_a_token_comes_back_as_it_was_added(
    tokens: Tokens, scope: Scope, name: str, expires: Instant | None, revoked: Instant | None
) -> None:
    _, token = drawn(1, scope, name=name, expires=expires, revoked=revoked, person="ana" if name else None)
    tokens.add(token)
    assert tokens.find(token.id) == token
    assert tokens.list() == (token,)


def test_an_empty_store_finds_lists_and_revokes_nothing(tokens: Tokens) -> None:
    assert tokens.find("nobody") is None
    assert tokens.list() == ()
    assert tokens.revoke("nobody", NOW) is None
    assert tokens.list() == ()


def test_an_id_is_taken_once_and_the_first_stays(tokens: Tokens) -> None:
    _, token = drawn(1)
    tokens.add(token)
    with pytest.raises(TokenExists, match=token.id):
        tokens.add(replace(token, scope=Scope.ADMIN))
    assert tokens.list() == (token,)


def test_the_list_is_in_the_order_of_creation_then_of_ids(tokens: Tokens) -> None:
    made = [drawn(number, created=Instant(NOW.seconds + number % 3))[1] for number in range(10)]
    for token in made:
        tokens.add(token)
    assert tokens.list() == tuple(sorted(made, key=lambda token: (token.created, token.id)))


def test_the_tokens_of_a_person_are_listed_and_looked_at_before_another_is_added(tokens: Tokens) -> None:
    ana = [replace(TOKEN, id=letter * 16, person="ana") for letter in "ba"]
    for token in (*ana, TOKEN, replace(TOKEN, id="c" * 16, person="bia")):
        tokens.add(token)
    seen: list[tuple[Token, ...]] = []

    def refuse(others: tuple[Token, ...]) -> None:
        seen.append(others)
        raise TokenExists(id="x")

    with pytest.raises(TokenExists):
        tokens.add(replace(TOKEN, id="d" * 16, person="ana"), refuse)
    assert seen == [tokens.list_of("ana")] == [tuple(reversed(ana))]
    assert tokens.find("d" * 16) is None
    assert tokens.list_of("eva") == ()


def test_of_tokens_that_are_added_at_once_each_sees_those_before_it(tokens: Tokens) -> None:
    def add(number: int) -> int:
        seen: list[int] = []
        token = replace(TOKEN, id=f"{number:016}", person="ana")
        tokens.add(token, lambda others: seen.append(len(others)))
        return seen[0]

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(add, range(32))) == [*range(32)]


def test_a_revoked_token_stays_on_record_with_its_first_date(tokens: Tokens) -> None:
    tokens.add(drawn(1)[1])
    other = drawn(2)[1]
    tokens.add(other)
    revoked = replace(drawn(1)[1], revoked=NOW)
    assert tokens.revoke(revoked.id, NOW) == revoked
    assert tokens.revoke(revoked.id, LATER) == revoked
    assert tokens.find(revoked.id) == revoked
    assert tokens.find(other.id) == other


def test_an_id_is_matched_exactly(tokens: Tokens) -> None:
    token = drawn(1)[1]
    tokens.add(token)
    for other in (token.id.upper(), token.id[:-1], f"{token.id} ", "%", "", f"{token.id}\0"):
        assert tokens.find(other) is None


def test_many_threads_may_ask_at_once(tokens: Tokens) -> None:
    made = [drawn(number) for number in range(40)]

    def use(drawing: tuple[str, Token]) -> Token:
        tokens.add(drawing[1])
        assert authenticate(drawing[0], tokens.find, NOW) == drawing[1]
        revoked = tokens.revoke(drawing[1].id, LATER)
        assert revoked is not None
        return revoked

    with ThreadPoolExecutor(8) as pool:
        revoked = list(pool.map(use, made))
    assert sorted(tokens.list(), key=lambda token: token.id) == sorted(revoked, key=lambda token: token.id)


# --- what only a disk has ---------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "data"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


PREAMBLE = f"""
import os, signal, sys
from pathlib import Path
from ibi.people.rules.sign_in import new_token
from ibi.standard.instant import Instant
from ibi.people.model.account import Scope
from ibi.people.store.tokens import SqliteTokens
def drawn(number): return new_token(bytes([number]) * 42, Scope.DEPOSIT, Instant({NOW.seconds}))
tokens = SqliteTokens(Path(sys.argv[1]))
"""


def begun(script: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Another process, with the `tokens` of the directory that is its first argument."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    return subprocess.Popen([sys.executable, "-c", PREAMBLE + script, *map(str, arguments)], env=environ)


def test_tokens_outlive_a_process_that_is_killed(data: Path) -> None:
    process = begun("tokens.add(drawn(7)[1]); os.kill(os.getpid(), signal.SIGKILL)", data)
    assert process.wait() == -signal.SIGKILL
    tokens = SqliteTokens(data)
    assert tokens.list() == (drawn(7)[1],)
    tokens.close()


def test_a_revocation_by_another_process_is_seen_at_once(data: Path) -> None:
    tokens = SqliteTokens(data)
    token = drawn(1)[1]
    tokens.add(token)
    assert tokens.find(token.id) == token
    process = begun("tokens.revoke(sys.argv[2], Instant(int(sys.argv[3])))", data, token.id, LATER.seconds)
    assert process.wait() == 0
    assert tokens.find(token.id) == replace(token, revoked=LATER)
    tokens.close()


def test_several_processes_may_begin_a_store_at_once(data: Path) -> None:
    processes = [begun("tokens.add(drawn(int(sys.argv[2]))[1])", data, number) for number in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    tokens = SqliteTokens(data)
    assert {token.id for token in tokens.list()} == {drawn(number)[1].id for number in range(4)}
    tokens.close()


def test_the_store_belongs_to_its_owner_alone(data: Path) -> None:
    old = os.umask(0)
    try:
        tokens = SqliteTokens(data)
        tokens.add(drawn(1)[1])
    finally:
        os.umask(old)
    assert mode(data) == 0o700
    files = sorted(data.glob(f"{STATE.file_name}*"))
    assert STATE.file_name in [file.name for file in files]
    assert {mode(file) for file in files} == {0o600}
    tokens.close()


def test_a_store_that_others_could_read_is_closed_to_them(data: Path) -> None:
    SqliteTokens(data).close()
    (data / STATE.file_name).chmod(0o644)
    tokens = SqliteTokens(data)
    tokens.add(drawn(1)[1])
    assert {mode(file) for file in data.glob(f"{STATE.file_name}*")} == {0o600}
    tokens.close()


def test_the_mode_of_a_directory_that_was_there_is_left_alone(data: Path) -> None:
    data.mkdir(parents=True)
    data.chmod(0o750)
    SqliteTokens(data).close()
    assert mode(data) == 0o750


def test_no_secret_reaches_the_disk(data: Path) -> None:
    text, token = drawn(9)
    tokens = SqliteTokens(data)
    tokens.add(token)
    everything = b"".join(file.read_bytes() for file in data.rglob("*") if file.is_file())
    assert token.id.encode() in everything
    assert text.split("_")[2].encode() not in everything
    tokens.close()


@pytest.mark.parametrize("scope", [Scope.READ, Scope.DEPOSIT, Scope.ADMIN])
def test_tokens_of_the_first_version_are_valid_as_they_were(data: Path, scope: Scope) -> None:
    text, token = drawn(3, scope)
    connection = open_earlier(data, "tokens", 1)
    row = (token.id, str(scope), token.digest, token.created.seconds, "harvester")
    connection.execute("INSERT INTO tokens (id, scope, digest, created, name) VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    tokens = SqliteTokens(data)
    assert authenticate(text, tokens.find, NOW) == replace(token, name="harvester")
    assert tokens.list()[0].account == "service:harvester"
    tokens.close()


def test_a_store_of_a_newer_version_is_refused(data: Path) -> None:
    SqliteTokens(data).close()
    with closing(open_state(data)) as database, database.change() as session:
        session.execute("UPDATE parts SET version = 99 WHERE name = 'tokens'")
    with pytest.raises(StoreNewer):
        SqliteTokens(data)


def test_a_file_that_is_no_store_is_refused(data: Path) -> None:
    data.mkdir(parents=True)
    (data / STATE.file_name).write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(StoreDamaged):
        SqliteTokens(data)


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskRefused, match=r"state\.sqlite|directory\.json"):
        SqliteTokens(tmp_path / "file")


def test_a_closed_store_says_so_and_may_be_closed_again(data: Path) -> None:
    tokens = SqliteTokens(data)
    tokens.close()
    tokens.close()
    with pytest.raises(StoreClosed):
        tokens.find("any")


def test_a_forked_process_opens_its_own(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = SqliteTokens(data)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreForked):
        tokens.find("any")
    monkeypatch.undo()
    tokens.close()
