"""Publishes items that come whole, in one request, and so small that they fit in memory. No draft is made of them.

Rules, quotas and errors are those of drafts. Several items that come together are stored together, each whole or not at
all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from ibi.deposits.model import DraftRecord, Publication, RequestedDeletion
from ibi.deposits.ports import DraftStore, Uploaded
from ibi.deposits.rules.drafts import (
    MOST_FILES,
    DeletionLapsed,
    DraftRules,
    ReviewNeeded,
    TooManyFiles,
    check_readable,
    check_terms,
    check_upload,
    is_published_already,
    together,
)
from ibi.deposits.service.ledger import Depositor, DraftLedger, DraftView
from ibi.deposits.service.uploads import DraftUploads
from ibi.items.model.content import Bytes, Keep, Move, Sent, Source
from ibi.items.model.file import UNKNOWN_SHA_512, File, collision_key
from ibi.items.model.item import Description, Draft, Item
from ibi.items.rules.errors import KeyReused
from ibi.items.rules.life_cycle import Act, check_not_service, require, update
from ibi.items.rules.related_items import find_forms
from ibi.items.rules.rights import Belonging, ItemAct, may
from ibi.items.service.deposits import Deposits, NewItem
from ibi.items.service.file_selection import media_type_of
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import name_of
from ibi.items.service.versions import VersionChanges, Versions, changes_between
from ibi.minting.ports import LabelBatchMinter, LabelMinter
from ibi.people.model.account import Actor, Scope, shown_account
from ibi.standard.clock_reading import Clocks
from ibi.standard.document_errors import InvalidFileName
from ibi.standard.errors import IbiError
from ibi.standard.messages.identification import LabelForms
from ibi.standard.storage_errors import DiskFull, StorageError, refused_for_room
from ibi.standard.vocabulary import State

MOST_BYTES: Final = 1 << 20
"""Bytes of the files of one item in memory. A larger item is sent through a draft."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that has come, with its bytes."""

    path: str
    content: bytes
    media_type: str | None = None
    """The sender's media type. None derives it from the name."""


@dataclass(frozen=True, slots=True)
class WholeItem:
    """An item as it was sent."""

    description: Description
    files: tuple[SentFile, ...]
    key: str | None = None
    """A repeated request with the same key returns the first item."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published item, with the record of its publication."""

    item: Item
    publication: Publication
    is_deletion: bool = False
    """True if the item was deleted, as its depositor had requested."""


@dataclass(frozen=True, slots=True)
class WholeDeposits:
    """Deposits of items that are in memory. Calls block, from any thread. `service` is the Archive's own item."""

    kept: ItemRepository
    clocks: Clocks
    rules: DraftRules
    ledger: DraftLedger
    service: LabelForms | None = None
    must_submit: Callable[[Depositor], bool] = lambda _: False
    """Returns whether the depositor's items need a review first: then they go through a draft."""

    def deposit(
        self, who: Depositor, items: Sequence[WholeItem], labels: LabelBatchMinter
    ) -> list[Published | IbiError]:
        """Publish each item, whole or not at all. Return an item or an error for each, in their order."""
        if self.must_submit(who):
            return [ReviewNeeded(draft="what you sent") for _ in items]
        outcomes: dict[int, Item | IbiError] = {}
        wanted: dict[int, NewItem] = {}
        with ExitStack() as coming:
            for number, item in enumerate(items):
                try:
                    wanted[number] = self._check_deposit(who, item, coming)
                except IbiError as error:
                    outcomes[number] = error
            deposits = Deposits(self.kept, labels, self.clocks, service=self.service, actor=who.actor)
            made = deposits.deposit_all([*wanted.values()], labels, who.name, owner=who.owner)
        outcomes |= dict(zip(wanted, made, strict=True))
        return [  # in the order in which they were sent
            _make_publication(deposits, item, outcomes[number], labels) for number, item in enumerate(items)
        ]

    def _check_deposit(self, who: Depositor, item: WholeItem, coming: ExitStack) -> NewItem:
        """Return the new item. It has room until `coming` ends."""
        check_terms(item.description, (), self.clocks.read().wall)
        new, files, total = _as_new(item), dict[str, File](), 0
        for sent in item.files:
            name, size = collision_key(sent.path), len(sent.content)
            check_sent(sent.path, files.get(name), len(files))
            self.rules.check_room(sent.path, len(files), total, size)
            files[name] = _file(sent)
            total += size
        if item.files:
            share = self.ledger.promise(who.owner, "", item.files[-1].path, total)
            coming.callback(share.release)
        return new


def _as_new(item: WholeItem) -> NewItem:
    sources: dict[str, Source] = {sent.path: Bytes(sent.content) for sent in item.files}
    return NewItem(Draft(description=item.description, files=tuple(map(_file, item.files))), sources, item.key)


def _file(sent: SentFile) -> File:
    return File(sent.path, len(sent.content), UNKNOWN_SHA_512, sent.media_type or media_type_of(sent.path))


def _make_publication(
    deposits: Deposits, sent: WholeItem, outcome: Item | IbiError, labels: LabelBatchMinter
) -> Published | IbiError:
    if isinstance(outcome, StorageError):
        return DiskFull() if refused_for_room(outcome) else outcome
    if isinstance(outcome, IbiError) and not isinstance(outcome, KeyReused):
        try:
            # The earlier deposit with this key may be the reason for the refusal: an item has only one next edition.
            known = None if sent.key is None else first_deposit(deposits, labels, sent.key, *_as_new(sent)[:2])
        except KeyReused as error:
            return error
        outcome = outcome if known is None else known
    return (
        outcome if isinstance(outcome, IbiError) else Published(outcome, Publication(outcome.labels, outcome.version))
    )


def first_deposit(
    deposits: Deposits, labels: LabelMinter, key: str, draft: Draft, sources: Mapping[str, Source]
) -> Item | None:
    """Return the item of an earlier deposit with this key, after a refusal; None if there is none. `KeyReused` if its
    content differs."""
    try:
        return deposits.find_deposited(labels.reserve(key), draft, sources)
    except KeyReused:
        raise
    except IbiError:  # report the first refusal
        return None


def check_sent(path: str, same: File | None, before: int) -> None:
    """Refuse an invalid name, the name of a file that was sent before, and a file beyond the limit. `before` is the
    number of files before it."""
    check_upload(path, same)
    if before >= MOST_FILES:
        raise TooManyFiles(most=MOST_FILES)
    if same is not None:
        raise InvalidFileName(path, 0, "a file of this name was sent before it")


def send_to_draft(uploads: DraftUploads, who: Depositor, draft: str, sent: SentFile) -> None:
    """Add a file that came whole to a draft. Blocks."""
    upload = uploads.begin(who, draft, sent.path, len(sent.content))
    try:
        upload.write(sent.content)
        upload.finish(sent.media_type)
    except BaseException:
        upload.abandon()
        raise


_MOST_VERSIONS: Final = 50
"""Versions of an item that are searched for the base of a draft."""


@dataclass(frozen=True, slots=True)
class _LabelsOnce:
    """A `LabelMinter` for one draft. It reserves labels once, notes them, and then returns no others."""

    labels: LabelMinter
    reserved: LabelForms | None
    note: Callable[[LabelForms], None]

    def reserve(self, key: str | None = None) -> LabelForms:
        if self.reserved is not None:
            return self.reserved
        forms = self.labels.reserve(key)
        self.note(forms)
        return forms


@dataclass(frozen=True, slots=True)
class DraftPublishing:
    """Publishes drafts, for the holder of the draft's lock. `service` is the Archive's own item.

    A draft becomes a new item, or another version of one. The labels of a new item are written into its draft before
    anything is published under them. So a publication that is requested twice, because its answer was lost or its
    server died, makes one item. An update is recognised by its result, so that a second attempt ends where the first
    one did.
    """

    files: DraftStore
    kept: ItemRepository
    clocks: Clocks
    service: LabelForms | None = None

    def publish(
        self,
        record: DraftRecord,
        files: tuple[File, ...],
        who: Depositor,
        labels: LabelMinter,
        key: str | None,
        message: str | None,
        *,
        is_reviewed: bool = False,
    ) -> Publication:
        """Publish the draft with these files. `DiskFull`, with nothing changed, if there is no room for it. A draft
        that `is_reviewed` shows as much as the owner of its item wants: the rights were judged when it was
        described."""
        sources = _sources(files, self.files.uploads(record.id))
        with _told_if_full():
            if record.labels is not None:
                wanted_by = record.owner if is_reviewed else None
                return self._update(record, record.labels, files, sources, who, message or "Updated", wanted_by)
            once = _LabelsOnce(labels, record.reserved, self._noting(record))
            return self._deposit(record, files, sources, who, once, key or record.id, message or "Deposited")

    def _deposit(
        self,
        record: DraftRecord,
        files: tuple[File, ...],
        sources: Mapping[str, Source],
        who: Depositor,
        labels: _LabelsOnce,
        key: str,
        message: str,
    ) -> Publication:
        if record.reserved is not None and (known := self._find_publication(record.reserved)) is not None:
            return known
        deposits = self._deposits_of(record, who, labels)
        draft = Draft(description=record.description, files=files)
        try:
            item = deposits.deposit(draft, sources, who.name, message, key=key, owner=record.owner)
        except (StorageError, KeyReused):
            raise
        except IbiError:
            # The earlier item with this key may be the reason for the refusal: an item has only one next edition.
            first = None if key == record.id else first_deposit(deposits, labels, key, draft, sources)
            if first is None:
                raise
            item = first
        return Publication(item.labels, item.version)

    def _update(
        self,
        record: DraftRecord,
        labels: LabelForms,
        files: tuple[File, ...],
        sources: Mapping[str, Source],
        who: Depositor,
        message: str,
        wanted_by: str | None,
    ) -> Publication:
        # From the object, not the catalogue: the item judged here must not change until it is written.
        before = self.kept.read(name_of(self.kept.find(labels.labels[0])))
        item = before.item
        draft = Draft(description=record.description, files=files, labels=item.labels)
        if is_published_already(item, record, draft):
            return Publication(item.labels, item.version)
        updated = self.changes_of(who).update(
            item.rep, draft, sources, who.name, message, head=before.head, wanted_by=wanted_by
        )
        return Publication(
            updated.item.labels, updated.item.version, tuple(warning.path for warning in updated.warnings)
        )

    def delete(
        self, record: DraftRecord, deletion: RequestedDeletion, labels: LabelForms, who: Depositor
    ) -> Publication:
        """Delete the item, for the reason that its depositor gave. `DeletionLapsed` if the item belongs to another
        account now."""
        item = self.kept.find(labels.labels[0])
        if item.state is not State.DELETED:
            successor = None if deletion.replaced_by is None else deletion.replaced_by.labels[0]
            item = self.changes_of(who).delete(
                labels.labels[0],
                deletion.reason,
                who.name,
                replaced_by=successor,
                check=lambda now: self._check_asker(record, now),
            )
        return Publication(item.labels, item.version)

    def _check_asker(self, record: DraftRecord, item: Item) -> None:
        asker = Actor(record.owner, Scope.DEPOSIT)
        if not may(asker, ItemAct.DELETE, Belonging.of(item, self.service, self.clocks.read().wall)):
            raise DeletionLapsed(label=str(item.rep), owner=shown_account(record.owner))

    def check_deletion(self, item: Item, who: Depositor) -> None:
        """Refuse a deletion now, rather than when a librarian carries it out."""
        self.changes_of(who).require(ItemAct.DELETE, item)
        require(item, Act.DELETE)
        check_not_service(item, self.service)

    def rebase(self, record: DraftRecord) -> DraftRecord:
        """Return the draft on the present version of its item, with that version's access. This applies if the versions
        differ in access alone and the draft does not change access itself. Otherwise return the same record."""
        if record.labels is None:
            return record
        item = self.kept.find(record.labels.labels[0])
        if item.version == record.base:
            return record
        versions = Versions(self.kept.content).list(item, most=_MOST_VERSIONS)
        base = next((each.item for each in versions if each.item and each.item.version == record.base), None)
        if base is None or record.description.visibility != base.visibility:
            return record
        if changes_between(base, item) != VersionChanges(("visibility",)):
            return record
        return replace(record, base=item.version, description=replace(record.description, visibility=item.visibility))

    def only_withholds(self, view: DraftView) -> bool:
        """Return whether the draft only restricts access to its item, and changes nothing else."""
        record = view.record
        item = None if record.labels is None else self.kept.find(record.labels.labels[0])
        if item is None or item.version != record.base or view.files != item.files:
            return False
        visibility, now = record.description.visibility, self.clocks.read().wall
        is_alone = replace(record.description, visibility=item.visibility) == item.description.without_relations()
        is_less = visibility != item.visibility and not visibility.shows_more_than(item.visibility, now)
        return is_alone and is_less

    def changes_of(self, who: Depositor) -> Deposits:
        """Return the service that changes published items with the depositor's rights."""
        return Deposits(self.kept, NO_LABELS, self.clocks, service=self.service, actor=who.actor)

    def claim_holds(self, record: DraftRecord, who: Depositor, held: Item) -> bool:
        """Return whether a claim of the draft on this item holds as soon as `who` publishes it; otherwise it waits."""
        return self._deposits_of(record, who, NO_LABELS).holds_at_once(held)

    def _deposits_of(self, record: DraftRecord, who: Depositor, labels: LabelMinter) -> Deposits:
        """Return the service with which `who` deposits a new item. If the draft belongs to another account, its claims
        are judged by that account's rights, with the least scope that deposits: a draft does not record the scope of
        its author."""
        is_own = record.owner == who.owner
        depositor = who.actor if is_own else Actor(record.owner, Scope.DEPOSIT)
        return Deposits(self.kept, labels, self.clocks, service=self.service, actor=who.actor, depositor=depositor)

    def check_publishable(self, view: DraftView) -> None:
        """Refuse a draft now, rather than when a librarian publishes it."""
        if view.record.deletion is not None:
            return  # judged before the draft was made
        check_readable(view.record)
        record = self.rebase(view.record)
        if record.labels is None:
            depositor = Actor(record.owner, Scope.DEPOSIT)
            deposits = Deposits(self.kept, NO_LABELS, self.clocks, service=self.service, depositor=depositor)
            deposits.check(Draft(description=record.description, files=view.files))
            return
        item = self.kept.find(record.labels.labels[0])
        draft = Draft(description=record.description, files=view.files, labels=item.labels)
        if not is_published_already(item, record, draft):
            update(item, draft, self.clocks.read().wall)

    def find_made(self, record: DraftRecord) -> Publication | None:
        """Return the publication of a draft whose record does not mention it yet, or None."""
        if record.labels is None:
            return None if record.reserved is None else self._find_publication(record.reserved)
        if record.deletion is not None:
            return self._find_deleted(record.labels)
        uploaded = [one.file for one in self.files.uploads(record.id).values()]
        try:
            item = self.kept.find(record.labels.labels[0])
            draft = Draft(description=record.description, files=together(record.kept, uploaded), labels=item.labels)
            is_made = is_published_already(item, record, draft)
        except IbiError:  # a draft that cannot be published was not published
            return None
        return Publication(item.labels, item.version) if is_made else None

    def _find_deleted(self, labels: LabelForms) -> Publication | None:
        item = find_forms(self.kept.catalog, labels)
        if item is None or item.state is not State.DELETED:
            return None
        return Publication(item.labels, item.version)

    def _find_publication(self, labels: LabelForms) -> Publication | None:
        item = find_forms(self.kept.catalog, labels)
        return None if item is None else Publication(item.labels, item.version)

    def _noting(self, record: DraftRecord) -> Callable[[LabelForms], None]:
        def note(forms: LabelForms) -> None:
            # With a reused key the item exists already. The draft may become another item, with another key.
            if self._find_publication(forms) is None:
                self.files.write(replace(record, reserved=forms))

        return note


class _NoMinter:
    def reserve(self, key: str | None = None) -> LabelForms:
        raise AssertionError("an update takes no label")


NO_LABELS = _NoMinter()


def _sources(files: tuple[File, ...], uploads: Mapping[str, Uploaded]) -> dict[str, Source]:
    """Return the source of the bytes of each file. Uploaded files are moved, not copied."""
    return {file.path: _source(file, uploads.get(file.path)) for file in files}


def _source(file: File, uploaded: Uploaded | None) -> Source:
    if uploaded is None:
        return Keep(file.path)
    return Move(uploaded.place, Sent(file.path, file.sha512, uploaded.seal))


@contextmanager
def _told_if_full() -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        if refused_for_room(error):
            raise DiskFull() from error
        raise
