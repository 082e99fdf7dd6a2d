"""The layout below a storage root: the directories of objects, their order, and the version of the store.

OCFL 1.1 allows `ocfl_layout.json` to name registered layouts only (E071), and ours is not registered: validators reject
a root that names it. The file is optional; the page in the root tells a person the same.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ibi.items.model.content import Damage, Problem
from ibi.standard.errors import InvalidLabel
from ibi.standard.label.label import RepositoryName
from ibi.storage.errors import NotAStore, StoreNewer
from ibi.storage.machine import make_directory, refusals, sync_tree, write_durably


class Broken(Exception):
    """Never leaves this package: it becomes a problem that was found, or content that is damaged."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


DEPTH = 4
"""Number of parts of a repository name. Each is a directory; the last one is the object."""

OBJECT_DECLARATION = ("0=ocfl_object_1.1", b"ocfl_object_1.1\n")
ROOT_DECLARATION = ("0=ocfl_1.1", b"ocfl_1.1\n")
_RESERVED = "extensions"
_PAGE = "ibi-repository-name-layout.md"
_PAGE_TEXT = """\
# How objects are laid out here

This is an OCFL 1.1 storage root (https://ocfl.io/1.1/spec/). Each object holds one item that has an Internet Based
Identifier (IBI).

The identifier of an object is `ibi:` and the repository name of its item, in lower case. A repository name has four
parts joined by `/`: subdomain, word (with an optional port after `.` or `@`), year, and the rest of the date. Without
`ibi:`, it is the path of the object below this directory:

    id    ibi:sid.inpe.br/mtc-m18@80/2009/02.16.17.46
    path  sid.inpe.br/mtc-m18@80/2009/02.16.17.46

`mtc-m18`, `mtc-m18.80` and `mtc-m18@80` are different words. The subdomain `extensions` is not used: OCFL reserves the
directory of that name.

Inside an object, the logical path `item.json` describes the item, `local.json` says what it is in this Archive, and
`doc/` holds its files. A version without `doc/` is that of a deleted item.
"""


def lay_out(root: Path) -> None:
    """Make `root` a storage root unless it is one."""
    name, content = ROOT_DECLARATION
    declaration = root / name
    if declaration.is_file():
        return
    make_directory(root)
    if any(not child.name.startswith(".") and child.name != _PAGE for child in root.iterdir()):
        lost = f"if that was lost, make it again with the one line {content.decode('ascii').strip()}"
        raise NotAStore(path=root, reason=f"it is not empty, and has no file {name}; {lost}")
    write_durably(root / _PAGE, _PAGE_TEXT.encode("utf-8"))
    write_durably(declaration, content)


def checked_name(name: str) -> str:
    """Return the name if it is a repository name in its form on disk; raise `InvalidLabel` otherwise.

    Lower case, so that case-insensitive file systems hold the same objects. A text that cannot be parsed as a name
    cannot lead out of the root either.
    """
    if str(RepositoryName.parse(name)) != name:
        raise InvalidLabel(name, 0, "it is not in its canonical form")
    if name.startswith(f"{_RESERVED}/"):
        raise InvalidLabel(name, 0, "no content can be kept under this name: OCFL reserves it")
    return name


_EXTENSIONS = "extensions"


def names_in(root: str) -> Iterator[str]:
    """Yield the names of the objects, in the order of their parts. One directory is listed at a time."""
    for name in _below(root, "", DEPTH):
        with suppress(InvalidLabel):
            yield checked_name(name)


def strays_in(root: str) -> Iterator[Problem]:
    """Yield files and directories that belong to no object: files between the objects, and object directories without
    an item's name. OCFL allows other files in the root alone. An empty directory may just be getting its object."""
    for child in _children(root):
        if child.is_dir(follow_symlinks=False) and child.name != _EXTENSIONS:
            yield from _strays_below(root, child.name, DEPTH - 1)


def _strays_below(root: str, name: str, depth: int) -> Iterator[Problem]:
    if depth == 0:
        try:
            checked_name(name)
        except InvalidLabel:
            yield Problem(Damage.EXTRA, "E072", name, "this is not the name of an item: nothing is looked for there")
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


FILE_NAME = "ibi-store.json"
VERSION = 1

Migration = Callable[[Path], None]
"""Migrates the store at this root by one version. It may be called again after a crash, and never changes a content
file."""

MIGRATIONS: Mapping[int, Migration] = {}
"""Migrations by their start version."""


def check_layout(root: Path) -> None:
    """Raise `NotAStore` or `StoreNewer` if the files at `root` cannot be opened as a store. Nothing is changed."""
    path = root.parent / FILE_NAME
    with refusals(NotAStore, path):
        found = _read_version(path)
    if found is not None and found > VERSION:
        raise StoreNewer(path=path, found=found, known=VERSION)
    name, content = ROOT_DECLARATION
    if not (root / name).is_file() and any(names_in(str(root))):
        lost = f"if that was lost, make it again with the one line {content.decode('ascii').strip()}"
        raise NotAStore(path=root, reason=f"it has items, and no file {name}; {lost}")


def ensure_version(root: Path, migrations: Mapping[int, Migration] = MIGRATIONS, known: int = VERSION) -> None:
    """Migrate the store at `root` to the version `known`."""
    path = root.parent / FILE_NAME
    found = _read_version(path)
    if found is None:
        make_directory(root.parent)
        found = known
        _write_version(path, found)
    if found > known:
        raise StoreNewer(path=path, found=found, known=known)
    if found < known:
        _back_up(root, root.parent / f"{root.name}-backup-of-version-{found}")
    for version in range(found, known):
        migrations[version](root)
        _write_version(path, version + 1)


def _read_version(path: Path) -> int | None:
    try:
        version = json.loads(path.read_bytes())["version"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if type(version) is not int or version < 1:
        raise NotAStore(path=path, reason="it does not tell the version of the store")
    return version


def _write_version(path: Path, version: int) -> None:
    write_durably(path, json.dumps({"store": "ibi", "version": version}).encode("ascii") + b"\n")


def _back_up(root: Path, place: Path) -> None:
    """Back up everything but content, which no migration changes and which may be terabytes."""
    if place.exists():
        return  # from the first try: a copy made after a crashed migration is no backup
    partial = place.with_name(f"{place.name}-partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(root, partial, ignore=lambda _, names: {"content"} & set(names), symlinks=True)
    shutil.copy2(root.parent / FILE_NAME, partial / FILE_NAME)
    sync_tree(partial)
    partial.rename(place)
    sync_tree(place)
