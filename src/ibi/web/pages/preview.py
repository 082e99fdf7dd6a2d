"""Previews of files: a picture, the first lines of a text, or a PDF in a frame.

Depositors' content neither runs nor brings a layout: pictures are of types that hold only pixels, and of a text only
the letters are taken.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

from ibi.model.file import File
from ibi.model.item import Item
from ibi.ports.content import ContentDamaged
from ibi.services.sites import ArchiveSite
from ibi.web.http.content_security import PDF

PREVIEW: Final = "preview"
"""The query of a preview's address: it is not counted as a download."""

MOST_TEXT: Final = 1024
MOST_IMAGE: Final = 8_000_000
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
_TEXTS: Final = frozenset({"application/json", "application/x-bibtex", "application/x-research-info-systems"})
# Encodings of one byte a letter. A depositor must not choose among all decoders, so no others are supported.
_CHARSET: Final = re.compile(r"charset=\"?(iso-8859-\d{1,2}|windows-125\d)\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Preview:
    """How a file is previewed. `kind` is `image`, `text` or `pdf`; a text comes with its first letters."""

    kind: str
    file: File
    text: str = ""
    is_whole: bool = True


def first_look(site: ArchiveSite, item: Item) -> Preview | None:
    """The preview of the item's main file; None if that is damaged or of another type. Blocks: it may read from the
    disk."""
    file = None if item.target is None else item.file(item.target)
    if file is None:
        return None
    essence = file.media_type.partition(";")[0].strip().lower()
    if essence in _IMAGES:
        return Preview("image", file) if file.size <= MOST_IMAGE else None
    if file.media_type.lower() == PDF:  # without parameters: it is framed without a sandbox
        return Preview("pdf", file)
    if essence == "text/plain" or essence in _TEXTS or essence in {"text/csv", "text/markdown", "text/x-bibtex"}:
        begun = _read_beginning(site, item, file)
        if begun is None:
            return None
        is_whole = file.size <= MOST_TEXT
        return Preview("text", file, _letters(begun, file.media_type, is_whole=is_whole), is_whole)
    return None


def _read_beginning(site: ArchiveSite, item: Item, file: File) -> bytes | None:
    try:
        with site.open_file(item, file.path) as opened:
            return opened.read_beginning(MOST_TEXT)
    except ContentDamaged:
        return None  # noted, and shown on the page


def _letters(begun: bytes, media_type: str, *, is_whole: bool) -> str:
    """Decode as UTF-8, or in the declared encoding, or else as ISO 8859-1; a letter cut in two at the end is left
    out."""
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
    """The text without a byte order mark, with a replacement for letters that no page can contain."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", text.removeprefix("\ufeff"))
