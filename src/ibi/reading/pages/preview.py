"""Previews of files: images, audio, video, PDF, text, Markdown, tables, and summaries of ZIP, FITS and netCDF files.

A depositor's content neither runs scripts nor brings a layout. Images, SVG among them, are shown by `<img>`, in which
browsers run no script. A text is shown as plain characters. Of Markdown, another process renders a few elements,
without HTML and images (`ibi.items.service.previews`). A preview reads few bytes, checks each of them, and unpacks
nothing. `ibi.archive.file_summaries` has the bounds.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from ibi.items.model.content import BLOCK
from ibi.items.model.file import DEFAULT_MEDIA_TYPE, File
from ibi.items.model.item import Item
from ibi.items.model.preview import PreviewState
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.rules.file_summaries.fits import read_fits
from ibi.items.rules.file_summaries.netcdf import HDF5, MOST_HEADER, read_netcdf
from ibi.items.rules.file_summaries.pictures import MOST_PICTURE_HEADER, read_points
from ibi.items.rules.file_summaries.tables import read_table
from ibi.items.rules.file_summaries.zip_directory import read_zip
from ibi.items.rules.markdown_preview import fill_links
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.service.stored_item import ItemChanging
from ibi.web.headers import PDF
from ibi.web.sites import ArchiveSite

PREVIEW: Final = "preview"
"""The query of a preview's address. Such a request is not counted as a download."""

MOST_TEXT: Final = 1024
"""Bytes of a text on the page of an item."""
MOST_ALONE: Final = 64 * 1024
"""Bytes of a text on a page of its own, and of any table or Markdown."""
MOST_IMAGE: Final = 8_000_000
MOST_POINTS: Final = 100_000_000
"""Largest number of pixels. A browser unpacks all of them, with four bytes each."""
_MOST_SVG: Final = 1_000_000
"""Largest SVG in bytes. A drawing takes much longer to render than to send."""
_MOST_BLOCKS: Final = 8
"""Largest number of blocks that one preview reads."""

_SVG: Final = "image/svg+xml"
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", _SVG})
_DRAWN: Final = frozenset({"image/avif", _SVG})
"""Images that are shown without a look at the dimensions in their first bytes."""
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
"""Media types by extension, for files without a declared type."""
# Encodings with one byte for each character. No others are supported: a depositor must not choose among all decoders.
_CHARSET: Final = re.compile(r"charset=\"?(iso-8859-\d{1,2}|windows-125\d)\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview. `kind` is image, audio, video, pdf, text, markdown, table, zip, fits, netcdf, hdf5, or empty.

    A text has its first characters in `text`; other kinds have their summary in `found`. Markdown has both. Its `found`
    is None until it is rendered, and `state` tells whether it will be.
    """

    kind: str
    file: File
    text: str = ""
    is_whole: bool = True
    found: Any = None
    state: PreviewState = PreviewState.RENDERED


def first_look(site: ArchiveSite, item: Item, previews: MarkdownPreviews | None) -> Preview | None:
    """Return the preview of the item's main file; None if the file is damaged or has another type.

    This call blocks: it may read from the disk.
    """
    file = None if item.target is None else item.file(item.target)
    return None if file is None else look_at(site, item, file, previews, MOST_TEXT)


def look_at(
    site: ArchiveSite, item: Item, file: File, previews: MarkdownPreviews | None, most_text: int = MOST_ALONE
) -> Preview | None:
    """Return the preview of a file of the item. Without `previews`, Markdown is shown as plain text. This call
    blocks."""
    if _is_large_image(file):
        return None
    kind = _kind_by_record(file)
    if kind is not None:
        return Preview(kind, file)
    reader = _READERS.get(_essence(file))
    if reader is None:
        return None
    try:
        with site.open_file(item, file.path) as opened:
            found = reader(file, opened, most_text, site.urls.file(item, file.path))
    except (ContentDamaged, ItemChanging):
        return None  # damage is noted and the page shows it; a change passes
    return _format(site, item, found, previews) if found is not None and found.kind == "markdown" else found


def may_be_looked_at(file: File) -> bool:
    """Return whether a preview is likely, judged by the record alone."""
    essence = _essence(file)
    is_media = essence in _IMAGES or essence == PDF or essence.startswith(("audio/", "video/"))
    return is_media or essence in _READERS


def _is_large_image(file: File) -> bool:
    essence = _essence(file)
    return essence in _IMAGES and file.size > (_MOST_SVG if essence == _SVG else MOST_IMAGE)


def _kind_by_record(file: File) -> str | None:
    """Return the kind of a preview for which no byte is read here; None for any other."""
    essence = _essence(file)
    if not file.size and may_be_looked_at(file):
        return "empty"
    if essence in _DRAWN:
        return "image"
    if file.media_type.lower() == PDF:  # without parameters: a PDF is framed without a sandbox
        return "pdf"
    return essence[:5] if essence.startswith(("audio/", "video/")) else None


def _essence(file: File) -> str:
    essence = file.media_type.partition(";")[0].strip().lower()
    if essence in {DEFAULT_MEDIA_TYPE, "text/plain"}:
        return _BY_EXTENSION.get(file.path.rpartition(".")[2].lower(), essence)
    return essence


def _look_at_picture(file: File, opened: VerifiedFile, _: int, __: str) -> Preview | None:
    """Preview a picture, unless it has too many pixels for a browser.

    Return None if a whole header does not tell the dimensions. A file with no checkable part yet is shown.
    """
    begun = opened.read_beginning(min(MOST_PICTURE_HEADER, opened.size)) or b""
    points = read_points(begun)
    if points is None:
        return Preview("image", file) if len(begun) < MOST_PICTURE_HEADER else None
    return Preview("image", file) if points[0] * points[1] <= MOST_POINTS else None


def _look_at_text(file: File, opened: VerifiedFile, most: int, _: str) -> Preview | None:
    begun = opened.read_beginning(most)
    if begun is None:
        return None
    is_whole = file.size <= most
    return Preview("text", file, _letters(begun, file.media_type, is_whole=is_whole), is_whole)


def _look_at_markdown(file: File, opened: VerifiedFile, _: int, url: str) -> Preview | None:
    """Return the text. `_format` turns it into Markdown."""
    text = _look_at_text(file, opened, MOST_ALONE, url)
    return None if text is None else replace(text, kind="markdown")


def _format(site: ArchiveSite, item: Item, preview: Preview, previews: MarkdownPreviews | None) -> Preview:
    """Return the Markdown as another process rendered it, or its text alone if that was not done."""
    file = preview.file
    if previews is None:
        return replace(preview, state=PreviewState.REFUSED)
    # In another encoding, the same bytes are another text.
    declared = _CHARSET.search(file.media_type)
    digest = file.sha512 if declared is None else f"{file.sha512}:{declared[1].lower()}"
    found = previews.find(item.rep, digest, preview.text)
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
    """Decode as UTF-8, else in the declared encoding, else as ISO 8859-1. Drop a character that is cut in two at the
    end."""
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
    """Return the text without a byte order mark. Replace characters that no page can contain."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", text.removeprefix("\ufeff"))


class _TooFarApart(Exception):
    """What describes the file is in more places than are looked at."""


class _Window:
    """Reads anywhere in a file, one checked block at a time. It caches the last block, and bounds the number of
    blocks."""

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
