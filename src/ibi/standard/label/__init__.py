"""Labels: the two forms of an Internet Based Identifier, parsed, written and generated (G §5–7)."""

from __future__ import annotations

from ibi.standard.label.label import Ibip, Label, LegacyLabel, RepositoryName, parse, parse_any
from ibi.standard.label.search import FoundLabel, find_labels, match_any, match_label, match_legacy

__all__ = [
    "FoundLabel",
    "Ibip",
    "Label",
    "LegacyLabel",
    "RepositoryName",
    "find_labels",
    "match_any",
    "match_label",
    "match_legacy",
    "parse",
    "parse_any",
]
