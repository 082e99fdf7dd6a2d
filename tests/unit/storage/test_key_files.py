"""Keys in files: for their owner alone, readable by other tools, never made anew in silence."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest

from ibi.storage.key_files import RESOLVER, KeyDamaged, KeyFiles


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
    assert store.former() == (first.public,)
    assert second != third
