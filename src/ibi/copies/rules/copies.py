"""Checks of an item that is to become a Copy here, before any byte is stored. The source is a stranger: its statements
are compared with the request and with the items here.

    wanted ──▶ `check_wanted`: is it ours, is it a sandbox's?      before anything is asked
    record ──▶ `CopyRules.check_record`: is it what was asked for, an Original, of a size that is taken?
    files  ──▶ `check_taken`: is every file what the record says?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ibi.copies.model import ItemObjectRecord
from ibi.items.model.content import TakenFile
from ibi.items.model.item import Item, name_one_item
from ibi.items.model.metadata import MOST_VALUES
from ibi.items.model.transfer_record import Transfer
from ibi.items.model.visibility import MOST_NETWORKS
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import LabelTaken
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.label import Label, parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import InvalidOrigin, Origin
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.vocabulary import State

MOST_FILES: Final = 100_000
"""Files of one Copy. This is ten times the limit of an upload to a server, since commands deposit more."""
MOST_DESCRIPTION: Final = 2 << 20
"""Bytes of the record of one Copy without its files. This is twice the limit of a deposit: a record writes out the
short forms of a depositor, and has relations to other items."""


class NotWanted(IbiError):
    """{label} cannot become a Copy here: {reason}."""

    code = "not-wanted"
    kind = ErrorKind.CONFLICT


class OwnLabel(NotWanted):
    """{label} cannot become a Copy here: labels that begin with {prefix} are given out by this Archive, and it has not
    given this Original to another."""

    code = "own-label"


class SandboxItem(NotWanted):
    """{label} is an item of a sandbox, for trying out, and never leaves its machine: {reason}."""

    code = "sandbox-item"
    kind = ErrorKind.FORBIDDEN


class WrongObject(IbiError):
    """{source} did not give {label} as it should: {reason}. Nothing of it was kept."""

    code = "wrong-object"
    kind = ErrorKind.UPSTREAM_FAILED


class NotTheOriginal(IbiError):
    """{source} does not keep the Original of {label}, {reason}: Copies are made of Originals."""

    code = "not-the-original"
    kind = ErrorKind.CONFLICT


class OriginalDeleted(IbiError):
    """{label} was deleted at its Original on {when}: {why}."""

    code = "original-deleted"
    kind = ErrorKind.GONE


class CopyTooLarge(IbiError):
    """{label} has {size} bytes, and this Archive takes at most {most} for one Copy (`archive.largest_deposit`)."""

    code = "copy-too-large"
    kind = ErrorKind.TOO_LARGE


class CopyHasTooManyFiles(IbiError):
    """{label} has {files} files, and a Copy has at most {most}."""

    code = "copy-has-too-many-files"
    kind = ErrorKind.TOO_LARGE


class CopiesTooLarge(IbiError):
    """{label} is not copied: with its {size} bytes, all Copies here would take {total}, and {most} is what they may
    (`copies.quota`)."""

    code = "copies-too-large"
    kind = ErrorKind.STORAGE_FULL


def read_wanted(text: str) -> Label:
    """Return the label in a label or a persistent URL. Raise `InvalidLabel` or `InvalidPersistentUrl`."""
    try:
        return parse(text)
    except InvalidInput:
        if "://" not in text:
            raise
        return PersistentUrl.parse(text).label


def read_source(text: str) -> str:
    """Return the address of an Archive, `http(s)://host[:port]`. Raise `InvalidOrigin` if it is something else."""
    origin = Origin.of_url(text)
    if str(origin).lower() != text.strip().rstrip("/").lower():
        raise InvalidOrigin(text, 0, "it is http:// or https:// with a host, and a port if need be")
    return str(origin)


def check_local(label: Label, here: Item | None, transfer: Transfer | None, prefixes: Iterable[str]) -> None:
    """Raise an error if no Copy of the label can be here.

    The Original is here, or was deleted here, or belongs here, since this Archive gave out the label. `prefixes` are
    its own; `transfer` says that the Original was given away.
    """
    act = life_cycle.Act.COPY if here is None else life_cycle.Act.REFRESH
    if here is not None and here.state is not State.COPY:
        act = life_cycle.Act.COPY  # the refusals of COPY name the state of the item here
    life_cycle.require(here, act, LabelForms.of(label))
    is_given_away = transfer is not None or (here is not None and here.transferred_to is not None)
    if label.is_dated and label.prefix in prefixes and not is_given_away:
        raise OwnLabel(label=str(label), prefix=label.prefix)


def check_sandbox(label: Label, *, is_sandbox: bool, is_on_loopback: bool) -> None:
    """Raise `SandboxItem` for an item that never leaves its machine.

    Labels that mean no place on the whole Internet are those of sandboxes (E11). `is_sandbox` is about this Archive,
    `is_on_loopback` about the address of the other.
    """
    if label.is_dated and not label.is_global:
        _check_sandbox(str(label), is_sandbox=is_sandbox, is_on_loopback=is_on_loopback)


def _check_sandbox(label: str, *, is_sandbox: bool, is_on_loopback: bool) -> None:
    if not is_sandbox:
        raise SandboxItem(label=label, reason="an Archive that is no sandbox takes none")
    if not is_on_loopback:
        raise SandboxItem(label=label, reason="sandboxes give each other items over loopback addresses alone")


@dataclass(frozen=True, slots=True)
class CopyRules:
    """The settings for Copies. 0 means no limit."""

    largest: int = 0
    """Bytes of the files of one item."""
    quota: int = 0
    """Bytes of the files of all Copies."""
    reserve: int = 0
    """Bytes that Copies leave free on the disk."""
    is_sandbox: bool = False
    """True if this Archive is a sandbox, for trying out."""
    prefixes: frozenset[str] = frozenset()
    """The prefixes of the labels that this Archive gives out."""

    def check_record(self, label: Label, record: ItemObjectRecord, source: str, *, is_on_loopback: bool) -> None:
        """Raise an error if the record is of another item, or of an item that must not leave its machine."""
        if label not in record.labels.labels:
            raise WrongObject(label=str(label), source=source, reason=f"it is the record of {record.labels.labels[0]}")
        if record.is_sandbox:
            _check_sandbox(str(label), is_sandbox=self.is_sandbox, is_on_loopback=is_on_loopback)
        for each in record.labels.labels:
            check_sandbox(each, is_sandbox=self.is_sandbox, is_on_loopback=is_on_loopback)

    def check_size(self, label: Label, original: Item) -> int:
        """Return the bytes of all files. Raise `CopyTooLarge` if they exceed the limit of one item."""
        size = sum(file.size for file in original.files)
        if self.largest and size > self.largest:
            raise CopyTooLarge(label=str(label), size=size, most=self.largest)
        return size

    def check_quota(self, label: Label, size: int, used: int) -> None:
        """Raise `CopiesTooLarge` if the quota is exceeded. `used` are the bytes of all other Copies, including those
        under way."""
        if self.quota and size and used + size > self.quota:
            raise CopiesTooLarge(label=str(label), size=size, total=used + size, most=self.quota)


def check_file_count(label: Label, files: int) -> None:
    """Raise `CopyHasTooManyFiles` before any file is read."""
    if files > MOST_FILES:
        raise CopyHasTooManyFiles(label=str(label), files=files, most=MOST_FILES)


def check_record_size(label: Label, size: int) -> None:
    """Raise `NotWanted` if a description is too long, before it is read."""
    if size > MOST_DESCRIPTION:
        raise NotWanted(
            label=str(label), reason=f"its description has {size} bytes, and {MOST_DESCRIPTION} are the most"
        )


def check_description(label: Label, original: Item) -> None:
    """Raise `NotWanted` if the description could not be deposited here."""
    if not original.metadata.title:
        raise NotWanted(label=str(label), reason="it has no title")
    for found, most, what in (
        (original.metadata.count_values(), MOST_VALUES, "values"),
        (len(original.visibility.networks), MOST_NETWORKS, "networks from which it is seen"),
    ):
        if found > most:
            raise NotWanted(label=str(label), reason=f"its description has {found} {what}, and {most} are the most")


def check_original(label: Label, record: ItemObjectRecord, source: str) -> None:
    """Raise an error if no Copy can be made from the record."""
    if record.state is State.COPY:
        away = f"and says that it gave it to {record.transferred_to}" if record.transferred_to else "but a Copy"
        where = f"{away}, taken from {record.source}" if record.source and not record.transferred_to else away
        raise NotTheOriginal(label=str(label), source=source, reason=where)
    if record.state is State.DELETED:
        assert record.tombstone is not None  # a record of a deleted item always has a tombstone
        raise OriginalDeleted(label=str(label), when=str(record.tombstone.when)[:10], why=record.tombstone.why)


def check_labels(original: Item, here: Iterable[Item]) -> None:
    """Raise `LabelTaken` if another item here has one of the labels."""
    for held in here:
        if held.rep != original.rep and name_one_item(held.labels, original.labels):
            taken = next(each for each in original.labels.labels if held.is_called(each))
            raise LabelTaken(label=str(taken))


def check_taken(original: Item, taken: Mapping[str, TakenFile], source: str) -> None:
    """Raise `WrongObject` if a file differs from the record of its item. Files that are here already are not in
    `taken`."""
    for file in original.files:
        found = taken.get(file.path)
        if found is not None and (found.size != file.size or found.digest != file.sha512):
            raise WrongObject(
                label=str(original.rep), source=source, reason=f"the digest of {file.path!r} is not that of the record"
            )
