"""The objects of a storage root, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from ibi.errors import InvalidLabel
from ibi.storage.ocfl.layout import DEPTH, checked_name

__all__ = ["names_in"]


def names_in(root: str) -> Iterator[str]:
    """The names of its objects, in the order of their parts. One directory is listed at a time."""
    for name in _below(root, "", DEPTH):
        with suppress(InvalidLabel):
            yield checked_name(name)


def _below(root: str, name: str, depth: int) -> Iterator[str]:
    if depth == 0:
        yield name
        return
    try:
        with os.scandir(f"{root}/{name}") as entries:
            children = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return  # pruned meanwhile
    for child in children:
        yield from _below(root, f"{name}/{child}" if name else child, depth - 1)
