"""The reason why a text is not a label, with the place of the error, for a person.

Parsing is fast because it only decides. This is the slow second pass over a refused text: it checks the same rules in
reading order and stops at the first that is broken.
"""

from __future__ import annotations

import re

from ibi.standard.errors import InvalidLabel
from ibi.standard.instant import MAX_FRACTION_DIGITS, MONTH_NAMES, days_in_month
from ibi.standard.label.grammar import (
    MAX_HOST,
    MAX_LENGTH,
    MAX_WORD,
    UNWRITTEN_PORT,
    WORD,
    decode_fraction,
    decode_ibip,
    decode_port,
    decode_prefix,
)

_WORD = re.compile(WORD)
_NOT_IN_A_WORD = re.compile(r"[^A-Za-z0-9-]")
_NOT_A_NUMERAL = re.compile(r"[^2-9A-HJ-NP-UWXa-hj-np-uwx]")
_SUBDOMAIN = re.compile(r"[^/]*\.[A-Za-z]")
_SEPARATORS = re.compile(r"[WXwx]")


def explain(text: str) -> InvalidLabel:
    """Return the error for a text that is neither form, judged as the form that it resembles."""
    is_ibip_like = text.count("/") == 1 and not _SUBDOMAIN.match(text)
    return explain_ibip(text) if is_ibip_like else explain_repository_name(text)


def explain_repository_name(text: str) -> InvalidLabel:
    try:
        _check_text(text)
        _check_repository_name(text)
    except InvalidLabel as reason:
        return reason
    # All rules hold, so only E17 can have refused it.
    return InvalidLabel(text, 0, "its first two parts are an IBIp; what follows them is a path")


def explain_ibip(text: str) -> InvalidLabel:
    try:
        _check_text(text)
        _check_ibip(text)
    except InvalidLabel as reason:
        return reason
    return InvalidLabel(text, 0, "no generator makes it")


def check_host(host: str) -> None:
    """Raise `InvalidLabel` unless the host has at least two words of letters, digits and inner hyphens (E4).

    The last word must begin with a letter.
    """
    _Words(host, 0, host).check_all()
    if "." not in host:
        raise InvalidLabel(host, 0, "a host name has at least two words, as in www.example.org")
    if len(host) > MAX_HOST:
        raise InvalidLabel(host, MAX_HOST, "a host name has at most {most} characters", most=MAX_HOST)


def _check_text(text: str) -> None:
    if not text:
        raise InvalidLabel(text, 0, "it is empty")
    if len(text) > MAX_LENGTH:
        raise InvalidLabel(text, MAX_LENGTH, "it is longer than any IBI ({most} characters)", most=MAX_LENGTH)
    if text != text.strip():
        raise InvalidLabel(text, 0 if text[0].isspace() else len(text.rstrip()), "there is white space around it")
    for offset, character in enumerate(text):
        if not "!" <= character <= "~":
            raise InvalidLabel(text, offset, "{character} does not occur in an IBI", character=repr(character))


def _check_repository_name(text: str) -> None:
    parts = text.split("/")
    if len(parts) != 4:
        reason = "a repository name has four parts (sid.inpe.br/mtc-m18/2009/02.16.17.46), an IBIp two, this {count}"
        raise InvalidLabel(text, 0, reason, count=len(parts))
    subdomain, word, year, date = parts
    _Words(text, 0, subdomain.removesuffix(".")).check_all()
    after = len(subdomain) + 1
    _check_word_and_port(text, after, word)
    host_length = len(subdomain.removesuffix(".")) + 1 + len(re.split("[.@]", word)[0])
    if host_length > MAX_HOST:
        raise InvalidLabel(text, MAX_HOST, "a host name has at most {most} characters", most=MAX_HOST)
    after += len(word) + 1
    _check_date(text, after, year, date)


def _check_word_and_port(text: str, offset: int, part: str) -> None:
    word, separator, port = [*re.split("([.@])", part, maxsplit=1), "", ""][:3]
    _Words(text, offset, word).check(offset, word)
    if not separator:
        return
    offset += len(word) + 1
    if not re.fullmatch("[0-9]+", port):
        raise InvalidLabel(text, offset, "a port is a number, not {port}", port=repr(port))
    if port.strip("0") == "":
        raise InvalidLabel(text, offset, "a port is at least 1")
    if port[0] == "0":
        raise InvalidLabel(text, offset, "a port is written without leading zeros")
    if len(port) > 5 or int(port) > 65_535:
        raise InvalidLabel(text, offset, "a port is at most 65535")


class _Words:
    """The words of a host name, at their place in a text."""

    def __init__(self, text: str, offset: int, name: str) -> None:
        self.text, self.offset, self.name = text, offset, name

    def check_all(self) -> None:
        offset = self.offset
        words = self.name.split(".")
        for word in words:
            self.check(offset, word)
            offset += len(word) + 1
        last = offset - len(words[-1]) - 1
        if words[-1][0].isdigit():
            raise InvalidLabel(self.text, last, "the last word of a domain begins with a letter")

    def check(self, offset: int, word: str) -> None:
        if not word:
            raise InvalidLabel(self.text, offset, "a word of the host name is missing")
        if len(word) > MAX_WORD:
            raise InvalidLabel(self.text, offset, "a word of a host name has at most {most} characters", most=MAX_WORD)
        strange = _NOT_IN_A_WORD.search(word)
        if strange:
            place, sign = offset + strange.start(), repr(strange[0])
            raise InvalidLabel(self.text, place, "{sign} does not occur in a host name", sign=sign)
        if not _WORD.fullmatch(word):
            raise InvalidLabel(self.text, offset, "a word of a host name neither begins nor ends with a hyphen")


def _check_date(text: str, offset: int, year: str, date: str) -> None:
    if not re.fullmatch("[0-9]{4}", year):
        raise InvalidLabel(text, offset, "a year has four digits, {year} has not", year=repr(year))
    if year < "1000":
        raise InvalidLabel(text, offset, "a year lies between 1000 and 9999")
    offset += 5
    numbers = date.split(".")
    if not 4 <= len(numbers) <= 6:
        reason = "after the year come month, day, hour and minute, and perhaps second and fraction, with dots between"
        raise InvalidLabel(text, offset, reason)
    for number in numbers[:5]:
        if not re.fullmatch("[0-9]{2}", number):
            raise InvalidLabel(text, offset, "{number} should be two digits", number=repr(number))
        offset += 3
    _check_calendar(text, offset - 3 * len(numbers[:5]), int(year), [int(number) for number in numbers[:5]])
    if len(numbers) == 6:
        _check_fraction(text, offset, numbers[5])


def _check_calendar(text: str, offset: int, year: int, numbers: list[int]) -> None:
    month, day, hour, minute, second = [*numbers, 0][:5]
    if not 1 <= month <= 12:
        raise InvalidLabel(text, offset, "there is no month {month}", month=month)
    if not 1 <= day <= days_in_month(year, month):
        name = MONTH_NAMES[month - 1]
        if (month, day) == (2, 29):
            raise InvalidLabel(text, offset + 3, "29 February does not exist in {year}", year=year)
        raise InvalidLabel(text, offset + 3, "{day} {month} does not exist", day=day, month=name)
    if hour > 23:
        raise InvalidLabel(text, offset + 6, "there is no hour {hour}", hour=hour)
    if minute > 59:
        raise InvalidLabel(text, offset + 9, "there is no minute {minute}", minute=minute)
    if second > 59:
        raise InvalidLabel(text, offset + 12, "there is no second {second}", second=second)


def _check_fraction(text: str, offset: int, fraction: str) -> None:
    if not re.fullmatch("[0-9]+", fraction):
        raise InvalidLabel(
            text, offset, "a fraction of a second consists of digits, {digits} does not", digits=repr(fraction)
        )
    if len(fraction) > MAX_FRACTION_DIGITS:
        raise InvalidLabel(text, offset, "a fraction of a second has at most {most} digits", most=MAX_FRACTION_DIGITS)


def _check_ibip(text: str) -> None:
    prefix, slash, suffix = text.partition("/")
    if not slash or "/" in suffix:
        raise InvalidLabel(text, 0, "an IBIp has two parts, as in 8JMKD3MGP8W/34PGRBS")
    for part, offset in ((prefix, 0), (suffix, len(prefix) + 1)):
        if not part:
            raise InvalidLabel(text, offset, "one of its two parts is missing")
        strange = _NOT_A_NUMERAL.search(part)
        if strange:
            place, sign = offset + strange.start(), repr(strange[0])
            raise InvalidLabel(text, place, "{sign} does not occur in an IBIp", sign=sign)
    _check_ibip_prefix(text, prefix.upper())
    _check_ibip_suffix(text, len(prefix) + 1, suffix.upper())


def _check_ibip_prefix(text: str, prefix: str) -> None:
    if len(_SEPARATORS.findall(prefix)) != 1:
        raise InvalidLabel(text, 0, "before the slash there is exactly one W or X, between address and port")
    ip, _, port = re.split("([WX])", prefix)
    if not ip or ip[0] == "2":
        raise InvalidLabel(text, 0, "the address before W or X is missing or begins with 2, the digit zero")
    if port[:1] == "2":
        raise InvalidLabel(text, len(ip) + 1, "the port begins with 2, the digit zero")
    if port and decode_ibip(port) == UNWRITTEN_PORT:
        raise InvalidLabel(text, len(ip) + 1, "port 800 is left out of an IBIp")
    if len(port) > 4 or decode_port(port) is None:
        raise InvalidLabel(text, len(ip) + 1, "the port is greater than 65535")
    if len(ip) > 40 or decode_prefix(prefix) is None:
        raise InvalidLabel(text, 0, "what stands before the slash is no IP address")


def _check_ibip_suffix(text: str, offset: int, suffix: str) -> None:
    seconds, separator, fraction = suffix.partition("W")
    if "X" in suffix or "W" in fraction:
        raise InvalidLabel(
            text, offset, "after the slash there is at most one W, before a fraction of a second, and no X"
        )
    if not seconds or (seconds[0] == "2" and seconds != "2"):
        raise InvalidLabel(text, offset, "the seconds are missing or begin with 2, the digit zero")
    if separator and (not fraction or not fraction.strip("2")):
        raise InvalidLabel(text, offset + len(seconds) + 1, "the fraction of a second is missing or zero")
    if fraction and (len(fraction) > 30 or decode_fraction(fraction) is None):
        place = offset + len(seconds) + 1
        raise InvalidLabel(
            text,
            place,
            "the fraction of a second ends in zero or has more than {most} digits",
            most=MAX_FRACTION_DIGITS,
        )
    raise InvalidLabel(text, offset, "the date lies after the year 9999")
