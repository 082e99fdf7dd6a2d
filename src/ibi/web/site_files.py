"""Files of the site's owner in the folder `pages/` of the data directory: pages in Markdown, a logo, pictures.

People write to the folder while a server reads it. Only plain files are read, with names and endings that can stand in
a URL, up to a size and a number. Links are not followed, so that a page can show nothing else of the machine.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

PAGES: Final = "pages"
LARGEST: Final = 2**20
"""Maximum bytes of a file."""
MOST: Final = 200
"""Maximum number of files, in the order of their names."""
_NAME: Final = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}(\.[A-Za-z-]{2,10})?\.(md|svg|png|jpe?g|webp|gif|ico)", re.ASCII
)

_Signature = tuple[tuple[str, int, int], ...]


class PageDirectory:
    """Implements the port `SiteFiles` in a data directory. Files are read again when one of them has changed."""

    def __init__(self, data: Path) -> None:
        self._place = data / PAGES
        self._read: tuple[_Signature, Mapping[str, bytes]] | None = None

    def files(self) -> Mapping[str, bytes]:
        found = tuple(self._look())
        if self._read is None or self._read[0] != found:
            self._read = found, dict(self._contents(found))
        return self._read[1]

    def _look(self) -> Iterator[tuple[str, int, int]]:
        """Yield name, date and size of each accepted file."""
        try:
            names = sorted(each.name for each in self._place.iterdir() if _NAME.fullmatch(each.name))
        except OSError:  # most sites have no such folder
            return
        for name in names[:MOST]:
            with suppress(OSError):
                about = (self._place / name).lstat()
                if stat.S_ISREG(about.st_mode) and about.st_size <= LARGEST:
                    yield name, about.st_mtime_ns, about.st_size

    def _contents(self, found: _Signature) -> Iterator[tuple[str, bytes]]:
        for name, _, _ in found:
            with suppress(OSError):  # removed, or not readable for this process
                descriptor = os.open(self._place / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with os.fdopen(descriptor, "rb") as file:
                    yield name, file.read(LARGEST)
