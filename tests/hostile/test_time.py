"""Bad input of every kind is answered within a millisecond per kilobyte, and with the one documented error.

A timing belongs to `make bench`; these are bounds that no bug may cross on any machine. CPU time is measured, the best
of three runs counts, and growth is judged too: what takes four times as long for twice the length is quadratic, and no
machine is to blame.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import cycle, islice, product
from time import process_time
from typing import NamedTuple

import pytest

import ibi
from ibi import Ibip, Instant, InvalidLabel, RepositoryName, find_labels
from ibi.standard.clock import Granularity
from ibi.standard.errors import (
    InvalidGranularity,
    InvalidInput,
    InvalidInstant,
    InvalidMessage,
    InvalidPairs,
    InvalidPersistentUrl,
    InvalidRelation,
)
from ibi.standard.label import match_label
from ibi.standard.languages import InvalidLanguageTag, LanguageTag
from ibi.standard.messages import (
    LabelForms,
    RegistrationKey,
    RegistrationMail,
    decode_query,
    ip_addresses,
    parse_request,
)
from ibi.standard.origin import InvalidOrigin, Origin
from ibi.standard.pairs import Pairs, decode_leniently
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation, VerbList

SECONDS_PER_KILOBYTE = 0.001
MARGIN = 4
"""How much slower than a developer's machine the one that runs this may be: old, shared, or counting lines."""

GROWTH = 3.5
"""Twice the length may take so many times as long: two for linear work, four for quadratic, and noise between."""

SHORTEST_THAT_COUNTS = 0.004
"""Seconds below which the growth of a run says nothing: it is all overhead and noise."""


class Parser(NamedTuple):
    """A function under test, the only error it may raise, and the most characters it reads before it refuses."""

    read: Callable[[str], object]
    error: type[InvalidInput] | tuple[()]
    limit: int = 1 << 20


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def match_everywhere(text: str) -> object:
    return match_label(text), match_label(text, len(text) // 2)


PARSERS: dict[str, Parser] = {
    "parse": Parser(ibi.parse, InvalidLabel),
    "RepositoryName": Parser(RepositoryName.parse, InvalidLabel),
    "Ibip": Parser(Ibip.parse, InvalidLabel),
    "host": Parser(lambda text: RepositoryName.from_parts(text, 80, Instant(0)), InvalidLabel),
    "address": Parser(lambda text: Ibip.from_parts(text, 800, Instant(1234806360)), InvalidLabel),
    "match_label": Parser(match_everywhere, ()),
    "find_labels": Parser(lambda text: list(find_labels(text)), ()),
    "Instant": Parser(Instant.parse, InvalidInstant),
    "fraction": Parser(lambda text: Instant(0, text), InvalidInstant),
    "Granularity": Parser(Granularity.parse, InvalidGranularity),
    "LanguageTag": Parser(lambda text: LanguageTag.parse(text, registered=True), InvalidLanguageTag),
    "Pairs": Parser(lambda text: Pairs.decode(as_bytes(text)), InvalidPairs),
    "pairs of others": Parser(lambda text: decode_leniently(as_bytes(text)), InvalidPairs),
    "decode_query": Parser(decode_query, InvalidMessage, 1 << 16),
    "request": Parser(parse_request, InvalidMessage, 1 << 16),
    "url request": Parser(
        lambda text: parse_request(f"servicesubject=urlRequest&parsedibiurl.verblist={text}"), InvalidMessage, 65_000
    ),
    "modifier": Parser(Relation.from_modifier, InvalidRelation),
    "qualifier": Parser(Relation.from_qualifier, InvalidRelation),
    "verbs": Parser(VerbList.parse, InvalidRelation),
    "persistent URL": Parser(PersistentUrl.parse, InvalidPersistentUrl, 8192),
    "path of a persistent URL": Parser(
        lambda text: PersistentUrl.parse(f"/LK47B6W/362SFKH/{text}"), InvalidPersistentUrl, 8000
    ),
    "query of a persistent URL": Parser(
        lambda text: PersistentUrl.parse(f"/LK47B6W/362SFKH?{text}"), InvalidPersistentUrl, 8000
    ),
    "verbs of a persistent URL": Parser(
        lambda text: PersistentUrl.parse(f"/LK47B6W/362SFKH?ibiurl.verblist={text}"), InvalidPersistentUrl, 8000
    ),
    "Origin": Parser(Origin.parse, InvalidOrigin),
    "LabelForms": Parser(LabelForms.parse, InvalidMessage),
    "addresses": Parser(ip_addresses, InvalidMessage),
    "RegistrationKey": Parser(RegistrationKey, InvalidMessage),
    "registration mail": Parser(RegistrationMail.parse, InvalidMessage, 1 << 18),
    "head of a mail": Parser(lambda text: RegistrationMail.parse(f"Subject: x\n{text}"), InvalidMessage, 260_000),
}

# --- what is thrown at them ------------------------------------------------------------------------------------------

IBIP, REP = "8JMKD3MGP8W/34PGRBS", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
GRAPHEMES = "23456789ABCDEFGHJKLMNPQRSTU"

REPEATED = [
    *(
        "a",
        "A",
        "2",
        "3",
        "W",
        "X",
        "w",
        "0",
        "9",
        "/",
        ".",
        "-",
        "@",
        "%",
        "+",
        "!",
        ":",
        "?",
        "#",
        "&",
        "=",
        "{",
        "}",
        "(",
        ")",
    ),
    *(" ", "\t", "\n", "\r", "\r\n", "\0", "\\", "'", '"', "<", "é", "\u2003", "\ud800", "\U0001f4c4"),
    *("a-", "a.", "a/", "a ", "a@", "-a", ".a", "/a", "3W/", "W/", "aW", "X3", "3/", "WX", "a.b/", "a-b.", "1.", "00."),
    *("()", "+(", "+()", "+(pt)", "+(pt-BR)", ":(", "!+:", "(((a", ")(", ".metadata", ".translation(", "GetMetadata+"),
    *(
        "GetMetadata ",
        "GetFileList+",
        "%2",
        "%25",
        "%2F",
        "%zz",
        "%C3",
        "%C3%A9",
        "%f3",
        "a=",
        "=b",
        "a=b&",
        "a&",
        "&&",
        "ibiurl.x=1&",
    ),
    *(
        "servicesubject=urlRequest&",
        "a b ",
        "a {b} ",
        "{a} ",
        "a {",
        "a { b ",
        "a\r\n",
        "{}",
        "{ ",
        "../",
        "./",
        "//",
        "a/../",
    ),
    *(
        f"{IBIP} ",
        f"{IBIP}/",
        f"{REP} ",
        f"{REP}/",
        f"{REP}.",
        f"{IBIP}W",
        f"http://urlib.net/{IBIP}, ",
        "a.b/c/2009/13.01.01.01 ",
    ),
    *(
        "127.0.0.1 ",
        "::",
        "1:",
        "rep ",
        "ibip ",
        "1234567890-",
        "2009-",
        "T",
        "0.0",
        "ibi:",
        "/ibi/",
        "/rep/",
        "-TDI",
        "??",
    ),
    *(
        "Content-Type: multipart/mixed; boundary=a\n\n--a\n",
        "Content-Type: text/plain;",
        " x=y;",
        "archiveserviceibi = ",
        "registrationkey = 1\n",
    ),
    *("a: b\n", "> ", "=3D", "=\n", "--a\n", "\n--", "=?utf-8?q?", "a" * 63 + ".", "a" * 64 + "/", "a." * 126 + "a/"),
]


def repeated(unit: str) -> Callable[[int], str]:
    """Whole units only: half an escape at the end would be read another way than none."""
    return lambda length: unit * max(1, length // len(unit))


def before_and_after(head: str, unit: str, tail: str) -> Callable[[int], str]:
    return lambda length: f"{head}{repeated(unit)(max(0, length - len(head) - len(tail)))}{tail}"


def nested(opening: str, closing: str) -> Callable[[int], str]:
    return lambda length: opening * (length // 2) + closing * (length // 2)


def short_opaque_words(separator: str) -> Callable[[int], str]:
    """Ever different words that look like an IBIp until their prefix is decoded, more than any cache holds."""
    words = [f"{''.join(signs)}{separator}/3" for signs in product(GRAPHEMES[1:], GRAPHEMES, GRAPHEMES)]
    return lambda length: " ".join(islice(cycle(words), length // 7))


HOSTILE: dict[str, Callable[[int], str]] = {
    **{f"many {unit[:30]!a}": repeated(unit) for unit in REPEATED},
    "braces in braces": nested("{", "}"),
    "parentheses in parentheses": nested("(", ")"),
    "a name and braces in braces": nested("a {", "}"),
    "a label and many digits": before_and_after(f"{REP}.00.", "1", ""),
    "a label and many graphemes": before_and_after(f"{IBIP}W", "3", ""),
    "a label and many hyphens": before_and_after(IBIP, "-", "!"),
    "a label and many modifiers": before_and_after(IBIP, "+", ""),
    "a label and many parentheses": before_and_after(f"{IBIP}+", "(", ""),
    "a label and many slashes": before_and_after(IBIP, "/", ""),
    "a label and many dots": before_and_after(IBIP, ".", ""),
    "a label and many blanks": before_and_after(IBIP, " ", "x"),
    "a long word before a date": before_and_after("", "a", "/x/2009/02.16.17.46"),
    "many words before a date": before_and_after("", "a.", "br/x/2009/02.16.17.46"),
    "many hyphens before a date": before_and_after("a", "-", "a.br/x/2009/02.16.17.46"),
    "a long first word before a date": before_and_after("inpe.br/", "a-", "a/2009/02.16.17.46"),
    "a long port before a date": before_and_after("inpe.br/x.", "1", "/2009/02.16.17.46"),
    "a long year": before_and_after("inpe.br/x/", "1", "/02.16.17.46"),
    "a long address before a suffix": before_and_after("", "3", "W/34PGRBS"),
    "a long port before a suffix": before_and_after("8JMKD3MGP8W", "3", "/34PGRBS"),
    "a long suffix": before_and_after("8JMKD3MGP8W/", "3", ""),
    "a long fraction of a date": before_and_after("2009-02-16T17:46:00.", "1", "Z"),
    "a long granularity": before_and_after("0.", "0", "1"),
    "a long list of addresses": before_and_after("127.0.0.1", " ::1", " x"),
    "a name and many blanks": before_and_after("a", " ", "{"),
    "a value that never ends": before_and_after("a {", "b ", ""),
    "words that look like an IBIp of IPv4": short_opaque_words("W"),
    "words that look like an IBIp of IPv6": short_opaque_words("X"),
    "a mail that nests": before_and_after(
        "Content-Type: multipart/mixed; boundary=a\n\n", "--a\nContent-Type: message/rfc822\n\n", ""
    ),
    "a mail with a long field": before_and_after("Content-Type: text/plain; a=", "\\", "\n\nregistrationkey = 1"),
    "a mail with many folded lines": before_and_after("Content-Type: text/plain;\n", " a=b;\n", "\n\n"),
    "a mail with many parameters": before_and_after("Content-Type: text/plain", ";a*0*=b", "\n\n"),
    "a mail with many encoded words": before_and_after("Subject: ", "=?utf-8?q?a?= ", "\n\n"),
    "a mail with many comments": before_and_after("Content-Type: ", "(", "\n\n"),
    "a mail in base64": before_and_after("Content-Transfer-Encoding: base64\n\n", "A", ""),
    "a mail in quoted-printable": before_and_after("Content-Transfer-Encoding: quoted-printable\n\n", "=", ""),
    "a mail of many parts": before_and_after("Content-Type: multipart/mixed; boundary=a\n\n", "--a\n\nx\n", "--a--"),
}

# --- measuring -------------------------------------------------------------------------------------------------------


def run(parser: Parser, text: str) -> float:
    """CPU seconds of one reading, whether it is read or refused; any other error is a failure of the test."""
    start = process_time()
    try:
        parser.read(text)
    except InvalidInput as error:
        spent = process_time() - start
        assert isinstance(error, parser.error), repr(error)
        assert 0 <= error.offset <= len(error.text) or error.text == "…"
        return spent
    return process_time() - start


def best(parser: Parser, text: str, enough: float = 0.0, runs: int = 3) -> float:
    """The shortest of three runs; no more runs once one is short enough."""
    shortest = float("inf")
    gc.disable()  # what other tests left behind is not to be collected on our time
    try:
        for _ in range(runs):
            shortest = min(shortest, run(parser, text))
            if shortest <= enough:
                break
    finally:
        gc.enable()
    return shortest


def bound(text: str) -> float:
    return max(1.0, len(text) / 1024) * SECONDS_PER_KILOBYTE * MARGIN


def too_slow(parser: Parser, lengths: tuple[int, ...]) -> Iterator[str]:
    for name, make in HOSTILE.items():
        for length in lengths:
            text = make(length)
            spent = best(parser, text, bound(text))
            if spent > bound(text):
                spent = best(parser, text, bound(text), runs=12)  # the machine may have been busy for a moment
            if spent > bound(text):
                yield f"{name}, {len(text)} characters: {spent * 1000:.1f} ms"


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS.keys())
def test_every_input_is_answered_within_a_millisecond_per_kilobyte(parser: Parser) -> None:
    """At one kilobyte, and at the most that is read before a text is refused unread, or 32 KB."""
    assert list(too_slow(parser, (1024, min(parser.limit, 32_768)))) == []


def grows_too_fast(parser: Parser, short: str, long: str) -> str | None:
    """What was measured, if twice the length takes far more than twice the time, also when measured with patience."""
    for runs in (3, 12):
        twice = best(parser, long, SHORTEST_THAT_COUNTS, runs)
        once = best(parser, short, twice / GROWTH, runs)
        if twice <= max(SHORTEST_THAT_COUNTS, GROWTH * once):
            return None
    return f"{once * 1000:.1f} ms, twice as long {twice * 1000:.1f} ms"


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS.keys())
def test_time_grows_with_length_and_not_with_its_square(parser: Parser) -> None:
    length = min(parser.limit, 65_536) // 2
    measured = {name: grows_too_fast(parser, make(length), make(2 * length)) for name, make in HOSTILE.items()}
    assert {name: said for name, said in measured.items() if said is not None} == {}


MEGABYTE = [
    "many 'a'",
    "many 'a.'",
    "many 'a/'",
    "many '%'",
    "many '{'",
    "many 'W/'",
    "many 'a b '",
    f"many '{IBIP} '",
    "braces in braces",
]


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS.keys())
def test_a_megabyte_is_answered_within_a_second(parser: Parser) -> None:
    """The same bound; a few inputs only, one run of each."""
    late = []
    for name in MEGABYTE:
        text = HOSTILE[name](1 << 20)
        spent = best(parser, text, bound(text))
        if spent > bound(text):
            late.append(f"{name}: {spent * 1000:.0f} ms")
    assert late == []


@pytest.mark.parametrize("length", [1024, 65_536])
def test_the_sentence_about_a_long_input_is_short(length: int) -> None:
    for parser in PARSERS.values():
        for make in HOSTILE.values():
            try:
                parser.read(make(length))
            except InvalidInput as error:
                sentence = str(error)
                assert len(sentence) < 2000, sentence[:200]
                assert len(sentence.splitlines()) == 1
