"""Where a label was made: nobody else can make one with the same prefix, so its Archive is the first to be asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ibi.label import Label
from ibi.resolver.archive_ref import ArchiveRef

__all__ = ["Homes", "Origin", "origin_of"]

Origin: TypeAlias = tuple[str, str]
"""The form of a label and its prefix, which names one host and port (G §6.1, §7.1)."""


def origin_of(label: Label) -> Origin:
    return label.form, label.prefix.lower()


class Homes:
    """The Archives by the origin of their own service. Of two with the same one, the first to be registered."""

    def __init__(self, archives: Iterable[ArchiveRef] = ()) -> None:
        self._by_origin: dict[Origin, ArchiveRef] = {}
        for archive in sorted(archives, key=lambda each: each.registered):
            for label in archive.service.labels:
                self._by_origin.setdefault(origin_of(label), archive)

    def of(self, label: Label) -> ArchiveRef | None:
        """The Archive of the label's own origin, if it is included. The item may have been transferred since."""
        return self._by_origin.get(origin_of(label))
