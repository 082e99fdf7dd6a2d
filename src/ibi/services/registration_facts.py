"""A registration as words that travel: what everybody may know of it, and what its administrators may."""

from __future__ import annotations

from ibi.model.registration import Registration
from ibi.services.mail import Posted

__all__ = ["all_facts", "letter_facts", "public_facts"]


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
    }


def all_facts(registration: Registration) -> dict[str, object]:
    """Everything but the hash of the key."""
    inclusion = registration.inclusion
    return {
        **public_facts(registration),
        "registered": str(registration.registered),
        "admin_mail": registration.admin_mail,
        "hosts": sorted(registration.hosts),
        "networks": [str(network) for network in registration.networks],
        "ip": None if inclusion is None else str(inclusion.ip),
        "platform_version": None if inclusion is None else inclusion.platform_version,
        "included_mail": None if inclusion is None else inclusion.admin_mail,
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
