"""The files of an item that is deposited or updated: where each comes from, and what is known of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest, sha512
from typing import Final

from ibi.model.content import Bytes, Copy, Keep, Move, Source, TakenFile
from ibi.model.file import DEFAULT_MEDIA_TYPE, UNKNOWN_SHA_512, File
from ibi.model.item import Draft
from ibi.ports.content import FileMissing
from ibi.services.items.file_selection import media_type_of
from ibi.services.items.item_object import DOC

_LITTLE: Final = 1 << 20
"""Bytes of an item's files below which it is kept together with others."""


class DepositedFiles:
    """The files of a draft, by their paths below `doc/`: where each comes from, and what is known of it.

    `kept` are the files that the item has already. A media type comes from the draft, if it has the file, or else from
    the name.
    """

    def __init__(self, draft: Draft, sources: Mapping[str, Source], kept: Mapping[str, File] | None = None) -> None:
        self._draft, self._sources, self._kept = draft, sources, kept or {}
        self._types = {file.path: file.media_type for file in draft.files if file.media_type != DEFAULT_MEDIA_TYPE}
        self._expected = tuple(self._expect(path, source) for path, source in sources.items())

    def expected_draft(self) -> Draft:
        """The draft with these files, as far as they are known before they are read."""
        return replace(self._draft, files=self._expected)

    @property
    def stored(self) -> dict[str, Source]:
        """The same for a store, which has them below `doc/`."""
        return {
            path: Keep(DOC + source.path) if isinstance(source, Keep) else source
            for path, source in self._sources.items()
        }

    @property
    def are_at_hand(self) -> bool:
        """Whether all of them are here already, and so little that it takes no time to keep them."""
        return sum(map(_size_at_hand, self._sources.values())) < _LITTLE

    def describe(self, taken: Mapping[str, TakenFile]) -> tuple[File, ...]:
        """What they are, now that those that are not kept were taken in."""
        return tuple(
            file if isinstance(self._sources[file.path], Keep) else _file(file, taken[file.path])
            for file in self._expected
        )

    def digests(self) -> dict[str, str | None]:
        """Their SHA-512, lower-case hexadecimal; None of one that can be read only once. Reads what was not hashed yet:
        to be asked for what comes a second time."""
        return {path: _digest(source) for path, source in self._sources.items()}

    def _expect(self, path: str, source: Source) -> File:
        if not isinstance(source, Keep):
            return File(path, 0, UNKNOWN_SHA_512, self._types.get(path) or media_type_of(path))
        known = self._kept.get(source.path)
        if known is None:
            raise FileMissing(name="the item", path=source.path, version="now")
        return replace(known, path=path, media_type=self._types.get(path, known.media_type))


def _file(expected: File, taken: TakenFile) -> File:
    return File(expected.path, taken.size, taken.digest, expected.media_type, taken.crc32)


def _digest(source: Source) -> str | None:
    if isinstance(source, Bytes):
        return sha512(source.content).hexdigest()
    if isinstance(source, Move) and source.sent is not None:
        return source.sent.digest
    if isinstance(source, Move | Copy):
        with suppress(OSError, ValueError), open(source.path, "rb") as file:  # noqa: PTH123 - a name as it was given
            return file_digest(file, "sha512").hexdigest()
    return None


def _size_at_hand(source: Source) -> int:
    """Too much, if it is not known how long it takes to read it."""
    if isinstance(source, Bytes):
        return len(source.content)
    if isinstance(source, Move):
        with suppress(OSError, ValueError):  # what is wrong with it is told when it is opened
            return os.lstat(source.path).st_size
    return _LITTLE
