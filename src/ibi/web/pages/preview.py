"""The first look at a file: a picture, the first lines of a text, or how it can be opened.

Nothing that a stranger made runs or is laid out here: pictures are of kinds that hold nothing but dots, and of a text
only its letters are taken.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

from ibi.model.file import File
from ibi.model.item import Item
from ibi.ports.content import ContentDamaged
from ibi.web.archive_site import ArchiveSite
from ibi.web.http.content_security import PDF

PREVIEW: Final = "preview"
"""The query of an address under which a picture is looked at and not downloaded: such a look is not counted."""

MOST_TEXT: Final = 1024
MOST_IMAGE: Final = 8_000_000
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
_TEXTS: Final = frozenset({"application/json", "application/x-bibtex", "application/x-research-info-systems"})
# One byte a letter: whatever else a file claims to be written in is not worth a decoder that a stranger may choose.
_CHARSET: Final = re.compile(r"charset=\"?(iso-8859-\d{1,2}|windows-125\d)\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Preview:
    """`kind` is `image`, `text` or `pdf`; a text comes with its first letters."""

    kind: str
    file: File
    text: str = ""
    is_whole: bool = True


def first_look(site: ArchiveSite, item: Item) -> Preview | None:
    """Of the file that a reader gets who names none; of one that is damaged there is none. Blocks: it may read from the
    disk."""
    file = None if item.target is None else item.file(item.target)
    if file is None:
        return None
    essence = file.media_type.partition(";")[0].strip().lower()
    if essence in _IMAGES:
        return Preview("image", file) if file.size <= MOST_IMAGE else None
    if file.media_type.lower() == PDF:  # and nothing after it: it is framed without a sandbox
        return Preview("pdf", file)
    if essence == "text/plain" or essence in _TEXTS or essence in {"text/csv", "text/markdown", "text/x-bibtex"}:
        begun = _beginning(site, item, file)
        if begun is None:
            return None
        is_whole = file.size <= MOST_TEXT
        return Preview("text", file, _letters(begun, file.media_type, is_whole=is_whole), is_whole)
    return None


def _beginning(site: ArchiveSite, item: Item, file: File) -> bytes | None:
    try:
        with site.open_file(item, file.path) as opened:
            return opened.beginning(MOST_TEXT)
    except ContentDamaged:
        return None  # noted, and the page says so


def _letters(begun: bytes, media_type: str, *, is_whole: bool) -> str:
    """As UTF-8, or as the file says of itself, or else as ISO 8859-1; a letter is left out that the end
    of what was read cuts in two."""
    try:
        return _visible(codecs.getincrementaldecoder("utf-8")().decode(begun, final=is_whole))
    except UnicodeDecodeError:
        pass
    named = _CHARSET.search(media_type)
    try:
        return _visible(begun.decode(named[1] if named else "latin-1", "replace"))
    except LookupError:
        return _visible(begun.decode("latin-1"))


def _visible(text: str) -> str:
    """Without a mark of byte order, and with a sign in the place of what no page can hold."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", text.removeprefix("\ufeff"))
