"""The storage root: its declaration, where the object of a name lies in it, and a page that says so.

OCFL 1.1 lets `ocfl_layout.json` name registered layouts only (E071), and ours is not one: validators refuse a root
that names it. The file is optional; the page in the root tells a person the same.
"""

from __future__ import annotations

from pathlib import Path

from ibi.errors import InvalidLabel
from ibi.label.repository_name import RepositoryName
from ibi.storage.disk import make_directory, write_durably
from ibi.storage.errors import NotAStore

__all__ = ["DEPTH", "OBJECT_DECLARATION", "checked_name", "lay_out"]

DEPTH = 4
"""A repository name has so many parts, each a directory; the last is the object."""

OBJECT_DECLARATION = ("0=ocfl_object_1.1", b"ocfl_object_1.1\n")
_ROOT_DECLARATION = ("0=ocfl_1.1", b"ocfl_1.1\n")
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
    name, content = _ROOT_DECLARATION
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
    """The name itself, if it is a repository name as it is written on the disk; `InvalidLabel` otherwise.

    Lower case, so that disks which do not tell case apart hold the same objects; what cannot be parsed cannot lead out
    of the root either.
    """
    if str(RepositoryName.parse(name)) != name:
        raise InvalidLabel(name, 0, "it is not in its canonical form")
    if name.startswith(f"{_RESERVED}/"):
        raise InvalidLabel(name, 0, "no content can be kept under this name: OCFL reserves it")
    return name
