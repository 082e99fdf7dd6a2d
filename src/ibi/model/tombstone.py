"""What is left of an item that was deleted."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.instant import Instant
from ibi.messages.label_forms import LabelForms
from ibi.model.metadata import checked_text

__all__ = ["Tombstone"]


@dataclass(frozen=True, slots=True)
class Tombstone:
    """When and why an item went, and what took its place."""

    when: Instant
    why: str
    replaced_by: LabelForms | None = None
    purged: bool = False
    """Whether earlier versions went too, so that nothing but this is left."""

    def __post_init__(self) -> None:
        checked_text(self.why, "why")
