"""Registrations in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock

from ibi.membership.model.registration import Registration
from ibi.membership.store.registry import as_kept, registration_order, require_free
from ibi.standard.label import Label

__all__ = ["MemoryRegistry"]


class MemoryRegistry:
    """The port `Registry` without a disk."""

    prompt = True

    def __init__(self) -> None:
        self._by_label: dict[Label, Registration] = {}
        self._version = 0
        self._lock = Lock()

    def find(self, label: Label) -> Registration | None:
        return self._by_label.get(label)

    def all(self) -> tuple[Registration, ...]:
        with self._lock:
            # A registration stands there under each of its labels.
            found = {registration.labels[0]: registration for registration in self._by_label.values()}
        return tuple(sorted(found.values(), key=registration_order))

    def add(self, registration: Registration) -> None:
        with self._lock:
            require_free(registration, None, self._by_label.get, self._by_label.values)
            self._keep(registration)

    def put(self, registration: Registration) -> None:
        with self._lock:
            for label in registration.labels:
                self._remove(label)
            self._keep(registration)

    def change(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        with self._lock:
            found = self._by_label.get(label)
            if found is None:
                return None
            made = as_kept(make(found), found)
            if made != found:
                require_free(made, found, self._by_label.get, self._by_label.values)
                self._remove(label)
                self._keep(made)
            return made

    def forget(self, label: Label) -> Registration | None:
        with self._lock:
            return self._remove(label)

    def version(self) -> Hashable:
        return self._version

    def recent_version(self) -> Hashable:
        return self._version

    def close(self) -> None:
        """Nothing to let go of."""

    def _keep(self, registration: Registration) -> None:
        self._by_label |= dict.fromkeys(registration.labels, as_kept(registration))
        self._version += 1

    def _remove(self, label: Label) -> Registration | None:
        found = self._by_label.get(label)
        for each in () if found is None else found.labels:
            del self._by_label[each]
        self._version += found is not None
        return found
