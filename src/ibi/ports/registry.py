"""Where a resolver keeps the Archives that are registered with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

from ibi.label import Label
from ibi.model.registration import Registration


class Registry(Protocol):
    """The registrations of one data directory, each found by any of its labels. Calls come from any thread.

    No label belongs to two registrations, and no prefix unless one of them is `shared`. Dates are kept to the second.
    What one process has changed, durably, every other sees with its next call.
    """

    def find(self, label: Label) -> Registration | None:
        """The registration that has this label, in this form; None if there is none. Quick."""

    def all(self) -> tuple[Registration, ...]:
        """Every registration, included or not, by date of registration and then by label."""

    def add(self, registration: Registration) -> None:
        """Keep a new one. Nothing changes if one of its labels is taken (`ibi.resolver.membership.AlreadyRegistered`)
        or one of its prefixes (`PrefixTaken`)."""

    def put(self, registration: Registration) -> None:
        """Keep one in place of whatever has any of its labels. Its prefixes are not compared with those of others."""

    def change(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        """Put what `make` makes of the registration with this label in its place, and give it back; None if there is
        none. No other process changes the register in between. `make` keeps the forms of the label, and one label at
        least; a form that is added or replaced must be free (`AlreadyRegistered`), and so must a prefix that is gained
        (`PrefixTaken`): else nothing changes. If it gives back an equal one, nothing is written and `version`
        stays."""

    def forget(self, label: Label) -> Registration | None:
        """Remove the registration that has this label: what it was, None if there was none."""

    def version(self) -> Hashable:
        """Another value after any process's change, and the same while nothing changes."""

    def recent_version(self) -> Hashable:
        """`version`, but a change by another process may be seen some milliseconds late. Quicker than anything else
        here: asked at every resolution."""

    def close(self) -> None: ...
