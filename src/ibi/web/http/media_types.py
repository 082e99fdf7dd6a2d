"""Media types: which one a client wants, and which character set a text has.

Only what is certain is said: bytes beyond ASCII that are UTF-8 throughout are hardly ever anything else. Of everything
else the document itself may know more, or the reader's browser.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from typing import Final

from ibi.services.integrity.verified_file import VerifiedFile
from ibi.web.http.request_errors import NotAcceptable

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


def choose(accept: Sequence[str], offered: Sequence[str]) -> str:
    """The best of `offered` by the values of Accept, the first of them if there are none; `NotAcceptable` if none will
    do. Of two that are as good, the one named more exactly wins, then the one offered first."""
    if not accept:
        return offered[0]
    ranges = [_range(each) for value in accept for each in value.split(",") if each.strip()]
    if not ranges:
        return offered[0]
    quality = {media: _quality(media, ranges) for media in offered}
    best = max(offered, key=lambda media: (quality[media], -offered.index(media)))
    if quality[best][0] <= 0:
        raise NotAcceptable(offered=" or ".join(offered))
    return best


def _range(text: str) -> tuple[str, float]:
    """A media range and its weight; a weight that cannot be read weighs nothing."""
    media, *parameters = (part.strip().lower() for part in text.split(";"))
    weights = [value for name, _, value in (each.partition("=") for each in parameters) if name.strip() == "q"]
    return media, _weight(weights[0].strip()) if weights else 1.0


def _weight(text: str) -> float:
    # qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
    if len(text) > 5 or not (text.isascii() and text.replace(".", "", 1).isdigit()):
        return 0.0
    return min(1.0, float(text))


def _quality(media: str, ranges: Iterable[tuple[str, float]]) -> tuple[float, int]:
    """The weight of the most exact range that covers `media`, and how exact it is."""
    exactness = {media: 2, f"{media.partition('/')[0]}/*": 1, "*/*": 0}
    covering = [(exactness[each], weight) for each, weight in ranges if each in exactness]
    if not covering:
        return 0.0, 0
    exact = max(each for each, _ in covering)
    return max(weight for each, weight in covering if each == exact), exact
