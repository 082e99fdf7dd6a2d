"""What every register does alike: the order of its list, dates to the second, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ibi.instant import Instant
from ibi.label import Label
from ibi.model.registration import Inclusion, Registration
from ibi.resolver.errors import AlreadyRegistered
from ibi.resolver.membership import PrefixHome, require_free_prefixes


def registration_order(registration: Registration) -> tuple[Instant, Label]:
    return registration.registered, registration.labels[0]


def as_kept(registration: Registration, before: Registration | None = None) -> Registration:
    """As a register keeps it. `ValueError` if it lacks a form that it had `before`, or shares no label with it: that
    would be another Archive."""
    if before is not None and not _is_same_archive(registration, before):
        raise ValueError("a registration keeps its labels")
    inclusion, pending = _to_the_second(registration.inclusion), _to_the_second(registration.pending)
    registered = Instant(registration.registered.seconds)
    if (inclusion, pending, registered) == (registration.inclusion, registration.pending, registration.registered):
        return registration
    return replace(registration, inclusion=inclusion, pending=pending, registered=registered)


def require_free(
    registration: Registration,
    before: Registration | None,
    find: Callable[[Label], Registration | None],
    every: Callable[[], Iterable[Registration]],
) -> None:
    """Raise `AlreadyRegistered` or `PrefixTaken` if another registration has a label, or a prefix, that this one did
    not have `before`. To be asked where no other process can change the register until this one is kept."""
    had = () if before is None else before.labels
    for label in registration.labels:
        if label not in had and find(label) is not None:
            raise AlreadyRegistered(label=str(label))
    require_free_prefixes(
        registration, before, (PrefixHome.of_registration(each) for each in every() if each != before)
    )


def _is_same_archive(after: Registration, before: Registration) -> bool:
    forms = {label.form for label in after.labels}
    return all(label.form in forms for label in before.labels) and not set(after.labels).isdisjoint(before.labels)


def _to_the_second(inclusion: Inclusion | None) -> Inclusion | None:
    if inclusion is None:
        return None
    answered = inclusion.answered
    return replace(
        inclusion,
        since=Instant(inclusion.since.seconds),
        answered=None if answered is None else Instant(answered.seconds),
    )
