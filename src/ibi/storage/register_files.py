"""The register that an Archive keeps of its resolver, in files of its data directory.

`register.jws` is the statement as it came. Short: the key by which the resolver is known is kept with those that sign
its answers to this Archive.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ibi.signing import LONGEST_STATEMENT, PublicKey
from ibi.storage.errors import DiskRefused
from ibi.storage.key_files import ResolverKeyFile
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, write_durably

FOLDER: Final = "membership"


class RegisterFiles:
    """The port `RegisterStore` of one data directory."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER
        self._statement, self._keys = self._folder / "register.jws", ResolverKeyFile(data)

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
        return self._keys.find(resolver.rstrip("/"))

    def pin(self, resolver: str, key: PublicKey) -> None:
        self._keys.keep(resolver.rstrip("/"), key)

    def _write(self, path: Path, text: str) -> None:
        with refusals(DiskRefused, self._folder):
            make_directory(self._folder)
        write_durably(path, text.encode("ascii") + b"\n")
