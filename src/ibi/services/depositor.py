"""Who asks for a change."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Depositor"]


@dataclass(frozen=True, slots=True)
class Depositor:
    """Who asks: by what drafts are known as theirs, and by what the versions of an item tell who made them."""

    owner: str
    name: str
    librarian: bool = False
