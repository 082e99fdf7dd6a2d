"""Judges another Archive's record of an item before anything of it is stored, and compares it with the Copy here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha512
from typing import Final, NamedTuple

from ibi.copies.model import ItemObjectRecord
from ibi.copies.ports import ItemSource
from ibi.copies.rules.copies import (
    CopyRules,
    NotWanted,
    WrongObject,
    check_description,
    check_file_count,
    check_labels,
    check_local,
    check_original,
    check_record_size,
    check_sandbox,
    check_taken,
)
from ibi.items.model.content import KeptObject, TakenFile
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.archive_store import ContentMissing
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import DiskNearlyFull
from ibi.items.rules.provenance import (
    FOLDER,
    NO_CHAIN,
    Chain,
    ChainOrder,
    check_chain,
    check_files,
    compare_chains,
    decode_link,
    encode_link,
    link_path,
    link_paths,
    manifest_digest,
)
from ibi.items.rules.related_items import find_labelled
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import DOC, ITEM, ItemTransferred, StoredItem, is_other, name_of
from ibi.standard.errors import InvalidInput
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import Origin
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import ArchiveProtocol, State


class PreparedCopy(NamedTuple):
    """A Copy that was judged, with its missing files."""

    record: ItemObjectRecord
    original: Item
    source: str
    before: StoredItem | None
    """The Copy that is here."""
    transfer: Transfer | None
    kept: Mapping[str, str]
    """The paths below `doc/` at which the object here has the content of each digest."""
    head: int | None
    """The version of the object here, if there is one."""
    missing: tuple[File, ...]
    is_same: bool
    """True if the Copy here equals its Original."""
    dropped: frozenset[str] = frozenset()
    """Provenance files of the Copy here that its Original does not have."""
    chain: Chain = NO_CHAIN
    """The chain of releases that came with the record."""

    @property
    def name(self) -> str:
        return name_of(self.original)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.missing)

    def as_copy(self, taken: Mapping[str, TakenFile]) -> Item:
        """Return the item as it is here once its files were taken in. Each file has to match the record."""
        check_taken(self.original, taken, self.source)
        origin = Origin.of_url(self.source)
        if self.before is not None:
            copy = life_cycle.refresh(self.before.item, self.original, origin.authority)
        else:
            copy = life_cycle.copy(self.original, origin.authority)
        protocol = ArchiveProtocol.HTTPS if origin.scheme == "https" else None
        to = copy.transferred_to if self.transfer is None else self.transfer.to
        return replace(copy, custody=replace(copy.custody, source_protocol=protocol, transferred_to=to))

    @property
    def is_at_hand(self) -> bool:
        """True if the missing files all came with the record."""
        return all(file.path in self.record.contents for file in self.missing)


IsOwed = Callable[[ItemObjectRecord], bool]
"""Returns whether an Archive with only a Copy has released the Original to this one."""


def owed_by_release(service: LabelForms, keys: Callable[[], tuple[PublicKey, ...]]) -> IsOwed:
    """Judge by the chain in the record: its last release has to name this Archive, its key and the exact content.

    Whether the chain is believed is decided elsewhere: a dishonest Archive could just as well claim the Original.
    """

    def is_owed(record: ItemObjectRecord) -> bool:
        try:
            texts = [decode_link(record.others[path]) for path in link_paths(record.others)]
            release = check_chain(texts, lambda _who, _key: True, record.labels).last_release
            if release is None or release.to not in service.labels or release.to_key not in keys():
                return False
            return release.manifest == manifest_digest(_digests(record))
        except InvalidInput:
            return False

    return is_owed


def _digests(record: ItemObjectRecord) -> dict[str, str]:
    assert record.item_json is not None  # a deleted item is owed to nobody
    _check_bounds(record.labels.labels[0], record)
    files = {DOC + file.path: file.sha512 for file in record.original().files}
    return {ITEM: sha512(record.item_json).hexdigest(), **files}


def released_record(record: ItemObjectRecord, label: Label, source: str, chain: Chain) -> ItemObjectRecord:
    """Return the record as that of an Archive with a Copy, with this chain and nothing else beside the item. Any
    Archive that has the bytes of the chain's last release will do. `WrongObject` if its bytes are others."""
    release = chain.last_release
    assert release is not None  # otherwise nothing was released
    if record.state is State.DELETED or record.item_json is None:
        raise WrongObject(label=str(label), source=source, reason="it was deleted there")
    if manifest_digest(_digests(record)) != release.manifest:
        raise WrongObject(label=str(label), source=source, reason="its bytes are not those that were released")
    others = {link_path(link.said.number): encode_link(link) for link in chain.links}
    return replace(record, state=State.COPY, others=others, transferred_to=None)


def _owe_nothing(_: ItemObjectRecord) -> bool:
    return False


OWE_NOTHING: Final[IsOwed] = _owe_nothing


class CopyJudge:
    """Decides whether an Archive may make a Copy, and finds its missing files. Calls block, from any thread."""

    def __init__(self, repository: ItemRepository, rules: CopyRules, is_owed: IsOwed = OWE_NOTHING) -> None:
        """A Copy is made from another Copy only if the Original `is_owed` to this Archive. That happens after a restore
        from a backup older than the Copy (E90)."""
        self._repository, self._catalog, self._rules, self._is_owed = repository, repository.catalog, rules, is_owed

    def check_wanted(self, label: Label) -> Item | None:
        """Refuse a label that can have no Copy here, before any request. Return the Copy that is here, if any."""
        if not label.is_dated:
            raise NotWanted(label=str(label), reason="it is a name of before 2008: name its repository name or IBIp")
        here = find_labelled(self._catalog, label)
        transfer = self._catalog.transfer(label) if here is None else None
        check_local(label, here, transfer, self._rules.prefixes)
        # The address of the other Archive is judged when it is known.
        check_sandbox(label, is_sandbox=self._rules.is_sandbox, is_on_loopback=True)
        return here

    def check_record(self, archive: ItemSource, label: Label, record: ItemObjectRecord) -> Item | None:
        """Refuse a record of any other item. Return the Copy of the item that is here, if any."""
        self._rules.check_record(label, record, archive.url, is_on_loopback=archive.is_on_loopback)
        return self.check_wanted(label)

    def prepare(self, archive: ItemSource, label: Label, record: ItemObjectRecord) -> PreparedCopy:
        """Refuse a record that allows no Copy. Return the work that is left."""
        if record.state is not State.COPY or not self._is_owed(record):
            check_original(label, record, archive.url)
        original, chain = _read_original(label, record, archive.url)
        for each in original.labels.labels:
            self.check_wanted(each)
        held = (self._catalog.find(each) for each in original.labels.labels)
        check_labels(original, (each for each in held if each is not None))
        self._rules.check_size(label, original)
        return self._compare(original, chain, record, archive.url)

    def _compare(self, original: Item, chain: Chain, record: ItemObjectRecord, source: str) -> PreparedCopy:
        """Return the Copy with the files that are missing here."""
        before, transfer, kept = self._look(name_of(original))
        there = {} if kept is None else kept.head.files
        dropped = _find_dropped(there, record)
        if kept is not None and _is_given_away(before):
            dropped = self._keep_release(original, chain, kept, source, dropped)
        by_digest = {digest: path.removeprefix(DOC) for path, digest in there.items() if path.startswith(DOC)}
        return PreparedCopy(
            record,
            original,
            source,
            before,
            transfer,
            by_digest,
            None if kept is None else kept.head.number,
            tuple(file for file in original.files if file.sha512 not in by_digest),
            before is not None and not dropped and _is_same(before.item, source, record, there),
            dropped,
            chain,
        )

    def _keep_release(
        self, original: Item, chain: Chain, kept: KeptObject, source: str, dropped: frozenset[str]
    ) -> frozenset[str]:
        """Return the files to drop. If this Archive gave the Original away, no source can remove the proof of it."""
        name = name_of(original)
        try:
            here = check_chain(self._texts(name, kept), lambda _who, _key: True, original.labels)
        except InvalidInput:
            return dropped  # no proof
        order = compare_chains(here.texts, chain.texts)
        if order is ChainOrder.FORKED:
            reason = "its provenance contradicts the release of the Original that is kept here"
            raise WrongObject(label=name, source=source, reason=reason)
        return frozenset() if order is ChainOrder.OLDER else dropped

    def _texts(self, name: str, kept: KeptObject) -> Iterator[str]:
        for path in link_paths(kept.head.files):
            with self._repository.open_record(name, path, kept.head.number) as record:
                yield decode_link(record.read_all())

    def _look(self, name: str) -> tuple[StoredItem | None, Transfer | None, KeptObject | None]:
        """Return the content of the object here: a Copy, the transfer of an Original, or nothing."""
        try:
            before = self._repository.read(name)
        except ItemTransferred as gone:
            return None, gone.transfer, self._repository.content.read(name)
        except ContentMissing:
            return None, None, None
        return before, None, self._repository.content.read(name)

    def check_room(self, label: Label, size: int, free: int, promised: int) -> None:
        """Refuse an item without room for it. `free` is the number of bytes left on the disk; `promised` counts the
        bytes on their way."""
        held = self._catalog.holdings().get(State.COPY)
        self._rules.check_quota(label, size, promised + (0 if held is None else held.size))
        if self._rules.reserve and size and free - size < self._rules.reserve:
            raise DiskNearlyFull(room=max(0, free - self._rules.reserve))


def _read_original(label: Label, record: ItemObjectRecord, source: str) -> tuple[Item, Chain]:
    """Return the item and its chain, which has to belong to this item and to that Archive. The owners of the keys are
    not known here: `ibi verify --provenance` reports unproven links."""
    try:
        _check_bounds(label, record)
        original = record.original()
        check_description(label, original)
        wrong = next((path for path in record.others if not is_other(path)), None)
        if wrong is not None:
            raise WrongObject(label=str(label), source=source, reason=f"{wrong!r} is a record of each Archive's own")
        chain = check_files(record.others, original.labels)
    except InvalidInput as error:
        raise WrongObject(label=str(label), source=source, reason=str(error).rstrip(".")) from error
    if record.state is State.ORIGINAL and chain.links:
        holder = chain.successors[-1]
        if chain.is_under_way or holder not in record.service.labels:
            reason = f"by its provenance the Original went to {holder}, and is not at that Archive"
            raise WrongObject(label=str(label), source=source, reason=reason)
    return original, chain


def _check_bounds(label: Label, record: ItemObjectRecord) -> None:
    """Refuse a record that is too long, before it is read."""
    check_file_count(label, record.count_files())
    check_record_size(label, record.description_size())


def _is_same(here: Item, source: str, record: ItemObjectRecord, files: Mapping[str, str]) -> bool:
    """Return whether the Copy here has the same record and further files, from the same Archive, and knows of no
    deletion."""
    assert record.item_json is not None
    told = {ITEM: record.item_json, **record.others}
    return (
        here.original_tombstone is None
        and here.source_url == source
        and all(files.get(path) == sha512(content).hexdigest() for path, content in told.items())
    )


def _is_given_away(here: StoredItem | None) -> bool:
    return here is not None and here.item.transferred_to is not None


def _find_dropped(files: Mapping[str, str], record: ItemObjectRecord) -> frozenset[str]:
    """Return the further files here that the record has no longer."""
    return frozenset(path for path in files if path.startswith(FOLDER) and path not in record.others)
