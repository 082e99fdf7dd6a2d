"""A registration as words that travel: what everybody may know of it, and what its administrators may."""

from __future__ import annotations

from ibi.model.registration import Inclusion, Registration
from ibi.services.mail import Posted
from ibi.services.registration_desk import Registered

__all__ = ["all_facts", "letter_facts", "public_facts", "registered_facts"]


def public_facts(registration: Registration) -> dict[str, object]:
    """Who is asked, and where: whoever resolves a link learns as much."""
    service, inclusion = registration.service, registration.inclusion
    return {
        "rep": None if service.rep is None else service.rep.spelling,
        "ibip": None if service.ibip is None else service.ibip.spelling,
        "included": inclusion is not None,
        "address": None if inclusion is None else inclusion.address,
        "protocol": None if inclusion is None else inclusion.protocol.value,
        "confirmed": None if inclusion is None else inclusion.confirmed,
        "since": None if inclusion is None else str(inclusion.since),
        "prefixes": sorted(registration.prefixes),
        "successor": None if registration.successor is None else registration.successor.labels[0].spelling,
    }


def all_facts(registration: Registration) -> dict[str, object]:
    """Everything but the hash of the key."""
    inclusion, waiting = registration.inclusion, registration.waiting
    answered = None if inclusion is None else inclusion.answered
    return {
        **public_facts(registration),
        "registered": str(registration.registered),
        "admin_mail": registration.admin_mail,
        "hosts": sorted(registration.hosts),
        "networks": [str(network) for network in registration.networks],
        "ip": None if inclusion is None else str(inclusion.ip),
        "platform_version": None if inclusion is None else inclusion.platform_version,
        "included_mail": None if inclusion is None else inclusion.admin_mail,
        "answered": None if answered is None else str(answered),
        "shared": registration.shared,
        "vouched": registration.vouched,
        "waiting": None if waiting is None else waiting.spelling,
        "pending": _pending_facts(registration.pending),
    }


def _pending_facts(pending: Inclusion | None) -> dict[str, object] | None:
    """The address that has yet to confirm before it is asked."""
    if pending is None:
        return None
    return {
        "address": pending.address,
        "protocol": pending.protocol.value,
        "ip": str(pending.ip),
        "mail": pending.admin_mail,
        "since": str(pending.since),
    }


def registered_facts(registered: Registered) -> dict[str, object]:
    """One that has just been registered: also what its administrator was told, and what the person who registered it
    should know."""
    return {
        **all_facts(registered.registration),
        "letter": letter_facts(registered.posted),
        "warnings": list(registered.warnings),
    }


def letter_facts(posted: Posted | None) -> dict[str, object] | None:
    """The letter to an administrator, and what became of it."""
    if posted is None:
        return None
    letter = posted.letter
    return {
        "to": letter.to,
        "subject": letter.subject,
        "text": letter.text,
        "sent": posted.sent,
        "reason": posted.reason,
    }
