"""The text of files, to be searched: what reads it out of them, and where it is kept under the names of items. Short:
both belong to one service, which needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ibi.label import RepositoryName
from ibi.model.search import ExtractedText
from ibi.ports.content import OpenFile


class TextReader(Protocol):
    """Reads the text out of files of strangers, within bounds of time and memory, whatever they are. Blocks."""

    def can_read(self, media_type: str, size: int) -> bool:
        """Whether there may be text in such a file."""

    def read(self, file: OpenFile, media_type: str) -> ExtractedText:
        """As far as it can be read; a file never makes this fail."""

    def stop(self) -> None:
        """End what is under way, from any thread; what is read then does not count."""


class TextIndex(Protocol):
    """Words of items and of their files, and how far the feed of changes was followed. Calls block, from any thread.
    Durable, and made anew from the store if it is lost: what it has of a file stays while an item has that file."""

    def position(self) -> tuple[str, int]:
        """The epoch of the feed and the number of the entry up to which it was followed."""

    def note_position(self, epoch: str, number: int) -> None: ...

    def find_text(self, digest: str) -> str | None:
        """The text of the file with that SHA-512, if it was read before."""

    def put(self, name: RepositoryName, description: str, texts: Mapping[str, str]) -> None:
        """Have the item found by the words of its description and of the texts of its files, by their SHA-512, and by
        nothing else. Of very many words some may be left out: of each file alike."""

    def remove(self, name: RepositoryName) -> None:
        """Forget the item, and the texts that no other item has."""

    def postpone(self, name: RepositoryName, until: int) -> None:
        """Note that the item is to be looked at again at that second."""

    def due(self, second: int) -> tuple[RepositoryName, ...]:
        """Some of the items that are to be looked at again; they stay so until they are put or removed."""

    def find(self, text: str, most: int) -> tuple[RepositoryName, ...]:
        """The newest items that have all words that a search wants, of which some are in their files alone. Fields and
        filters are left to the caller."""

    def digests(self, name: RepositoryName) -> tuple[str, ...]:
        """The SHA-512 of each file by whose text the item is found."""

    def texts(self, name: RepositoryName) -> Iterator[str]:
        """The texts of the files of an item, each read when it is asked for."""

    def close(self) -> None: ...
