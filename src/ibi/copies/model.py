"""The record of an item that one Archive sends to another for a Copy (`GET /api/items/<label>/object`).

`item` is the text of the item's `item.json`, byte for byte, which lists its files with sizes and digests. `others` are
the further files of its object, which say where the item came from (`provenance/**`). `contents` are the item's own
files, if they are small enough to be included; others are fetched one by one. Facts of the other Archive alone (the
owner, declined claims) are not sent.

Data from another Archive is untrusted: its size is bounded, and every part is compared with every other.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha512
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from ibi.items.model.content import check_tree
from ibi.items.model.file import without_files
from ibi.items.model.item import Item, Tombstone
from ibi.items.model.item_json import decode_item, forms_document, read_forms, read_tombstone, tombstone_document
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State

SCHEMA: Final = 1
MOST_OTHERS: Final = 1_000
"""Most further files of an object, beside those of the item."""
_LOCAL: Final = b'{"schema":1,"state":"Original","transferable":true}'
"""Stands for the local record of an Original, which is not sent: it is the holder's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemObjectRecord:
    """One item in its present state at its Archive. `item_json` is None if it was deleted."""

    labels: LabelForms
    state: State
    head: int
    """The version of its object there."""
    at: Instant
    """The time of that version."""
    service: LabelForms
    """The service of the Archive that sends it."""
    key: PublicKey | None = None
    """The key with which that Archive signs."""
    is_sandbox: bool = False
    """True if that Archive is a sandbox."""
    item_json: bytes | None = None
    others: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Files of the item by their paths, if they were included."""
    tombstone: Tombstone | None = None
    source: str | None = None
    """The Archive from which the other Archive has its Copy, if it has one."""
    transferred_to: Label | None = None
    """The service of the Archive to which the Original was given."""

    def count_files(self) -> int:
        """Return the number of files in its record, much faster than reading them."""
        assert self.item_json is not None
        files = without_files(self.item_json)[1]
        return 0 if files is None else len(files)

    def description_size(self) -> int:
        """Return the bytes of its record without the list of files."""
        assert self.item_json is not None
        return len(without_files(self.item_json)[0])

    def original(self) -> Item:
        """Return the item in `item_json`, as an Original. Raise `InvalidDocument` if it is none, or another item."""
        assert self.item_json is not None
        item = decode_item(self.item_json, _LOCAL)
        if set(item.labels.labels) != set(self.labels.labels):
            raise InvalidDocument("item.json", 0, "it is the record of {name}", name=str(item.labels.labels[0]))
        return item


def object_document(record: ItemObjectRecord) -> dict[str, Any]:
    """Return the answer, without empty members."""
    item = record.item_json
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "labels": forms_document(record.labels),
        "state": record.state.value,
        "head": record.head,
        "at": str(record.at),
        "service": forms_document(record.service),
        "key": None if record.key is None else str(record.key),
        "sandbox": record.is_sandbox or None,
        "item": None if item is None else item.decode(),
        "item_sha512": None if item is None else sha512(item).hexdigest(),
        "others": [
            {"path": path, "sha512": sha512(content).hexdigest(), "content": _text(content)}
            for path, content in sorted(record.others.items())
        ],
        "contents": {path: _text(content) for path, content in record.contents.items()},
        "tombstone": None if record.tombstone is None else tombstone_document(record.tombstone),
        "source": record.source,
        "transferred_to": None if record.transferred_to is None else record.transferred_to.spelling,
    }
    return {name: value for name, value in told.items() if value is not None and value not in ([], {})}


def _text(content: bytes) -> str:
    return b64encode(content).decode("ascii")


_Short = Annotated[str, msgspec.Meta(max_length=4096)]


class _Other(msgspec.Struct):
    path: _Short
    sha512: _Short
    content: str


class _Told(msgspec.Struct):
    """The answer of another Archive. Members of later versions are ignored."""

    schema: int
    labels: dict[_Short, _Short]
    state: _Short
    head: Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
    at: _Short
    service: dict[_Short, _Short]
    key: _Short | None = None
    sandbox: bool = False
    item: str | None = None
    item_sha512: _Short = ""
    others: Annotated[list[_Other], msgspec.Meta(max_length=MOST_OTHERS)] = []
    contents: dict[_Short, str] = {}
    tombstone: dict[str, Any] | None = None
    source: _Short | None = None
    transferred_to: _Short | None = None


_DECODER: Final = msgspec.json.Decoder(_Told)
_WHERE: Final = "object"


def read_object(body: bytes | msgspec.Raw) -> ItemObjectRecord:
    """Return the record that another Archive has sent; raise `InvalidDocument` with the reason if it is invalid."""
    try:
        told = _DECODER.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidDocument(_WHERE, 0, "{cause}", cause=str(error)[:200]) from None
    if told.schema > SCHEMA:
        raise InvalidDocument(
            _WHERE, 0, "it has schema {schema}, and {known} is known", schema=told.schema, known=SCHEMA
        )
    try:
        return _record(told)
    except InvalidDocument:
        raise
    except InvalidInput as error:
        raise InvalidDocument(_WHERE, 0, "{cause}", cause=str(error)) from error


def _record(told: _Told) -> ItemObjectRecord:
    states = {state.value: state for state in State}
    if told.state not in states:
        raise InvalidDocument(_WHERE, 0, "there is no state {state}", state=repr(told.state[:40]))
    state, item = states[told.state], None if told.item is None else told.item.encode()
    if (state is State.DELETED) != (told.tombstone is not None) or (state is State.DELETED) == (item is not None):
        raise InvalidDocument(_WHERE, 0, "a deleted item has a tombstone, and any other a record")
    if item is not None and sha512(item).hexdigest() != told.item_sha512:
        raise InvalidDocument("item.json", 0, "it did not arrive as it was sent: its digest is another")
    return ItemObjectRecord(
        labels=read_forms(told.labels, "labels"),
        state=state,
        head=told.head,
        at=Instant.parse(told.at),
        service=read_forms(told.service, "service"),
        key=None if told.key is None else PublicKey.parse(told.key),
        is_sandbox=told.sandbox,
        item_json=item,
        others=_others(told.others),
        contents={path: _bytes(path, content) for path, content in told.contents.items()},
        tombstone=None if told.tombstone is None else read_tombstone(told.tombstone, "tombstone"),
        source=told.source,
        transferred_to=None if told.transferred_to is None else parse(told.transferred_to),
    )


def _others(told: list[_Other]) -> dict[str, bytes]:
    check_tree(each.path for each in told)
    others = {}
    for each in told:
        content = _bytes(each.path, each.content)
        if sha512(content).hexdigest() != each.sha512:
            raise InvalidDocument(each.path, 0, "it did not arrive as it was sent: its digest is another")
        others[each.path] = content
    return others


def _bytes(path: str, text: str) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        raise InvalidDocument(path, 0, "it is not base64") from None


class JobState(StrEnum):
    """The progress of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    """Completed; some labels may have been refused."""
    CANCELLED = "cancelled"


class ItemOutcome(StrEnum):
    """The result for one label of a job."""

    PENDING = "pending"
    COPIED = "copied"
    REFRESHED = "refreshed"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    """Its Original was deleted; the Copy here records that from now on."""
    REFUSED = "refused"


class JobItem(NamedTuple):
    """One label of a job."""

    number: int
    label: str
    outcome: ItemOutcome = ItemOutcome.PENDING
    reason: str = ""
    """The reason of a refusal."""
    code: str = ""
    """The code of the error of a refusal."""
    size: int = 0
    """Bytes of its files."""


@dataclass(frozen=True, slots=True)
class CopyJob:
    """A summary of a job. Times are seconds since 1970."""

    id: str
    state: JobState
    begun: int
    who: str
    labels: int
    """The number of labels."""
    source: str | None = None
    """The Archive that was named; None: each is found through the resolver."""
    ended: int | None = None
    copied: int = 0
    refreshed: int = 0
    unchanged: int = 0
    deleted: int = 0
    refused: int = 0
    size: int = 0
    """Bytes of the received files."""
    account: str | None = None

    @property
    def settled(self) -> int:
        """Labels with a result."""
        return self.copied + self.refreshed + self.unchanged + self.deleted + self.refused

    @property
    def is_ended(self) -> bool:
        return self.state in (JobState.DONE, JobState.CANCELLED)
