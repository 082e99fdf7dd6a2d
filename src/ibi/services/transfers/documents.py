"""Transfers as JSON, for the API, the page and the command."""

from __future__ import annotations

from typing import Any, Final

from ibi.errors import ErrorKind, IbiError
from ibi.federation.standing import SenderStanding
from ibi.model.transfer import (
    IncomingTransfer,
    OpenItem,
    OpenProblem,
    OutgoingTransfer,
    ReceiverStage,
    SenderStage,
)
from ibi.ports.federation import TransferLedger
from ibi.services.transfers.senders import Senders

MOST_TRANSFERS: Final = 500
"""Transfers in one answer."""


class UnknownStage(IbiError):
    """there is no stage {stage}; there are {known}"""

    code = "unknown-stage"
    kind = ErrorKind.MALFORMED
    request_field = "stage"


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


OPEN_WORDS: Final = {
    OpenProblem.UNCHECKED: (
        "a release of its Original came to light, and was not looked at yet",
        "The server looks at it within seconds.",
    ),
    OpenProblem.NOT_TAKEN: (
        "this Archive released its Original to {archive}, which does not say that it has it",
        "Start that Archive, or have its librarian accept the transfer; the server tells it again every minute.",
    ),
    OpenProblem.NOT_FETCHED: (
        "its Original belongs here, released by {archive}, and the bytes that were released are not here",
        "Start an Archive that has a Copy; restricted files are fetched with"
        " `ibi copy {item} --from URL --token TOKEN`. The server asks again every minute.",
    ),
    OpenProblem.IN_DOUBT: (
        "its Original belongs here, released by {archive}, and others have to answer first",
        "The server goes on asking; `ibi transfers trust` ends the wait if nothing was given away since the backup.",
    ),
    OpenProblem.CONTRADICTED: (
        "its chain of releases contradicts what is here",
        "Compare `ibi verify --provenance {item}` here with that of {archive}; the administrator of the resolver"
        " settles disputes.",
    ),
}
"""What is open, and what to do, by the problem of an open item."""


def open_words(item: OpenItem) -> tuple[str, str]:
    """What is open about an item, with the reason and who was asked; and what to do."""
    what, remedy = OPEN_WORDS[item.problem]
    names = {"archive": item.archive or "the other Archive", "item": item.rep.spelling}
    reason = f" ({item.reason})" if item.reason else ""
    asked = f"; asked: {', '.join(item.asked)}" if item.asked else ""
    return what.format(**names) + reason + asked, remedy.format(**names)


def open_document(item: OpenItem) -> dict[str, Any]:
    """An item whose chain and state do not agree, for the API and the command."""
    what, remedy = open_words(item)
    return {
        "direction": "open",
        "item": item.rep.spelling,
        "stage": item.problem.value,
        "archive": item.archive,
        "since": item.since,
        "reason": item.reason,
        "asked": list(item.asked),
        "what": what,
        "remedy": remedy,
    }


def list_transfers(
    ledger: TransferLedger, senders: Senders, direction: str, stage: str = "", after: str = ""
) -> list[dict[str, Any]]:
    """Transfers of one direction, `in` or `out`, or items that are `open`, as documents: at most `MOST_TRANSFERS`, of
    those after an item."""
    kinds = {"in": ReceiverStage, "out": SenderStage, "open": OpenProblem}[direction]
    if stage and stage not in {kind.value for kind in kinds}:
        raise UnknownStage(stage=repr(stage[:40]), known=", ".join(kind.value for kind in kinds))
    if direction == "open":
        return [open_document(each) for each in _list_open(ledger, stage, after)]
    if direction == "out":
        sent = ledger.list_outgoing(*_only(SenderStage, stage), after=after, most=MOST_TRANSFERS)
        return [outgoing_document(each) for each in sent]
    come = ledger.list_incoming(*_only(ReceiverStage, stage), after=after, most=MOST_TRANSFERS)
    return [incoming_document(each, senders.judge_kept(each)) for each in come]


def _list_open(ledger: TransferLedger, stage: str, after: str) -> list[OpenItem]:
    found: list[OpenItem] = []
    while len(found) < MOST_TRANSFERS and (page := ledger.open_items(after, MOST_TRANSFERS)):
        found += (each for each in page if stage in ("", each.problem.value))
        after = str(page[-1].rep)
    return found[:MOST_TRANSFERS]


def _only(kind: Any, stage: str) -> tuple[Any, ...]:
    return (kind(stage),) if stage else ()
