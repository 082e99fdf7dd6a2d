"""What kind of file a name tells of: the same on every machine, whatever is installed there."""

from __future__ import annotations

from functools import cache
from mimetypes import MimeTypes

from ibi.model.file import DEFAULT_MEDIA_TYPE

__all__ = ["media_type_of"]

# What the standard library does not know, or knows by a name that is out of use.
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
def _known() -> MimeTypes:
    known = MimeTypes(filenames=())
    for extension, media_type in _ADDED.items():
        known.add_type(media_type, extension)
    # A compressed file is what it is: nobody unpacks it on the way.
    known.encodings_map.clear()
    known.suffix_map.clear()
    return known


def media_type_of(path: str) -> str:
    """The media type that the name of a file tells, or that of any bytes."""
    return _known().guess_type(path.replace(":", "_"))[0] or DEFAULT_MEDIA_TYPE
