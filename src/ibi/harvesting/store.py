"""The dumps of a data directory: files in `dumps/`, written atomically. The newest two are kept.

The second newest stays for readers that have begun it.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, refusals, sync_directory, sync_file

DUMPS: Final = "dumps"
_ENDING: Final = ".ndjson.gz"
_NAME: Final = re.compile(r"[0-9a-f]{1,64}-\d{1,18}", re.ASCII)
_KEPT: Final = 2


class DumpDirectory:
    """Implements the port `DumpFiles` in a data directory."""

    def __init__(self, data: Path) -> None:
        self._place = data / DUMPS

    def write(self, name: str, lines: Iterable[bytes]) -> int:
        assert _NAME.fullmatch(name), name
        with refusals(DiskRefused, self._place):
            make_directory(self._place)
            for left in self._place.glob(".*"):  # left by a killed process
                left.unlink(missing_ok=True)
        size = write_dump(self._place / f"{name}{_ENDING}", lines)
        for old in self._files()[_KEPT:]:
            with suppress(OSError):
                old.unlink()
        return size

    def written(self) -> float | None:
        with suppress(FileNotFoundError):
            return next((path.stat().st_mtime for path in self._files()), None)
        return None

    def newest(self) -> str | None:
        return next(map(str, self._files()), None)

    def _files(self) -> list[Path]:
        """Return the dumps, the newest first."""
        found: list[tuple[int, Path]] = []
        with suppress(FileNotFoundError), os.scandir(self._place) as entries:
            for entry in entries:
                if entry.name.endswith(_ENDING) and _NAME.fullmatch(entry.name.removesuffix(_ENDING)):
                    with suppress(FileNotFoundError):
                        found.append((entry.stat().st_mtime_ns, self._place / entry.name))
        return [path for _, path in sorted(found, reverse=True)]


def write_dump(path: Path, lines: Iterable[bytes]) -> int:
    """Write the file, compressed if its name ends with `.gz`, and return its size. A failure leaves nothing behind."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with refusals(DiskRefused, path):
        try:
            with partial.open("xb") as file:
                _write_lines(file, lines, is_compressed=path.suffix == ".gz")
                file.flush()
                sync_file(file.fileno())
                size = file.tell()
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
    return size


def _write_lines(file: IO[bytes], lines: Iterable[bytes], *, is_compressed: bool) -> None:
    if not is_compressed:
        file.writelines(lines)
        return
    # Without name and date, so that equal dumps are equal files.
    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed, io.BufferedWriter(packed, 1 << 16) as buffered:
        buffered.writelines(lines)
