"""Lists of transfers, for the API, the page and the command."""

from __future__ import annotations

from typing import Any, Final

from ibi.standard.errors import ErrorKind, IbiError
from ibi.transfers.model import OpenItem, OpenProblem, ReceiverStage, SenderStage
from ibi.transfers.ports import TransferLedger
from ibi.transfers.resources import MOST_TRANSFERS, TransferResource
from ibi.transfers.service.senders import Senders


class UnknownStage(IbiError):
    """there is no stage {stage}; there are {known}"""

    code = "unknown-stage"
    kind = ErrorKind.MALFORMED
    request_field = "stage"


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
"""The state and the remedy of an open item, by its problem."""


def open_words(item: OpenItem) -> tuple[str, str]:
    """Return the state of an open item, with the reason and the Archives that were asked, and the remedy."""
    what, remedy = OPEN_WORDS[item.problem]
    names = {"archive": item.archive or "the other Archive", "item": item.rep.spelling}
    reason = f" ({item.reason})" if item.reason else ""
    asked = f"; asked: {', '.join(item.asked)}" if item.asked else ""
    return what.format(**names) + reason + asked, remedy.format(**names)


def open_transfer(item: OpenItem) -> TransferResource:
    return TransferResource.of_open(item, *open_words(item))


def list_transfers(
    ledger: TransferLedger, senders: Senders, direction: str, stage: str = "", after: str = ""
) -> list[TransferResource]:
    """Return transfers of one direction, `in` or `out`, or items that are `open`: at most `MOST_TRANSFERS`, of those
    after an item."""
    kinds = {"in": ReceiverStage, "out": SenderStage, "open": OpenProblem}[direction]
    if stage and stage not in {kind.value for kind in kinds}:
        raise UnknownStage(stage=repr(stage[:40]), known=", ".join(kind.value for kind in kinds))
    if direction == "open":
        return [open_transfer(each) for each in _list_open(ledger, stage, after)]
    if direction == "out":
        sent = ledger.list_outgoing(*_only(SenderStage, stage), after=after, most=MOST_TRANSFERS)
        return [TransferResource.of_outgoing(each) for each in sent]
    come = ledger.list_incoming(*_only(ReceiverStage, stage), after=after, most=MOST_TRANSFERS)
    return [TransferResource.of_incoming(each, senders.judge_kept(each)) for each in come]


def _list_open(ledger: TransferLedger, stage: str, after: str) -> list[OpenItem]:
    found: list[OpenItem] = []
    while len(found) < MOST_TRANSFERS and (page := ledger.open_items(after, MOST_TRANSFERS)):
        found += (each for each in page if stage in ("", each.problem.value))
        after = str(page[-1].rep)
    return found[:MOST_TRANSFERS]


def _only(kind: Any, stage: str) -> tuple[Any, ...]:
    return (kind(stage),) if stage else ()
