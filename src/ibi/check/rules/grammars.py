"""The standard's grammars, read strictly: labels (G), names and values of pairs (R).

This module shares no code with `ibi.standard.label` and `ibi.standard.messages`, so that a mistake there is not
repeated here. Each `fault_of_…` function returns the fault of a text, or None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Final

MOST_LABEL: Final = 400
"""Maximum characters of a label. A host of 253 characters, a port, a date and its fraction fit."""

_WORD: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_LAST_WORD: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
# G Table 6.1, with an optional port, as in every example there (E2)
_REPOSITORY_PREFIX: Final = rf"(?:{_WORD}\.)*{_LAST_WORD}\.?/{_WORD}(?:[.@][0-9]+)?"
_REPOSITORY_SUFFIX: Final = r"[0-9]{4,}/[0-9]{2}\.[0-9]{2}\.[0-9]{2}\.[0-9]{2}(?:\.[0-9]{2}(?:\.[0-9]+)?)?"
REPOSITORY: Final = re.compile(rf"{_REPOSITORY_PREFIX}/{_REPOSITORY_SUFFIX}")
# G Table 7.1: neither 0, 1, I, O, V, Y nor Z
_ALPHANUM: Final = "[2-9A-HJ-NP-UWXa-hj-np-uwx]"
IBIP: Final = re.compile(rf"{_ALPHANUM}+/{_ALPHANUM}+")
LABEL_IN_TEXT: Final = re.compile(
    rf"(?<![A-Za-z0-9.@/-])(?:{_WORD}\.){{0,9}}{_LAST_WORD}/{_WORD}(?:[.@][0-9]{{1,5}})?/{_REPOSITORY_SUFFIX}(?![0-9])"
    rf"|(?<![A-Za-z0-9])[2-9A-HJ-NP-U]{{4,40}}[WX][2-9A-HJ-NP-U]{{0,4}}/[2-9A-HJ-NP-U]{{1,8}}(?![A-Za-z0-9])"
)
"""The places of labels in the text of a page."""

_GRAPHEMES: Final = "23456789ABCDEFGHJKLMNPQRSTU"  # G Table 7.6
_IPV4: Final = "0123456789."  # G Table 7.4
_IPV6: Final = "0123456789abcdef:"  # G Table 7.5
_BEGINNING: Final = 807_235_200  # G Algorithm 6, line 2
_UNWRITTEN_PORT: Final = 800
_HIGHEST_PORT: Final = 65_535


def fault_of_repository(text: str) -> str | None:
    """Return the fault of a repository name (G Table 6.1), or None."""
    if len(text) <= MOST_LABEL and REPOSITORY.fullmatch(text):
        return None
    return f"{_quote(text)} is no repository name"


def fault_of_date(text: str) -> str | None:
    """Return the fault of the date in a repository name, or None. The date must exist (G Algorithm 2)."""
    return None if instant_of_repository(text) is not None else f"the date of {_quote(text)} does not exist"


def instant_of_repository(text: str) -> tuple[int, str] | None:
    """Return seconds since 1970 and the digits of the fraction, without trailing zeros."""
    year, _, rest = text.rpartition("/")
    parts = rest.split(".")
    numbers = [int(part) for part in (year.rpartition("/")[2], *parts[:5]) if part.isdecimal()]
    try:
        moment = datetime(*numbers, tzinfo=UTC)  # type: ignore[arg-type,misc]
    except (ValueError, TypeError, OverflowError):
        return None
    return int(moment.timestamp()), (parts[5] if len(parts) > 5 else "").rstrip("0")


def fault_of_ibip(text: str) -> str | None:
    """Return the fault of an IBIp (G Table 7.1), or None."""
    if len(text) <= MOST_LABEL and IBIP.fullmatch(text):
        return None
    return f"{_quote(text)} is no IBIp: it holds a character that G Table 7.1 does not have, or not one slash"


def fault_of_address(text: str) -> str | None:
    """Return the fault of the prefix of an IBIp, or None. The prefix is an IP address and a port (G Algorithm 5)."""
    prefix = text.partition("/")[0].upper()
    if prefix.count("W") + prefix.count("X") != 1:
        return f"{_quote(prefix)} has not one W or X between address and port"
    separator = "W" if "W" in prefix else "X"
    address, _, port = prefix.partition(separator)
    if not _is_port(port):
        return f"{_quote(port)} is no port: 800 is not written, and 65535 is the highest"
    written = _write(_number(address), _IPV4 if separator == "W" else _IPV6) if address else ""
    try:
        IPv4Address(written) if separator == "W" else IPv6Address(written)
    except ValueError:
        return f"the prefix {_quote(prefix)} stands for {_quote(written)}, which is no address"
    return None


def _is_port(coded: str) -> bool:
    if not coded:
        return True
    number = _number(coded)
    return 0 < number <= _HIGHEST_PORT and number != _UNWRITTEN_PORT and coded[0] != _GRAPHEMES[0]


def fault_of_seconds(text: str) -> str | None:
    """Return the fault of the suffix of an IBIp, or None. The suffix counts seconds from 1995-08-01, with a fraction
    after a W (G Algorithm 6)."""
    return None if instant_of_ibip(text) is not None else f"the suffix of {_quote(text)} is no date"


def instant_of_ibip(text: str) -> tuple[int, str] | None:
    """Return seconds since 1970 and the digits of the fraction (E5: each leading grapheme `2` is a leading zero)."""
    whole, separator, fraction = text.partition("/")[2].upper().partition("W")
    if not whole or not set(whole + fraction) <= set(_GRAPHEMES) or len(whole) > 8 or bool(separator) != bool(fraction):
        return None
    if whole[0] == _GRAPHEMES[0] and len(whole) > 1:
        return None
    zeros = len(fraction) - len(fraction.lstrip(_GRAPHEMES[0]))
    digits = "0" * zeros + (str(_number(fraction)) if fraction else "")
    return _BEGINNING + _number(whole), digits.rstrip("0")


def write_ibip_suffix(seconds: int) -> str:
    """Return the suffix for a whole second since 1970 (G Algorithm 6)."""
    return _write(seconds - _BEGINNING, _GRAPHEMES)


def _number(text: str) -> int:
    number = 0
    for each in text:
        number = number * len(_GRAPHEMES) + _GRAPHEMES.index(each)
    return number


def _write(number: int, graphemes: str) -> str:
    digits = ""
    while True:
        number, rest = divmod(number, len(graphemes))
        digits = graphemes[rest] + digits
        if not number:
            return digits


@dataclass(frozen=True, slots=True)
class FormsOfLabel:
    """The forms of a label by R Table 9.4: `rep`, `ibip` or both."""

    rep: str | None
    ibip: str | None

    @classmethod
    def read(cls, words: tuple[str, ...]) -> FormsOfLabel | None:
        """Return the forms, or None if the words do not follow the grammar. The labels after `rep` and `ibip` are not
        checked here: the functions for G do that."""
        match words:
            case ("rep", rep):
                return cls(rep, None)
            case ("ibip", ibip):
                return cls(None, ibip)
            case ("rep", rep, "ibip", ibip):
                return cls(rep, ibip)
        return None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(each for each in (self.rep, self.ibip) if each is not None)

    def names(self, label: str) -> bool:
        """Return whether one of the forms is that label, in any case."""
        return label.lower() in (each.lower() for each in self.labels)


def _relation(language: str, metadata_format: str) -> re.Pattern[str]:
    """Return the pattern of a relation (R Table 9.5)."""
    t = rf"\.translation(?:\({language}(?:-[A-Z]{{2}})?\))?"
    m = rf"\.metadata(?:\({metadata_format}\))?"
    return re.compile(rf"(?:\.lastedition(?:{t})?|{t}(?:\.lastedition)?)?(?:{m}(?:{t})?)?")


RELATION: Final = _relation("[a-z]{2}", "oai_dc")
EXTENDED_RELATION: Final = _relation("[a-z]{2,3}", "[A-Za-z][A-Za-z0-9_-]*")
"""The same grammar with the languages and formats of later standards."""
LANGUAGE_OF: Final = re.compile(r"url\.translation\(([a-z]{2,3}(?:-[A-Z]{2})?)\)")
KEY: Final = re.compile(r"[0-9]{10,}(?:-[0-9]{10,})?")  # R Table 7.1
_HOST_AND_PORT: Final = re.compile(
    rf"(?:(?:{_WORD}\.)*{_WORD}\.?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{0,5}})?"
)  # hostport, R 6.1
_ISO_8601: Final = re.compile(
    r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})T([0-9]{2}):?([0-9]{2}):?([0-9]{2})(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
)
_URI: Final = re.compile(r"https?://(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")  # RFC 3986


def fault_of_host_and_port(text: str) -> str | None:
    return None if len(text) <= 300 and _HOST_AND_PORT.fullmatch(text) else f"{_quote(text)} is no host with a port"


def fault_of_timestamp(text: str) -> str | None:
    """Return the fault of a time stamp, or None. A time stamp is ISO 8601 with date, time and zone, in the basic or the
    extended notation. Its date must exist."""
    found = _ISO_8601.fullmatch(text)
    try:
        datetime(*map(int, found.groups()), tzinfo=UTC) if found else None  # type: ignore[arg-type,misc]
    except ValueError:
        found = None
    return None if found else f"{_quote(text)} is no date with time of ISO 8601, such as 2014-01-02T17:23:57Z"


def fault_of_url(text: str) -> str | None:
    return None if _URI.fullmatch(text) else f"{_quote(text)} is no URL of http or https"


def fault_of_key(text: str) -> str | None:
    return None if KEY.fullmatch(text) else f"{_quote(text)} is not one or two runs of ten digits or more"


def _quote(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
