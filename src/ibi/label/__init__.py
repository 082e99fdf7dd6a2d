"""Labels: the two forms of an Internet Based Identifier, parsed, written and generated (G §5–7)."""

from __future__ import annotations

from ibi.label.diagnosis import explain
from ibi.label.label import Ibip, Label, RepositoryName, read_ibip, read_repository_name
from ibi.label.search import FoundLabel, find_labels, match_label

__all__ = ["FoundLabel", "Ibip", "Label", "RepositoryName", "find_labels", "match_label", "parse"]


def parse(text: str) -> RepositoryName | Ibip:
    """Read exactly one label of either form; `InvalidLabel` says what is wrong with anything else."""
    # A repository name always has dots in its date, an IBIp never has one.
    label = read_repository_name(text) if "." in text else read_ibip(text)
    if label is None:
        raise explain(text)
    return label
