"""Checks of the files of a data directory: owners, modes and free space."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ibi.deposits.store.draft_files import DraftFiles
from ibi.doctor.diagnosis import MOST_LOOKED_AT, STORE, Diagnosis, ExaminedDirectory, Level, user_name
from ibi.settings.declaration import SettingSource
from ibi.standard.instant import Instant
from ibi.storage.machine import MachineClocks

_DAY: Final = 86_400
_SECRET: Final = re.compile(r"archive\.json|keys|keys/[^/]+\.pem|audit|state\.sqlite.*|state-copies|before-layout-2")
"""Files for their owner alone, whatever the mode of the directory. They include databases set aside or backed up."""
_SECRET_SETTINGS: Final = ("archive.registration_key", "mail.password")
_LEFT_OVER: Final = re.compile(r"\.[^/]+\.[0-9a-f]{16}")
"""Temporary files that a crash leaves of a file that is written and then renamed."""
_SET_ASIDE: Final = re.compile(r".+\.sqlite\.damaged-[^/]*?(?<!-wal)(?<!-shm)(?<!-journal)")
_DIRECTORIES: Final = frozenset(
    (
        "store store-staging store-locks item-locks changes drafts mint keys audit membership copies state-copies"
        " before-layout-2"
    ).split()
)
_FILES: Final = re.compile(r"[^/]+\.(sqlite|json|toml)|mint/[^/]+|audit/[^/]+|keys/[^/]+|databases/[^/]+|[^/]+/lock")
_DATED: Final = ("*.sqlite", "mint/*", "audit/*", "changes/*", "archive.json")
"""Files that a server or a command writes continuously."""
_CLOCK_SLACK: Final = 30.0
"""Seconds by which the clock of a file server may differ."""
_LEAST_ROOM: Final = 64 << 20
_FEW_INODES: Final = 10_000


class _Entry(NamedTuple):
    path: str
    """Path within the data directory."""
    status: os.stat_result
    is_top: bool

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def mode(self) -> int:
        return stat.S_IMODE(self.status.st_mode)


class _Tally:
    """Collects findings: one diagnosis for each kind, with the number of files."""

    def __init__(self, directory: ExaminedDirectory) -> None:
        self._directory = directory
        self._found: dict[str, tuple[str, str, str, Level]] = {}
        self._numbers: dict[str, int] = {}

    def add(self, check: str, path: str, what: str, remedy: str, *, level: Level = Level.ERROR) -> None:
        self._found.setdefault(check, (path, what, remedy, level))
        self._numbers[check] = self._numbers.get(check, 0) + 1

    def told(self) -> Iterator[Diagnosis]:
        for check, (path, what, remedy, level) in self._found.items():
            more = self._numbers[check] - 1
            said = f"{what} (and {more} more like it)" if more else what
            yield Diagnosis(check, self._directory.name(path), said, remedy, level)


def check_files(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield wrong owners and modes, links, and remains of crashes."""
    tally = _Tally(directory)
    for entry in _walk(directory, tally):
        _judge_kind(directory, entry, tally)
        _judge_name(entry, tally)
        if not stat.S_ISLNK(entry.status.st_mode):
            _judge_owner(directory, entry, tally)
            _judge_mode(directory, entry, tally)
        _judge_age(directory, entry, tally)
    yield from tally.told()


def _list_folder(directory: ExaminedDirectory, folder: str, tally: _Tally) -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name; none if it is gone or cannot be listed."""
    try:
        with os.scandir(directory.data / folder) as found:
            return sorted(found, key=lambda child: child.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = f"it cannot be listed: {error.strerror}"
        tally.add("unreadable", folder, reason, _let_owner(directory, folder))
        return []


def _walk(directory: ExaminedDirectory, tally: _Tally) -> Iterator[_Entry]:
    """Yield the directory and everything in it. Only links at the top are followed, because a store may lie on another
    disk."""
    yield _Entry("", directory.data.stat(), is_top=False)
    left, stack = MOST_LOOKED_AT, [""]
    while stack:
        folder = stack.pop()
        for child in _list_folder(directory, folder, tally):
            path = f"{folder}/{child.name}" if folder else child.name
            with suppress(FileNotFoundError):  # gone meanwhile
                status = child.stat(follow_symlinks=False)
                if not folder and child.is_symlink() and (directory.data / path).exists():
                    status = child.stat()
                yield _Entry(path, status, is_top=not folder)
                left -= 1
                if stat.S_ISDIR(status.st_mode):
                    stack.insert(0 if path == STORE else len(stack), path)  # last: it may use up the limit
        if left <= 0 and not directory.is_full:
            return


def _let_owner(directory: ExaminedDirectory, path: str) -> str:
    return f"`chmod -R u+rwX {directory.name(path)}` as root, or as its owner."


def _judge_kind(directory: ExaminedDirectory, entry: _Entry, tally: _Tally) -> None:
    mode = entry.status.st_mode
    if stat.S_ISLNK(mode):
        leads = (directory.data / entry.path).readlink()
        what = f"it is a symbolic link to {leads}{'' if not entry.is_top else ', where nothing is'}"
        if not entry.is_top or not (directory.data / entry.path).exists():
            remedy = "Nothing here makes links inside: put back from a backup what was there, or remove it."
            tally.add("link", entry.path, what, remedy)
    elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "it is neither a file nor a directory (a pipe, a socket or a device)"
        remedy = "Remove it: what reads it may wait for ever. The rest is looked at when it is gone."
        tally.add("special-file", entry.path, what, remedy)


def _judge_name(entry: _Entry, tally: _Tally) -> None:
    """Record a file in the place of a directory, or a directory in the place of a file."""
    is_plain = stat.S_ISREG(entry.status.st_mode)
    if (entry.path in _DIRECTORIES and is_plain) or (_FILES.fullmatch(entry.path) and entry.is_directory):
        what = "it is a file, and should be a directory" if is_plain else "it is a directory, and should be a file"
        tally.add("wrong-kind", entry.path, what, "Move it away, and put back from a backup what was there.")


def _judge_owner(directory: ExaminedDirectory, entry: _Entry, tally: _Tally) -> None:
    if entry.status.st_uid == directory.owner:
        return
    mine, other = user_name(directory.owner), user_name(entry.status.st_uid)
    what = f"it belongs to {other}, and the data directory to {mine}, as whom servers and commands work"
    tally.add("other-owner", entry.path, what, f"`chown -R {mine.removeprefix('#')} {directory.data}` as root.")


def _judge_mode(directory: ExaminedDirectory, entry: _Entry, tally: _Tally) -> None:
    needed = (stat.S_IRUSR | stat.S_IXUSR) if entry.is_directory else stat.S_IRUSR
    if entry.mode & needed != needed:
        tally.add(
            "unreadable",
            entry.path,
            f"its owner {user_name(entry.status.st_uid)} may not read it (mode {entry.mode:o})",
            _let_owner(directory, entry.path),
        )
    is_written = entry.is_directory or entry.path.endswith((".sqlite", "mint.log"))
    if directory.is_writable and is_written and not entry.mode & stat.S_IWUSR and not _is_inside_object(entry.path):
        what = f"its owner may not write it (mode {entry.mode:o})"
        tally.add("unwritable", entry.path, what, _let_owner(directory, entry.path))
    if entry.mode & stat.S_IWOTH:
        what = f"every user of the machine may change it (mode {entry.mode:o})"
        tally.add("open-to-change", entry.path, what, f"`chmod -R o-w {directory.data}`.")
    if entry.mode & 0o077 and _SECRET.fullmatch(entry.path):
        what = f"it holds secrets, and others than its owner may read or change it (mode {entry.mode:o})"
        remedy = f"`chmod go= {directory.name(entry.path)}`; if others could get at it, replace what it holds."
        tally.add("secret-open", entry.path, what, remedy)


def _is_inside_object(path: str) -> bool:
    return path.startswith(f"{STORE}/") and path.count("/") > 4


def _judge_age(directory: ExaminedDirectory, entry: _Entry, tally: _Tally) -> None:
    name = entry.path.rpartition("/")[2]
    is_old = directory.now.seconds - entry.status.st_mtime > _DAY
    if _LEFT_OVER.fullmatch(name) and is_old and not _is_inside_object(entry.path):
        what = "a crash has left it, of a file that was being written"
        tally.add("left-over", entry.path, what, "Remove it.", level=Level.WARNING)
    if entry.is_top and _SET_ASIDE.fullmatch(name):
        what = "this database was damaged, and set aside"
        remedy = "See whether a backup has what was in it; then remove it."
        tally.add("set-aside", entry.path, what, remedy, level=Level.WARNING)


def check_settings_file(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a settings file with a secret that every user of the machine may read."""
    file = directory.settings.file
    secrets = [name for name in _SECRET_SETTINGS if directory.settings.sources[name] is SettingSource.FILE]
    if file is not None and secrets and (mode := stat.S_IMODE(file.stat().st_mode)) & 0o007:
        what = f"it has {' and '.join(secrets)}, and every user of the machine may read it (mode {mode:o})"
        yield Diagnosis("secret-open", str(file), what, f"`chmod o= {file}`, and change what is in it.")


def check_room(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield disks of the data directory with too little space or too few inodes."""
    if not directory.is_writable:
        return
    seen: set[int] = set()
    for place in (directory.data, directory.data / STORE, directory.data / "drafts", directory.data / "mint"):
        with suppress(FileNotFoundError, NotADirectoryError):
            device = place.stat().st_dev
            if device not in seen:
                seen.add(device)
                yield from _judge_disk(directory, place)


def _judge_disk(directory: ExaminedDirectory, place: Path) -> Iterator[Diagnosis]:
    disk = os.statvfs(place)
    free, least = disk.f_bavail * disk.f_frsize, max(directory.settings.archive.disk_reserve, _LEAST_ROOM)
    if free < least:
        what = f"its disk has {free / 1e6:.0f} MB left, less than {least / 1e6:.0f} MB (archive.disk_reserve)"
        yield Diagnosis("disk-full", str(place), what, "Make room, or move the directory to a larger disk.")
    if disk.f_files and disk.f_favail < min(_FEW_INODES, disk.f_files // 20 + 1):
        what = f"its file system has room for {disk.f_favail} more files, whatever their size (inodes)"
        remedy = "Remove files, or move the directory to a file system with more inodes."
        yield Diagnosis("inodes", str(place), what, remedy)


def check_dates(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield databases or logs written later than now. Then the clock is behind, or was ahead when they were written."""
    places = [path for pattern in _DATED for path in directory.data.glob(pattern)]
    dates = [(path.stat().st_mtime, path) for path in places if path.is_file()]
    latest, path = max(dates, default=(0.0, directory.data))
    ahead = latest - float(MachineClocks().read().wall.as_fraction())
    if ahead > _CLOCK_SLACK:
        what = f"it was written at {Instant(int(latest))}, {ahead:.0f} s after what the clock of this machine says now"
        remedy = "The clock is behind, or was ahead: set it (NTP), and see which labels have a date later than now."
        yield Diagnosis("date-ahead", str(path), what, remedy)


def check_drafts(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield drafts that cannot be read, and drafts that no server removed in time."""
    drafts, days = DraftFiles(directory.data, MachineClocks()), directory.settings.archive.draft_days
    old, broken = [], []
    for draft in drafts.ids():
        folder = directory.data / "drafts" / draft
        changed = drafts.last_change(draft) or folder.stat().st_mtime
        age = directory.now.seconds - changed
        if drafts.read(draft) is None and age > _DAY:
            broken.append(draft)
        elif age > 2 * days * _DAY:
            old.append(draft)
    for check, found, what in (
        ("draft-broken", broken, "of this draft there is no record: it cannot be published"),
        ("draft-old", old, f"this draft was left alone for more than twice archive.draft_days ({days})"),
    ):
        if found:
            said = f"{what} (and {len(found) - 1} more like it)" if len(found) > 1 else what
            remedy = "The next start of the server removes it; copy what is in it before, if it matters."
            yield Diagnosis(check, directory.name(f"drafts/{found[0]}"), said, remedy, level=Level.WARNING)
