"""What every register does alike: the order of its list, and dates to the second."""

from __future__ import annotations

from dataclasses import replace

from ibi.instant import Instant
from ibi.label import Label
from ibi.model.registration import Registration

__all__ = ["kept", "registration_order"]


def registration_order(registration: Registration) -> tuple[Instant, Label]:
    return registration.registered, registration.labels[0]


def kept(registration: Registration, before: Registration | None = None) -> Registration:
    """As a register keeps it. `ValueError` if it has not the labels it had `before`: that would be another Archive."""
    if before is not None and before.labels != registration.labels:
        raise ValueError("a registration keeps its labels")
    inclusion = registration.inclusion
    if inclusion is not None and inclusion.since.fraction:
        registration = replace(registration, inclusion=replace(inclusion, since=Instant(inclusion.since.seconds)))
    if registration.registered.fraction:
        registration = replace(registration, registered=Instant(registration.registered.seconds))
    return registration
