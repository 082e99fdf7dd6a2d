"""Transfers of Originals between Archives, and items whose chain and state do not agree."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from ibi.standard.resource import Answer, Request, bounds, one_of
from ibi.transfers.model import IncomingTransfer, OpenItem, OutgoingTransfer
from ibi.transfers.rules.standing import SenderStanding

MOST_TRANSFERS: Final = 500
"""Transfers in one answer."""


class TransferAnswer(Request, frozen=True):
    item: Annotated[str, Meta(description="A repository name.")]
    answer: Annotated[str, one_of(["accept", "decline"])]
    key: Annotated[
        str | UnsetType,
        Meta(description="The key of the offer that was seen: one of another key is not accepted."),
    ] = UNSET


class TransferResource(Answer, frozen=True):
    direction: Annotated[str, one_of(["in", "out", "open"])]
    item: str
    stage: Annotated[
        str,
        Meta(
            description="Of those to this Archive: waiting, accepted, held, taken, declined, ended. Of those to others:"
            " offered, released, done, declined, withdrawn. Of items that are open: unchecked, not-taken, not-fetched,"
            " in-doubt, contradicted."
        ),
    ]
    archive: Annotated[
        str,
        Meta(
            description="The address of the other Archive; of an item that is open, the label of its service, empty if"
            " it is not known."
        ),
    ]
    since: Annotated[int, Meta(description="POSIX seconds.")]
    reason: str
    asked: Annotated[
        list[str] | UnsetType,
        Meta(description="Of an item that is open: the Archives that were asked for its bytes or told of the release."),
    ] = UNSET
    what: Annotated[str | UnsetType, Meta(description="Of an item that is open: what is missing, for people.")] = UNSET
    remedy: Annotated[str | UnsetType, Meta(description="Of an item that is open: what to do, for people.")] = UNSET
    service: Annotated[str | UnsetType, Meta(description="The label of the sender's service.")] = UNSET
    key: Annotated[str | UnsetType, Meta(description="The key with which the sender signs.")] = UNSET
    sender: Annotated[
        str | UnsetType,
        one_of([standing.word for standing in SenderStanding]),
        Meta(description="Who the sender is by the register of the resolver; unproven if there is no register here."),
    ] = UNSET
    sender_is: Annotated[str | UnsetType, Meta(description="The same for people.")] = UNSET
    receiver: Annotated[str | UnsetType | None, Meta(description="How far the receiver is.")] = UNSET

    @classmethod
    def of_outgoing(cls, kept: OutgoingTransfer) -> TransferResource:
        """Return a transfer to another Archive."""
        return cls(
            direction="out",
            item=kept.rep.spelling,
            stage=kept.stage.value,
            archive=kept.receiver,
            receiver=None if kept.remote is None else kept.remote.value,
            since=kept.since,
            reason=kept.reason,
        )

    @classmethod
    def of_incoming(cls, kept: IncomingTransfer, standing: SenderStanding) -> TransferResource:
        """Return a transfer from another Archive, and who that is by the register."""
        return cls(
            direction="in",
            item=kept.rep.spelling,
            stage=kept.stage.value,
            archive=kept.source,
            service=kept.giver.spelling,
            key=str(kept.giver_key),
            sender=standing.word,
            sender_is=standing.description,
            since=kept.since,
            reason=kept.reason,
        )

    @classmethod
    def of_open(cls, item: OpenItem, what: str, remedy: str) -> TransferResource:
        """Return an item whose chain and state do not agree: `what` is missing, and the `remedy`."""
        return cls(
            direction="open",
            item=item.rep.spelling,
            stage=item.problem.value,
            archive=item.archive,
            since=item.since,
            reason=item.reason,
            asked=list(item.asked),
            what=what,
            remedy=remedy,
        )


class TransfersResource(Answer, frozen=True):
    transfers: Annotated[list[TransferResource], bounds(maxItems=MOST_TRANSFERS)]
    is_last: bool
