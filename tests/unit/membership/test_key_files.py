"""Keys in files: for their owner alone, readable by other tools, never made anew in silence."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import rmtree, which

import pytest

from ibi.membership.store.key_files import RESOLVER, KeyDamaged, KeyFiles, KeyLost


def test_the_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    KeyFiles(tmp_path).signing_key()
    assert (tmp_path / "keys" / "archive.pem").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_another_process_finds_the_same_key(tmp_path: Path) -> None:
    assert KeyFiles(tmp_path).signing_key() == KeyFiles(tmp_path).signing_key()


def test_archive_and_resolver_have_keys_of_their_own(tmp_path: Path) -> None:
    assert KeyFiles(tmp_path).signing_key() != KeyFiles(tmp_path, RESOLVER).signing_key()


@pytest.mark.skipif(which("openssl") is None, reason="openssl is the other tool")
def test_openssl_reads_the_key(tmp_path: Path) -> None:
    key = KeyFiles(tmp_path).signing_key()
    command = ["openssl", "pkey", "-in", str(tmp_path / "keys" / "archive.pem"), "-pubout", "-outform", "DER"]
    told = subprocess.run(command, check=True, capture_output=True, timeout=30).stdout
    assert told.endswith(key.public.raw)


@pytest.mark.parametrize(
    "content", [b"", b"not a key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_damaged_key_is_told_and_not_made_anew(tmp_path: Path, content: bytes) -> None:
    store = KeyFiles(tmp_path)
    store.signing_key()
    path = tmp_path / "keys" / "archive.pem"
    path.write_bytes(content)
    with pytest.raises(KeyDamaged, match=r"archive\.pem"):
        store.signing_key()
    assert path.read_bytes() == content


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    store = KeyFiles(tmp_path)
    store.signing_key()
    other = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "keys" / "archive.pem").write_bytes(other)
    with pytest.raises(KeyDamaged, match="another kind"):
        store.signing_key()


def test_a_damaged_key_can_be_replaced_on_purpose(tmp_path: Path) -> None:
    store = KeyFiles(tmp_path)
    first = store.signing_key()
    second = store.replace()
    (tmp_path / "keys" / "archive.pem").write_bytes(b"spoilt")
    third = store.replace()
    assert store.signing_key() == third
    assert store.former() == (second.public, first.public)  # what they signed stays signed
    assert second != third


@pytest.mark.parametrize("lost", ["keys", "keys/archive.pem"])
def test_a_lost_key_is_told_and_not_made_anew(tmp_path: Path, lost: str) -> None:
    store = KeyFiles(tmp_path)
    first = store.signing_key().public
    place = tmp_path / lost
    rmtree(place) if place.is_dir() else place.unlink()
    for again in (store, KeyFiles(tmp_path)):
        for use in (again.begin, again.signing_key, again.replace):
            with pytest.raises(KeyLost, match=f"{first}.*from a backup.*`ibi key replace --lost`"):
                use()
    assert (again.is_begun, again.lost) == (False, first)
    second = store.replace_lost().public
    assert (store.signing_key().public, store.former(), store.lost) == (second, (first,), None)


def test_the_lost_key_of_a_resolver_names_the_command_for_it(tmp_path: Path) -> None:
    KeyFiles(tmp_path, RESOLVER).begin()
    rmtree(tmp_path / "keys")
    assert KeyFiles(tmp_path).lost is None
    with pytest.raises(KeyLost, match="`ibi key replace --resolver --lost`"):
        KeyFiles(tmp_path, RESOLVER).begin()


def test_a_key_that_is_put_back_is_taken_up_again(tmp_path: Path) -> None:
    first = KeyFiles(tmp_path).signing_key()
    (tmp_path / "keys").rename(tmp_path / "aside")
    with pytest.raises(KeyLost):
        KeyFiles(tmp_path).begin()
    (tmp_path / "aside").rename(tmp_path / "keys")
    assert KeyFiles(tmp_path).signing_key() == first


def test_the_key_of_a_directory_of_an_earlier_version_is_noted_at_the_next_start(tmp_path: Path) -> None:
    first = KeyFiles(tmp_path).signing_key().public
    (tmp_path / "directory.json").unlink()
    assert KeyFiles(tmp_path).lost is None
    KeyFiles(tmp_path).begin()
    rmtree(tmp_path / "keys")
    assert KeyFiles(tmp_path).lost == first


def test_the_key_that_took_the_place_of_another_is_the_one_that_is_missed(tmp_path: Path) -> None:
    store = KeyFiles(tmp_path)
    store.begin()
    second = store.replace().public
    rmtree(tmp_path / "keys")
    assert store.lost == second


def test_a_key_that_is_there_is_not_replaced_as_a_lost_one(tmp_path: Path) -> None:
    store = KeyFiles(tmp_path)
    first = store.signing_key()
    assert store.replace_lost() == first
    assert store.former() == ()
