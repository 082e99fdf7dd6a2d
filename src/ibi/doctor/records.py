"""Checks of the identity of a data directory: its Archive and keys, its minter and clock, its settings."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ibi.doctor.databases import path_of
from ibi.doctor.diagnosis import STORE, Diagnosis, ExaminedDirectory, Level, from_error
from ibi.jobs.failing_jobs_file import FILE as FAILING_JOBS
from ibi.jobs.failing_jobs_file import FailingJobsFile
from ibi.membership.model.membership import Phase
from ibi.membership.opening.membership import MembershipIncomplete, membership_request
from ibi.membership.rules.signed_register import SignedRegister, read_register
from ibi.membership.store.archive_state import FILE_NAME, ArchiveRecordFile, MembershipFiles, ServedAddress
from ibi.membership.store.copy_holders import FILE as COPY_HOLDERS
from ibi.membership.store.copy_holders import CopyHoldersFile
from ibi.membership.store.key_files import ARCHIVE, RESOLVER, KeyFiles, PublishedRegisterFile, RegisterFiles
from ibi.membership.store.key_files import FOLDER as KEYS
from ibi.minting.model import TickState
from ibi.minting.rules.errors import IdentityMissing
from ibi.minting.rules.identity import settled_identity
from ibi.minting.rules.mint_log import LogBroken, check_links
from ibi.minting.store.mint_log_file import MintLogFile
from ibi.minting.store.tick_rows import MIGRATIONS, Store, TickRows
from ibi.people.store.audit_log import DIRECTORY as AUDIT
from ibi.people.store.audit_log import FileAuditLog
from ibi.resolver.opening.register import MailIncomplete, configured_mailer
from ibi.standard.errors import IbiError, InvalidInput, InvalidMessage
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.messages.identification import LabelForms
from ibi.standard.safe_text import printable
from ibi.standard.signing import PublicKey
from ibi.standard.storage_errors import StorageError, StoreDamaged
from ibi.storage.connection import STATE, TICKS
from ibi.storage.directory_record import RECORD
from ibi.storage.errors import DataDirectoryCopied
from ibi.storage.machine import machine_id
from ibi.storage.unchanged import opened_unchanged
from ibi.transfers.model import OpenItem, decode_open
from ibi.transfers.service.documents import open_words

_LOG: Final = "mint/mint.log"
_LOCK: Final = "mint/lock"
_MOST_OPEN: Final = 10
"""Items that are named."""
_SET: Final = "Set it in that file, or as a variable."
_LONG_HELD: Final = 5.0
"""Seconds for which no working process holds the lock of the minter."""


_LONGEST_NAMES: Final = 300


class KnownTicks(NamedTuple):
    """The content of the minter's database."""

    store: Store
    identity: Identity | None
    state: TickState


def read_ticks(directory: ExaminedDirectory) -> KnownTicks | None:
    """Return the content of the minter's database. None if nothing was minted yet, or if the database is damaged or of
    another format, which another check reports."""
    path = path_of(directory, TICKS)
    try:
        if not path.exists() or not path.stat().st_size:
            return None
        with opened_unchanged(path, is_in_use=directory.is_served) as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] != len(MIGRATIONS):
                return None
            rows = TickRows(connection)
            if rows.version() is None:
                return None
            identity = rows.identity()
            return KnownTicks(rows.store(), identity, TickState() if identity is None else rows.clock(identity.key))
    except (IbiError, OSError):
        return None


def check_archive_record(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield problems of `archive.json` and of the item that it names."""
    path = directory.data / FILE_NAME
    try:
        record = ArchiveRecordFile(directory.data).read()
    except StorageError as error:
        yield from_error(error.code, str(path), error)
        return
    if record is None:
        if directory.item_names and (directory.data / "usage.sqlite").exists():
            what = "it is missing, though a server has run here: to start would begin another Archive"
            remedy = "Put it back from a backup; without one, `ibi archive init --recover` writes it anew."
            yield Diagnosis("archive-record-lost", str(path), what, remedy)
        return
    service = record.service.rep
    if service is not None and not (directory.data / STORE / str(service)).is_dir():
        what = f"it does not have {service}, the item of this Archive itself: it is another store, or not mounted"
        yield Diagnosis("store-lost", directory.name(STORE), what, "Mount its disk, or put it back from a backup.")


def check_keys(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield problems of the keys with which this place signs."""
    for name in (ARCHIVE, RESOLVER):
        files, path = KeyFiles(directory.data, name), directory.data / KEYS / f"{name}.pem"
        try:
            if files.is_begun:
                yield from _check_own_key(directory, name, path, (files.signing_key().public, *files.former()))
            elif (key := files.lost) is not None:
                what = f"it is gone, and others know this place by the key {key}: no server starts without it"
                option = "" if name == ARCHIVE else " --resolver"
                remedy = f"Put keys/ back from a backup; without one, `ibi key replace{option} --lost` (docs/keys.md)."
                yield Diagnosis("key-lost", str(path), what, remedy)
            elif name == ARCHIVE and (directory.data / KEYS).is_dir() and (directory.data / FILE_NAME).exists():
                what = "the key of this Archive is gone: the next start makes another, which no one knows"
                yield Diagnosis("key-lost", str(path), what, "Put it back from a backup; docs/keys.md says more.")
        except StorageError as error:
            yield from_error(error.code, str(path), error)


def _check_own_key(
    directory: ExaminedDirectory, name: str, path: Path, keys: tuple[PublicKey, ...]
) -> Iterator[Diagnosis]:
    """Yield a key that differs from the one by which others know this place. `keys` are the present and former ones.

    The note of the last used key is compared first, then the key that the resolver signed.
    """
    noted = KeyFiles(directory.data, name).noted
    expected, witness = (noted, RECORD) if noted is not None else (None, "")
    if expected is None or expected in keys:
        expected, witness = _find_witness(directory, name, keys)
    if expected is not None:
        what = f"it is another key ({keys[0]}) than the one of this place: by {witness}, that is {expected}"
        option = "" if name == ARCHIVE else " --resolver"
        remedy = (
            "Put keys/ back from a backup of this directory, before a server starts on it. Without one, move the file"
            f" away and run `ibi key replace{option} --lost` (docs/keys.md)."
        )
        yield Diagnosis("key-of-another", str(path), what, remedy)


def _find_witness(directory: ExaminedDirectory, name: str, keys: tuple[PublicKey, ...]) -> tuple[PublicKey | None, str]:
    """Return the key that a signed register names for this place if it is none of `keys`, and which register."""
    if name == RESOLVER:
        published = read_kept_register(PublishedRegisterFile(directory.data).read())
        signer = None if published is None else published.signer
        return (None if signer in keys else signer), "the register that it published last"
    service, register = service_of(directory.data), read_kept_register(RegisterFiles(directory.data).read())
    entry = None if service is None or register is None else register.find(service)
    if entry is None or entry.key is None or entry.key in keys:
        return None, ""
    return entry.key, "the register of its resolver"


def read_kept_register(statement: str | None) -> SignedRegister | None:
    """Return the register; None also if it cannot be parsed. A server fetches or signs it again."""
    try:
        return None if statement is None else read_register(statement)
    except InvalidInput:
        return None


def check_clock(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a clock of this machine that is behind the last label."""
    ticks = read_ticks(directory)
    if ticks is None or ticks.state.last is None:
        return
    behind = float(ticks.state.last.as_fraction() - directory.now.as_fraction())
    if behind > float(directory.settings.mint.behind_limit):
        what = f"the clock says {Instant(directory.now.seconds)}, {behind:.0f} s behind the last label"
        remedy = "Set the clock (NTP); if the labels are of a wrong time, `ibi mint --accept-clock`."
        yield Diagnosis("clock-behind", directory.name("mint"), what, remedy)


def check_minter(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield problems that keep the minter from minting: its identity, its machine, its log or its lock."""
    ticks = read_ticks(directory)
    if ticks is not None:
        try:
            settled_identity(ticks.identity, directory.settings.identity())
        except IdentityMissing:
            pass
        except IbiError as error:
            yield from_error(error.code, str(directory.settings.file or directory.data), error)
        if directory.is_writable and ticks.store.machine != machine_id():
            copied = DataDirectoryCopied(path=directory.data)
            yield from_error(copied.code, str(directory.data), copied, level=Level.WARNING)
        yield from _check_log(directory, ticks.store)
    elif not _has_content(directory.data / _LOG) and (directory.data / FILE_NAME).exists() and directory.item_names:
        what = "it is empty or gone, and there are items under labels that were minted here"
        remedy = "Put mint/ back from a backup; if there is none, `ibi mint --accept-loss` begins a new log."
        yield Diagnosis("mint-log-lost", directory.name(_LOG), what, remedy)
    if directory.is_writable:
        yield from _check_lock(directory)


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _check_log(directory: ExaminedDirectory, store: Store) -> Iterator[Diagnosis]:
    path, end = directory.data / _LOG, store.log
    if not end.size:
        return
    size = path.stat().st_size if path.exists() else 0
    try:
        if size < end.size:
            raise LogBroken(line=end.number, reason="the file ends before it" if size else "the file is gone or empty")
        if end.size <= directory.most_read:
            check_links(MintLogFile(path).lines(0, end.size), end.head, None)
    except LogBroken as error:
        yield from_error(error.code, str(path), error)


def _check_lock(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a lock of the minter that a process never releases."""
    path = directory.data / _LOCK
    if not path.is_file():
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        deadline = time.monotonic() + _LONG_HELD
        while not _is_free(descriptor):
            if time.monotonic() > deadline:
                what = f"a process holds this lock for more than {_LONG_HELD:.0f} seconds, and nothing is minted"
                yield Diagnosis("lock-held", str(path), what, f"`fuser -v {path}` tells which one; end it if it hangs.")
                return
            time.sleep(0.02)
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Return whether the lock is free at this moment. It is not kept."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def check_lock_directory(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield problems of the lock directory in the settings, which all minters of the machine share."""
    place = directory.settings.lock_dir
    if place is None or not (place.exists() or place.is_symlink()):
        return
    what = None
    mode = place.lstat().st_mode
    if stat.S_ISLNK(mode):
        what, remedy = "it is a symbolic link, which any user may have put there", "Make a directory in its place."
    elif not stat.S_ISDIR(mode):
        what, remedy = "it is not a directory", "Make a directory in its place."
    elif mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
        what, remedy = "others may remove locks from it", f"Set its sticky bit: `chmod +t {place}`."
    elif not os.access(place, os.W_OK | os.X_OK):
        what, remedy = "this user may not make locks in it, and mints nothing", f"`chmod 1777 {place}`, as its owner."
    if what is not None:
        yield Diagnosis("lock-directory", str(place), what, remedy)


def check_audit(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a line of the audit log that does not follow from the one before."""
    folder = directory.data / AUDIT
    size = sum(path.stat().st_size for path in folder.iterdir()) if folder.is_dir() else 0
    if size > directory.most_read:
        return
    log = FileAuditLog(directory.data)
    if not (folder.is_dir() or log.was_begun()):
        return
    try:
        for _ in log.entries():
            pass
    except IbiError as error:
        yield from_error("audit", str(folder), error)


def check_settings(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield settings that contradict each other or lack another, and variables that look misspelled."""
    settings = directory.settings
    place = str(settings.file or "the settings")
    for hint in settings.hints:
        yield Diagnosis("settings", "the environment", hint.rstrip("?"), "Rename or unset it.", level=Level.WARNING)
    try:
        configured_mailer(settings)
    except MailIncomplete as error:
        yield from_error(error.code, place, error, _SET)
    if settings.archive.registration_key is not None and settings.resolver is None:
        what = "archive.registration_key is set and resolver is not: no resolver is told of this Archive"
        yield Diagnosis("settings", place, what, "Set resolver, or remove the key.", level=Level.WARNING)
    if (settings.content_url or "").startswith("http:") and (settings.public_url or "").startswith("https:"):
        what = "public_url is https and content_url is http: browsers do not show such files inside pages"
        yield Diagnosis("settings", place, what, "Serve both by https.", level=Level.WARNING)
    yield from _check_membership(directory, place)


def _check_membership(directory: ExaminedDirectory, place: str) -> Iterator[Diagnosis]:
    """Yield the last refusal of the resolver, if this Archive is to be included there."""
    settings, service = directory.settings, service_of(directory.data)
    if service is None:
        return
    try:
        request = membership_request(settings, settings.own_url, service)
    except (MembershipIncomplete, InvalidMessage) as error:
        yield from_error("settings", place, error, _SET)
        return
    files = MembershipFiles(directory.data)
    if request is None or not files.switched_on:
        return
    found = files.read()
    if found.reason is not None:
        what = f"this Archive is not included, or not for certain: {found.reason}"
        remedy = "See `ibi archive status`; the server goes on asking."
        yield Diagnosis("resolver-refused", str(settings.resolver), what, remedy)
    elif found.phase is Phase.INCLUDED and not found.confirmed:
        what = f"it could not reach this Archive at {settings.own_url} when it called back"
        yield Diagnosis("resolver-refused", str(settings.resolver), what, "See whether that address leads here.")


def service_of(data: Path) -> LabelForms | None:
    try:
        record = ArchiveRecordFile(data).read()
    except StorageError:  # reported by another check
        return None
    return None if record is None else record.service


def check_doubt(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield witnesses that a server still asks which Originals were given away before a restore."""
    path = path_of(directory, STATE)
    try:
        if not path.exists() or not path.stat().st_size:
            return
        with opened_unchanged(path, is_in_use=directory.is_served) as connection:
            unheard = sorted(str(row[0]) for row in connection.execute("SELECT url FROM unheard_servers"))
    except (IbiError, OSError):
        return  # reported by another check
    if unheard:
        names = printable(", ".join(unheard))[:_LONGEST_NAMES]
        what = f"it may have been put back from a backup, and {names} did not say yet which Originals were given away"
        remedy = "Its server goes on asking; if none was given away, `ibi transfers trust` ends that."
        is_resolver_unheard = (directory.settings.resolver or "").rstrip("/") in unheard
        level = Level.ERROR if is_resolver_unheard else Level.WARNING
        yield Diagnosis("in-doubt", str(directory.data), what, remedy, level=level)


_JOB_FORGOTTEN: Final = 86_400
"""Seconds after its last failure when a job is no longer reported: every job is retried at least hourly."""
_JOB_ADVICE: Final = (
    "The server tries again by itself: remove what stands in its way, such as a full disk or the mode of a file. Its"
    " log has each failure with a traceback (`a job failed`)."
)


def check_jobs(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield failing background jobs, as a server recorded them."""
    for job in FailingJobsFile(directory.data).all():
        if directory.now.seconds - job.last > _JOB_FORGOTTEN:
            continue
        when = "fails" if directory.is_served else "failed when a server last ran"
        name, since = printable(job.name), Instant(job.since)
        told = (
            f"the background job {name} {when}, since {since}, {job.failures} times in a row: {printable(job.reason)}"
        )
        level = Level.ERROR if directory.is_served else Level.WARNING
        yield Diagnosis("job-failing", directory.name(FAILING_JOBS), told, _JOB_ADVICE, level)


def check_copy_holders(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield an unreadable list of holders of Copies: until it is repaired, resolvers learn nothing new."""
    try:
        CopyHoldersFile(directory.data).read()
    except StoreDamaged as error:
        what = f"it cannot be read: {printable(str(error.parameters['reason']))}"
        remedy = "Put it back from a backup, or remove it and name the holders again: `ibi archive holders add`."
        yield Diagnosis("copy-holders", directory.name(COPY_HOLDERS), what, remedy)


def check_open_items(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield moved items with a chain that does not agree with their state, as the server compared them."""
    path = path_of(directory, STATE)
    try:
        if not path.exists() or not path.stat().st_size:
            return
        with opened_unchanged(path, is_in_use=directory.is_served) as connection:
            rows = connection.execute("SELECT rep, document, due FROM open_items ORDER BY rep").fetchall()
        found = [decode_open(*row) for row in rows]
    except (IbiError, OSError):
        return  # reported by another check
    for item in found[:_MOST_OPEN]:
        what, remedy = open_words(item)
        place = f"{directory.data}: {item.rep.spelling}"
        yield Diagnosis("transfer-open", place, printable(what), printable(remedy), _level_of(item))
    if len(found) > _MOST_OPEN:
        what = f"{len(found) - _MOST_OPEN} more items have no Original where their releases say"
        level = min(map(_level_of, found[_MOST_OPEN:]), key=list(Level).index)
        yield Diagnosis("transfer-open", str(directory.data), what, "`ibi transfers list` names them all.", level)


def _level_of(item: OpenItem) -> Level:
    return Level.ERROR if item.problem.is_urgent else Level.WARNING


def check_second_server(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a second server of the directory at another address."""
    if directory.is_served and (other := ServedAddress(directory.data).read_other()) is not None:
        what = f"a second server runs on it at {other}, and the Archive's own item leads to {directory.served_url}"
        yield Diagnosis("second-server", str(directory.data), what, "Give both the same public_url, or stop one.")
