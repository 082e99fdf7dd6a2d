"""Where we differ from the grammars on purpose: the whole list, each with its erratum and a way to recognise it.

`STRICTER` texts are derived and refused; `LOOSER` ones are not derived and read all the same. No others are allowed.
Nothing here uses the parsers under test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address
from itertools import groupby
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from ibi.standard.languages import COUNTRIES, LANGUAGES
from tests.oracle.grammars import derives
from tests.properties.label_strategies import GRAPHEMES, number_of


class Difference(NamedTuple):
    rule: str
    erratum: str
    matter: str
    holds: Callable[[str], bool]


def stricter(rule: str, text: str) -> list[Difference]:
    """Why a text that the rule derives is refused on purpose."""
    return [one for one in STRICTER if one.rule == rule and one.holds(text)]


def looser(rule: str, text: str) -> list[Difference]:
    """Why a text that the rule does not derive is read on purpose."""
    return [one for one in LOOSER if one.rule == rule and one.holds(text)]


def expected(rule: str, text: str) -> bool:
    """Whether a text is to be read, if the rule has no row in `LOOSER`."""
    return derives(rule, text) and not stricter(rule, text)


# --- repository names ------------------------------------------------------------------------------------------------


class _Name(NamedTuple):
    subdomain: str
    word: str
    port: str
    year: str
    numbers: list[str]

    @classmethod
    def of(cls, text: str) -> _Name:
        subdomain, word, year, date = text.split("/")
        first, *port = re.split("[.@]", word)
        return cls(subdomain.removesuffix("."), first, "".join(port), year, date.split("."))


def _exists(name: _Name) -> bool:
    try:
        datetime(int(name.year), *map(int, name.numbers[:5]))  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError:
        return False
    return True


def _names(holds: Callable[[_Name], bool]) -> Callable[[str], bool]:
    return lambda text: holds(_Name.of(text))


# --- IBIp ------------------------------------------------------------------------------------------------------------


class _Opaque(NamedTuple):
    prefix: str
    address: str
    separator: str
    port: str
    seconds: str
    fractions: list[str]

    @classmethod
    def of(cls, text: str) -> _Opaque:
        prefix, suffix = text.upper().split("/")
        address, separator, port = (*re.split("([WX])", prefix, maxsplit=1), "", "")[:3]
        seconds, *fractions = suffix.split("W")
        return cls(prefix, address, separator, port, seconds, fractions)

    @property
    def fraction(self) -> str:
        """The digits of the only fraction, zeros and all."""
        coded = self.fractions[0]
        rest = coded.lstrip("2")
        return "0" * (len(coded) - len(rest)) + str(number_of(rest, GRAPHEMES))

    @property
    def has_one_fraction(self) -> bool:
        return len(self.fractions) == 1 and bool(self.fractions[0].strip("2")) and "X" not in self.fractions[0]


_LAST_SECOND_OF_9999 = 253_402_300_799


def _is_numeral(text: str) -> bool:
    return bool(text) and not set(text) & set("WX")


def _is_address(one: _Opaque) -> bool:
    graphemes = "0123456789." if one.separator == "W" else "0123456789abcdef:"
    number, text = number_of(one.address, GRAPHEMES), ""
    while number:
        number, digit = divmod(number, len(graphemes))
        text = graphemes[digit] + text
    try:
        IPv4Address(text) if one.separator == "W" else IPv6Address(text)
    except ValueError:
        return False
    return True


def _ibips(holds: Callable[[_Opaque], bool]) -> Callable[[str], bool]:
    return lambda text: holds(_Opaque.of(text))


def _port_of(one: _Opaque) -> int:
    return number_of(one.port, GRAPHEMES) if _is_numeral(one.port) else 0


# --- relations -------------------------------------------------------------------------------------------------------

_TAG = re.compile(r"(?:\+|GetTranslation)\(([A-Za-z]{2})(?:-([A-Za-z]{2}))?\)", re.IGNORECASE)
_THREE_LETTERS = re.compile(r"\(([A-Za-z]{3})(?:-[A-Za-z]{2})?\)")
_SHAPE = re.compile("(?:ut?|tu?)?(?:mt?)?")


def _is_unregistered(text: str) -> bool:
    return any(
        tag[1].lower() not in LANGUAGES or (tag[2] is not None and tag[2].upper() not in COUNTRIES)
        for tag in _TAG.finditer(text)
    )


def _shape_of_verbs(text: str) -> str:
    """Without GetFileList, whose place is of no matter, and without a verb right after the same one with the same
    parameter (E15)."""
    kinds = {"getlastedition": "u", "gettranslation": "t", "getmetadata": "m"}
    verbs = [verb for verb in re.split("[ +]", text.lower()) if verb.partition("(")[0] in kinds]
    return "".join(kinds[verb.partition("(")[0]] for verb, _ in groupby(verbs))


# --- lists of pairs --------------------------------------------------------------------------------------------------

_BLANKS = re.compile("(?:\r\n|\n| )+")


def tidied(text: str) -> str:
    """A list of pairs with one blank wherever there were some, and none at its ends and inside its braces."""
    text = _BLANKS.sub(" ", text).strip(" ")
    return text.replace("{ ", "{").replace(" }", "}")


def _repeats_a_name(text: str) -> bool:
    names = re.findall(r"([^ {}]+) (?:\{[^{}]*\}|[^ {}]+)", tidied(text))
    return len(set(names)) < len(names)


# --- forms of an IBI -------------------------------------------------------------------------------------------------


def _labels_among(text: str) -> list[tuple[str, str]]:
    words = text.split(" ")
    return [
        ("repository" if form.lower() == "rep" else "IBIp", label)
        for form, label in zip(words[::2], words[1::2], strict=False)
    ]


def _instant_of(rule: str, label: str) -> tuple[int, str]:
    if rule == "IBIp":
        one = _Opaque.of(label)
        return number_of(one.seconds, GRAPHEMES), one.fraction if one.fractions else ""
    name = _Name.of(label)
    moment = datetime(int(name.year), *map(int, name.numbers[:5]))  # type: ignore[arg-type]  # noqa: DTZ001
    since = moment - datetime(1995, 8, 1)  # noqa: DTZ001
    return since.days * 86_400 + since.seconds, "".join(name.numbers[5:]).rstrip("0")


def _has_no_readable_label(text: str) -> bool:
    return not all(expected(rule, label) for rule, label in _labels_among(text))


def _has_two_instants(text: str) -> bool:
    return not _has_no_readable_label(text) and len({_instant_of(*one) for one in _labels_among(text)}) > 1


# --- persistent URLs -------------------------------------------------------------------------------------------------

BASE = "http://urlib.net/"


class _Url(NamedTuple):
    path: str
    query: str

    @classmethod
    def of(cls, text: str) -> _Url:
        target = text.partition("#")[0].rstrip(" \t\r\n")
        rest = target[len(BASE) :] if target.lower().startswith(BASE) else target
        path, _, query = rest.partition("?")
        return cls(path, query)

    @property
    def decoded(self) -> bytes:
        return unquote_to_bytes(self.path)

    @property
    def own_pairs(self) -> list[tuple[str, str]]:
        pairs = [pair.partition("=") for pair in self.query.split("&")]
        named = [(unquote_to_bytes(name).decode("latin-1").lower(), value) for name, _, value in pairs]
        return [(name, value) for name, value in named if name.startswith("ibiurl.")]


def _begins_with_no_label(text: str) -> bool:
    segments = re.split("[!+:]", _Url.of(text).path)[0].split("/")
    candidates = (("IBIp", "/".join(segments[:2])), ("repository", "/".join(segments[:4])))
    return not any(expected(rule, label) for rule, label in candidates)


_AFTER_THE_NAME = re.compile(r"([^/?#!+:]+/[^/?#!+:]+/[0-9]+/[0-9.]*[0-9])(.*)", re.DOTALL)


def is_derived_by_a_false_ibip(text: str) -> bool:
    """Whether a derived persistent URL is derived only because its first two words look like an IBIp that is none
    (E71): behind a repository name, what is left of the text is no modifier, path and query."""
    rest = text[len(BASE) :]
    if expected("IBIp", "/".join(re.split("[!+:?]", rest)[0].split("/")[:2])):
        return False
    name = _AFTER_THE_NAME.match(rest)
    return not (
        name and derives("repository", name[1]) and derives("URL-persistente", f"{BASE}LK47B6W/362SFKH{name[2]}")
    )


def _has_an_odd_path(text: str) -> bool:
    decoded = _Url.of(text).decoded.rstrip(b" \t\r\n")
    segments = decoded.split(b"/")
    is_ibip = expected("IBIp", re.split("[!+:]", b"/".join(segments[:2]).decode("latin-1"))[0])
    file = segments[2 if is_ibip else 4 :]
    odd = {b"", b".", b".."} & set(file) if file != [b""] else set()  # the path / is no path
    return bool(odd) or re.search(rb"[\x00-\x1f\x7f\\]", decoded) is not None


def _has_an_odd_pair(text: str) -> bool:
    own = _Url.of(text).own_pairs
    return len({name for name, _ in own}) < len(own) or any(_is_odd(name, value) for name, value in own)


def _is_odd(name: str, value: str) -> bool:
    if name == "ibiurl.requireditemstatus":
        return value.lower() != "original"
    if name in ("ibiurl.language", "ibiurl.backgroundlanguage"):
        return not re.fullmatch("[A-Za-z]{2,3}(-[A-Za-z]{2})?", value) or _is_unregistered(f"+({value})")
    if name == "ibiurl.verblist":
        return value.lower() != "getfilelist"  # E15 is another test's business
    return False


_PCHAR = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/]*")


def _is_plain_query(query: str) -> bool:
    return not query or derives("pergunta", query)


# --- the list --------------------------------------------------------------------------------------------------------

STRICTER: list[Difference] = [
    Difference(
        "repository",
        "E4",
        "a word of more than 63 characters",
        _names(lambda n: any(len(word) > 63 for word in [*n.subdomain.split("."), n.word])),
    ),
    Difference(
        "repository",
        "E4",
        "a host of more than 253 characters",
        _names(lambda n: len(n.subdomain) + 1 + len(n.word) > 253),
    ),
    Difference(
        "repository",
        "E4",
        "a port outside 1–65535 or with a leading zero",
        _names(lambda n: n.port != "" and (n.port[0] == "0" or int(n.port) > 65_535)),
    ),
    Difference("repository", "E8", "a year outside 1000–9999", _names(lambda n: len(n.year) != 4 or n.year < "1000")),
    Difference("repository", "E8", "a date that does not exist", _names(lambda n: len(n.year) == 4 and not _exists(n))),
    Difference(
        "repository",
        "E36",
        "a fraction of more than 30 digits",
        _names(lambda n: any(len(digits) > 30 for digits in n.numbers[5:])),
    ),
    Difference(
        "repository",
        "E17",
        "a host that reads as an IBIp",
        _names(lambda n: expected("IBIp", f"{n.subdomain}/{n.word}")),
    ),
    Difference(
        "IBIp", "E7", "not exactly one W or X in the prefix", _ibips(lambda i: len(re.findall("[WX]", i.prefix)) != 1)
    ),
    Difference(
        "IBIp",
        "E7",
        "a prefix that decodes to no address",
        _ibips(lambda i: not _is_numeral(i.address) or not _is_address(i)),
    ),
    Difference("IBIp", "E6", "a leading 2 in the address", _ibips(lambda i: i.address.startswith("2"))),
    Difference("IBIp", "E6", "a leading 2 in the port", _ibips(lambda i: i.port.startswith("2"))),
    Difference("IBIp", "E6", "port 800 written out", _ibips(lambda i: _port_of(i) == 800)),
    Difference("IBIp", "E4", "a port above 65535", _ibips(lambda i: _port_of(i) > 65_535)),
    Difference(
        "IBIp",
        "E6",
        "a suffix that no generator makes",
        _ibips(lambda i: len(i.fractions) > 1 or "X" in "".join([i.seconds, *i.fractions])),
    ),
    Difference(
        "IBIp",
        "E6",
        "no seconds, or a leading 2 in them",
        _ibips(lambda i: i.seconds == "" or (i.seconds[0] == "2" and i.seconds != "2")),
    ),
    Difference(
        "IBIp",
        "E6",
        "a fraction that is empty or zero",
        _ibips(lambda i: len(i.fractions) == 1 and not i.fractions[0].strip("2")),
    ),
    Difference(
        "IBIp", "E6", "a fraction that ends in zero", _ibips(lambda i: i.has_one_fraction and i.fraction.endswith("0"))
    ),
    Difference(
        "IBIp",
        "E36",
        "a fraction of more than 30 digits",
        _ibips(lambda i: i.has_one_fraction and len(i.fraction) > 30),
    ),
    Difference(
        "IBIp",
        "E8",
        "a date after the year 9999",
        _ibips(
            lambda i: _is_numeral(i.seconds) and number_of(i.seconds, GRAPHEMES) + 807_235_200 > _LAST_SECOND_OF_9999
        ),
    ),
    Difference("lista-de-pares", "SPEC §4", "a name that is there twice", _repeats_a_name),
    Difference("chave", "our limit", "a key of more than 256 characters", lambda text: len(text) > 256),
    Difference("mdf", "E28", "a language or country that nobody has registered", _is_unregistered),
    Difference("lista-de-verbos", "E28", "a language or country that nobody has registered", _is_unregistered),
    Difference(
        "lista-de-verbos",
        "E15",
        "verbs in an order outside the grammar of R Table 8.1",
        lambda text: not _SHAPE.fullmatch(_shape_of_verbs(text)),
    ),
    Difference("formas-de-ibi", "E4–E8, E17, E36", "a label that is none", _has_no_readable_label),
    Difference("formas-de-ibi", "SPEC §1", "two labels of different instants", _has_two_instants),
    Difference("URL-persistente", "E4–E8, E17, E36", "a label that is none", _begins_with_no_label),
    Difference("URL-persistente", "E28", "a language or country that nobody has registered", _is_unregistered),
    Difference(
        "URL-persistente", "E35", "a path with . or .., backslash, control characters or empty parts", _has_an_odd_path
    ),
    Difference("URL-persistente", "E15, E35", "an ibiurl. pair that is repeated or means nothing", _has_an_odd_pair),
]

LOOSER: list[Difference] = [
    *(
        Difference(rule, "E28", "a language of three letters", lambda text: bool(_THREE_LETTERS.search(text)))
        for rule in ("mdf", "lista-de-verbos", "relacao", "URL-persistente")
    ),
    Difference(
        "lista-de-pares",
        "SPEC §4",
        "more white space than needed, or nothing else",
        lambda text: tidied(text) != text or not text,
    ),
    Difference(
        "lista-de-verbos",
        "E14, E35",
        "more blanks between verbs than needed",
        lambda text: bool(re.search("^[ +]|[ +]$|[ +]{2}", text)),
    ),
    Difference(
        "lista-de-IP",
        "SPEC §4",
        "more blanks between addresses than needed",
        lambda text: bool(re.search("^ | $|  ", text)),
    ),
    Difference(
        "formas-de-ibi", "E29", "the two forms the other way round", lambda text: text.lower().startswith("ibip ")
    ),
    Difference(
        "formas-de-ibi",
        "SPEC §4",
        "more blanks between words than needed",
        lambda text: bool(re.search("^ | $|  ", text)),
    ),
    Difference("URL-persistente", "E26", "another resolver, or none", lambda text: not text.lower().startswith(BASE)),
    Difference(
        "URL-persistente",
        "E21",
        "ibi/, rep/ or ibi: before the label",
        lambda text: bool(re.match("(ibi/|rep/|ibi:)", _Url.of(text).path, re.IGNORECASE)),
    ),
    Difference("URL-persistente", "E21", "?? for metadata", lambda text: _Url.of(text).query.startswith("?")),
    Difference(
        "URL-persistente",
        "E21, E35",
        "a tag after the label",
        lambda text: bool(re.search("-[A-Za-z0-9]+", _Url.of(text).path)),
    ),
    Difference(
        "URL-persistente",
        "E33",
        "an encoded label or modifier, or signs that RFC 3986 wants encoded",
        lambda text: not _PCHAR.fullmatch(_Url.of(text).path),
    ),
    Difference(
        "URL-persistente",
        "E13",
        "pairs without =, with two, or empty ones; signs that RFC 3986 wants encoded",
        lambda text: not _is_plain_query(_Url.of(text).query),
    ),
    Difference("URL-persistente", "E35", "blanks at the end", lambda text: text.rstrip(" \t\r\n") != text),
    Difference("URL-persistente", "E35", "a fragment", lambda text: "#" in text),
]
