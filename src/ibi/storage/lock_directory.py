"""The directory in which all minters of a machine meet: shared, and so full of traps that others may set."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from ibi.storage.disk import refusals
from ibi.storage.errors import LockRefused

__all__ = ["LockDirectory"]

_PLACES = (Path("/run/lock/ibi"), Path("/var/lock/ibi"))
_SHARED = 0o1777
"""Everybody may add files, and remove only their own."""


class LockDirectory:
    """An open directory. Files are reached through it alone: exchanging its name for a link leads nobody astray."""

    def __init__(self, path: Path | None = None, places: tuple[Path, ...] = _PLACES) -> None:
        """Open `path`; without one, the first of `places` that can be used, or one beside other temporary files."""
        self.path, self._descriptor = (
            _opened(path) if path else _first(*places, Path(tempfile.gettempdir(), "ibi-locks"))
        )

    def open(self, name: str) -> int:
        """A descriptor of the plain file `name`, made if missing; anything else of that name is refused."""
        with refusals(LockRefused, self.path / name):
            descriptor = self._open_or_make(name)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return descriptor
        os.close(descriptor)
        raise LockRefused(path=self.path / name, reason="it is not a plain file with one name")

    def _open_or_make(self, name: str) -> int:
        # Not to make it in one go with O_CREAT: Linux refuses that for files of others in a shared directory.
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        for _ in range(3):
            try:
                return os.open(name, flags, dir_fd=self._descriptor)
            except FileNotFoundError:
                pass
            try:
                return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self._descriptor)
            except FileExistsError:
                pass
        raise FileNotFoundError(2, "it comes and goes")

    def close(self) -> None:
        os.close(self._descriptor)


def _first(*places: Path) -> tuple[Path, int]:
    for place in places[:-1]:
        if place.parent.is_dir() and os.access(place if place.exists() else place.parent, os.W_OK | os.X_OK):
            return _opened(place)
    return _opened(places[-1])


def _opened(path: Path) -> tuple[Path, int]:
    if path.is_symlink():
        raise LockRefused(path=path, reason="it is a symbolic link, which anybody may have put there")
    with refusals(LockRefused, path):
        made = _make(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if made:
            os.fchmod(descriptor, _SHARED)
    mode = os.fstat(descriptor).st_mode
    if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
        os.close(descriptor)
        raise LockRefused(path=path, reason="others may remove files from it: set its sticky bit (chmod +t)")
    return path, descriptor


def _make(path: Path) -> bool:
    """Whether it was missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True
