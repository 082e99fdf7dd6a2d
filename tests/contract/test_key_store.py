"""What every `KeyStore`, and every `ResolverKeys`, promises."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibi.membership.ports.archive_state import KeyStore, ResolverKeys
from ibi.membership.store.key_files import KeyFiles, ResolverKeyFile
from ibi.standard.messages.signatures import leads_to
from ibi.standard.signing import SigningKey
from tests.support.memory.keys import MemoryKeyStore, MemoryResolverKeys


@pytest.fixture(params=["files", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> KeyStore:
    return KeyFiles(tmp_path / "data") if request.param == "files" else MemoryKeyStore()


def test_a_key_is_made_when_it_is_first_asked_for_and_stays(store: KeyStore) -> None:
    key = store.signing_key()
    assert store.signing_key() == key
    assert store.former() == ()


def test_callers_that_come_first_at_the_same_time_get_one_key(store: KeyStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = {key.seed for key in pool.map(lambda _: store.signing_key(), range(8))}
    assert len(keys) == 1


def test_a_key_that_was_replaced_is_known_as_a_former_one(store: KeyStore) -> None:
    first = store.signing_key()
    second = store.replace()
    third = store.replace()
    assert store.signing_key() == third
    assert len({first.seed, second.seed, third.seed}) == 3
    assert store.former() == (second.public, first.public)


def test_a_key_does_not_show_itself(store: KeyStore) -> None:
    key = store.signing_key()
    assert key.seed.hex() not in repr(key)
    assert str(key.seed) not in repr(key)


def test_each_former_key_has_signed_which_one_took_its_place(store: KeyStore) -> None:
    first = store.signing_key().public
    assert store.changes() == ()
    for _ in range(3):
        store.replace()
    assert len(store.changes()) == 3
    assert leads_to(first, store.signing_key().public, store.changes())
    assert store.former()[-1] == first


@pytest.fixture(params=["files", "memory"])
def resolvers(request: pytest.FixtureRequest, tmp_path: Path) -> ResolverKeys:
    return ResolverKeyFile(tmp_path / "data") if request.param == "files" else MemoryResolverKeys()


def test_keys_of_resolvers_are_kept_replaced_and_forgotten(resolvers: ResolverKeys, store: KeyStore) -> None:
    one, other = store.signing_key().public, store.replace().public
    assert resolvers.find("http://urlib.net") is None
    resolvers.keep("http://urlib.net", one)
    resolvers.keep("http://other.example.org", other)
    assert resolvers.find("http://urlib.net") == one
    resolvers.keep("http://urlib.net", other)
    assert resolvers.find("http://urlib.net") == other
    assert (resolvers.former("http://urlib.net"), resolvers.former("http://other.example.org")) == ((one,), ())
    assert resolvers.forget("http://urlib.net")
    assert not resolvers.forget("http://urlib.net")
    assert resolvers.find("http://other.example.org") == other
    assert resolvers.former("http://urlib.net") == ()


def test_former_keys_of_a_resolver_are_kept_the_latest_first(resolvers: ResolverKeys) -> None:
    keys = [SigningKey(bytes([number]) * 32).public for number in range(5)]
    resolvers.keep("http://urlib.net", keys[0])
    resolvers.keep("http://urlib.net", keys[0])
    assert resolvers.former("http://urlib.net") == ()
    resolvers.keep("http://urlib.net", keys[3], (keys[2], keys[1]))
    assert resolvers.former("http://urlib.net") == (keys[0], keys[2], keys[1])
    resolvers.keep("http://urlib.net", keys[4], (keys[3], keys[2], keys[1], keys[0]))
    assert resolvers.former("http://urlib.net") == (keys[3], keys[2], keys[1], keys[0])
