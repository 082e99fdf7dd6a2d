"""Internet Based Identifiers: labels that nobody else can get, and links to them that last."""

from __future__ import annotations

from ibi.errors import IbiError, InvalidLabel
from ibi.instant import Instant
from ibi.label import FoundLabel, Ibip, Label, RepositoryName, find_labels, parse

__version__ = "0.1.0"

__all__ = [
    "FoundLabel",
    "IbiError",
    "Ibip",
    "Instant",
    "InvalidLabel",
    "Label",
    "RepositoryName",
    "__version__",
    "find_labels",
    "parse",
]
