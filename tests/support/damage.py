"""Ways in which the file of a database is damaged, for tests."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Damaging = Callable[[Path, Path], None]
"""Damages the file that is given first; the second is another database."""


def _delete(path: Path, _: Path) -> None:
    path.unlink()


def _empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def _blank(path: Path, _: Path) -> None:
    """A sound database without any table, as another program makes it."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    path.chmod(0o600)
    assert path.read_bytes().startswith(b"SQLite format 3")


def _halve(path: Path, _: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _overwrite_first_page(path: Path, _: Path) -> None:
    _overwrite(path, 0)


def _overwrite_middle_page(path: Path, _: Path) -> None:
    pages = path.stat().st_size // 4096
    _overwrite(path, max(1, pages // 2))


def _replace_by_text(path: Path, _: Path) -> None:
    path.write_text("Minutes of the meeting.\n" * 400)


def _replace_by_other(path: Path, other: Path) -> None:
    shutil.copy(other, path)


def _overwrite(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(random.Random(page).randbytes(4096))


WAYS: dict[str, Damaging] = {
    "deleted": _delete,
    "emptied": _empty,
    "blank": _blank,
    "halved": _halve,
    "first page": _overwrite_first_page,
    "middle page": _overwrite_middle_page,
    "text": _replace_by_text,
    "another": _replace_by_other,
}


def remove_logs(path: Path) -> None:
    """As after a clean end: SQLite keeps nothing beside the file."""
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
