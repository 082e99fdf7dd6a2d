"""Databases with secrets in them: for their owner alone from the first moment on."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from ibi.storage.descriptors import raise_if_exhausted
from ibi.storage.disk import sync_directory
from ibi.storage.errors import DiskRefused

__all__ = ["keep_private"]


def keep_private(path: Path) -> None:
    """Have the file there for its owner alone before SQLite opens it: the files beside it get the same mode."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_directory(path.parent)
        except FileExistsError:
            for suffix in ("", "-wal", "-shm", "-journal"):
                _tighten(Path(f"{path}{suffix}"))
    except OSError as error:
        raise_if_exhausted(error)
        raise DiskRefused(path=path, reason=error.strerror or str(error)) from error


def _tighten(path: Path) -> None:
    # Somebody else's file, or a file system without modes: what can be read there was decided by others.
    with suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)
