"""Brings items of other Archives here as Copies, refreshes them and drops them.

A Copy is made whole or not at all. Its record and every file are compared with their digests before the item is listed,
and a refused Copy leaves nothing behind. When a connection or a process ends, the received part of a file stays in
staging, and the next run resumes it. An Original is never overwritten: each change happens under the item's lock, after
a look at its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import Final

from ibi.copies.model import ItemObjectRecord
from ibi.copies.ports import (
    CopyStaging,
    CopyStopped,
    FindSource,
    ItemSource,
    ItemSources,
    NoCopyService,
    NoSource,
    Pieces,
    SourceCut,
    SourceGone,
    SourceSilent,
    StagedFiles,
    WrongDigest,
)
from ibi.copies.rules.copies import CopyRules, NotTheOriginal, WrongObject, check_original
from ibi.copies.service.judging import OWE_NOTHING, CopyJudge, IsOwed, PreparedCopy, released_record
from ibi.items.model.content import Bytes, Change, Copy, Keep, Move, Source
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.ports.archive_store import ContentChanged, ContentExists, OnBytes
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import LabelTaken
from ibi.items.rules.provenance import Chain
from ibi.items.rules.related_items import find_labelled
from ibi.items.service import item_repository as kept_items
from ibi.items.service.item_repository import ItemRepository, PendingItem
from ibi.items.service.stored_item import DOC, StoredItem, name_of
from ibi.people.model.account import COMMAND, Actor, AuditEntry
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.origin import Origin
from ibi.standard.vocabulary import State

STEPS: Final = (*kept_items.STEPS, *kept_items.REMOVAL_STEPS)
"""The steps at which tests try a crash."""
_ATTEMPTS: Final = 4
"""Failures of a connection in a row without `_MUCH` bytes between them."""
_MUCH: Final = 1 << 16
_PATIENCE: Final = 5.0
"""Seconds after which a server that has never answered is not asked again."""
_PAUSE: Final = 0.25
"""Seconds before the third attempt; they double before each further one."""


@dataclass(frozen=True, slots=True)
class Brought:
    """The result for one requested item."""

    item: Item
    changed: bool
    """True if the item here changed."""
    head: int
    """The version of its object at the source."""
    is_new: bool = False
    """True if there was no Copy before."""
    size: int = 0
    """Bytes of the files that came."""


OnChain = Callable[[RepositoryName, Chain], None]


def _ignore(_: int) -> None:
    """Do nothing: by default bytes are not counted."""


def _ignore_chain(_rep: RepositoryName, _chain: Chain) -> None:
    """Do nothing: by default no ledger keeps the chains of Copies."""


class Copying:
    """Makes Copies in one Archive. Calls block, from any thread."""

    def __init__(
        self,
        repository: ItemRepository,
        sources: ItemSources,
        staging: CopyStaging,
        clocks: Clocks,
        rules: CopyRules,
        *,
        find_source: FindSource | None = None,
        actor: Actor = COMMAND,
        stopping: Event | None = None,
        is_owed: IsOwed = OWE_NOTHING,
        on_chain: OnChain = _ignore_chain,
    ) -> None:
        """`find_source` asks the resolver. Setting `stopping` ends the work under way with `CopyStopped`. For `is_owed`
        see `CopyJudge`. `on_chain` is called for each Copy that was stored with a chain of releases."""
        self._on_chain = on_chain
        self._repository, self._catalog, self._sources, self._staging = repository, repository.catalog, sources, staging
        self._clocks, self._rules, self._find_source, self._actor = clocks, rules, find_source, actor
        self._judge, self._is_owed = CopyJudge(repository, rules, is_owed), is_owed
        self.stopping = Event() if stopping is None else stopping

    def acting_for(self, actor: Actor, stopping: Event | None = None) -> Copying:
        """Return the same service for another actor in the audit log. With its own `stopping` it can be stopped by
        itself."""
        return Copying(
            self._repository,
            self._sources,
            self._staging,
            self._clocks,
            self._rules,
            find_source=self._find_source,
            actor=actor,
            stopping=self.stopping if stopping is None else stopping,
            is_owed=self._is_owed,
            on_chain=self._on_chain,
        )

    def bring(
        self,
        label: Label,
        source: str | None = None,
        token: str | None = None,
        on_bytes: OnBytes | None = None,
        *,
        who: str = "copy",
    ) -> Brought:
        """Make or refresh the Copy of `label`, whole or not at all.

        `source` is `http(s)://host[:port]`. Without it, the Archive that the Copy here was taken from is asked, or else
        the one that the resolver finds. `token` is shown to it. `on_bytes` is called with the number of bytes that have
        come.
        """
        self.check_wanted(label)
        failure: IbiError | None = None
        for place in self._places(label, source):
            try:
                with self.opened(place, token) as archive:
                    return self.bring_from(archive, label, on_bytes or _ignore, who=who)
            except (NotTheOriginal, NoCopyService, SourceGone, SourceCut) as error:
                failure = failure or error
        raise failure or NoSource(label=str(label), reason="no resolver is asked, and no Archive was named")

    def bring_released(self, label: Label, source: str, chain: Chain) -> Brought:
        """Bring the bytes that the last release of a chain names, and store them as a Copy with this chain. Any Archive
        that has them may be the source, with the Original or a Copy. `WrongObject` for other bytes."""
        with self.opened(source) as archive:
            record = released_record(self._persist(lambda: archive.read_object(label)), label, source, chain)
            return self.bring_from(archive, label, _ignore, who="transfer", record=record)

    def find_original(self, label: Label, token: str | None = None) -> tuple[str, ItemObjectRecord]:
        """Return the address of the Archive that has the Original, by the resolver's word, and that Archive's record of
        the item."""
        if self._find_source is None:
            raise NoSource(label=str(label), reason="no resolver is asked")
        with self.opened(self._find_source(label), token) as archive:
            record = self._persist(lambda: archive.read_object(label))
            self._rules.check_record(label, record, archive.url, is_on_loopback=archive.is_on_loopback)
            check_original(label, record, archive.url)
            return archive.url, record

    def _places(self, label: Label, source: str | None) -> Iterator[str]:
        """Yield the Archives to ask, one after the other."""
        if source is not None:
            yield source
            return
        here = find_labelled(self._catalog, label)
        known = None if here is None else here.source_url
        if known is not None:
            yield known
        if self._find_source is not None:
            found = self._find_source(label)
            if found != known:
                yield found

    @contextmanager
    def opened(self, source: str, token: str | None = None) -> Iterator[ItemSource]:
        with self._sources.open(source, token) as archive:
            yield archive

    def bring_from(
        self, archive: ItemSource, label: Label, on_bytes: OnBytes, *, who: str, record: ItemObjectRecord | None = None
    ) -> Brought:
        """Make or refresh a Copy from an open Archive. `record` is that Archive's record of the item, if it was asked
        already."""
        if record is None:
            record = self._persist(lambda: archive.read_object(label))
        prepared = self.prepare(archive, label, record)
        if isinstance(prepared, Brought):
            self._staging.forget(name_of(prepared.item))  # the process that brought it may have died
            return prepared
        if prepared.is_at_hand:
            with self._staging.reserve(prepared.size, self._room_for(label, prepared.size)):
                on_bytes(prepared.size)
                return self._keep(prepared, self._sources_at_hand(prepared), who)
        with self._staging.begin(prepared.name, prepared.size, self._room_for(label, prepared.size)) as staged:
            try:
                files = self._receive_files(archive, prepared, staged, on_bytes)
                brought = self._keep(prepared, files, who)
            except (SourceCut, CopyStopped):
                raise  # the next run resumes with the received bytes
            except BaseException:
                staged.discard()
                raise
            staged.discard()
            return brought

    def prepare(self, archive: ItemSource, label: Label, record: ItemObjectRecord) -> PreparedCopy | Brought:
        """Judge another Archive's record of an item. Return the work that is left, or the result if there is none."""
        here = self._judge.check_record(archive, label, record)
        if record.state is State.DELETED and here is not None:
            return self._outlive(here, record)
        prepared = self._judge.prepare(archive, label, record)
        if prepared.before is not None and prepared.is_same:
            return Brought(prepared.before.item, changed=False, head=record.head)
        return prepared

    def check_wanted(self, label: Label) -> Item | None:
        """Refuse a label that can have no Copy here, before any request. Return the Copy that is here, if any."""
        return self._judge.check_wanted(label)

    def _room_for(self, label: Label, size: int) -> Callable[[int], None]:
        return lambda promised: self._judge.check_room(label, size, self._staging.free(), promised)

    def _receive_files(
        self, archive: ItemSource, prepared: PreparedCopy, staged: StagedFiles, on_bytes: OnBytes
    ) -> dict[str, Source]:
        files: dict[str, Source] = self._sources_at_hand(prepared)
        received: dict[str, Source] = {}
        for file in prepared.missing:
            if file.path in files:
                continue
            if file.sha512 not in received:
                received[file.sha512] = self._receive(archive, prepared, staged, file, on_bytes)
                files[file.path] = received[file.sha512]
            else:
                files[file.path] = _again(received[file.sha512])
        return files

    def _receive(
        self, archive: ItemSource, prepared: PreparedCopy, staged: StagedFiles, file: File, on_bytes: OnBytes
    ) -> Source:
        attempts = _Attempts(self.stopping)

        def read_from(offset: int) -> Pieces:
            for piece in archive.read_file(prepared.original.rep, file, offset):
                if self.stopping.is_set():
                    raise CopyStopped()
                attempts.note_progress(len(piece))
                yield piece

        while True:
            try:
                return staged.receive(file, read_from, on_bytes)
            except SourceCut as cut:
                attempts.wait_after(cut)
            except WrongDigest as error:
                raise WrongObject(
                    label=str(prepared.original.rep), source=archive.url, reason=str(error).rstrip(".")
                ) from error

    def _persist(self, ask: Callable[[], ItemObjectRecord]) -> ItemObjectRecord:
        attempts, began = _Attempts(self.stopping), monotonic()
        while True:
            try:
                return ask()
            except SourceCut as cut:
                if isinstance(cut, SourceSilent) and monotonic() - began > _PATIENCE:
                    raise
                attempts.wait_after(cut)

    def _sources_at_hand(self, prepared: PreparedCopy) -> dict[str, Source]:
        """Return the files that are here, and those that came with the record."""
        missing = {file.path for file in prepared.missing}
        kept: dict[str, Source] = {
            file.path: Keep(DOC + prepared.kept[file.sha512])
            for file in prepared.original.files
            if file.path not in missing
        }
        return kept | {path: Bytes(content) for path, content in prepared.record.contents.items() if path in missing}

    def _keep(self, prepared: PreparedCopy, files: Mapping[str, Source], who: str) -> Brought:
        name, pending = prepared.name, self._pending(prepared, files, who)
        with self._repository.changing(name), self._repository.locks.hold(name):
            self.check_wanted(prepared.original.rep)  # an Original may have come meanwhile
            if prepared.head is None:
                stored = self._create(pending)
            else:
                stored = self._repository.revise(pending, prepared.head)
                self._repository.list(stored)
            assert pending.entry is not None
            self._repository.note(pending.entry)
        return self._finish_copy(prepared, stored.item)

    def _create(self, pending: PendingItem) -> StoredItem:
        try:
            stored = self._repository.create(pending)
        except ContentExists as error:  # made by another process since
            raise ContentChanged(name=pending.name, expected=0, found=1) from error
        try:
            self._repository.list(stored)
        except LabelTaken:
            self._repository.content.remove(pending.name)
            raise
        return stored

    def bring_all(
        self, archive: ItemSource, found: Sequence[tuple[Label, ItemObjectRecord]], on_bytes: OnBytes, *, who: str
    ) -> list[Brought | IbiError]:
        """Bring several items of an open Archive, and return the result of each. New items that came whole with their
        records are stored together."""
        outcomes: dict[int, Brought | IbiError] = {}
        together: dict[int, PreparedCopy] = {}
        names: set[str] = set()
        for number, (label, record) in enumerate(found):
            try:
                prepared = self.prepare(archive, label, record)
                if isinstance(prepared, Brought):
                    outcomes[number] = prepared
                elif prepared.head is None and prepared.is_at_hand and prepared.name not in names:
                    together[number] = prepared
                    names.add(prepared.name)
                else:
                    outcomes[number] = self.bring_from(archive, label, on_bytes, who=who, record=record)
            except IbiError as error:
                outcomes[number] = error
        if together:
            outcomes |= self._keep_together(together, on_bytes, who)
        return [outcomes[number] for number in range(len(found))]

    def _keep_together(
        self, prepared: Mapping[int, PreparedCopy], on_bytes: OnBytes, who: str
    ) -> dict[int, Brought | IbiError]:
        size = sum(each.size for each in prepared.values())
        first = next(iter(prepared.values())).original.rep
        try:
            with self._staging.reserve(size, self._room_for(first, size)):
                on_bytes(size)
                pending = [self._pending(each, self._sources_at_hand(each), who) for each in prepared.values()]
                made = self._repository.add_all(pending)
        except IbiError as error:
            if len(prepared) == 1:
                return dict.fromkeys(prepared, error)
            # Items that do not fit together may fit in part.
            return {
                number: outcome
                for number, each in prepared.items()
                for outcome in self._keep_together({number: each}, on_bytes, who).values()
            }
        outcomes: dict[int, Brought | IbiError] = {}
        for (number, each), outcome in zip(prepared.items(), made, strict=True):
            if isinstance(outcome, LabelTaken):
                self._repository.content.remove(each.name)
            outcomes[number] = self._report_outcome(each, outcome)
        return outcomes

    def _report_outcome(self, prepared: PreparedCopy, outcome: Item | Exception) -> Brought | IbiError:
        if isinstance(outcome, Item):
            return self._finish_copy(prepared, outcome)
        if isinstance(outcome, ContentExists):
            return ContentChanged(name=prepared.name, expected=0, found=1)
        if isinstance(outcome, IbiError):
            return outcome
        raise outcome

    def _pending(self, prepared: PreparedCopy, files: Mapping[str, Source], who: str) -> PendingItem:
        """Return the Copy, ready to be stored."""
        is_new, origin = prepared.before is None, Origin.of_url(prepared.source)
        others: dict[str, Source] = {path: Bytes(content) for path, content in prepared.record.others.items()}
        change = Change(who, f"{'Copied' if is_new else 'Refreshed'} from {origin.authority}", self._now())
        entry = self._entry("copy" if is_new else "refresh", prepared.name, str(origin))
        record = prepared.record.item_json
        return PendingItem(prepared.name, prepared.as_copy, files, change, entry, record, others, prepared.dropped)

    def _finish_copy(self, prepared: PreparedCopy, item: Item) -> Brought:
        is_new = prepared.before is None
        if prepared.chain.links:
            self._on_chain(item.rep, prepared.chain)
        return Brought(item, changed=True, head=prepared.record.head, is_new=is_new, size=prepared.size)

    def _outlive(self, here: Item, record: ItemObjectRecord) -> Brought:
        """Record in the Copy that its Original was deleted."""
        assert record.tombstone is not None
        tombstone, name = record.tombstone, name_of(here)
        with self._repository.changing(name), self._repository.locks.hold(name):
            before = self._repository.read(name)
            after = life_cycle.outlive(before.item, tombstone)
            if after == before.item:
                return Brought(after, changed=False, head=record.head)
            change = Change("copy", f"Deleted at its Original: {tombstone.why}", self._now())
            self._repository.list(self._repository.annotate_locally(after, change, before.head))
            self._repository.note(self._entry("refresh", name, "deleted at its Original"))
        return Brought(after, changed=True, head=record.head)

    def drop(self, label: Label, who: str) -> None:
        """Remove a Copy with its bytes. `NotAllowedNow` for an Original. If this Archive once gave the Original away,
        the record of that transfer stays."""
        name = name_of(self._repository.find(label))
        with self._repository.changing(name), self._repository.locks.hold(name):
            item = self._repository.find(label)
            now = self._now()
            transfer = life_cycle.drop(item, now)
            if transfer is None:
                self._repository.forget(item)
            else:
                head = self._repository.content.read(name).head.number
                self._repository.depart(transfer, Change(who, "Dropped", now), head)
            self._repository.note(self._entry("drop", name, item.source or ""))
        self._staging.forget(name)

    def sweep(self, days: int) -> int:
        """Remove the received parts of items that were left alone for so many days. Return the number of items."""
        return self._staging.sweep(days)

    def copies(self) -> Iterator[Item]:
        """Return the Copies of this Archive."""
        return (item for item in self._catalog.items() if item.state is State.COPY)

    def _now(self) -> Instant:
        return Instant(self._clocks.seconds())

    def _entry(self, act: str, name: str, detail: str) -> AuditEntry:
        who = self._actor
        return AuditEntry(self._now(), act, name, who.account, who.token, who.address, detail)


class _Attempts:
    """Counts the failures of a connection in a row. A connection that brings only a byte at a time ends too."""

    def __init__(self, stopping: Event) -> None:
        self._stopping, self._failed, self._came = stopping, 0, 0

    def note_progress(self, size: int) -> None:
        self._came += size
        if self._came >= _MUCH:
            self._failed = self._came = 0

    def wait_after(self, cut: SourceCut) -> None:
        """Wait before the next attempt. Raise `cut` if there are no more."""
        self._failed += 1
        if self._failed >= _ATTEMPTS:
            raise cut
        # The first time at once: a connection that has brought much was cut by chance.
        if self._stopping.wait(_PAUSE * 2 ** (self._failed - 2) if self._failed > 1 else 0):
            raise CopyStopped() from cut


def _again(source: Source) -> Source:
    """Return the source of the same content under another name."""
    return Copy(source.path) if isinstance(source, Move) else source
