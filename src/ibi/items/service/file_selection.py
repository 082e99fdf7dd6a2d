"""The files that a depositor selects: names, media types and places."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from mimetypes import MimeTypes
from pathlib import Path

from ibi.items.model.content import Copy, Source
from ibi.items.model.file import DEFAULT_MEDIA_TYPE, UNKNOWN_SHA_512, File, check_file_names
from ibi.items.ports.archive_store import SourceRefused
from ibi.standard.document_errors import InvalidFileName

# Types that the standard library lacks, or knows by an obsolete name.
_ADDED = {
    ".7z": "application/x-7z-compressed",
    ".avif": "image/avif",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".flac": "audio/flac",
    ".geojson": "application/geo+json",
    ".gz": "application/gzip",
    ".jsonld": "application/ld+json",
    ".md": "text/markdown",
    ".nc": "application/netcdf",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ogg": "audio/ogg",
    ".parquet": "application/vnd.apache.parquet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".rtf": "application/rtf",
    ".tex": "application/x-tex",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xz": "application/x-xz",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


@cache
def _known_types() -> MimeTypes:
    known = MimeTypes(filenames=())
    for extension, media_type in _ADDED.items():
        known.add_type(media_type, extension)
    # A compressed file has the type of its compression: it is not unpacked on the way.
    known.encodings_map.clear()
    known.suffix_map.clear()
    return known


def media_type_of(path: str) -> str:
    """Return the media type by the name of a file, or else that of arbitrary bytes."""
    return _known_types().guess_type(path.replace(":", "_"))[0] or DEFAULT_MEDIA_TYPE


def unread_files(paths: Iterable[str]) -> tuple[File, ...]:
    """Return files for a draft of which only the names are known yet."""
    return tuple(File(path, 0, UNKNOWN_SHA_512) for path in paths)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The selected files: the source of each by its path in the item."""

    sources: dict[str, Source]
    size: int
    passed_over: tuple[str, ...] = ()
    """Hidden files and folders that were left out."""
    empty: tuple[str, ...] = ()
    """Empty folders, which an item cannot store."""


def gather(paths: Iterable[Path], *, hidden: bool = False) -> Gathered:
    """Return the plain files at these paths and in the folders among them.

    A file has its own name. A single folder is the item: its files have their paths inside it. Beside other paths, a
    folder keeps its name. Hidden files in a folder (a name that begins with a dot) are left out unless `hidden`; a
    hidden file that is named itself is taken. `SourceRefused` names a link or a device, `InvalidFileName` a name that
    cannot be stored.
    """
    paths = tuple(paths)
    found = _Found(hidden)
    for path in paths:
        mode = _mode(path)
        if not stat.S_ISDIR(mode):
            found.add(path, _own_name(path), mode)
        else:
            found.add_folder(path, "" if len(paths) == 1 else f"{_own_name(path)}/")
    check_file_names(found.sources)
    return Gathered(found.sources, found.size, tuple(found.passed_over), tuple(found.empty))


class _Found:
    def __init__(self, hidden: bool) -> None:
        self._hidden = hidden
        self.sources: dict[str, Source] = {}
        self.size = 0
        self.passed_over: list[str] = []
        self.empty: list[str] = []

    def add(self, path: Path, name: str, mode: int) -> None:
        if stat.S_ISLNK(mode):
            raise SourceRefused(path=path, reason="it is a symbolic link")
        if not stat.S_ISREG(mode):
            raise SourceRefused(path=path, reason="it is neither a plain file nor a folder")
        if name in self.sources:
            raise InvalidFileName(name, 0, "two files have this name")
        self.sources[name] = Copy(str(path.absolute()))
        self.size += path.lstat().st_size

    def add_folder(self, folder: Path, prefix: str) -> None:
        children = _children(folder)
        if not children:
            self.empty.append(str(folder))
        for path in children:
            if path.name.startswith(".") and not self._hidden:
                self.passed_over.append(str(path))
                continue
            mode = _mode(path)
            if stat.S_ISDIR(mode):
                self.add_folder(path, f"{prefix}{path.name}/")
            else:
                self.add(path, f"{prefix}{path.name}", mode)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise SourceRefused(path=folder, reason=error.strerror or str(error)) from error


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except (OSError, ValueError) as error:
        raise SourceRefused(path=path, reason=getattr(error, "strerror", None) or str(error)) from error


def _own_name(path: Path) -> str:
    """Return the real name of a path, also of `.` and `..`."""
    return path.name if path.name not in {"", ".."} else Path(os.path.normpath(path.absolute())).name
