"""What an Archive keeps of itself. Short: the value of one record, that stands on no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ibi.messages.label_forms import LabelForms

SECRET_BYTES: Final = 32
"""Of the secret, at least."""


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    service: LabelForms
    """The Archive's own service."""
    url_key_secret: bytes = field(repr=False)
    """What its URL keys are signed with."""
