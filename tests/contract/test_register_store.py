"""The port `RegisterStore`, tried on every adapter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ibi.membership.ports.archive_state import RegisterStore
from ibi.membership.store.key_files import KeyDamaged, RegisterFiles
from ibi.standard.signing import PublicKey
from tests.support.memory.registers import MemoryRegisterStore

ADAPTERS: dict[str, Callable[[Path], RegisterStore]] = {
    "memory": lambda _: MemoryRegisterStore(),
    "files": RegisterFiles,
}
HERE, THERE = "http://resolver.example.org", "http://other.example.org"
KEY, OTHER = PublicKey(b"k" * 32), PublicKey(b"o" * 32)


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> RegisterStore:
    return ADAPTERS[request.param](tmp_path / "data")


def test_a_new_store_knows_neither_register_nor_key(store: RegisterStore) -> None:
    assert (store.read(), store.resolver_key(HERE)) == (None, None)


def test_the_last_register_is_kept(store: RegisterStore) -> None:
    store.write("one.two.three")
    store.write("a.b.c")
    assert store.read() == "a.b.c"


def test_a_key_is_that_of_one_resolver(store: RegisterStore) -> None:
    store.pin(HERE, KEY)
    assert (store.resolver_key(HERE), store.resolver_key(THERE)) == (KEY, None)
    store.pin(THERE, OTHER)
    assert (store.resolver_key(HERE), store.resolver_key(THERE)) == (KEY, OTHER)


def test_files_are_there_for_the_next_process(tmp_path: Path) -> None:
    first = RegisterFiles(tmp_path)
    first.write("a.b.c")
    first.pin(HERE, KEY)
    second = RegisterFiles(tmp_path)
    assert (second.read(), second.resolver_key(HERE)) == ("a.b.c", KEY)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"http://resolver.example.org": 2}', b"\xff", b'{"key": "x"}'])
def test_a_damaged_key_is_never_taken_for_none(tmp_path: Path, content: bytes) -> None:
    RegisterFiles(tmp_path).pin(HERE, KEY)
    (tmp_path / "keys" / "resolvers.json").write_bytes(content)
    with pytest.raises(KeyDamaged):
        RegisterFiles(tmp_path).resolver_key(HERE)


def test_a_register_that_is_no_text_is_none(tmp_path: Path) -> None:
    RegisterFiles(tmp_path).write("a.b.c")
    (tmp_path / "membership" / "register.jws").write_bytes(b"\xff\xfe")
    assert RegisterFiles(tmp_path).read() is None
