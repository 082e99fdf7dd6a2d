"""Keys with which an Archive or a resolver signs, in files of its data directory.

`<name>.pem` is the private key (PKCS #8, as other tools write it) for its owner alone. `<name>.former` has the public
keys that were in use before, one a line, the latest last.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ibi.ports.errors import StorageError
from ibi.signing import KEY_BYTES, InvalidKey, PublicKey, SigningKey
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, refusals, write_durably

FOLDER: Final = "keys"
ARCHIVE: Final = "archive"
RESOLVER: Final = "resolver"
_LONGEST: Final = 4096


class KeyDamaged(StorageError):
    """{path} is not a key: {reason}. Put it back from a backup, or have another one made with `ibi key replace`."""

    code = "key-damaged"


class KeyFiles:
    """The port `KeyStore` of one data directory: the key of its Archive, or of its resolver."""

    def __init__(self, data: Path, name: str = ARCHIVE) -> None:
        folder = data / FOLDER
        self._folder = folder
        self._private, self._former = folder / f"{name}.pem", folder / f"{name}.former"

    def signing_key(self) -> SigningKey:
        found = self._read()
        if found is not None:
            return found
        with self._locked():
            return self._read() or self._write(SigningKey(secrets.token_bytes(KEY_BYTES)))

    def former(self) -> tuple[PublicKey, ...]:
        with refusals(KeyDamaged, self._former):
            lines = self._former.read_text("ascii", "replace").split() if self._former.exists() else []
        try:
            return tuple(map(PublicKey.parse, reversed(lines)))
        except InvalidKey as error:
            raise KeyDamaged(path=self._former, reason=str(error)) from error

    def replace(self) -> SigningKey:
        with self._locked():
            current = self._read_if_whole()
            if current is not None:
                keys = [*reversed(self.former()), current.public]
                write_durably(self._former, "".join(f"{key}\n" for key in dict.fromkeys(keys)).encode("ascii"))
            return self._write(SigningKey(secrets.token_bytes(KEY_BYTES)))

    def _read_if_whole(self) -> SigningKey | None:
        """A key that cannot be read any more is replaced as well: nothing can be signed with it."""
        try:
            return self._read()
        except KeyDamaged:
            return None

    def _read(self) -> SigningKey | None:
        with refusals(KeyDamaged, self._private):
            content = self._private.read_bytes()[:_LONGEST] if self._private.exists() else None
        return None if content is None else _decode(self._private, content)

    def _write(self, key: SigningKey) -> SigningKey:
        write_durably(self._private, _encode(key), mode=0o600)
        return key

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Of two processes at a first start, one draws the key."""
        with refusals(DiskRefused, self._folder):
            make_directory(self._folder)
            self._folder.chmod(0o700)
            descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with refusals(DiskRefused, self._folder):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _encode(key: SigningKey) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = Ed25519PrivateKey.from_private_bytes(key.seed)
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _decode(path: Path, content: bytes) -> SigningKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyDamaged(path=path, reason="it is no private key in PEM, or one with a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyDamaged(path=path, reason="it is a key of another kind than Ed25519")
    return SigningKey(key.private_bytes_raw())
