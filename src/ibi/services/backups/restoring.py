"""Puts a backup back into a data directory, or goes on with that, and checks a backup without putting it anywhere.

Nothing is believed: each file is compared with its digest before it gets its name. What has its name already, from a
run that was interrupted, was compared then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from ibi.model.backup import BackupManifest, KeptItem, newest_manifest
from ibi.ports.backups import BackupIncomplete, BackupRefused, BackupTarget, OnStep, RestoredDirectory
from ibi.ports.content import OnBytes
from ibi.services.backups.backing_up import read_file, read_listing, read_manifest

Result = TypeVar("Result")


def _pass(_: object) -> None:
    """Default: nothing is watched."""


def newest_backup(target: BackupTarget) -> BackupManifest:
    """The manifest of the newest complete backup. `BackupRefused` if there is none."""
    found = newest_manifest(key for key, _ in target.list("manifests/"))
    if found is None:
        raise BackupRefused(place=target.place, reason="there is no complete backup there")
    return read_manifest(target, found[1])


@dataclass(slots=True)
class RestoreReport:
    """What was put back."""

    manifest: BackupManifest
    items: int = 0
    there: int = 0
    """Items that an interrupted run had put back already."""


class PuttingBack:
    """One run."""

    def __init__(
        self,
        target: BackupTarget,
        directory: RestoredDirectory,
        *,
        on_step: OnStep = _pass,
        on_bytes: OnBytes = _pass,
    ) -> None:
        self._target, self._directory = target, directory
        self._step, self._on_bytes = on_step, on_bytes

    def run(self) -> RestoreReport:
        manifest = newest_backup(self._target)
        self._directory.begin(self._target.place, manifest.key, has_store=manifest.has_store)
        self._step("begun")
        report = RestoreReport(manifest)
        for was_there in self._put_items(manifest):
            report.items += 1
            report.there += was_there
            self._step("item put")
        if report.items != manifest.items:
            reason = f"it has {report.items} items, and {manifest.items} were written"
            raise BackupIncomplete(place=self._target.place, key=manifest.key, reason=reason)
        self._directory.settle()
        self._step("items settled")
        self._directory.keep_only(item.name for item in read_listing(self._target, manifest))
        for file in manifest.files:
            self._directory.put_file(file, read_file(self._target, file))
            self._on_bytes(file.size)
            self._step("file put")
        self._directory.settle()
        self._step("files settled")
        return report

    def _put_items(self, manifest: BackupManifest) -> Iterator[bool]:
        return _in_parallel(read_listing(self._target, manifest), self._put_item, self._target.parallel)

    def _put_item(self, item: KeptItem) -> bool:
        """Whether it was there already."""
        if self._directory.holds(item):
            return True
        self._on_bytes(self._directory.put_item(item, self._target.read))
        return False


def check_backup(
    target: BackupTarget, check_item: Callable[[KeptItem], int], on_bytes: OnBytes = _pass
) -> BackupManifest:
    """Read all of a backup and compare it with its digests. `BackupIncomplete` at the first thing that is wrong."""
    manifest = newest_backup(target)
    items = 0
    for size in _in_parallel(read_listing(target, manifest), check_item, target.parallel):
        on_bytes(size)
        items += 1
    if items != manifest.items:
        reason = f"it has {items} items, and {manifest.items} were written"
        raise BackupIncomplete(place=target.place, key=manifest.key, reason=reason)
    for file in manifest.files:
        for piece in read_file(target, file):
            on_bytes(len(piece))
    return manifest


def _in_parallel(items: Iterator[KeptItem], work: Callable[[KeptItem], Result], workers: int) -> Iterator[Result]:
    """What `work` gives for each item, in order; some at a time, where waiting for another machine is most of it."""
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
