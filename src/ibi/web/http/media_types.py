"""Media types: content negotiation, and the character set of a text.

A character set is named only if it is certain: bytes beyond ASCII that are UTF-8 throughout are hardly ever anything
else. Otherwise the document itself, or the reader's browser, may know more.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from typing import Final

from ibi.services.integrity.verified_file import VerifiedFile
from ibi.web.http.request_errors import NotAcceptable

MOST_LOOKED_AT: Final = 1 << 16
"""Bytes read from the beginning of a text."""

# XML declares its own encoding, and is UTF-8 if it does not.
_TEXT: Final = re.compile(r"text/(?!xml(?![^;\s]))[^;]+", re.IGNORECASE)


def media_type_in_full(media_type: str, file: VerifiedFile) -> str:
    """The media type of a file, with `charset=utf-8` for a text that is UTF-8. Blocks: it may read. A text whose
    beginning cannot be checked gets no charset."""
    if not _TEXT.match(media_type) or "charset" in media_type.lower():
        return media_type
    begun = file.read_beginning(MOST_LOOKED_AT)
    if begun is None:
        return media_type
    is_whole = file.size <= MOST_LOOKED_AT
    return f"{media_type}; charset=utf-8" if _is_utf_8(begun, is_whole=is_whole) else media_type


def _is_utf_8(begun: bytes, *, is_whole: bool) -> bool:
    """Whether bytes are UTF-8 and not plain ASCII. Unless they are the whole text, the last letter may be cut in
    two."""
    if begun.isascii():
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begun, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True


def choose(accept: Sequence[str], offered: Sequence[str]) -> str:
    """The best of `offered` by the values of Accept, the first if there are none; `NotAcceptable` if none fits. Among
    equals the one named more exactly wins, then the one offered first."""
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
    """A media range and its weight; an unreadable weight counts as 0."""
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
