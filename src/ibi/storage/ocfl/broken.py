"""A rule of OCFL that something on the disk breaks."""

from __future__ import annotations

__all__ = ["Broken"]


class Broken(Exception):
    """Never leaves this package: it becomes a problem that was found, or content that is damaged."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
