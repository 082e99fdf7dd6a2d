"""Other names of an item: a label of before 2008, a DOI, an ARK, a handle, an address that it once had.

What a depositor gives is checked by `parse_alternate` as closely as its scheme allows. What is recorded is bounded and
otherwise taken as it is: a later version may know better what a name of some scheme looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ibi.errors import InvalidInput
from ibi.label import parse_any
from ibi.messages import values as wire
from ibi.model.errors import InvalidItem

LEGACY: Final = "ibi"
"""The scheme of labels of before 2008, which say nothing about who and when."""
_OF_ONE_ITEM: Final = frozenset({LEGACY, "doi", "ark", "hdl"})
MOST_ALTERNATES: Final = 100
LONGEST_ALTERNATE: Final = 2048

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,31}")
_UNWRITABLE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
# Case is ignored in the prefix alone: over a range of a million characters, that costs each start ten milliseconds.
_DOI = re.compile(r"(?i:https?://(?:dx\.)?doi\.org/|doi:)?(10\.[0-9]{4,9}(?:\.[0-9]+)*/[!-~\u00a1-\U0010fffd]+)")
_ARK = re.compile(r"(?:https?://[^/]{1,255}/)?(?:ark:)?/?([0-9bcdfghjkmnpqrstvwxz]{5,16}/[!-~]+)", re.IGNORECASE)
_HANDLE = re.compile(r"(?i:https?://hdl\.handle\.net/|hdl:)?([0-9]+(?:\.[0-9A-Za-z]+)*/[!-~\u00a1-\U0010fffd]+)")


@dataclass(frozen=True, slots=True, order=True)
class Alternate:
    """A name of a scheme, which is a word in lower case."""

    scheme: str
    value: str

    def __post_init__(self) -> None:
        if not _SCHEME.fullmatch(self.scheme):
            reason = "a scheme is a word such as doi, of at most 32 letters and digits in lower case"
            raise InvalidItem(self.scheme, 0, reason, field="alternates")
        if not self.value or len(self.value) > LONGEST_ALTERNATE:
            reason = "another name has between 1 and {most} characters"
            raise InvalidItem(self.value, 0, reason, field="alternates", most=LONGEST_ALTERNATE)
        strange = _UNWRITABLE.search(self.value)
        if strange is not None:
            reason = "another name holds neither spaces nor characters that cannot be shown"
            raise InvalidItem(self.value, strange.start(), reason, field="alternates")

    def __str__(self) -> str:
        return f"{self.scheme}:{self.value}"

    @property
    def names_one_item(self) -> bool:
        """Whether names of its scheme are given to one thing alone. Addresses, and words of other schemes, may stand
        for several."""
        return self.scheme in _OF_ONE_ITEM

    @property
    def key(self) -> str:
        """Equal for two spellings of one name. Labels of before 2008 and addresses have one spelling."""
        match self.scheme:
            case "doi" | "hdl":
                return self.value.lower()
            case "ark":
                return self.value.replace("-", "")
        return self.value


def checked_alternates(alternates: Iterable[Alternate]) -> tuple[Alternate, ...]:
    """All of them, each once."""
    found = tuple(dict.fromkeys(alternates))
    if len(found) > MOST_ALTERNATES:
        reason = "an item has at most {most} other names"
        raise InvalidItem(str(found[MOST_ALTERNATES]), 0, reason, field="alternates", most=MOST_ALTERNATES)
    return found


def parse_alternate(text: str) -> Alternate:
    """Read `SCHEME:VALUE`, such as `doi:10.1000/182` or `ibi:83LX3pFwXQZ5Jpy/Bkjzd`."""
    scheme, colon, value = text.strip().partition(":")
    if not colon or not value:
        raise InvalidItem(text, 0, "another name looks like doi:10.1000/182", field="alternates")
    return make_alternate(scheme, value)


def make_alternate(scheme: str, value: str) -> Alternate:
    """The name in the spelling in which names of its scheme are recorded; `InvalidItem` if it is none of its scheme."""
    scheme, value = scheme.strip().lower(), value.strip()
    if scheme in ("http", "https"):  # an address that was given without saying so
        scheme, value = "url", f"{scheme}:{value}"
    Alternate(scheme, value)
    return Alternate(scheme, _READERS.get(scheme, str)(value))


def _legacy_label(value: str) -> str:
    text = value.removeprefix("ibi/")
    try:
        label = parse_any(text)
    except InvalidInput as error:
        reason = "a label of before 2008 looks like 83LX3pFwXQZ5Jpy/Bkjzd, with both cases in one part"
        raise _refusal(value, reason) from error
    if label.is_dated:
        raise _refusal(value, "this is a label of the present standard, which belongs to one item alone")
    return str(label)


def _doi(value: str) -> str:
    return _fitting(_DOI, value, "a DOI looks like 10.1000/182")


def _ark(value: str) -> str:
    return _fitting(_ARK, value, "an ARK looks like 12148/btv1b8449691v")


def _handle(value: str) -> str:
    return _fitting(_HANDLE, value, "a handle looks like 20.1000/100")


def _fitting(pattern: re.Pattern[str], value: str, reason: str) -> str:
    match = pattern.fullmatch(value)
    if match is None:
        raise _refusal(value, reason)
    return match[1]


def _address(value: str) -> str:
    try:
        return wire.url(value)
    except InvalidInput as error:
        raise InvalidItem(value, error.offset, error.reason, field="alternates", **error.details) from error


def _refusal(value: str, reason: str) -> InvalidItem:
    return InvalidItem(value, 0, reason, field="alternates")


_READERS: Final[Mapping[str, Callable[[str], str]]] = {
    LEGACY: _legacy_label,
    "doi": _doi,
    "ark": _ark,
    "hdl": _handle,
    "url": _address,
}
