"""Makes backups of data directories, and brings a restored directory back into use."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Final

from ibi import __version__
from ibi.backup.model.backup import DAMAGE_MARK, BackupManifest
from ibi.backup.model.data_files import BackupNote
from ibi.backup.ports import BackupRefused, BackupTarget
from ibi.backup.service.backing_up import BackingUp, BackupReport
from ibi.backup.service.restoring import BackupCheck, PuttingBack, RestoreReport, check_backup
from ibi.backup.store.backup_source import DataDirectorySource
from ibi.backup.store.backup_target import S3, open_target
from ibi.backup.store.data_files import DataDirectoryFiles
from ibi.backup.store.packing import find_damage
from ibi.backup.store.restored_directory import RestoredFiles
from ibi.items.opening.archive_store import STORE, rebuild_catalogue
from ibi.items.ports.archive_store import OnBytes
from ibi.minting.rules.mint_log import LogBroken, decode
from ibi.minting.store.mint_log_file import take_over_lines
from ibi.minting.store.prefix_lock import last_marks
from ibi.minting.store.ticks import settle_restored
from ibi.settings import Settings
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StorageError
from ibi.storage.earlier_layout import has_earlier_layout
from ibi.storage.machine import MachineClocks, machine_id
from ibi.storage.state import open_state
from ibi.transfers.store.transfers import forget_track

SKEW: Final = Fraction(5)
"""Seconds by which the clock of the other minting machine may have been ahead of this one's. Clocks set by a time
service differ by less."""

OnStep = Callable[[str], None]


def _pass(_: object) -> None:
    """Ignore a step; the default."""


def back_up(
    data: Path,
    place: str,
    environment: Mapping[str, str],
    *,
    on_step: OnStep = _pass,
    on_bytes: OnBytes = _pass,
) -> BackupReport:
    """Make a backup of a data directory, or update the one at that place."""
    _require_apart(data, place)
    if has_earlier_layout(data):
        open_state(data).close()  # upgraded first: a backup knows only the files of the present layout
    with ExitStack() as opened:
        source = opened.enter_context(closing(DataDirectorySource(data)))
        target = opened.enter_context(closing(open_target(place, environment, writing=True)))
        now = MachineClocks()
        report = BackingUp(
            source, target, lambda: now.read().wall, software=__version__, on_step=on_step, on_bytes=on_bytes
        ).run()
    _note_backup(data, report)
    return report


def _note_backup(data: Path, report: BackupReport) -> None:
    """Record the backup in the directory. A directory that cannot be written is backed up all the same."""
    manifest = report.manifest
    with suppress(StorageError):
        DataDirectoryFiles(data).note_backup(
            BackupNote(Instant(manifest.ended.seconds), manifest.items, len(report.damaged))
        )


def verify_backup(
    place: str, environment: Mapping[str, str], on_bytes: OnBytes = _pass, *, only: frozenset[str] | None = None
) -> BackupCheck:
    """Read a backup and compare it with its digests: all of it, or only the parts of the named items and files.

    The next backup writes the damaged parts again.
    """
    with closing(open_target(place, environment, writing=False)) as target:
        check = check_backup(target, find_damage, on_bytes, only=only)
    if check.damaged:
        with suppress(StorageError):  # a read-only disk is checked all the same
            _note_damage(place, environment, check)
    return check


def _note_damage(place: str, environment: Mapping[str, str], check: BackupCheck) -> None:
    content = json.dumps([part.key for part in check.damaged], indent=0).encode("ascii") + b"\n"
    with closing(open_target(place, environment, writing=True)) as target:
        target.put(DAMAGE_MARK, len(content), iter((content,)))
        target.settle()


def mend_backup(
    data: Path, place: str, environment: Mapping[str, str], check: BackupCheck, on_bytes: OnBytes = _pass
) -> BackupCheck:
    """Write damaged parts again, as far as the data directory has them intact. Return the remaining damage."""
    back_up(data, place, environment, on_bytes=on_bytes)
    return verify_backup(place, environment, only=frozenset(part.owner for part in check.damaged))


def _require_apart(data: Path, place: str) -> None:
    if place.startswith(S3):
        return
    here, there = data.resolve(), Path(place).resolve()
    if here.is_relative_to(there) or there.is_relative_to(here):
        raise BackupRefused(place=place, reason=f"it and the data directory {data} lie in each other: name another")


@dataclass(slots=True)
class PutBack:
    """The result of a restore: the report, and the date after which the directory mints."""

    report: RestoreReport
    unreadable: list[str] = field(default_factory=list)
    minted_until: Instant | None = None
    """The latest label known to be issued, by this machine or in the remains of the old directory."""
    mints_after: Instant | None = None
    newer: list[str] = field(default_factory=list)
    """Items of the old directory with another state than in the backup, or missing there."""


def restore(
    data: Path,
    place: str,
    environment: Mapping[str, str],
    *,
    reload: Callable[[], Settings],
    old: Path | None = None,
    issued_until: Instant | None = None,
    without_damaged: bool = False,
    on_step: OnStep = _pass,
    on_bytes: OnBytes = _pass,
) -> PutBack:
    """Restore the newest backup of a place into an empty data directory, and prepare it for use.

    `reload` reads the settings after they are restored. `old` is what remains of the original directory. `issued_until`
    is the last label that an operator knows of. Raise `BackupDamaged` if parts of the backup are damaged, unless
    `without_damaged` leaves out the items and files that they belong to.
    """
    with ExitStack() as opened:
        target = opened.enter_context(closing(open_target(place, environment, writing=False)))
        directory = opened.enter_context(closing(RestoredFiles(data)))
        report = PuttingBack(
            target, directory, find_damage, without_damaged=without_damaged, on_step=on_step, on_bytes=on_bytes
        ).run()
        put_back = PutBack(report)
        if old is not None:
            put_back.newer = list(_newer_items(old, target, report.manifest))
        _settle_minting(put_back, data, reload(), old, issued_until)
        on_step("minting settled")
        forget_track(data)
        put_back.unreadable = _rebuild(data)
        on_step("catalogue made")
        directory.finish()
        on_step("finished")
    return put_back


def _rebuild(data: Path) -> list[str]:
    if not (data / STORE).is_dir():
        return []
    return [name for name, _ in rebuild_catalogue(data).unreadable]


def _settle_minting(
    put_back: PutBack, data: Path, settings: Settings, old: Path | None, issued_until: Instant | None
) -> None:
    """Make the directory mint only after now, and after every label that may have been issued since the backup.

    No label is given out before its date, so the old minter's labels are not later than its clock was. If this machine
    has the record of the old minter, that bound is exact. Otherwise the clock of another machine may be ahead by
    `SKEW`.
    """
    manifest = put_back.report.manifest
    labels = manifest.owner.get("labels")
    if not labels:
        return
    if old is not None and _mint_log(old).is_file():
        take_over_lines(_mint_log(data), _mint_log(old))
    marks = last_marks(settings.lock_dir, labels.split(" "))
    known = [mark.high for mark in marks] + [manifest.issued, issued_until, _last_issued(old)]
    put_back.minted_until = max((date for date in known if date is not None), default=None)
    now = MachineClocks().read().wall
    is_witnessed = any(mark.owner.instance == manifest.instance for mark in marks)
    bound = now if is_witnessed else Instant.from_fraction(now.as_fraction() + SKEW)
    put_back.mints_after = max(bound, put_back.minted_until or bound)
    settle_restored(data, machine_id(), put_back.mints_after)


def _mint_log(data: Path) -> Path:
    return data / "mint" / "mint.log"


def _last_issued(old: Path | None) -> Instant | None:
    """Return the latest date in the old directory's mint log, as far as it can be read."""
    latest: Instant | None = None
    if old is None:
        return None
    try:
        with _mint_log(old).open("rb") as file:
            for number, line in enumerate(file, 1):
                span = decode(line.rstrip(b"\n"), number).span() if line.endswith(b"\n") else None
                latest = latest if span is None or (latest is not None and span.last < latest) else span.last
    except (OSError, LogBroken):
        return latest
    return latest


def _newer_items(old: Path, target: BackupTarget, manifest: BackupManifest) -> Iterator[str]:
    """Yield the names of items in the old store that the backup has in another version, or lacks."""
    from ibi.backup.service.backing_up import read_listing
    from ibi.backup.store.packing import newest_digest
    from ibi.items.store.ocfl.layout import names_in

    root = old / STORE
    if not root.is_dir():
        return
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        kept = read_listing(target, manifest)
        waiting = next(kept, None)
        for name in names_in(str(root)):
            while waiting is not None and waiting.name.split("/") < name.split("/"):
                waiting = next(kept, None)
            is_known = waiting is not None and waiting.name == name
            if not is_known or (waiting is not None and newest_digest(descriptor, name) != waiting.versions[-1]):
                yield name
    finally:
        os.close(descriptor)
