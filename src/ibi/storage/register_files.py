"""The register that an Archive keeps of its resolver, in files of its data directory.

`register.jws` is the statement as it came. `resolver-key.json` has the URL of the resolver and the public key by which
it is known since it was first heard.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from ibi.errors import InvalidInput
from ibi.ports.errors import StorageError
from ibi.signing import LONGEST_STATEMENT, PublicKey
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, write_durably

FOLDER: Final = "membership"


class ResolverKeyDamaged(StorageError):
    """{path} does not tell by which key this Archive knows its resolver: {reason}. Put it back from a backup, or remove
    it: the key that the resolver shows next is then taken for its own."""

    code = "resolver-key-damaged"


class RegisterFiles:
    """The port `RegisterStore` of one data directory."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER
        self._statement, self._key = self._folder / "register.jws", self._folder / "resolver-key.json"

    def read(self) -> str | None:
        try:
            with self._statement.open("rb") as file:
                return file.read(LONGEST_STATEMENT + 1).decode("ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise_if_exhausted(error)
            return None

    def write(self, statement: str) -> None:
        self._write(self._statement, statement)

    def resolver_key(self, resolver: str) -> PublicKey | None:
        with refusals(ResolverKeyDamaged, self._key):
            content = self._key.read_bytes() if self._key.exists() else None
        if content is None:
            return None
        try:
            found = json.loads(content)
            key = PublicKey.parse(found["key"])
            return key if found["resolver"] == resolver else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidInput) as error:
            raise ResolverKeyDamaged(path=self._key, reason=type(error).__name__) from error

    def pin(self, resolver: str, key: PublicKey) -> None:
        self._write(self._key, json.dumps({"resolver": resolver, "key": str(key)}))

    def _write(self, path: Path, text: str) -> None:
        with refusals(DiskRefused, self._folder):
            make_directory(self._folder)
        write_durably(path, text.encode("ascii") + b"\n")
