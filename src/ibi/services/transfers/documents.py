"""Transfers as JSON, for the API, the page and the command."""

from __future__ import annotations

from typing import Any, Final

from ibi.errors import IbiError
from ibi.federation.standing import SenderStanding
from ibi.model.transfer import IncomingTransfer, OutgoingTransfer, ReceiverStage, SenderStage
from ibi.ports.federation import TransferLedger
from ibi.services.transfers.senders import Senders

MOST_TRANSFERS: Final = 500
"""Transfers in one answer."""


class UnknownStage(IbiError):
    """there is no stage {stage}; there are {known}"""

    code = "unknown-stage"


def outgoing_document(kept: OutgoingTransfer) -> dict[str, Any]:
    """A transfer to another Archive, for the API and the command."""
    return {
        "direction": "out",
        "item": kept.rep.spelling,
        "stage": kept.stage.value,
        "archive": kept.receiver,
        "receiver": None if kept.remote is None else kept.remote.value,
        "since": kept.since,
        "reason": kept.reason,
    }


def incoming_document(kept: IncomingTransfer, standing: SenderStanding = SenderStanding.NO_REGISTER) -> dict[str, Any]:
    """A transfer from another Archive, and who that is by the register."""
    return {
        "direction": "in",
        "item": kept.rep.spelling,
        "stage": kept.stage.value,
        "archive": kept.source,
        "service": kept.giver.spelling,
        "key": str(kept.giver_key),
        "sender": standing.word,
        "sender_is": standing.description,
        "since": kept.since,
        "reason": kept.reason,
    }


def list_transfers(
    ledger: TransferLedger, senders: Senders, direction: str, stage: str = "", after: str = ""
) -> list[dict[str, Any]]:
    """Transfers of one direction, `in` or `out`, as documents: at most `MOST_TRANSFERS`, of those after an item."""
    kinds = SenderStage if direction == "out" else ReceiverStage
    if stage and stage not in {kind.value for kind in kinds}:
        raise UnknownStage(stage=repr(stage[:40]), known=", ".join(kind.value for kind in kinds))
    if direction == "out":
        sent = ledger.list_outgoing(*_only(SenderStage, stage), after=after, most=MOST_TRANSFERS)
        return [outgoing_document(each) for each in sent]
    come = ledger.list_incoming(*_only(ReceiverStage, stage), after=after, most=MOST_TRANSFERS)
    return [incoming_document(each, senders.judge_kept(each)) for each in come]


def _only(kind: Any, stage: str) -> tuple[Any, ...]:
    return (kind(stage),) if stage else ()
