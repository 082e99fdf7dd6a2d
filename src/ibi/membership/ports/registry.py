"""The register of Archives of a resolver, as a protocol."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

from ibi.membership.model.registration import (
    Registration,
)
from ibi.standard.label import Label


class Registry(Protocol):
    """The registrations of one data directory, each found by any of its labels. Calls come from any thread.

    No label belongs to two registrations, and no prefix unless one of them is `shared`. Dates are kept to the second.
    Durable changes by one process are visible to every other with its next call.
    """

    prompt: bool
    """True if `find` and `all` are fast enough for an event loop; changes are not."""

    def find(self, label: Label) -> Registration | None:
        """Return the registration that has this label, in this form; None if there is none. Fast."""

    def all(self) -> tuple[Registration, ...]:
        """Return every registration, included or not, by date of registration and then by label."""

    def add(self, registration: Registration) -> None:
        """Add a new registration.

        If one of its labels is taken (`ibi.membership.rules.membership.AlreadyRegistered`) or one of its prefixes
        (`PrefixTaken`), raise the error and change nothing.
        """

    def put(self, registration: Registration) -> None:
        """Store a registration in place of every one with any of its labels. Its prefixes are not compared."""

    def change(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        """Replace the registration with this label by the result of `make`, and return it; None if there is none.

        No other process changes the register in between. `make` keeps the forms of the label, and at least one label.
        An added or replaced form must be free (`AlreadyRegistered`), and so must a gained prefix (`PrefixTaken`): else
        nothing changes. If the result is equal, nothing is written and `version` stays.
        """

    def forget(self, label: Label) -> Registration | None:
        """Delete and return the registration that has this label; None if there was none."""

    def version(self) -> Hashable:
        """Return a value that differs after a change by any process, and stays the same otherwise."""

    def recent_version(self) -> Hashable:
        """Return `version`, but possibly some milliseconds late for changes by another process.

        It never waits, whatever `prompt` says: the event loop calls it at every resolution.
        """

    def close(self) -> None: ...
