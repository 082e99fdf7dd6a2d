"""Labels: the two forms of an Internet Based Identifier, parsed, written and generated (G §5–7)."""

from __future__ import annotations

from ibi.errors import InvalidLabel
from ibi.label.diagnosis import explain
from ibi.label.label import Ibip, Label, LegacyLabel, RepositoryName, read_ibip, read_legacy, read_repository_name
from ibi.label.search import FoundLabel, find_labels, match_any, match_label, match_legacy

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


def parse(text: str) -> RepositoryName | Ibip:
    """Read exactly one label of either form; `InvalidLabel` says what is wrong with anything else."""
    # A repository name always has dots in its date, an IBIp never has one.
    label = read_repository_name(text) if "." in text else read_ibip(text)
    if label is None:
        raise explain(text)
    return label


def parse_any(text: str) -> Label:
    """Read exactly one label, of either form or of before 2008 (E72); for what is resolved, asked for and explained."""
    try:
        return parse(text)
    except InvalidLabel:
        label = read_legacy(text)
        if label is None:
            raise
        return label
