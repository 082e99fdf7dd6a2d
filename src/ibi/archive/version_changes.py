"""What changed from one version of an item to the next: which parts of its description, and which files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.model.item import Item
from ibi.model.metadata import DC_ELEMENTS

_METADATA: Final = (*DC_ELEMENTS, "licence", "resource_type")
_ITEM: Final = (
    "state",
    "language",
    "target",
    "target_url",
    "visibility",
    "alternates",
    "edition_of",
    "next_edition",
    "translation_of",
    "translations",
    "metadata_item",
    "describes",
    "transferable",
    "source",
    "transferred_to",
)
"""Fields of an item that have no `metadata.` before their name. Whose it is, is no part of what readers are shown."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """`fields` are named as in the record of an item: `metadata.title`, `visibility`. Files are paths."""

    fields: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Those with other bytes."""
    removed: tuple[str, ...] = ()

    def without_files(self) -> VersionChanges:
        """What may be told where files are not listed."""
        return VersionChanges(tuple(name for name in self.fields if name != "target"))


def changes_between(before: Item | None, after: Item) -> VersionChanges:
    """What `after` has otherwise than `before`; of a first version, everything that it has counts as added."""
    old = {} if before is None else {file.path: file for file in before.files}
    new = {file.path: file for file in after.files}
    same = old.keys() & new.keys()
    return VersionChanges(
        () if before is None else tuple(_changed_fields(before, after)),
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(path for path in same if old[path].sha512 != new[path].sha512)),
        tuple(sorted(old.keys() - new.keys())),
    )


def _changed_fields(before: Item, after: Item) -> list[str]:
    described = [
        f"metadata.{name}" for name in _METADATA if getattr(before.metadata, name) != getattr(after.metadata, name)
    ]
    return described + [name for name in _ITEM if getattr(before, name) != getattr(after, name)]
