"""Restore a backup into a data directory, or resume an interrupted restore, or check a backup without restoring it.

Every file is compared with its digest before it gets its name. A file that has its name already, from an interrupted
run, was compared then.

A damaged part concerns one item or one file. A restore finds all damaged parts before it ends. It is then refused, or
goes on without them on request. An item is left out as a whole, since its newest version holds its access rules and its
deletion. Files that are `is_vital` are never left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar

from ibi.backup.model.backup import (
    BackupManifest,
    DamagedPart,
    InvalidBackup,
    KeptFile,
    KeptItem,
    chunk_key,
    is_kept_twice,
    is_manifest_of,
    is_vital,
    newest_manifest,
    twin_key,
)
from ibi.backup.ports import BackupDamaged, BackupIncomplete, BackupRefused, BackupTarget, OnStep, RestoredDirectory
from ibi.backup.service.backing_up import read_file, read_listing, read_manifest
from ibi.items.ports.archive_store import OnBytes

Result = TypeVar("Result")
Reader = Callable[[str], Iterator[bytes]]
FindDamage = Callable[[KeptItem, Reader], tuple[int, list[DamagedPart]]]
"""Returns the bytes of an item's versions, and those of its parts that are missing or damaged."""


def _pass(_: object) -> None:
    """Do nothing: the default watcher."""


_MANIFESTS = ("manifests/", twin_key("manifests/"))


def newest_backup(target: BackupTarget) -> BackupManifest:
    """Return the manifest of the newest complete backup. `BackupRefused` if there is none."""
    found = newest_manifest(key for folder in _MANIFESTS for key, _ in target.list(folder))
    if found is None:
        raise BackupRefused(place=target.place, reason="there is no complete backup there")
    return read_manifest(target, found[1])


@dataclass(slots=True)
class RestoreReport:
    """The result of a restore."""

    manifest: BackupManifest
    items: int = 0
    there: int = 0
    """Items that an interrupted run had put back already."""
    damaged: list[DamagedPart] = field(default_factory=list)
    left_out: dict[str, None] = field(default_factory=dict)
    """Items that are not restored, in order."""
    left_out_files: dict[str, None] = field(default_factory=dict)
    """Files and drafts that are not restored."""


class PuttingBack:
    """One run of a restore."""

    def __init__(
        self,
        target: BackupTarget,
        directory: RestoredDirectory,
        find_damage: FindDamage,
        *,
        without_damaged: bool = False,
        on_step: OnStep = _pass,
        on_bytes: OnBytes = _pass,
    ) -> None:
        self._target, self._directory, self._find_damage = target, directory, find_damage
        self._without_damaged = without_damaged
        self._step, self._on_bytes = on_step, on_bytes

    def run(self) -> RestoreReport:
        """Restore the backup. `BackupIncomplete` before anything is written if a vital part is lost. `BackupDamaged`
        after all whole parts are restored, unless the run goes on without damaged parts."""
        manifest = newest_backup(self._target)
        self._check_vital(manifest)
        self._directory.begin(self._target.place, manifest.key, has_store=manifest.has_store)
        self._step("begun")
        report = RestoreReport(manifest)
        self._put_items(manifest, report)
        self._directory.settle()
        self._step("items settled")
        self._directory.keep_only(item.name for item in read_listing(self._target, manifest))
        self._put_files(manifest, report)
        self._directory.settle()
        self._step("files settled")
        if report.damaged:
            self._leave_out(report)
        return report

    def _check_vital(self, manifest: BackupManifest) -> None:
        for file in manifest.files:
            if is_vital(file.path):
                for _ in read_file(self._target, file):
                    pass
        if sum(1 for _ in read_listing(self._target, manifest)) != manifest.items:
            reason = f"its list of items does not have the {manifest.items} that were written"
            raise BackupIncomplete(place=self._target.place, key=manifest.key, reason=reason)

    def _put_items(self, manifest: BackupManifest, report: RestoreReport) -> None:
        items = read_listing(self._target, manifest)
        for name, was_there, damaged in _in_parallel(items, self._put_item, self._target.parallel):
            if damaged:
                if name == manifest.owner.get("archive"):
                    reason = f"{damaged[0].reason}; it is of {name}, the item that is the Archive itself"
                    raise BackupIncomplete(place=self._target.place, key=damaged[0].key, reason=reason)
                report.damaged += damaged
                report.left_out[name] = None
            else:
                report.items += 1
                report.there += was_there
            self._step("item put")

    def _put_item(self, item: KeptItem) -> tuple[str, bool, list[DamagedPart]]:
        """Restore an item. Return its name, whether it was there already, and its damaged parts: with any, it is not
        restored."""
        if self._directory.holds(item):
            return item.name, True, []
        for read in (self._target.read, self._read_twin):
            try:
                self._on_bytes(self._directory.put_item(item, read))
            except BackupIncomplete:
                continue
            return item.name, False, []
        damaged = self._find_damage(item, self._target.read)[1]
        if not damaged:  # the last read differed from this one
            damaged = [DamagedPart(next(item.parts()), item.name, "the disk gives it differently each time")]
        return item.name, False, damaged

    def _read_twin(self, key: str) -> Iterator[bytes]:
        return self._target.read(twin_key(key))

    def _put_files(self, manifest: BackupManifest, report: RestoreReport) -> None:
        for file in manifest.files:
            try:
                self._directory.put_file(file, read_file(self._target, file))
            except BackupIncomplete as error:
                report.damaged += find_damaged_pieces(self._target, file) or [_part_of(file, error)]
                report.left_out_files[_whole_of(file.path)] = None
            self._on_bytes(file.size)
            self._step("file put")

    def _leave_out(self, report: RestoreReport) -> None:
        """Refuse; or make the directory usable without the damaged parts, and record their names."""
        if not self._without_damaged:
            raise self._refusal(report)
        for path in report.left_out_files:
            self._directory.remove(path)
            # Otherwise the missing database would be taken for one that was lost since.
            self._directory.forget_begun(path)
        self._directory.note_left_out(report.left_out, report.left_out_files)
        self._step("left out")

    def _refusal(self, report: RestoreReport) -> BackupDamaged:
        first = report.damaged[0]
        numbers = ((len(report.left_out), "items"), (len(report.left_out_files), "files"))
        refusal = BackupDamaged(
            place=self._target.place,
            count=len(report.damaged),
            key=first.key,
            reason=first.reason,
            lost=" and ".join(f"{number} {what}" for number, what in numbers if number),
        )
        refusal.parts = report.damaged
        return refusal


def _whole_of(path: str) -> str:
    """Return the path that is useless without this file: a draft, or the file alone."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "drafts" and len(parts) > 2 else path


def _part_of(file: KeptFile, error: BackupIncomplete) -> DamagedPart:
    return DamagedPart(str(error.parameters["key"]), file.path, str(error.parameters["reason"]))


@dataclass(slots=True)
class BackupCheck:
    """The result of a check that read a whole backup."""

    manifest: BackupManifest
    damaged: list[DamagedPart] = field(default_factory=list)


def check_backup(
    target: BackupTarget, find_damage: FindDamage, on_bytes: OnBytes = _pass, *, only: frozenset[str] | None = None
) -> BackupCheck:
    """Read a backup and compare it with its digests: all of it, or the items and files in `only`."""
    check = BackupCheck(newest_backup(target))
    manifest, items = check.manifest, 0
    check.damaged += _find_damaged_manifest(target, manifest)

    own = manifest.owner.get("archive")
    has_twins = own is not None and any(True for _ in target.list(twin_key(f"items/{own}/")))

    def look(item: KeptItem) -> tuple[int, list[DamagedPart]]:
        if only is not None and item.name not in only:
            return 0, []
        is_twice = has_twins and item.name == own
        return _look_twice(target, item, find_damage) if is_twice else find_damage(item, target.read)

    try:
        for size, damaged in _in_parallel(read_listing(target, manifest), look, target.parallel):
            items += 1
            check.damaged += damaged
            on_bytes(size)
        if items != manifest.items:
            reason = f"it has {items} items, and {manifest.items} were written"
            check.damaged.append(DamagedPart(manifest.key, "the list of items", reason))
    except (BackupIncomplete, InvalidBackup) as error:
        reason = f"the items that it lists were not looked at: {error.parameters['reason']}"
        check.damaged.append(DamagedPart(manifest.listing.path, "the list of items", reason))
    for file in (manifest.listing, *manifest.files):
        if only is None or file.path in only:
            check.damaged += find_damaged_pieces(target, file, on_bytes)
    return check


def _look_twice(target: BackupTarget, item: KeptItem, find_damage: FindDamage) -> tuple[int, list[DamagedPart]]:
    """Find the damage of an item's parts and of their twins."""
    size, damaged = find_damage(item, target.read)
    twins = find_damage(item, lambda key: target.read(twin_key(key)))[1]
    return size, [*damaged, *(part._replace(key=twin_key(part.key)) for part in twins)]


def _find_damaged_manifest(target: BackupTarget, manifest: BackupManifest) -> Iterator[DamagedPart]:
    for key, is_needed in ((manifest.key, True), (twin_key(manifest.key), False)):
        try:
            is_right = is_manifest_of(manifest.key, b"".join(target.read(key)))
        except BackupIncomplete:  # an earlier version made no twins
            is_right = not is_needed
        if not is_right:
            yield DamagedPart(key, "the manifest", "it is missing, or not what was written")


def find_damaged_pieces(target: BackupTarget, file: KeptFile, on_bytes: OnBytes = _pass) -> list[DamagedPart]:
    """Return the pieces of a file that are missing or damaged, and their twins that are damaged."""
    ways = (chunk_key, lambda digest: twin_key(chunk_key(digest)))
    return [
        DamagedPart(each, file.path, reason)
        for digest in dict.fromkeys(file.chunks)
        for each in (way(digest) for way in ways[: 2 if is_kept_twice(file.path) else 1])
        if (reason := _find_fault(target, each, digest, on_bytes)) is not None
    ]


def _find_fault(target: BackupTarget, key: str, digest: str, on_bytes: OnBytes) -> str | None:
    try:
        content = b"".join(target.read(key))
    except BackupIncomplete as error:
        return str(error.parameters["reason"]) if key == chunk_key(digest) else None
    on_bytes(len(content))
    return None if sha256(content).hexdigest() == digest else "it is not what was written"


def _in_parallel(items: Iterator[KeptItem], work: Callable[[KeptItem], Result], workers: int) -> Iterator[Result]:
    """Yield the result of `work` for each item, in order. Several run at a time where most of the work is waiting for
    another machine."""
    if workers == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 4 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
