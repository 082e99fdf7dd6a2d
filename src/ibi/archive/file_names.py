"""Names of files that an item may have: those that every file system and every URL can carry for decades.

A deposit with one bad name is refused, and the message names the file. Nothing is renamed: links point to names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from unicodedata import normalize

from ibi.model.errors import InvalidFileName
from ibi.model.file import checked_path

MAX_SEGMENT: Final = 255
"""Bytes of UTF-8 between two slashes: what ext4, XFS, APFS and S3 gateways take."""
MAX_PATH: Final = 1024
"""Bytes of the whole path, which stands in a URL and in an OCFL inventory."""

# Windows, "Naming Files, Paths, and Namespaces": reserved characters and device names, with any extension
_WINDOWS_CHARACTERS = re.compile(r'[<>:"|?*]')
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])[ ]*(?:\..*)?", re.IGNORECASE | re.DOTALL
)

# Unicode that is not seen, or that turns the reading direction, so that a name ends otherwise than it seems to.
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc]")


def collision_key(path: str) -> str:
    """What is equal for two names that some file system takes for one: NFC and no difference of case."""
    if path.isascii():
        return path.lower()
    return normalize("NFC", normalize("NFC", path).casefold())


def check_file_name(path: str) -> str:
    """`path`, relative to `doc/`, if it can be kept; `InvalidFileName` says what is wrong."""
    checked_path(path)
    invisible = _INVISIBLE.search(path)
    if invisible is not None:
        raise InvalidFileName(path, invisible.start(), "it holds a character that is not seen")
    if len(path.encode()) > MAX_PATH:
        raise InvalidFileName(path, 0, "it is longer than {most} bytes", most=MAX_PATH)
    for segment in path.split("/"):
        _check_segment(path, segment)
    return path


def _check_segment(path: str, segment: str) -> None:
    if len(segment.encode()) > MAX_SEGMENT:
        raise InvalidFileName(path, 0, "a part of it is longer than {most} bytes", most=MAX_SEGMENT)
    if segment[-1] in ". " or segment[0] == " ":
        raise InvalidFileName(path, 0, "a part of it begins or ends with a blank, or ends with a dot")
    reserved = _WINDOWS_CHARACTERS.search(segment)
    if reserved is not None:
        raise InvalidFileName(path, path.index(reserved[0]), "{sign} is not possible on Windows", sign=reserved[0])
    if _DEVICE.fullmatch(segment):
        raise InvalidFileName(path, 0, "{part} is a device on Windows", part=segment)


def check_file_names(paths: Iterable[str]) -> None:
    """Refuse a bad name, two that are one somewhere, and a name that is a file here and a folder there."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        key = collision_key(check_file_name(path))
        if key in files:
            raise InvalidFileName(path, 0, "{other} is the same name to many systems", other=files[key])
        files[key] = path
        for folder in _folders(key):
            folders.setdefault(folder, path)
        _check_folder_spelling(path, folders)
    for key, path in files.items():
        if key in folders:
            raise InvalidFileName(path, 0, "{other} has a folder of this name", other=folders[key])


def _folders(key: str) -> Iterator[str]:
    parts = key.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))


def _check_folder_spelling(path: str, folders: dict[str, str]) -> None:
    """`Data/a` and `data/b` become one folder on some systems, and which spelling survives is chance."""
    parts = path.split("/")
    for length in range(1, len(parts)):
        folder = "/".join(parts[:length])
        other = folders[collision_key(folder)]
        if "/".join(other.split("/")[:length]) != folder:
            raise InvalidFileName(path, 0, "{other} spells the same folder in another way", other=other)
