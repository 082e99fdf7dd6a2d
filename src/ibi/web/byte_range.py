"""The header Range (RFC 9110 §14): one part of a file, or the whole of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ibi.web.refusals import RangeNotSatisfiable

__all__ = ["byte_range"]

# RFC 9110 §14.1.2: int-range = first-pos "-" [ last-pos ], suffix-range = "-" suffix-length
_ONE = re.compile(r"bytes=[ \t]*(\d{0,19})-(\d{0,19})[ \t]*", re.ASCII | re.IGNORECASE)


def byte_range(fields: Sequence[str], size: int) -> tuple[int, int] | None:
    """Offset and length of the part asked for; None for the whole, as for everything that is no single range.

    Several ranges at once are answered with the whole file, which §14.2 allows: an answer in parts saves nobody
    anything, and many small ones have been used to wear servers down.
    """
    match = _ONE.fullmatch(fields[0].strip()) if len(fields) == 1 else None
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        length = min(int(match[2]), size)
        return _checked(size - length, length, size)
    first = int(match[1])
    last = min(int(match[2]), size - 1) if match[2] else size - 1
    if match[2] and int(match[2]) < first:
        return None
    return _checked(first, last - first + 1, size)


def _checked(offset: int, length: int, size: int) -> tuple[int, int]:
    if length <= 0:
        raise RangeNotSatisfiable(size=size)
    return offset, length
