"""A finding of `ibi doctor`, and the data directory as the checks see it.

A check is a function that yields its findings. It only reads: it leaves no lock, and opens no database in a way that
makes SQLite write beside it. If a check cannot read something, that is a finding too, and the other checks go on.
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

from ibi.items.store.ocfl.layout import names_in
from ibi.membership.store.archive_state import ServedAddress
from ibi.settings import Settings
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StorageError, StoreDamaged
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import MachineClocks

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
"""Files, or items, examined one by one unless `is_full`: some seconds of work."""
MOST_READ: Final = 64 << 20
"""Bytes of a database or a log read unless `is_full`."""


class Level(StrEnum):
    """The weight of a diagnosis."""

    ERROR = "error"
    """Something does not work, or may be lost."""
    WARNING = "warning"
    """Something will soon be an error, or is strange."""
    ADVICE = "advice"
    """Nothing is wrong, but something could be better."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One finding, in words for one line."""

    check: str
    """A stable name of the problem."""
    place: str
    what: str
    remedy: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        return f"{self.place}: {self.what}. {self.remedy}"


class ExaminedDirectory:
    """A data directory, with facts that several checks need."""

    def __init__(self, settings: Settings, *, is_full: bool = False, is_offline: bool = False) -> None:
        """Prepare the examination. With `is_full` everything is read; with `is_offline` no other server is asked."""
        self.settings, self.is_full, self.is_offline = settings, is_full, is_offline
        self.data = settings.data
        self.now: Instant = MachineClocks().read().wall
        status = self.data.stat()
        self.owner = status.st_uid
        is_on_writable_disk = not os.statvfs(self.data).f_flag & os.ST_RDONLY
        self.is_writable = is_on_writable_disk and bool(status.st_mode & stat.S_IWUSR)
        """True if the owner may write it. A read-only copy lacks files that a server makes."""

    @property
    def is_data_directory(self) -> bool:
        """True if it is empty, or has a file of a data directory."""
        names = {path.name for path in self.data.iterdir()}
        return not names or not names.isdisjoint(_OWN)

    @cached_property
    def is_served(self) -> bool:
        """True if a server runs on it."""
        try:
            return ServedAddress(self.data).is_claimed
        except StorageError:  # another user's: a server may run, and its open files are then copied
            return False

    @cached_property
    def served_url(self) -> str | None:
        """The address of the server that runs on it, as that server knows it."""
        return ServedAddress(self.data).read_url() if self.is_served else None

    @cached_property
    def item_names(self) -> list[str]:
        """The names of the objects in the store that are examined."""
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
        """Return a path within the directory, for a message."""
        return str(self.data / path)


Check = Callable[[ExaminedDirectory], Iterable[Diagnosis]]


def diagnose(directory: ExaminedDirectory, checks: Iterable[Check]) -> Iterator[Diagnosis]:
    """Yield the findings of the checks."""
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
    """Return the file that this process may not read, if that caused the error. SQLite does not name the file, so the
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
    """Return the diagnosis of a possibly intact file that this user may not read, or of its directory if that is
    closed."""
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
    """Return an error as a diagnosis: its first sentence, and its advice or `otherwise`."""
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
