"""In which letters a text is written: a name does not tell, and browsers that are not told take UTF-8 for Western
European, so that `ção` is read as `Ã§Ã£o`.

Only what is certain is said: bytes beyond ASCII that are UTF-8 throughout are hardly ever anything else. Of everything
else the document itself may know more, or the reader's browser.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from ibi.services.verified_file import VerifiedFile

__all__ = ["MOST_LOOKED_AT", "media_type_in_full"]

MOST_LOOKED_AT: Final = 1 << 16
"""Bytes from the beginning of a text."""

# XML says itself how it is written, and is UTF-8 if it does not.
_TEXT: Final = re.compile(r"text/(?!xml(?![^;\s]))[^;]+", re.IGNORECASE)


def media_type_in_full(media_type: str, file: VerifiedFile) -> str:
    """The media type of a file, with the letters that a text is written in if they are UTF-8. Blocks: it may read.
    Of a text whose beginning cannot be checked nothing is said."""
    if not _TEXT.match(media_type) or "charset" in media_type.lower():
        return media_type
    begun = file.beginning(MOST_LOOKED_AT)
    if begun is None:
        return media_type
    is_whole = file.size <= MOST_LOOKED_AT
    return f"{media_type}; charset=utf-8" if _is_utf_8(begun, is_whole=is_whole) else media_type


def _is_utf_8(begun: bytes, *, is_whole: bool) -> bool:
    """ASCII alone tells nothing; and at the end a letter may be cut in two, if that is not the end of the text."""
    if begun.isascii():
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begun, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True
