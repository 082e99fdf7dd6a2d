"""The objects of a storage root, one after the other; and what lies between them and is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from ibi.errors import InvalidLabel
from ibi.model.content import Damage, Problem
from ibi.storage.ocfl.layout import DEPTH, checked_name

__all__ = ["names_in", "strays_in"]

_EXTENSIONS = "extensions"


def names_in(root: str) -> Iterator[str]:
    """The names of its objects, in the order of their parts. One directory is listed at a time."""
    for name in _below(root, "", DEPTH):
        with suppress(InvalidLabel):
            yield checked_name(name)


def strays_in(root: str) -> Iterator[Problem]:
    """What no object is, and OCFL allows in no place but the root itself: files between the objects, and directories
    where objects lie under names that nobody looks for. An empty directory may just be getting its object."""
    for child in _children(root):
        if child.is_dir(follow_symlinks=False) and child.name != _EXTENSIONS:
            yield from _strays_below(root, child.name, DEPTH - 1)


def _strays_below(root: str, name: str, depth: int) -> Iterator[Problem]:
    if depth == 0:
        try:
            checked_name(name)
        except InvalidLabel:
            yield Problem(Damage.EXTRA, "E072", name, "this is not the name of an item, and nobody looks for one there")
        return
    for child in _children(f"{root}/{name}"):
        path = f"{name}/{child.name}"
        if child.is_dir(follow_symlinks=False):
            yield from _strays_below(root, path, depth - 1)
        else:
            yield Problem(Damage.EXTRA, "E072", path, "it does not belong there")


def _children(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []  # pruned meanwhile


def _below(root: str, name: str, depth: int) -> Iterator[str]:
    if depth == 0:
        yield name
        return
    for child in _children(f"{root}/{name}"):
        if child.is_dir(follow_symlinks=False):
            yield from _below(root, f"{name}/{child.name}" if name else child.name, depth - 1)
