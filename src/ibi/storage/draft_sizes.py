"""How much each file of a draft has, without a look at every one of them.

The bytes of a file that was taken in lie under a name of chance and never change. To look at ten thousand of them for
each that comes would take longer than it takes to receive it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from ibi.storage.bounded_cache import BoundedCache

__all__ = ["DraftSizes"]

_MOST_DRAFTS: Final = 256
_MOST_NAMES: Final = 1_000_000


class DraftSizes:
    """Of drafts that files come into at the moment. What one forgets is looked up again. From any thread."""

    def __init__(self) -> None:
        self._known: BoundedCache[str, dict[str, int]] = BoundedCache(_MOST_DRAFTS, _MOST_NAMES)

    def learn(self, draft: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Have what is there already `read`, once."""
        if self._known.get(draft) is None:
            known = dict(read())
            self._known.keep(draft, known, len(known))

    def add(self, draft: str, name: str, size: int) -> None:
        """All of this file has come."""
        known = self._known.get(draft)
        if known is not None:
            known[name] = size
            self._known.keep(draft, known, len(known))

    def look(self, draft: str, folder: str) -> dict[str, int]:
        """The sizes of the files in `folder` by their names, of those that are still on their way as they are now."""
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
        except FileNotFoundError:
            return {}
        known = self._known.get(draft) or {}
        sizes = {name: known[name] for name in names if name in known}
        for name in names if len(sizes) < len(names) else ():
            if name not in sizes:
                with suppress(FileNotFoundError):  # it has gone while the others were looked at
                    sizes[name] = os.stat(f"{folder}/{name}").st_size  # noqa: PTH116 - no path is made for each
        return sizes
