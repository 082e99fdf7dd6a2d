"""Content on disk: the port `Content` as OCFL 1.1 objects in one storage root.

Beside the root lie `ibi-store.json` (the store's version), `<root>-staging` (changes in preparation) and
`<root>-locks`. A change is prepared in staging, made durable there, renamed into the root and made durable again. Then
it is complete. Readers take no lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ibi.items.model.content import Bytes, Change, KeptObject, NewObject, Problem, Source, check_tree
from ibi.items.ports.archive_store import BlockDigests, ContentDamaged, FileMissing, OnBytes, OnCrc
from ibi.items.store.ocfl import store_context, sweep, versions
from ibi.items.store.ocfl.layout import Broken, checked_name, ensure_version, lay_out, names_in, strays_in
from ibi.items.store.ocfl.object import (
    Inventory,
    ObjectDirectory,
    OpenContent,
    RememberedInventories,
    inventory_stamp,
)
from ibi.items.store.ocfl.store_context import StoreContext
from ibi.items.store.ocfl.verification import verify
from ibi.standard.errors import IbiError
from ibi.storage.batching import Batcher
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked
from ibi.storage.machine import check_same_file, raise_if_exhausted, refusals

STEPS = (
    *versions.CREATION_STEPS,
    *versions.REVISION_STEPS,
    *sweep.PURGE_STEPS,
    *sweep.REMOVAL_STEPS,
    *store_context.STEPS,
    *sweep.SWEEP_STEPS,
)
"""The points at which tests try a crash."""


_AT_HAND = 1 << 20
"""Maximum bytes of an object that is created in a group, so that the others do not wait long."""


def _pass(step: str) -> None:
    """Ignore the step: only tests watch steps."""


class OcflStore:
    """Implements the port `Content`. Each process opens a store of its own, and sweeps once it is open."""

    def __init__(self, root: Path, on_step: Callable[[str], None] = _pass, blocks: BlockDigests | None = None) -> None:
        """`blocks` stores the block digests of content that is taken in or verified."""
        self.root = root
        self._process = os.getpid()
        with refusals(DiskRefused, root):
            ensure_version(root)
            lay_out(root)
            self._work = StoreContext(root, on_step, blocks)
        self._remembered = RememberedInventories()
        self._together: Batcher[NewObject, Inventory] = Batcher(self._create_group)

    def create(
        self, name: str, files: Mapping[str, Source], change: Change, *, on_bytes: OnBytes | None = None
    ) -> KeptObject:
        new = _check_object(NewObject(name, files, change))
        if on_bytes is None and _is_at_hand(new.files):
            return self._together.run(new).to_kept_object()
        return versions.create(self._working(), new, on_bytes).to_kept_object()

    def _create_group(self, objects: Sequence[NewObject]) -> list[Inventory | Exception]:
        return versions.create_all(self._working(), objects)

    def create_all(self, objects: Sequence[NewObject]) -> list[KeptObject | Exception]:
        """Create objects one after the other in this thread. Objects with slow sources have to be created alone."""
        checked = [_checked_or_refused(new) for new in objects]
        made = iter(versions.create_all(self._working(), [new for new in checked if isinstance(new, NewObject)]))
        results = [next(made) if isinstance(new, NewObject) else new for new in checked]
        return [result.to_kept_object() if isinstance(result, Inventory) else result for result in results]

    def update(
        self,
        name: str,
        files: Mapping[str, Source],
        change: Change,
        *,
        head: int | None = None,
        on_bytes: OnBytes | None = None,
    ) -> KeptObject:
        check_tree(files)
        return versions.update(self._working(), checked_name(name), files, change, head, on_bytes).to_kept_object()

    def purge_to(
        self, name: str, files: Mapping[str, Source], change: Change, *, head: int | None = None
    ) -> KeptObject:
        check_tree(files)
        return sweep.purge_to(self._working(), checked_name(name), files, change, head).to_kept_object()

    def remove(self, name: str) -> None:
        sweep.remove(self._working(), checked_name(name))

    def read(self, name: str) -> KeptObject:
        return self.read_inventory(name).to_kept_object()

    def read_inventory(self, name: str) -> Inventory:
        with ObjectDirectory(self._working().descriptor, checked_name(name)) as found:
            return self._inventory(found)

    def open(self, name: str, path: str, version: int | None = None) -> OpenContent:
        with suppress(ContentDamaged):
            return self._open(name, path, version)
        # The object may have been purged between two reads: on the second attempt, damage is damage.
        return self._open(name, path, version)

    @property
    def place(self) -> Path:
        return self.root

    def iterate(self) -> Iterator[str]:
        return names_in(self._working().root)

    def holds(self, name: str) -> bool:
        return os.path.lexists(self._working().target(checked_name(name)))

    def stamp(self, name: str) -> tuple[int, ...] | None:
        try:
            return inventory_stamp(self._working().descriptor, checked_name(name))
        except OSError as error:
            raise_if_exhausted(error)
            return None

    def verify(self, name: str, on_bytes: OnBytes | None = None, on_crc: OnCrc | None = None) -> Iterator[Problem]:
        return verify(self._working(), checked_name(name), on_bytes, on_crc)

    def strays(self) -> Iterator[Problem]:
        return strays_in(self._working().root)

    def sweep(self) -> tuple[str, ...]:
        return sweep.sweep(self._working())

    def check(self) -> None:
        check_same_file(self._working().descriptor, self.root)

    def close(self) -> None:
        if self._work.descriptor >= 0 and self._process == os.getpid():
            self._work.close()

    def _working(self) -> StoreContext:
        if self._process != os.getpid():
            raise StoreForked(path=self.root)
        if self._work.descriptor < 0:
            raise StoreClosed(path=self.root)
        return self._work

    def _inventory(self, found: ObjectDirectory) -> Inventory:
        with suppress(Broken):
            return self._remembered.inventory(found)
        # A process is just replacing the inventory, or has crashed over that. The lock tells which.
        with self._work.locks.hold(found.name):
            return self._work.current(found.name)

    def _open(self, name: str, path: str, version: int | None) -> OpenContent:
        with ObjectDirectory(self._working().descriptor, checked_name(name)) as found:
            inventory = self._inventory(found)
            number = inventory.head if version is None else version
            files = inventory.versions[number - 1].files if 1 <= number <= inventory.head else {}
            if path not in files:
                raise FileMissing(name=name, path=path, version=number)
            place = inventory.manifest[files[path]][0]
            return self._open_content(found, place, files[path])

    def _open_content(self, found: ObjectDirectory, place: str, digest: str) -> OpenContent:
        try:
            return OpenContent(found.open(place), digest)
        except OSError as error:
            raise_if_exhausted(error)
            raise ContentDamaged(name=found.name, problem="E092", reason=f"{place}: {error.strerror}") from error


def _check_object(new: NewObject) -> NewObject:
    check_tree(new.files)
    checked_name(new.name)
    return new


def _checked_or_refused(new: NewObject) -> NewObject | IbiError:
    try:
        return _check_object(new)
    except IbiError as refusal:
        return refusal


def _is_at_hand(files: Mapping[str, Source]) -> bool:
    sizes = [len(source.content) if isinstance(source, Bytes) else _AT_HAND for source in files.values()]
    return sum(sizes) < _AT_HAND
