"""`ibi-store.json`: the format of the store beside it. Newer is refused; older is brought up after a backup."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from ibi.storage.disk import make_directory, sync_tree, write_durably
from ibi.storage.errors import NotAStore, StoreNewer

__all__ = ["FILE_NAME", "VERSION", "Migration", "ensure_version"]

FILE_NAME = "ibi-store.json"
VERSION = 1

Migration = Callable[[Path], None]
"""Brings the store with this root from one version to the next. It may be called again after a crash in it, and never
changes a file of content."""

MIGRATIONS: Mapping[int, Migration] = {}
"""By the version that each one starts from."""


def ensure_version(root: Path, migrations: Mapping[int, Migration] = MIGRATIONS, known: int = VERSION) -> None:
    """The store of `root` has the version that is `known` here afterwards."""
    path = root.parent / FILE_NAME
    found = _read(path)
    if found is None:
        make_directory(root.parent)
        found = known
        _write(path, found)
    if found > known:
        raise StoreNewer(path=path, found=found, known=known)
    if found < known:
        _back_up(root, root.parent / f"{root.name}-backup-of-version-{found}")
    for version in range(found, known):
        migrations[version](root)
        _write(path, version + 1)


def _read(path: Path) -> int | None:
    try:
        version = json.loads(path.read_bytes())["version"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if type(version) is not int or version < 1:
        raise NotAStore(path=path, reason="it does not tell the version of the store")
    return version


def _write(path: Path, version: int) -> None:
    write_durably(path, json.dumps({"store": "ibi", "version": version}).encode("ascii") + b"\n")


def _back_up(root: Path, place: Path) -> None:
    """Everything but content, which no migration touches and which may be terabytes."""
    if place.exists():
        return  # of the first try: what a crashed migration has changed since is no backup
    partial = place.with_name(f"{place.name}-partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(root, partial, ignore=lambda _, names: {"content"} & set(names), symlinks=True)
    shutil.copy2(root.parent / FILE_NAME, partial / FILE_NAME)
    sync_tree(partial)
    partial.rename(place)
    sync_tree(place)
