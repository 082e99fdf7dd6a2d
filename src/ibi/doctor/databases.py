"""Checks of the databases of a data directory, and of their content about items and other Archives."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from ibi.backup.model.data_files import LEFT_OUT
from ibi.backup.store.data_files import read_left_out
from ibi.doctor.diagnosis import (
    MOST_LOOKED_AT,
    STORE,
    Diagnosis,
    ExaminedDirectory,
    Level,
    denied_reading,
    find_denied,
    from_error,
    is_denied,
)
from ibi.items.model.content import Damage, Problem
from ibi.items.opening.archive_store import CATALOGUE, open_read_only
from ibi.items.ports.archive_store import ContentMissing
from ibi.items.store.catalogue import migrations as catalog_migrations
from ibi.items.store.catalogue import rows as catalog_rows
from ibi.items.store.catalogue.integrity import read_integrity
from ibi.items.store.generation_file import CatalogStanding, read_expected
from ibi.items.store.ocfl.layout import Broken, check_layout
from ibi.items.store.ocfl.object import NAME as INVENTORY
from ibi.items.store.ocfl.object import SIDECAR, ObjectDirectory, version_name
from ibi.items.store.ocfl.verification import extra_entries
from ibi.membership.model.registration import Registration
from ibi.membership.rules.membership import failure_words
from ibi.membership.store import registry
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.minting.store import tick_rows
from ibi.standard.errors import IbiError, InvalidLabel
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import StoreDamaged, StoreIncomplete
from ibi.storage.columns import label_key, repository_name
from ibi.storage.connection import CATALOGUE as CATALOGUE_KIND
from ibi.storage.connection import KINDS, STATE, TICKS, Connection, DatabaseKind, is_blank, refuse_lost, snapshot
from ibi.storage.directory_record import RECORD
from ibi.storage.earlier_layout import has_earlier_layout
from ibi.storage.errors import DiskRefused, StoreNewer
from ibi.storage.state import KNOWN_VERSIONS, part_versions, refuse_newer
from ibi.storage.unchanged import inspect_unchanged, opened_unchanged

_DAY: Final = 86_400
_TRIES: Final = 40
_PAUSE: Final = 0.05
_MAKING: Final = 60.0
"""Seconds within which a server creates the tables of a new database."""
_MOST_NAMED: Final = 5
_FORMATS: Final = {CATALOGUE_KIND: len(catalog_migrations.MIGRATIONS), TICKS: len(tick_rows.MIGRATIONS), STATE: 1}
"""The formats that this version knows."""


def path_of(directory: ExaminedDirectory, kind: DatabaseKind) -> Path:
    return directory.data / ("mint" if kind is TICKS else "") / kind.file_name


def check_databases(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield databases that are lost, damaged, of another kind or of a later version."""
    try:
        if has_earlier_layout(directory.data):
            what = "its databases are those of an earlier version, and not upgraded yet"
            remedy = "The next start of the server, or command that works on it, upgrades them (docs/operations.md)."
            yield Diagnosis("earlier-layout", str(directory.data), what, remedy, level=Level.ADVICE)
            return
    except IbiError as error:
        yield from_error("database", directory.name(RECORD), error)
    for kind in KINDS.values():
        path = path_of(directory, kind)
        try:
            _refuse_lost(directory, path, kind)
            if path.exists():
                _refuse_blank(directory, path, kind)
                inspect_unchanged(path, kind, is_in_use=directory.is_served, most=directory.most_read)
                _refuse_newer(directory, path, kind)
        except IbiError as error:
            yield from_error("database", str(path), error)
        except PermissionError as error:
            yield denied_reading(find_denied(error, path) or path)


def _refuse_lost(directory: ExaminedDirectory, path: Path, kind: DatabaseKind) -> None:
    """Raise the `damaged` error of its kind for a database that was begun once.

    The record of that may be closed to this user. The database itself is examined all the same.
    """
    if not is_denied(directory.data / RECORD):
        refuse_lost(path, kind)


def _refuse_blank(directory: ExaminedDirectory, path: Path, kind: DatabaseKind) -> None:
    """Raise the `damaged` error of its kind for a database without tables, unless a server may just be creating it."""
    if is_blank(path) and not (directory.is_served and time.time() - path.stat().st_mtime < _MAKING):
        raise kind.damaged(path=path, reason="it is empty, and no server or command leaves one so")


def _refuse_newer(directory: ExaminedDirectory, path: Path, kind: DatabaseKind) -> None:
    found, known = _format_of(directory, path), _FORMATS.get(kind)
    if known is not None and found > known:
        raise StoreNewer(path=path, found=found, known=known)
    if kind is STATE:
        with opened_unchanged(path, is_in_use=directory.is_served) as connection:
            refuse_newer(path, part_versions(connection))


def _format_of(directory: ExaminedDirectory, path: Path) -> int:
    with opened_unchanged(path, is_in_use=directory.is_served) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_current(directory: ExaminedDirectory, kind: DatabaseKind) -> bool:
    """Return whether the database can be queried: present, readable and of this version's format. `check_databases`
    reports others; the next start upgrades an older one."""
    path = path_of(directory, kind)
    try:
        if not path.exists() or not path.stat().st_size or _format_of(directory, path) != _FORMATS[kind]:
            return False
        if kind is not STATE:
            return True
        with opened_unchanged(path, is_in_use=directory.is_served) as connection:
            return part_versions(connection) == KNOWN_VERSIONS
    except (IbiError, OSError):
        return False


def check_catalogue(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a catalogue that lists another state of the store, or other items."""
    path = directory.data / CATALOGUE
    if not (directory.data / STORE).is_dir():
        if path.exists():
            what = "there is a catalogue, and no store"
            yield Diagnosis("store-lost", directory.name(STORE), what, "Mount its disk, or put it back from a backup.")
        return
    try:
        check_layout(directory.data / STORE)
    except IbiError as error:
        yield from_error("store", directory.name(STORE), error)
        return
    if not path.exists():
        if directory.item_names:
            yield Diagnosis("catalogue-behind", str(path), "the store has items, and there is no catalogue", _REBUILD)
        return
    if not _is_current(directory, CATALOGUE_KIND):
        return
    gone = _find_gone(directory, path)
    if gone:  # first, because a rebuild would give them up
        what = f"it lacks {len(gone)} items that the catalogue lists: {_some(gone)}"
        remedy = "Mount its disk, or put them back from a backup; `ibi rebuild` gives them up."
        yield Diagnosis("item-lost", directory.name(STORE), what, remedy)
        return
    reason = _disagreement(directory, path)
    if reason is not None:
        yield Diagnosis("catalogue-behind", str(path), reason, _REBUILD)
    else:
        yield from _compare_names(directory, path)


_REBUILD: Final = "`ibi rebuild` makes it anew, and so does the next start of the server."


def _disagreement(directory: ExaminedDirectory, path: Path) -> str | None:
    """Return why the catalogue disagrees with the store; None if it agrees. A server may be changing both meanwhile."""
    reason = None
    for _ in range(_TRIES if directory.is_served else 1):
        expected = read_expected(directory.data / STORE)
        with opened_unchanged(path, is_in_use=directory.is_served) as connection, snapshot(connection):
            row = connection.execute(catalog_rows.STANDING).fetchone()
            rows = int(connection.execute(catalog_rows.COUNT).fetchone()[0])
        standing = CatalogStanding() if row is None else CatalogStanding(*row)
        if expected is None:
            return None if not standing.store else "the store does not say in which state it is"
        if expected.allows(standing) and standing.items == rows:
            return None
        reason = "it lists another state of the store than the present one"
        if standing.items != rows:
            reason = f"it has {rows} items, and should have {standing.items}"
        time.sleep(_PAUSE if directory.is_served else 0)
    return reason


def _compare_names(directory: ExaminedDirectory, path: Path) -> Iterator[Diagnosis]:
    """Yield items of the store that the catalogue does not list."""
    unlisted = _find_unlisted(directory, path, directory.item_names)
    if unlisted and directory.is_served:  # an item may just be deposited or removed
        time.sleep(1)
        root = directory.data / STORE
        unlisted = [name for name in _find_unlisted(directory, path, unlisted) if (root / name).is_dir()]
    if unlisted:
        what = f"it does not list {len(unlisted)} items of the store: {_some(unlisted)}"
        yield Diagnosis("catalogue-behind", str(path), what, _REBUILD)


def _find_unlisted(directory: ExaminedDirectory, path: Path, names: list[str]) -> list[str]:
    if not names:
        return []
    with opened_unchanged(path, is_in_use=directory.is_served) as connection:
        return [name for name in names if not _lists(connection, name) and _is_readable(directory, name)]


def _lists(connection: Connection, name: str) -> bool:
    asked = (
        "SELECT 1 FROM items WHERE rep = ?",
        "SELECT 1 FROM transfers WHERE rep = ?",
    )
    key = label_key(RepositoryName.parse(name))
    return any(connection.execute(each, (key,)).fetchone() is not None for each in asked)


def _find_gone(directory: ExaminedDirectory, path: Path) -> list[str]:
    limit = -1 if directory.is_full else 10_000
    with opened_unchanged(path, is_in_use=directory.is_served) as connection:
        rows = connection.execute("SELECT rep FROM items ORDER BY number DESC LIMIT ?", (limit,)).fetchall()
    root = directory.data / STORE
    names = [str(repository_name(key)) for (key,) in rows]
    gone = [name for name in names if not (root / name).is_dir()]
    if gone and directory.is_served:
        time.sleep(1)  # items under removal leave the catalogue first
        with opened_unchanged(path, is_in_use=True) as connection:
            gone = [name for name in gone if _lists(connection, name)]
    return gone


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def check_left_out(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield items and files that a restore left out because of a damaged backup, and that are still missing."""
    left_out, path = read_left_out(directory.data), directory.name(LEFT_OUT)
    gone = [name for name in left_out.items if not (directory.data / STORE / name).is_dir()]
    if gone:
        what = f"{len(gone)} items were left out when the directory was restored from a damaged backup: {_some(gone)}"
        remedy = "Put them back from another backup, or a Copy elsewhere; remove the file to give them up."
        yield Diagnosis("left-out", path, what, remedy)
    if left_out.files:
        files = list(left_out.files)
        what = f"{len(files)} files were left out when the directory was restored: {_some(files)}"
        remedy = "See docs/backup.md for what is lost with each; remove the file when that is done."
        yield Diagnosis("left-out", path, what, remedy, level=Level.WARNING)


def check_items(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield items known to be damaged, and items with an unreadable object. With `is_full`, everything is read."""
    reasons, denied = dict(_known_damage(directory)), list[Path]()
    for name in directory.item_names:
        try:
            reason = _unreadable(directory, name)
        except PermissionError as error:
            denied.append(find_denied(error, *_inventories(directory, name)) or directory.data / STORE / name)
            continue
        if reason is not None:
            reasons.setdefault(name, reason)
    if directory.is_full and (directory.data / STORE).is_dir():
        with suppress(StoreIncomplete):  # another check reports it
            for name, path, reason in _verified_damage(directory):
                if is_denied(path):
                    denied.append(path)
                else:
                    reasons[name] = reason
    yield from _report_denied(denied)
    yield from _report_damaged(directory, reasons)


def _report_denied(denied: Sequence[Path]) -> Iterator[Diagnosis]:
    if denied:
        found = denied_reading(denied[0])
        yield replace(found, what=f"{found.what} (and {len(denied) - 1} more like it)" if denied[1:] else found.what)


def _report_damaged(directory: ExaminedDirectory, reasons: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Yield the first damaged items, and the number of the others."""
    for name, reason in islice(reasons.items(), _MOST_NAMED):
        remedy = f"Put it back from a backup, or from another Archive that has a Copy; then `ibi verify {name}`."
        yield Diagnosis("item-damaged", directory.name(f"{STORE}/{name}"), reason, remedy)
    if len(reasons) > _MOST_NAMED:
        what = f"{len(reasons) - _MOST_NAMED} more items are damaged or cannot be read"
        yield Diagnosis("item-damaged", directory.name(STORE), what, "`ibi verify` names them all.")


def _inventories(directory: ExaminedDirectory, name: str) -> Iterator[Path]:
    folder = directory.data / STORE / name
    yield from (folder, folder / INVENTORY, folder / SIDECAR)


def _known_damage(directory: ExaminedDirectory) -> Iterator[tuple[str, str]]:
    path = directory.data / CATALOGUE
    if _is_current(directory, CATALOGUE_KIND):
        with _told_elsewhere(), opened_unchanged(path, is_in_use=directory.is_served) as connection:
            for each in read_integrity(connection)[1]:
                since = "" if each.damaged_since is None else f", known since {Instant(each.damaged_since)}"
                problem = f": {each.problems[0].path}: {each.problems[0].reason}" if each.problems else ""
                yield each.name, f"this item is damaged{since}{problem}"


def _verified_damage(directory: ExaminedDirectory) -> Iterator[tuple[str, Path, str]]:
    """Yield the item, its damaged file, and the reason."""
    with open_read_only(directory.data, on_rebuild=lambda _: None) as store:
        for verified in store.verify():
            problems = [each for each in verified.problems if verified.name is None or not _is_stray(each)]
            for problem in problems[:1]:  # `check_strays` reports the others
                path = directory.data / STORE / (verified.name or "") / problem.path
                reason = f"{problem.kind} ({problem.code}): {problem.path}: {problem.reason}"
                yield verified.name or problem.path, path, reason


def check_strays(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield files in objects that no inventory names. Unless `is_full`, only the first files of the store are
    examined."""
    left, strays = MOST_LOOKED_AT, dict[str, list[Problem]]()
    for name in directory.item_names:
        if left <= 0 and not directory.is_full:
            break
        number, found = _look_for_strays(directory, name)
        left -= number
        if found:
            strays[name] = found
    if strays and directory.is_served:  # a running change may be about to name them
        time.sleep(1)
        strays = {name: _look_for_strays(directory, name)[1] for name in strays}
    yield from _tell_strays(directory, [(f"{name}/{each.path}", each) for name in strays for each in strays[name]])


def _tell_strays(directory: ExaminedDirectory, strays: list[tuple[str, Problem]]) -> Iterator[Diagnosis]:
    for path, each in strays[:_MOST_NAMED]:
        what = f"no inventory names it, so that it belongs to no item ({each.code}): {each.reason}"
        remedy = "Find out who put it there, and move it out of the store; `ibi verify` tells of it until then."
        yield Diagnosis("stray-file", directory.name(f"{STORE}/{path}"), what, remedy)
    if len(strays) > _MOST_NAMED:
        what = f"{len(strays) - _MOST_NAMED} more files in objects are named by no inventory"
        yield Diagnosis("stray-file", directory.name(STORE), what, "`ibi verify` names them all.")


def _look_for_strays(directory: ExaminedDirectory, name: str) -> tuple[int, list[Problem]]:
    """Return the number of files examined in an object, and the stray ones."""
    root = os.open(directory.data / STORE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with ObjectDirectory(root, name) as found:
            inventory = found.inventory()
            strays = [each for each in extra_entries(found, inventory) if _is_stray(each)]
    except (Broken, IbiError, OSError):
        return 1, []  # reported by `check_items`
    finally:
        os.close(root)
    if _has_unfinished(directory):  # the next start completes a version that a crash interrupted
        strays = [each for each in strays if each.path != version_name(inventory.head + 1)]
    return sum(map(len, inventory.manifest.values())) + 3 * (inventory.head + 1) + len(strays), strays


def _is_stray(problem: Problem) -> bool:
    """Return whether it is a file, or a directory that may contain files. `check_files` reports links."""
    return problem.kind == Damage.EXTRA and problem.code not in {"E024", "E090"}


def _has_unfinished(directory: ExaminedDirectory) -> bool:
    """Return whether a dead process left changes of the store."""
    staging = directory.data / "store-staging"
    with suppress(FileNotFoundError, NotADirectoryError):
        return any(place.is_dir() for place in staging.iterdir())
    return False


def _told_elsewhere() -> suppress:
    """Ignore a database that cannot be read: `check_databases` reports it."""
    return suppress(StoreDamaged, DiskRefused, PermissionError)


def _is_readable(directory: ExaminedDirectory, name: str) -> bool:
    try:
        return _unreadable(directory, name) is None
    except PermissionError:
        return False


def _find_missing_file(found: ObjectDirectory) -> str | None:
    """Return a file of the inventory that is not there."""
    places = (place for places in found.inventory().manifest.values() for place in places)
    return next((place for place in places if not _is_file(place, found.descriptor)), None)


def _unreadable(directory: ExaminedDirectory, name: str) -> str | None:
    """Return why the inventory of an object cannot be used, or which of its files is missing. Raise
    `PermissionError`."""
    root = os.open(directory.data / STORE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with ObjectDirectory(root, name) as found:
            gone = _find_missing_file(found)
            return None if gone is None else f"a file of it is gone: {gone}"
    except ContentMissing:
        return None if directory.is_served else "there is a directory of this name, and no object in it"
    except Broken as error:
        if any(map(is_denied, _inventories(directory, name))):
            raise PermissionError from error
        return f"its inventory cannot be used ({error.code}): {error.reason}"
    except (IbiError, InvalidLabel) as error:
        if isinstance(error.__cause__, PermissionError):
            raise error.__cause__ from error
        return str(error)
    except PermissionError:
        raise
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    finally:
        os.close(root)


def _is_file(place: str, directory: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(place, dir_fd=directory, follow_symlinks=False).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def check_fixity(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield items that were not verified within twice the time that the settings want."""
    days, path = directory.settings.archive.verify_days, directory.data / CATALOGUE
    if not days or not directory.item_names or not directory.is_writable:
        return
    oldest = _began(directory)
    if _is_current(directory, CATALOGUE_KIND):
        with _told_elsewhere(), opened_unchanged(path, is_in_use=directory.is_served) as connection:
            oldest = read_integrity(connection)[0].oldest or oldest
    if oldest is not None and directory.now.seconds - oldest > 2 * days * _DAY:
        what = f"there are items that were not verified since {Instant(oldest)} (archive.verify_days is {days})"
        remedy = "Let the server run, or run `ibi verify`."
        yield Diagnosis("fixity-old", directory.name(STORE), what, remedy, level=Level.WARNING)


def _began(directory: ExaminedDirectory) -> int | None:
    """Return the start of the Archive: it may have items since then."""
    with suppress(IbiError):
        record = ArchiveRecordFile(directory.data).read()
        return None if record is None else record.service.labels[0].instant.seconds
    return None


def check_archives(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield included Archives of this resolver that were not reached, and the reason."""
    for each in registrations_of(directory) or ():
        label = each.service.labels[0]
        if each.failed is not None:
            place = f"{label} ({each.inclusion.address})" if each.inclusion is not None else str(label)
            what = f"this Archive was not reached at {each.failed.at}: {failure_words(each.failed.reason, label)}"
            remedy = "Ask its administrator; `ibi resolver list` shows all."
            yield Diagnosis("archive-not-reached", place, what, remedy, level=Level.WARNING)


def registrations_of(directory: ExaminedDirectory) -> list[Registration] | None:
    """Return the Archives registered at the resolver of this directory. None if it has no register."""
    if not _is_current(directory, STATE):
        return None
    with opened_unchanged(path_of(directory, STATE), is_in_use=directory.is_served) as connection:
        return [registry.registration_of(row) for row in connection.execute(registry.ALL).fetchall()]


def check_subscriptions(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield follows with a source that does not answer, and webhooks that are not delivered."""
    if not _is_current(directory, STATE):
        return
    with opened_unchanged(path_of(directory, STATE), is_in_use=directory.is_served) as connection:
        follows = connection.execute(
            "SELECT id, source, failing, reason FROM follows WHERE failing IS NOT NULL"
        ).fetchall()
        hooks = connection.execute(
            "SELECT id, coalesce(disabled, failing), disabled IS NOT NULL, reason FROM webhooks"
            " WHERE coalesce(disabled, failing) IS NOT NULL"
        ).fetchall()
    for name, source, since, reason in follows:
        what = f"its source {source} does not answer as an Archive does since {Instant(since)}: {reason}"
        remedy = "See whether that Archive is there; `ibi follow remove` ends it."
        yield Diagnosis("follow-failing", f"follow {name}", what, remedy, level=Level.WARNING)
    for name, since, is_disabled, reason in hooks:
        state = "is not told any more" if is_disabled else "is not reached"
        remedy = f"When it answers again, `ibi webhook enable {name}`."
        yield Diagnosis(
            "webhook-failing",
            f"webhook {name}",
            f"it {state} since {Instant(since)}: {reason}",
            remedy,
            level=Level.WARNING,
        )
