"""Membership at the resolver (R §7.2, Figure 7.1): what each message makes of a registration."""

from __future__ import annotations

from dataclasses import replace

from ibi.instant import Instant
from ibi.messages.membership import InclusionRequest
from ibi.model.registration import Inclusion, Registration
from ibi.resolver.archive_ref import ArchiveRef

__all__ = ["archive_ref", "called_back", "excluded", "included"]


def included(registration: Registration, request: InclusionRequest, now: Instant) -> Registration:
    """After message 2, with the right key. Asking again for the same changes nothing, not even whether the Archive is
    known to answer: that is for the next call. From a new address it has yet to answer."""
    wanted = Inclusion(
        address=request.archive_address,
        ip=request.archive_ip,
        protocol=request.archive_protocol,
        platform_version=request.platform_version,
        admin_mail=request.admin_mail_address,
        since=Instant(now.seconds),
    )
    before = registration.inclusion
    if before is not None and _same(before, wanted):
        return registration
    still = before is not None and _place(before) == _place(wanted) and before.confirmed
    return replace(registration, inclusion=replace(wanted, confirmed=still))


def called_back(registration: Registration, asked: Inclusion, *, confirmed: bool) -> Registration:
    """After the call of message 3 to an Archive as it was when `asked`. If it has been excluded or has moved since,
    the outcome means nothing any more."""
    now = registration.inclusion
    if now is None or _place(now) != _place(asked):
        return registration
    return replace(registration, inclusion=replace(now, confirmed=confirmed))


def excluded(registration: Registration) -> Registration:
    """After message 7, with the right key: still registered, no longer asked."""
    return replace(registration, inclusion=None)


def archive_ref(registration: Registration) -> ArchiveRef | None:
    """The Archive as resolutions know it; None while it is not included."""
    inclusion = registration.inclusion
    if inclusion is None:
        return None
    return ArchiveRef(
        registration.service,
        inclusion.address,
        inclusion.protocol,
        registration.hosts,
        registration.networks,
        registration.registered.seconds,
        registration.prefixes,
        registration.vouched,
    )


def _same(one: Inclusion, other: Inclusion) -> bool:
    return replace(one, since=other.since, confirmed=other.confirmed) == other


def _place(inclusion: Inclusion) -> tuple[str, str]:
    """Where it is called back."""
    return inclusion.protocol.scheme, inclusion.address.lower()
