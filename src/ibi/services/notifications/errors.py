"""Why a notification is not taken, or a claim of another Archive not answered.

Short, because the inbox, its page and the courier all name them.
"""

from __future__ import annotations

from ibi.errors import IbiError
from ibi.services.limits import LimitExceeded


class ItemNotClaimable(IbiError):
    """The notification is about {url}, which is not an item whose Original is kept here."""

    code = "item-not-claimable"


class NotificationConflict(IbiError):
    """Another notification with the id {id} was received before: give each one an id of its own."""

    code = "notification-conflict"


class InboxFull(LimitExceeded):
    """Too many notifications wait for an answer here: try again in {retry_after} seconds."""

    code = "inbox-full"


class TooManyNotifications(LimitExceeded):
    """Too many notifications come from your network: wait {retry_after} seconds and try again."""

    code = "too-many-notifications"


class SandboxClaim(IbiError):
    """{url} is an item of a sandbox, whose names are for trying out: they stay on their machine."""

    code = "sandbox-claim"


class LanguageNotKnown(IbiError):
    """The claim of {claimant} on {label} cannot be accepted yet: its language is not known, because its Archive could
    not be asked ({reason}). It is asked again."""

    code = "language-not-known"


class ClaimWithdrawn(IbiError):
    """The claim of {claimant} on {label} was withdrawn, or its item does not say so: there is nothing to answer."""

    code = "claim-withdrawn"
