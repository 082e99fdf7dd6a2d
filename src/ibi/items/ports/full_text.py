"""The ports of the text of files: extraction and the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ibi.items.model.search import ExtractedText
from ibi.items.ports.archive_store import OpenFile
from ibi.standard.label import RepositoryName


class TextReader(Protocol):
    """Extracts text from untrusted files, with limits on time and memory. Calls block."""

    def can_read(self, media_type: str, size: int) -> bool:
        """Return whether such a file may contain text."""

    def read(self, file: OpenFile, media_type: str) -> ExtractedText:
        """Return the text, as far as it can be read. No file makes this raise."""

    def stop(self) -> None:
        """Stop the current extraction, from any thread; its result does not count."""


class TextIndex(Protocol):
    """Words of items and of their files, and the position in the feed of changes. Calls block, from any thread.

    The index is durable, and is rebuilt from the store if it is lost. The text of a file stays while an item has that
    file.
    """

    def position(self) -> tuple[str, int]:
        """Return the epoch of the feed and the number of the last entry that was processed."""

    def note_position(self, epoch: str, number: int) -> None: ...

    def find_text(self, digest: str) -> str | None:
        """Return the text of the file with that SHA-512, if it was extracted before."""

    def put(self, name: RepositoryName, description: str, texts: Mapping[str, str]) -> None:
        """Index the item by exactly the words of its description and of the texts of its files, by their SHA-512.

        If there are very many words, some may be left out, evenly from each file.
        """

    def remove(self, name: RepositoryName) -> None:
        """Delete the item, and the texts that no other item has."""

    def postpone(self, name: RepositoryName, until: int) -> None:
        """Schedule another look at the item for that second."""

    def due(self, second: int) -> tuple[RepositoryName, ...]:
        """Return some of the items that are due for another look. They stay due until they are put or removed."""

    def find(self, text: str, most: int) -> tuple[RepositoryName, ...]:
        """Return the newest items that have all words of a search, if some of the words are only in their files.

        The caller applies fields and filters.
        """

    def digests(self, name: RepositoryName) -> tuple[str, ...]:
        """Return the SHA-512 of each file with text in the index of the item."""

    def texts(self, name: RepositoryName) -> Iterator[str]:
        """Yield the texts of the files of an item; each is read when it is asked for."""

    def close(self) -> None: ...
