"""The state of the preview of a file that takes long to render."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class PreviewState(Enum):
    RENDERED = "rendered"
    PENDING = "pending"
    """It is being rendered, or will be."""
    REFUSED = "refused"
    """It is too long, or takes too long, or nothing renders it here."""


class RenderedPreview(NamedTuple):
    state: PreviewState
    text: str = ""
    """The elements, if it was rendered; links within the Archive are open (`ibi.items.rules.markdown_preview`)."""
