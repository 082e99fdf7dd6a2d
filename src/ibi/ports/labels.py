"""Where an Archive gets the labels of its items."""

from __future__ import annotations

from typing import Protocol

from ibi.messages.label_forms import LabelForms

__all__ = ["Labels"]


class Labels(Protocol):
    """A minter, here or elsewhere. Calls block, from any thread."""

    def reserve(self, key: str | None = None) -> LabelForms:
        """Labels that nobody else has or will have, durably, after their date has come.

        Asked again with the same `key` within a day, it gives the same ones. What is not used is a gap, which is fine.
        """
