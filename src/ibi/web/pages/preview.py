"""Previews of files: pictures, sound, films, a PDF in a frame; text, Markdown and tables; what ZIP, FITS and netCDF
files say of themselves.

Depositors' content neither runs nor brings a layout. Pictures, SVG among them, are shown by `<img>`, in which browsers
run no script; of a text the letters are taken, and of Markdown a few elements, without HTML and without pictures, which
another process renders (`ibi.services.items.previews`). Few bytes are read, every one checked, and nothing is unpacked:
`ibi.archive.file_summaries` has the bounds.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from ibi.archive.file_summaries import (
    HDF5,
    MOST_HEADER,
    MOST_PICTURE_HEADER,
    read_fits,
    read_netcdf,
    read_points,
    read_table,
    read_zip,
)
from ibi.archive.markdown_preview import fill_links
from ibi.model.content import BLOCK
from ibi.model.file import DEFAULT_MEDIA_TYPE, File
from ibi.model.item import Item
from ibi.model.preview import PreviewState
from ibi.ports.archive_store import ContentDamaged
from ibi.services.integrity.verified_file import VerifiedFile
from ibi.services.items.stored_item import ItemChanging
from ibi.services.sites import ArchiveSite
from ibi.web.http.headers import PDF

PREVIEW: Final = "preview"
"""The query of a preview's address: it is not counted as a download."""

MOST_TEXT: Final = 1024
"""Bytes of a text on the page of an item."""
MOST_ALONE: Final = 64 * 1024
"""The same on a page of its own, and of what is shown as a table or as Markdown."""
MOST_IMAGE: Final = 8_000_000
MOST_POINTS: Final = 100_000_000
"""Of a picture, all of which a browser unpacks: four bytes each."""
_MOST_SVG: Final = 1_000_000
"""A drawing takes much longer to draw than it takes to send."""
_MOST_BLOCKS: Final = 8
"""Blocks of a file that are read for a preview."""

_SVG: Final = "image/svg+xml"
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", _SVG})
_DRAWN: Final = frozenset({"image/avif", _SVG})
"""Those of which a browser is not asked to unpack what their first bytes say."""
_TEXTS: Final = frozenset(
    {"text/plain", "application/json", "application/x-bibtex", "text/x-bibtex", "application/x-research-info-systems"}
)
_TABLES: Final = frozenset({"text/csv", "text/tab-separated-values"})
_MARKDOWN: Final = frozenset({"text/markdown", "text/x-markdown"})
_ZIPS: Final = frozenset({"application/zip", "application/x-zip-compressed"})
_FITS: Final = frozenset({"application/fits", "image/fits", "application/x-fits"})
_NETCDF: Final = frozenset({"application/netcdf", "application/x-netcdf", "application/x-hdf5", "application/x-hdf"})
_BY_EXTENSION: Final = {
    "zip": "application/zip",
    "fits": "application/fits",
    "fit": "application/fits",
    "fts": "application/fits",
    "nc": "application/netcdf",
    "nc4": "application/netcdf",
    "cdf": "application/netcdf",
    "h5": "application/x-hdf5",
    "hdf5": "application/x-hdf5",
    "md": "text/markdown",
    "csv": "text/csv",
}
"""For files whose type was not told."""
# Encodings of one byte a letter. A depositor must not choose among all decoders, so no others are supported.
_CHARSET: Final = re.compile(r"charset=\"?(iso-8859-\d{1,2}|windows-125\d)\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Preview:
    """How a file is previewed: `kind` is image, audio, video, pdf, text, markdown, table, zip, fits, netcdf, hdf5,
    or empty.

    A text comes with its first letters, `found` is what was read of the others. Markdown has both; it has no `found`
    while it is not rendered, and `state` tells whether it will be.
    """

    kind: str
    file: File
    text: str = ""
    is_whole: bool = True
    found: Any = None
    state: PreviewState = PreviewState.RENDERED


def first_look(site: ArchiveSite, item: Item) -> Preview | None:
    """The preview of the item's main file; None if that is damaged or of another type. Blocks: it may read from the
    disk."""
    file = None if item.target is None else item.file(item.target)
    return None if file is None else look_at(site, item, file, MOST_TEXT)


def look_at(site: ArchiveSite, item: Item, file: File, most_text: int = MOST_ALONE) -> Preview | None:
    """The preview of a file of the item. Blocks."""
    essence = _essence(file)
    if not file.size and may_be_looked_at(file):
        return Preview("empty", file)
    if essence in _IMAGES and file.size > (_MOST_SVG if essence == _SVG else MOST_IMAGE):
        return None
    if essence in _DRAWN:
        return Preview("image", file)
    if file.media_type.lower() == PDF:  # without parameters: it is framed without a sandbox
        return Preview("pdf", file)
    if essence.startswith(("audio/", "video/")):
        return Preview(essence[:5], file)
    reader = _READERS.get(essence)
    if reader is None:
        return None
    try:
        with site.open_file(item, file.path) as opened:
            found = reader(file, opened, most_text, site.urls.file(item, file.path))
    except (ContentDamaged, ItemChanging):
        return None  # the one is noted, and shown on the page; the other passes
    return _format(site, item, found) if found is not None and found.kind == "markdown" else found


def may_be_looked_at(file: File) -> bool:
    """Whether there is probably a preview, as far as the record tells."""
    essence = _essence(file)
    is_media = essence in _IMAGES or essence == PDF or essence.startswith(("audio/", "video/"))
    return is_media or essence in _READERS


def _essence(file: File) -> str:
    essence = file.media_type.partition(";")[0].strip().lower()
    if essence in {DEFAULT_MEDIA_TYPE, "text/plain"}:
        return _BY_EXTENSION.get(file.path.rpartition(".")[2].lower(), essence)
    return essence


# --- pictures ---------------------------------------------------------------------------------------------------------


def _look_at_picture(file: File, opened: VerifiedFile, _: int, __: str) -> Preview | None:
    """None of one that is small as a file and very large as a picture, or says nothing of its size for too long. One
    of which no part can be checked yet is shown."""
    begun = opened.read_beginning(min(MOST_PICTURE_HEADER, opened.size)) or b""
    points = read_points(begun)
    if points is None:
        return Preview("image", file) if len(begun) < MOST_PICTURE_HEADER else None
    return Preview("image", file) if points[0] * points[1] <= MOST_POINTS else None


# --- text -------------------------------------------------------------------------------------------------------------


def _look_at_text(file: File, opened: VerifiedFile, most: int, _: str) -> Preview | None:
    begun = opened.read_beginning(most)
    if begun is None:
        return None
    is_whole = file.size <= most
    return Preview("text", file, _letters(begun, file.media_type, is_whole=is_whole), is_whole)


def _look_at_markdown(file: File, opened: VerifiedFile, _: int, url: str) -> Preview | None:
    """The text, of which `_format` makes Markdown."""
    text = _look_at_text(file, opened, MOST_ALONE, url)
    return None if text is None else replace(text, kind="markdown")


def _format(site: ArchiveSite, item: Item, preview: Preview) -> Preview:
    """The Markdown as it was rendered by another process; where it was not, its text alone."""
    file = preview.file
    if site.previews is None:
        return replace(preview, state=PreviewState.REFUSED)
    # The same bytes are another text in another encoding.
    declared = _CHARSET.search(file.media_type)
    digest = file.sha512 if declared is None else f"{file.sha512}:{declared[1].lower()}"
    found = site.previews.find(item.rep, digest, preview.text)
    shown = None
    if found.state is PreviewState.RENDERED:
        shown = fill_links(found.text, site.urls.file(item, file.path))
    is_long = found.state is PreviewState.RENDERED and shown is None
    return replace(preview, found=shown, state=PreviewState.REFUSED if is_long else found.state)


def _look_at_table(file: File, opened: VerifiedFile, most: int, url: str) -> Preview | None:
    text = _look_at_text(file, opened, MOST_ALONE, url)
    if text is None:
        return None
    table = read_table(text.text, is_whole=text.is_whole)
    if table is None:
        return _look_at_text(file, opened, most, url)
    return Preview("table", file, is_whole=table.is_whole, found=table)


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


# --- files that describe themselves -----------------------------------------------------------------------------------


class _TooFarApart(Exception):
    """What describes the file is in more places than are looked at."""


class _Window:
    """Reads anywhere in a file, a whole checked block at a time: the last block is kept, and there are not many."""

    def __init__(self, opened: VerifiedFile) -> None:
        self._opened, self._number, self._block, self._left = opened, -1, b"", _MOST_BLOCKS

    def __call__(self, offset: int, length: int) -> bytes:
        end, found = min(offset + length, self._opened.size), b""
        while offset < end:
            number, start = divmod(offset, BLOCK)
            taken = self._read_block(number)[start : start + end - offset]
            if not taken:
                break
            found, offset = found + taken, offset + len(taken)
        return found

    def _read_block(self, number: int) -> bytes:
        if number != self._number:
            if not self._left:
                raise _TooFarApart
            self._left -= 1
            size = min(BLOCK, self._opened.size - number * BLOCK)
            self._block = b"".join(self._opened.pieces(number * BLOCK, size, lambda: True))
            self._number = number
        return self._block


_Reader = Callable[[File, VerifiedFile, int, str], Preview | None]


def _summary(kind: str, read: Callable[[int, _Window], Any]) -> _Reader:
    def look(file: File, opened: VerifiedFile, _: int, __: str) -> Preview | None:
        if not opened.size or not opened.knows_blocks():
            return None
        try:
            found = read(opened.size, _Window(opened))
        except _TooFarApart:
            return None
        return None if found is None else Preview(kind, file, found=found)

    return look


def _look_at_netcdf(file: File, opened: VerifiedFile, most: int, url: str) -> Preview | None:
    begun = opened.read_beginning(min(MOST_HEADER, opened.size)) or b""
    if begun.startswith(HDF5):
        return Preview("hdf5", file)
    found = read_netcdf(begun)
    return None if found is None else Preview("netcdf", file, found=found)


_READERS: Final[dict[str, _Reader]] = {
    **dict.fromkeys(_IMAGES - _DRAWN, _look_at_picture),
    **dict.fromkeys(_TEXTS, _look_at_text),
    **dict.fromkeys(_TABLES, _look_at_table),
    **dict.fromkeys(_MARKDOWN, _look_at_markdown),
    **dict.fromkeys(_ZIPS, _summary("zip", read_zip)),
    **dict.fromkeys(_FITS, _summary("fits", read_fits)),
    **dict.fromkeys(_NETCDF, _look_at_netcdf),
}
