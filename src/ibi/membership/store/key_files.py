"""Signing keys of an Archive or a resolver, in files of its data directory.

`<name>.pem` is the private key (PKCS #8, as other tools write it), readable by its owner alone. `<name>.former` has the
former public keys, one per line, the latest last, each with its statement that names the next key. The present key is
also recorded outside the folder, in `directory.json`, so that a lost key is not silently replaced: others know this
installation by it. `resolvers.json` has the keys of the resolvers that this Archive has asked; `resolvers.former.json`
has their former keys.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any, Final, TypeVar

from ibi.membership.model.membership import ResolverStanding
from ibi.membership.model.registration import MOST_FORMER_KEYS, MOST_REMOVED, RemovedArchive
from ibi.standard.errors import InvalidInput
from ibi.standard.label import parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import sign_key_change
from ibi.standard.signing import KEY_BYTES, LONGEST_STATEMENT, InvalidKey, PublicKey, SigningKey
from ibi.standard.storage_errors import StorageError
from ibi.storage.directory_record import RECORD, note_key, noted_key
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import alone
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, write_durably

FOLDER: Final = "keys"
ARCHIVE: Final = "archive"
RESOLVER: Final = "resolver"
_LONGEST: Final = 4096
T = TypeVar("T")


class KeyDamaged(StorageError):
    """{path} is not a key: {reason}. Put it back from a backup, or have another one made with `ibi key replace`."""

    code = "key-damaged"


class KeyLost(StorageError):
    """{path} is gone: others know this place by the key {key}, and would not believe another. Put the folder back from
    a backup. If there is none, `{command}` makes another key; docs/keys.md says who has to be told of it."""

    code = "key-lost"


class KeyFiles:
    """Implements the port `KeyStore` of one data directory, for the key of its Archive or of its resolver."""

    def __init__(self, data: Path, name: str = ARCHIVE) -> None:
        folder = data / FOLDER
        self._folder = folder
        self._private, self._former = folder / f"{name}.pem", folder / f"{name}.former"
        self._data, self._name = data, name
        self._command = "ibi key replace --lost" if name == ARCHIVE else f"ibi key replace --{name} --lost"

    def signing_key(self) -> SigningKey:
        found = self._read()
        if found is not None:
            return found
        self._require_not_lost()
        with self._lock():
            return self._read() or self._write(SigningKey(secrets.token_bytes(KEY_BYTES)))

    def begin(self) -> None:
        """Create and record a key if there never was one; raise `KeyLost` if there was.

        An existing key is read only if its record is missing, because reading it is the slowest step of a start.
        """
        if not self.is_begun:
            self.signing_key()
        elif noted_key(self._data, self._name) is None:
            self._note(self.signing_key())

    @property
    def noted(self) -> PublicKey | None:
        """The last used key, as recorded outside the folder; None if there was none."""
        return self._read_note()

    @property
    def lost(self) -> PublicKey | None:
        """The recorded key if its file is gone; None if the file exists, or no key was made yet."""
        return None if self.is_begun else self._read_note()

    def _require_not_lost(self) -> None:
        if (key := self.lost) is not None:
            raise KeyLost(path=self._private, key=key, command=self._command)

    def _read_note(self) -> PublicKey | None:
        """Return the recorded key, if there is one."""
        text = noted_key(self._data, self._name)
        try:
            return None if text is None else PublicKey.parse(text)
        except InvalidKey as error:
            raise KeyDamaged(path=self._data / RECORD, reason=str(error)) from error

    def _note(self, key: SigningKey) -> None:
        note_key(self._data, self._name, str(key.public))

    @property
    def is_begun(self) -> bool:
        """True if there is a key."""
        with refusals(KeyDamaged, self._private):
            return self._private.exists()

    def former(self) -> tuple[PublicKey, ...]:
        return tuple(reversed(self._read_former()))

    def changes(self) -> tuple[str, ...]:
        return tuple(filter(None, self._read_former().values()))

    def _read_former(self) -> dict[PublicKey, str]:
        """Return the statement of each former key, the latest last; empty for a key without one."""
        with refusals(KeyDamaged, self._former):
            text = self._former.read_text("ascii", "replace") if self._former.exists() else ""
        lines = [line.split() for line in text.splitlines() if line.strip()]
        try:
            return {PublicKey.parse(key): "".join(statement[:1]) for key, *statement in lines}
        except InvalidKey as error:
            raise KeyDamaged(path=self._former, reason=str(error)) from error

    def replace(self) -> SigningKey:
        """Replace the key, and return the new one. Raise `KeyLost` if the old one is gone.

        The old key's statement about the new one is durable first. After a crash in between, the old key is still in
        use and will name yet another.
        """
        self._require_not_lost()
        with self._lock():
            return self._replace()

    def replace_lost(self) -> SigningKey:
        """Draw another key in place of a lost one, and return it; return the present key if it exists.

        The lost key becomes a former one, so its signatures stay valid. It has not named the new key.
        """
        with self._lock():
            return self._read() or self._replace()

    def _replace(self) -> SigningKey:
        current, new = self._read_if_whole(), SigningKey(secrets.token_bytes(KEY_BYTES))
        before = self._read_note() if current is None else current.public
        if before is not None:
            former = self._read_former()
            former.pop(before, None)
            former[before] = "" if current is None else sign_key_change(current, new.public, int(time()))
            lines = (f"{key} {statement}".rstrip() + "\n" for key, statement in former.items())
            write_durably(self._former, "".join(lines).encode("ascii"))
        return self._write(new)

    def _read_if_whole(self) -> SigningKey | None:
        """Return the key, or None if it is unreadable: such a key cannot sign, and is replaced as well."""
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
        self._note(key)
        return key

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Lock the folder, so that of two processes at a first start only one draws the key."""
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


class ResolverKeyFile:
    """Implements the port `ResolverKeys` of one data directory."""

    def __init__(self, data: Path) -> None:
        self._path = data / FOLDER / "resolvers.json"
        self._former = data / FOLDER / "resolvers.former.json"

    def find(self, resolver: str) -> PublicKey | None:
        return self._read().get(resolver)

    def former(self, resolver: str) -> tuple[PublicKey, ...]:
        return self._read_former().get(resolver, ())

    def keep(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        """Store a resolver's key. The former ones are written first: after a crash in between, the present key is also
        among them."""
        known, before = self._read(), self._read_former()
        found = (known.get(resolver), *former, *before.get(resolver, ()))
        kept = tuple(each for each in dict.fromkeys(found) if each is not None and each != key)[:MOST_FORMER_KEYS]
        if kept != before.get(resolver, ()):
            self._write(self._former, {**before, resolver: kept})
        if known.get(resolver) != key:
            self._write(self._path, {**known, resolver: key})

    def forget(self, resolver: str) -> bool:
        known, former = self._read(), self._read_former()
        if former.pop(resolver, None) is not None:
            self._write(self._former, former)
        if known.pop(resolver, None) is None:
            return False
        self._write(self._path, known)
        return True

    def _read(self) -> dict[str, PublicKey]:
        return _read_keys(self._path, lambda key: PublicKey.parse(str(key)))

    def _read_former(self) -> dict[str, tuple[PublicKey, ...]]:
        return _read_keys(self._former, lambda keys: tuple(PublicKey.parse(str(each)) for each in keys))

    def _write(self, path: Path, known: Mapping[str, PublicKey | tuple[PublicKey, ...]]) -> None:
        with refusals(DiskRefused, path):
            make_directory(path.parent)
        content = {
            resolver: list(map(str, keys)) if isinstance(keys, tuple) else str(keys) for resolver, keys in known.items()
        }
        write_durably(path, json.dumps(content, indent=1).encode("ascii") + b"\n", mode=0o600)


def _read_keys(path: Path, read: Callable[[Any], T]) -> dict[str, T]:
    """Return the file's entry for each resolver."""
    with refusals(KeyDamaged, path):
        content = path.read_bytes() if path.exists() else b"{}"
    try:
        return {str(resolver): read(said) for resolver, said in json.loads(content).items()}
    except (ValueError, AttributeError, TypeError, RecursionError, InvalidKey) as error:
        raise KeyDamaged(path=path, reason=str(error)) from error


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


# `register.jws` is the copy of the resolver's statement, as received. `published.jws` is the statement of a resolver in
# this directory. `former/` has earlier registers with Archives that a later one lacked. `removed.json` lists the
# Archives that the administrator of a resolver in this directory removed. `standing-in` says why a server of the
# Archive resolves in place of its resolver, while it does.

REGISTER_FOLDER: Final = "membership"


_MOST_FORMER_REGISTERS: Final = 5
_FORMER_REGISTER: Final = re.compile(r"[0-9]{5,}-[0-9]+-[0-9a-f]{16}")


class RegisterFileDamaged(StorageError):
    """{path} is no list of the Archives that were removed from the register: {reason}. Put it back from a backup, or
    remove it: Archives that were removed are then taken for lost ones by those who knew them."""

    code = "register-file-damaged"


class RegisterFiles:
    """Implements the port `RegisterStore` of one data directory."""

    def __init__(self, data: Path) -> None:
        self._folder = data / REGISTER_FOLDER
        self._statement, self._keys = self._folder / "register.jws", ResolverKeyFile(data)
        self._standing, self._former = self._folder / "standing-in", self._folder / "former"

    def read(self) -> str | None:
        return _read_statement(self._statement)

    def write(self, statement: str) -> None:
        _write_statement(self._statement, statement)

    def keep_former(self, statement: str, issued: int, archives: int) -> None:
        place = self._former / f"{archives:05}-{issued}-{sha256(statement.encode()).hexdigest()[:16]}.jws"
        if place.exists():
            return
        _write_statement(place, statement)
        _fullest, *others = self._list_former()
        others.sort(key=lambda path: int(path.stem.split("-")[1]), reverse=True)
        for path in others[_MOST_FORMER_REGISTERS - 1 :]:
            with refusals(DiskRefused, path):
                path.unlink(missing_ok=True)

    def former(self) -> tuple[str, ...]:
        return tuple(text for path in self._list_former() if (text := _read_statement(path)) is not None)

    def _list_former(self) -> list[Path]:
        """Return the former registers, the one with most Archives first, and among equals the latest first."""
        found = (path for path in self._former.glob("*.jws") if _FORMER_REGISTER.fullmatch(path.stem))
        return sorted(found, key=lambda path: tuple(map(int, path.stem.split("-")[:2])), reverse=True)

    def resolver_key(self, resolver: str) -> PublicKey | None:
        return self._keys.find(resolver.rstrip("/"))

    def pin(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        self._keys.keep(resolver.rstrip("/"), key, former)

    def former_keys(self, resolver: str) -> tuple[PublicKey, ...]:
        return self._keys.former(resolver.rstrip("/"))

    def note_standing(self, standing: ResolverStanding | None) -> None:
        if standing is None:
            with refusals(DiskRefused, self._standing):
                self._standing.unlink(missing_ok=True)
        elif standing != self.read_standing():
            _write_statement(self._standing, standing.value)

    def read_standing(self) -> ResolverStanding | None:
        """Return the recorded reason why a server of this Archive stands in for its resolver; None if it does not."""
        text = _read_statement(self._standing)
        return ResolverStanding(text) if text in set(ResolverStanding) else None


class PublishedRegisterFile:
    """Implements the port `PublishedStatement` of one data directory, for the register of its resolver."""

    def __init__(self, data: Path) -> None:
        self._path = data / REGISTER_FOLDER / "published.jws"
        self._removed = data / REGISTER_FOLDER / "removed.json"

    def read(self) -> str | None:
        return _read_statement(self._path)

    def change(self, make: Callable[[str | None], str]) -> str:
        with refusals(DiskRefused, self._path):
            make_directory(self._path.parent)
        with refusals(DiskRefused, self._path), alone(self._path.with_suffix(".lock")):
            before = _read_statement(self._path)
            after = make(before)
            if after != before:
                _write_statement(self._path, after)
        return after

    def note_removed(self, service: LabelForms, at: int) -> None:
        with refusals(DiskRefused, self._removed):
            make_directory(self._removed.parent)
        with refusals(DiskRefused, self._removed), alone(self._removed.with_suffix(".lock")):
            found = [*self.removed(), RemovedArchive(service, at)][-MOST_REMOVED:]
            entries = [{"service": [label.spelling for label in each.service.labels], "at": each.at} for each in found]
            write_durably(self._removed, json.dumps(entries, indent=1).encode() + b"\n")

    def removed(self) -> tuple[RemovedArchive, ...]:
        try:
            return tuple(map(_read_removed, json.loads(self._removed.read_bytes())))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (OSError, ValueError, KeyError, TypeError, InvalidInput) as error:
            raise_if_exhausted(error)
            raise RegisterFileDamaged(path=self._removed, reason=str(error)) from error


def _read_removed(entry: dict[str, Any]) -> RemovedArchive:
    return RemovedArchive(LabelForms.of(*map(parse, entry["service"])), int(entry["at"]))


def _read_statement(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST_STATEMENT + 1).decode("ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise_if_exhausted(error)
        return None


def _write_statement(path: Path, text: str) -> None:
    with refusals(DiskRefused, path):
        make_directory(path.parent)
    write_durably(path, text.encode("ascii") + b"\n")
