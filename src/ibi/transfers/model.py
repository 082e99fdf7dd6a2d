"""Transfers as the ledgers of both sides keep them.

Nothing here proves anything: the item's own object says which Archive has the Original (`ibi.items.rules.provenance`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import msgspec

from ibi.items.model.item_json import forms_document, read_forms, read_label
from ibi.standard.json_fields import Fields, boolean, decode_document, integer, many, member, of_string, string
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey

LONGEST_WAIT: Final = 300
"""Most seconds between two attempts, after many failures."""


def wait_after(attempts: int) -> int:
    """Return the seconds to wait: 1, 2, 4 and so on."""
    return min(1 << min(attempts, 16), LONGEST_WAIT)


class SenderStage(StrEnum):
    """The progress of a transfer to another Archive, for the Archive that has the Original."""

    OFFERED = "offered"
    RELEASED = "released"
    DONE = "done"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"

    @property
    def is_final(self) -> bool:
        return self in (SenderStage.DONE, SenderStage.DECLINED, SenderStage.WITHDRAWN)


class ReceiverStage(StrEnum):
    """The progress of a transfer to this Archive."""

    WAITING = "waiting"
    """It waits for a librarian."""
    ACCEPTED = "accepted"
    HELD = "held"
    """A complete Copy is here, and the sender was told so."""
    TAKEN = "taken"
    DECLINED = "declined"
    ENDED = "ended"
    """The sender gave the Original elsewhere, or has withdrawn the offer."""

    @property
    def is_final(self) -> bool:
        return self in (ReceiverStage.TAKEN, ReceiverStage.DECLINED, ReceiverStage.ENDED)


@dataclass(frozen=True, slots=True)
class OutgoingTransfer:
    """A transfer to another Archive, in the ledger of the sender."""

    labels: LabelForms
    receiver: str
    """The address of the receiver."""
    url: str
    """The address of the sender, as the receiver reaches it."""
    stage: SenderStage = SenderStage.OFFERED
    remote: ReceiverStage | None = None
    """The stage of the receiver at its last answer."""
    to: Label | None = None
    """The service of the receiver, once it has said that it holds the Copy."""
    token: str | None = field(default=None, repr=False)
    """A token of the sender for files that are not public."""
    acceptance: str | None = None
    attempts: int = 0
    due: int = 0
    """POSIX seconds before which no retry is needed."""
    since: int = 0
    reason: str = ""

    @property
    def rep(self) -> RepositoryName:
        assert self.labels.rep is not None  # every item of an Archive has one
        return self.labels.rep

    def delayed(self, now: int, reason: str = "") -> OutgoingTransfer:
        return replace(self, attempts=self.attempts + 1, due=now + wait_after(self.attempts), reason=reason)


@dataclass(frozen=True, slots=True)
class IncomingTransfer:
    """A transfer to this Archive, in the ledger of the receiver."""

    labels: LabelForms
    giver: Label
    giver_key: PublicKey
    source: str
    """The address of the sender."""
    number: int
    manifest: str
    stage: ReceiverStage = ReceiverStage.WAITING
    begun: int = 0
    """The time at which the sender began it, by its clock."""
    token: str | None = field(default=None, repr=False)
    """A token of the sender for files that are not public."""
    acceptance: str | None = None
    attempts: int = 0
    due: int = 0
    since: int = 0
    reason: str = ""
    network: str = ""
    """The origin of the offer, as far as it is known."""
    vouched: bool = False
    """True if a librarian has accepted it. A token does not suffice if the register does not know the sender well."""

    @property
    def rep(self) -> RepositoryName:
        assert self.labels.rep is not None  # an offer without one is refused
        return self.labels.rep

    def delayed(self, now: int, reason: str = "") -> IncomingTransfer:
        return replace(self, attempts=self.attempts + 1, due=now + wait_after(self.attempts), reason=reason)


class OpenProblem(StrEnum):
    """The problem of an item with a chain and a state that disagree."""

    UNCHECKED = "unchecked"
    """A release was found, and its consequences were not checked yet."""
    NOT_TAKEN = "not-taken"
    """This Archive released the Original, and the receiver does not confirm that it has it."""
    NOT_FETCHED = "not-fetched"
    """The Original belongs here, and no Archive provided the released bytes."""
    IN_DOUBT = "in-doubt"
    """The Original belongs here, and others must be asked first."""
    CONTRADICTED = "contradicted"
    """Known facts about the item contradict the item here."""

    @property
    def is_urgent(self) -> bool:
        """True if the item may have no Original until people intervene."""
        return self not in (OpenProblem.UNCHECKED, OpenProblem.IN_DOUBT)


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item with a chain and a state that disagree, in the ledger for the job that repairs it."""

    rep: RepositoryName
    problem: OpenProblem = OpenProblem.UNCHECKED
    archive: str = ""
    """The service of the Archive that the release names."""
    reason: str = ""
    asked: tuple[str, ...] = ()
    """The Archives that were asked for bytes or told of the release."""
    hint: str = ""
    """The address of an Archive that has offered the item as released."""
    since: int = 0
    due: int = 0


def encode_open(item: OpenItem) -> bytes:
    document = {
        "problem": item.problem.value,
        "archive": item.archive,
        "reason": item.reason,
        "asked": list(item.asked),
        "hint": item.hint,
        "since": item.since,
    }
    return msgspec.json.encode(document)


def decode_open(rep: str, body: bytes, due: int) -> OpenItem:
    fields = Fields(decode_document(body), "open item")
    return OpenItem(
        RepositoryName.parse(rep),
        fields.required("problem", of_string(member(OpenProblem))),
        fields.required("archive", string),
        fields.required("reason", string),
        fields.required("asked", many(string)),
        fields.required("hint", string),
        fields.required("since", integer),
        due,
    )


def encode_record(record: OutgoingTransfer | IncomingTransfer) -> bytes:
    """Return either record; the reader must know the kind."""
    document: dict[str, Any] = {
        "labels": forms_document(record.labels),
        "stage": record.stage.value,
        "token": record.token,
        "acceptance": record.acceptance,
        "attempts": record.attempts,
        "due": record.due,
        "since": record.since,
        "reason": record.reason,
    }
    if isinstance(record, OutgoingTransfer):
        remote = None if record.remote is None else record.remote.value
        to = None if record.to is None else record.to.spelling
        document |= {"receiver": record.receiver, "url": record.url, "remote": remote, "to": to}
    else:
        document |= {"from": record.giver.spelling, "from_key": str(record.giver_key), "source": record.source}
        document |= {"number": record.number, "manifest": record.manifest, "begun": record.begun}
        document |= {"network": record.network or None, "vouched": record.vouched or None}
    return msgspec.json.encode({name: value for name, value in document.items() if value is not None})


def decode_outgoing(body: bytes) -> OutgoingTransfer:
    fields = Fields(decode_document(body), "transfer")
    return OutgoingTransfer(
        fields.required("labels", read_forms),
        fields.required("receiver", string),
        fields.required("url", string),
        fields.required("stage", of_string(member(SenderStage))),
        fields.nullable("remote", of_string(member(ReceiverStage))),
        fields.nullable("to", read_label),
        **_read_shared(fields),
    )


def decode_incoming(body: bytes) -> IncomingTransfer:
    fields = Fields(decode_document(body), "transfer")
    return IncomingTransfer(
        fields.required("labels", read_forms),
        fields.required("from", read_label),
        fields.required("from_key", of_string(PublicKey.parse)),
        fields.required("source", string),
        fields.required("number", integer),
        fields.required("manifest", string),
        fields.required("stage", of_string(member(ReceiverStage))),
        fields.required("begun", integer),
        network=fields.optional("network", string, ""),  # older records have none
        vouched=fields.optional("vouched", boolean, False),
        **_read_shared(fields),
    )


def _read_shared(fields: Fields) -> dict[str, Any]:
    return {
        "token": fields.nullable("token", string),
        "acceptance": fields.nullable("acceptance", string),
        "attempts": fields.required("attempts", integer),
        "due": fields.required("due", integer),
        "since": fields.required("since", integer),
        "reason": fields.required("reason", string),
    }
