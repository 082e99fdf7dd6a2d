"""What is found in a data directory, and the directory as the checks see it.

A check is a function that yields what it finds. It reads, and changes nothing: no lock is left, no database opened so
that SQLite writes beside it. What one check cannot look at is itself something found, and the others go on.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Final

from ibi.config import Settings
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.ports.errors import StorageError, StoreDamaged
from ibi.storage.archive_state import ServedAddress
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import MachineClocks
from ibi.storage.ocfl.layout import names_in

STORE: Final = "store"
_OWN: Final = {
    "ibi.toml",
    "mint",
    "ibi-store.json",
    "archive.json",
    "directory.json",
    "databases",
    "catalogue.sqlite",
    "state.sqlite",
}
MOST_LOOKED_AT: Final = 50_000
"""Files, or items, that are looked at one by one unless all are to be: some seconds."""
MOST_READ: Final = 64 << 20
"""Bytes of a database or a log that are read unless all is to be."""


class Level(StrEnum):
    """How much a diagnosis matters."""

    ERROR = "error"
    """Something does not work, or may be lost."""
    WARNING = "warning"
    """Something will soon be an error, or is strange."""
    ADVICE = "advice"
    """Nothing is wrong, and something would be better otherwise."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that is wrong, or would be better otherwise, in words for one line."""

    check: str
    """A stable name of what is wrong."""
    place: str
    what: str
    remedy: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        return f"{self.place}: {self.what}. {self.remedy}"


class ExaminedDirectory:
    """A data directory, with what several checks want to know of it."""

    def __init__(self, settings: Settings, *, is_full: bool = False, is_offline: bool = False) -> None:
        """`is_full` has everything read; `is_offline` has no other server asked."""
        self.settings, self.is_full, self.is_offline = settings, is_full, is_offline
        self.data = settings.data
        self.now: Instant = MachineClocks().read().wall
        status = self.data.stat()
        self.owner = status.st_uid
        is_on_writable_disk = not os.statvfs(self.data).f_flag & os.ST_RDONLY
        self.is_writable = is_on_writable_disk and bool(status.st_mode & stat.S_IWUSR)
        """Whether the owner may write it: a copy that cannot be written lacks what a server makes."""

    @property
    def is_data_directory(self) -> bool:
        """Whether it is empty, or has anything that is made in data directories."""
        names = {path.name for path in self.data.iterdir()}
        return not names or not names.isdisjoint(_OWN)

    @cached_property
    def is_served(self) -> bool:
        """Whether a server runs on it."""
        try:
            return ServedAddress(self.data).is_claimed
        except StorageError:  # another user's: a server may run, and what it has open is copied then
            return False

    @cached_property
    def served_url(self) -> str | None:
        """The address of the server that runs on it, as that server knows it."""
        return ServedAddress(self.data).read_url() if self.is_served else None

    @cached_property
    def item_names(self) -> list[str]:
        """The names of the objects in the store, as many as are looked at."""
        names: list[str] = []
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in names_in(str(self.data / STORE)):
                if len(names) >= MOST_LOOKED_AT and not self.is_full:
                    break
                names.append(name)
        return names

    @property
    def most_read(self) -> int:
        return 1 << 62 if self.is_full else MOST_READ

    def name(self, path: Path | str) -> str:
        """A path within the directory, for a message."""
        return str(self.data / path)


Check = Callable[[ExaminedDirectory], Iterable[Diagnosis]]


def diagnose(directory: ExaminedDirectory, checks: Iterable[Check]) -> Iterator[Diagnosis]:
    """What the checks find."""
    for check in checks:
        try:
            yield from check(directory)
        except Exception as error:  # noqa: BLE001  (a directory can be broken in any way, and the other checks go on)
            yield _report_unexamined(directory, check, error)


def _report_unexamined(directory: ExaminedDirectory, check: Check, error: Exception) -> Diagnosis:
    name = check.__name__.removeprefix("check_").replace("_", "-")
    if isinstance(error, IbiError):
        return from_error(name, directory.name(""), error)
    if (denied := find_denied(error, directory.data)) is not None:
        return denied_reading(denied)
    place = getattr(error, "filename", None) or directory.data
    reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    what = f"it could not be looked at ({name}): {reason}"
    return Diagnosis(name, str(place), what, "See what the system says of the disk.")


def user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"


def find_denied(error: BaseException | None, *places: Path) -> Path | None:
    """The file that this process may not read, if that is what lies behind an error. SQLite does not tell: then the
    `places` are tried."""
    while error is not None:
        if isinstance(error, DiskRefused | StoreDamaged | PermissionError):
            denied = next(filter(is_denied, places), None)
            if denied is not None:
                return denied
        if isinstance(error, PermissionError) and error.filename:
            return Path(str(error.filename))
        error = error.__cause__
    return None


def is_denied(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except PermissionError:
        return True
    except OSError:
        return False
    return not os.access(path, os.R_OK | (os.X_OK if stat.S_ISDIR(mode) else 0))


def denied_reading(path: Path) -> Diagnosis:
    """A file that may be whole, and that this user may not read; or the directory that it is in, if that is why."""
    try:
        status = path.stat()
    except PermissionError:
        return denied_reading(path.parent)
    user, mode = os.geteuid(), stat.S_IMODE(status.st_mode)
    owner, mine = user_name(status.st_uid), user_name(user)
    if status.st_uid == user:
        what, remedy = f"its owner {owner} may not read it (mode {mode:o})", f"`chmod u+rwX {path}`."
    else:
        what = f"it belongs to {owner} (mode {mode:o}), and {mine}, as whom `ibi doctor` runs, may not read it"
        remedy = f"Run `ibi doctor` as {owner} or as root; if the server runs as {mine}, give the file to that user."
    return Diagnosis("unreadable", str(path), f"{what}; whether it is whole is not known", remedy)


def from_error(
    check: str, place: str, error: IbiError, otherwise: str = "Put that right.", *, level: Level = Level.ERROR
) -> Diagnosis:
    """What an error says that others would get too: its first sentence, and what it says to do, or `otherwise`."""
    named = Path(str(error.parameters.get("path", place)))
    if (denied := find_denied(error, named, Path(place))) is not None:
        return denied_reading(denied)
    text = " ".join(str(error).split())
    reason = " ".join(str(error.parameters.get("reason", "")).split())
    head, mark, rest = text.partition(f"{reason}. ") if reason else text.partition(". ")
    what = f"{head}{mark}".rstrip(". ")
    for beginning in (place, str(error.parameters.get("path", place))):
        what = what.removeprefix(f"{beginning}: ").removeprefix(f"{beginning} ")
    return Diagnosis(check, place, what, rest or otherwise, level)
