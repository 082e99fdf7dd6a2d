"""Items that come whole, in one request, and so small that they are held in memory: no draft is made of them.

Rules, quotas and errors are those of drafts. Several that come together are kept together, each whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from ibi.archive.drafts import MOST_FILES, DraftRules, TooManyFiles, check_terms, check_upload
from ibi.archive.errors import KeyReused
from ibi.archive.reviews import ReviewNeeded
from ibi.errors import IbiError
from ibi.messages.label_forms import LabelForms
from ibi.model.content import Bytes, Source
from ibi.model.draft_record import Description, Publication
from ibi.model.errors import InvalidFileName
from ibi.model.file import UNKNOWN_SHA_512, File, collision_key
from ibi.model.item import Draft, Item
from ibi.ports.clocks import Clocks, LabelBatchMinter, LabelMinter
from ibi.ports.errors import DiskFull, StorageError, refused_for_room
from ibi.services.drafts.ledger import Depositor, DraftLedger
from ibi.services.drafts.uploads import DraftUploads
from ibi.services.items.deposit_parts import media_type_of
from ibi.services.items.deposits import Deposits, NewItem
from ibi.services.items.item_repository import ItemRepository

MOST_BYTES: Final = 1 << 20
"""Of the files of one item in memory. An item with more is sent through a draft."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that has come, with its bytes."""

    path: str
    content: bytes
    media_type: str | None = None
    """What the sender says; None leaves it to the name."""


@dataclass(frozen=True, slots=True)
class WholeItem:
    """An item as it was sent."""

    description: Description
    files: tuple[SentFile, ...]
    key: str | None = None
    """Sent again with the same key, it gives the item of the first time."""


@dataclass(frozen=True, slots=True)
class Published:
    """The item that something sent became or changed, and the record of its publication."""

    item: Item
    publication: Publication


@dataclass(frozen=True, slots=True)
class WholeDeposits:
    """Deposits of items that are in memory. Calls block, from any thread. `service` is the Archive's own item."""

    kept: ItemRepository
    clocks: Clocks
    rules: DraftRules
    ledger: DraftLedger
    service: LabelForms | None = None
    must_submit: Callable[[Depositor], bool] = lambda _: False
    """Whether a librarian has to look first at what the depositor sends: then it goes through a draft."""

    def deposit(
        self, who: Depositor, items: Sequence[WholeItem], labels: LabelBatchMinter
    ) -> list[Published | IbiError]:
        """What became of each item, in their order: published, or refused and not there at all."""
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
        """The item, for which there is room until `coming` ends."""
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
    return NewItem(item.description.draft(tuple(map(_file, item.files))), sources, item.key)


def _file(sent: SentFile) -> File:
    return File(sent.path, len(sent.content), UNKNOWN_SHA_512, sent.media_type or media_type_of(sent.path))


def _make_publication(
    deposits: Deposits, sent: WholeItem, outcome: Item | IbiError, labels: LabelBatchMinter
) -> Published | IbiError:
    if isinstance(outcome, StorageError):
        return DiskFull() if refused_for_room(outcome) else outcome
    if isinstance(outcome, IbiError) and not isinstance(outcome, KeyReused):
        try:
            # What was deposited with this key before may be the very reason: there is no second next edition.
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
    """The item that was deposited with this key before what was now refused; None if there is none. `KeyReused` if that
    had other content."""
    try:
        return deposits.find_deposited(labels.reserve(key), draft, sources)
    except KeyReused:
        raise
    except IbiError:  # the first refusal is the one to tell
        return None


def check_sent(path: str, same: File | None, before: int) -> None:
    """Refuse a name that cannot be kept, or that a file which was sent before it has, and a file after so many that it
    is one too many."""
    check_upload(path, same)
    if before >= MOST_FILES:
        raise TooManyFiles(most=MOST_FILES)
    if same is not None:
        raise InvalidFileName(path, 0, "a file of this name was sent before it")


def send_to_draft(uploads: DraftUploads, who: Depositor, draft: str, sent: SentFile) -> None:
    """Have a file that came whole be one of a draft. Blocks."""
    upload = uploads.begin(who, draft, sent.path, len(sent.content))
    try:
        upload.write(sent.content)
        upload.finish(sent.media_type)
    except BaseException:
        upload.abandon()
        raise
