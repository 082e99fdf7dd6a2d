"""A refused label is refused for what is wrong with it: one thing is spoilt, and the reason is about that thing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibi
from ibi import Instant, InvalidLabel, RepositoryName
from tests.properties.label_strategies import base_27, hosts, ibip_parts, ibip_text, ibips, instants


class Spoilt(NamedTuple):
    """A text, what the reason must speak of, and where (None: anywhere)."""

    text: str
    about: str
    offset: int | None = None


def complaint(spoilt: Spoilt) -> str | None:
    """What is wrong with the refusal of a spoilt text; None if it says what was spoilt."""
    try:
        label = ibi.parse(spoilt.text)
    except InvalidLabel as error:
        reason = str(error).partition(" is not an IBI: ")[2]
        if not re.search(spoilt.about, reason):
            return f"{error} This says nothing of {spoilt.about!r}."
        if spoilt.offset not in (None, error.offset):
            return f"{error} It points at {error.offset}, not at {spoilt.offset}."
        return None
    return f"{spoilt.text!r} is read as {label!r}"


P = TypeVar("P")


def complaints(mutations: Mapping[str, Callable[[P], Spoilt]], parts: P) -> dict[str, str]:
    found = {name: complaint(spoil(parts)) for name, spoil in mutations.items()}
    return {name: said for name, said in found.items() if said is not None}


# --- repository names ------------------------------------------------------------------------------------------------

Parts = tuple[str, str, str]  # subdomain, word, suffix


def replaced(suffix: str, place: int, number: str) -> str:
    """The date with its month (1), day (2), hour (3), minute (4) or second (5) replaced."""
    year, date = suffix.split("/")
    numbers = [*date.split("."), "00"]
    numbers[place - 1] = number
    return f"{year}/{'.'.join(numbers[: max(4, place)])}"


def in_date(place: int, number: str, about: str) -> Callable[[Parts], Spoilt]:
    def spoil(parts: Parts) -> Spoilt:
        subdomain, word, suffix = parts
        start = len(subdomain) + len(word) + 2 + 5 + 3 * (place - 1)
        return Spoilt(f"{subdomain}/{word}/{replaced(suffix, place, number)}", about, start)

    return spoil


def in_host(odd: str, about: str) -> Callable[[Parts], Spoilt]:
    def spoil(parts: Parts) -> Spoilt:
        subdomain, word, suffix = parts
        return Spoilt(f"{odd}.{subdomain}/{word}/{suffix}", about)

    return spoil


def in_word(odd: str, about: str) -> Callable[[Parts], Spoilt]:
    def spoil(parts: Parts) -> Spoilt:
        subdomain, _, suffix = parts
        return Spoilt(f"{subdomain}/{odd}/{suffix}", about)

    return spoil


def in_port(port: str, about: str) -> Callable[[Parts], Spoilt]:
    def spoil(parts: Parts) -> Spoilt:
        subdomain, word, suffix = parts
        return Spoilt(f"{subdomain}/{word}.{port}/{suffix}", about, len(subdomain) + len(word) + 2)

    return spoil


def around(before: str, after: str, about: str) -> Callable[[Parts], Spoilt]:
    def spoil(parts: Parts) -> Spoilt:
        return Spoilt(f"{before}{'/'.join(parts)}{after}", about)

    return spoil


REPOSITORY_MUTATIONS: dict[str, Callable[[Parts], Spoilt]] = {
    "month_0": in_date(1, "00", "month 0"),
    "month_13": in_date(1, "13", "month 13"),
    "month_of_one_digit": in_date(1, "1", "two digits"),
    "day_0": in_date(2, "00", "0 [A-Z][a-z]+ does not exist"),
    "day_32": in_date(2, "32", "32 [A-Z][a-z]+ does not exist"),
    "hour_24": in_date(3, "24", "hour 24"),
    "minute_60": in_date(4, "60", "minute 60"),
    "second_60": in_date(5, "60", "second 60"),
    "letters_in_the_date": in_date(3, "1x", "two digits"),
    "an_empty_word": in_host("a.", "word .* is missing"),
    "a_hyphen_at_the_end_of_a_word": in_host("a-", "hyphen"),
    "a_hyphen_at_the_beginning_of_a_word": in_host("-a", "hyphen"),
    "an_underscore": in_host("a_a", "'_' does not occur in a host name"),
    "a_colon": in_host("a:a", "':' does not occur in a host name"),
    "a_letter_beyond_ascii": in_host("aça", "'ç' does not occur in an IBI"),
    "a_nul": in_host("a\0a", r"'\\x00' does not occur in an IBI"),
    "a_lone_surrogate": in_host("a\udc80a", r"'\\udc80' does not occur in an IBI"),
    "a_space_inside": in_host("a a", "' ' does not occur in an IBI"),
    "a_word_of_64_characters": in_host("a" * 64, "at most 63 characters"),
    "a_host_of_300_characters": in_host(".".join(["a" * 50] * 5), "at most 253 characters|longer than any IBI"),
    "an_empty_first_word": in_word("", "word .* is missing"),
    "a_first_word_with_a_hyphen_at_the_end": in_word("a-", "hyphen"),
    "a_first_word_with_an_odd_sign": in_word("a+a", r"'\+' does not occur in a host name"),
    "an_empty_port": in_port("", "port"),
    "a_port_of_letters": in_port("http", "port is a number"),
    "port_0": in_port("0", "port"),
    "a_port_with_leading_zeros": in_port("080", "port.*leading zeros"),
    "port_65536": in_port("65536", "port.*65535"),
    "port_999999": in_port("999999", "port.*65535"),
    "two_ports": in_port("80.80", "port is a number"),
    "a_space_after_it": around("", " ", "white space"),
    "a_space_before_it": around(" ", "", "white space"),
    "a_line_feed_after_it": around("", "\n", "white space"),
    "a_path_after_it": around("", "/doc", "four parts.*this.* 5"),
    "a_host_before_it": around("urlib.net/", "", "four parts.*this.* 5"),
    "five_digits_of_a_year": lambda p: Spoilt(
        f"{p[0]}/{p[1]}/1{p[2]}", "year has four digits", len(p[0]) + len(p[1]) + 2
    ),
    "year_0999": lambda p: Spoilt(f"{p[0]}/{p[1]}/0999{p[2][4:]}", "between 1000 and 9999", len(p[0]) + len(p[1]) + 2),
    "a_last_word_that_begins_with_a_digit": lambda p: Spoilt(f"{p[0]}.4/{p[1]}/{p[2]}", "last word", len(p[0]) + 1),
    "no_date": lambda p: Spoilt(f"{p[0]}.x/{p[1]}", "four parts.*this.* 2"),
    "no_minute": lambda p: Spoilt(f"{p[0]}/{p[1]}/2010/08.25.12", "month, day, hour and minute"),
    "seven_numbers": lambda p: Spoilt(f"{p[0]}/{p[1]}/2010/08.25.12.38.59.1.2", "month, day, hour and minute"),
    "a_fraction_of_31_digits": lambda p: Spoilt(f"{p[0]}/{p[1]}/2010/08.25.12.38.59.{'1' * 31}", "30 digits"),
    "a_fraction_of_letters": lambda p: Spoilt(f"{p[0]}/{p[1]}/2010/08.25.12.38.59.1x", "fraction"),
    "an_empty_fraction": lambda p: Spoilt(f"{p[0]}/{p[1]}/2010/08.25.12.38.59.", "fraction"),
    "30_february": lambda p: Spoilt(f"{p[0]}/{p[1]}/2012/02.30.12.38", "30 February does not exist"),
    "29_february_2010": lambda p: Spoilt(f"{p[0]}/{p[1]}/2010/02.29.12.38", "29 February does not exist in 2010"),
}


@st.composite
def repository_parts(draw: st.DrawFn) -> Parts:
    word, _, subdomain = draw(hosts).partition(".")
    return subdomain, word, RepositoryName.from_parts("a.b", 80, draw(instants)).suffix


@given(repository_parts())
def test_a_spoilt_repository_name_is_refused_for_what_was_spoilt(parts: Parts) -> None:
    assert complaints(REPOSITORY_MUTATIONS, parts) == {}


# --- IBIp ------------------------------------------------------------------------------------------------------------

IbipParts = tuple[str, int, Instant]


def after(sign: str, about: str) -> Callable[[IbipParts], Spoilt]:
    def spoil(parts: IbipParts) -> Spoilt:
        text = ibip_text(*parts)
        return Spoilt(text + sign, about, len(text))

    return spoil


def with_odd_sign(sign: str) -> Callable[[IbipParts], Spoilt]:
    def spoil(parts: IbipParts) -> Spoilt:
        text = ibip_text(*parts)
        return Spoilt(f"{text[:2]}{sign}{text[2:]}", f"'{sign}' does not occur in an IBIp", 2)

    return spoil


def with_suffix(change: Callable[[str], str], about: str) -> Callable[[IbipParts], Spoilt]:
    def spoil(parts: IbipParts) -> Spoilt:
        prefix, suffix = ibip_text(*parts).split("/")
        return Spoilt(f"{prefix}/{change(suffix)}", about)

    return spoil


def with_prefix(change: Callable[[str], str], about: str) -> Callable[[IbipParts], Spoilt]:
    def spoil(parts: IbipParts) -> Spoilt:
        prefix, suffix = ibip_text(*parts).split("/")
        return Spoilt(f"{change(prefix)}/{suffix}", about)

    return spoil


def with_port(coded: str, about: str) -> Callable[[IbipParts], Spoilt]:
    return with_prefix(lambda prefix: re.sub("(?<=[WX]).*", coded, prefix), about)


def whole(suffix: str) -> str:
    return suffix.partition("W")[0]


IBIP_MUTATIONS: dict[str, Callable[[IbipParts], Spoilt]] = {
    **{f"the_sign_{sign}": with_odd_sign(sign) for sign in "01IOVYZioyz_-@:"},
    "a_letter_beyond_ascii": after("ç", "'ç' does not occur"),
    "the_kelvin_sign": after("\u212a", "does not occur"),
    "a_nul": after("\0", r"'\\x00' does not occur"),
    "a_space_after_it": after(" ", "white space"),
    "a_line_feed_after_it": after("\n", "white space"),
    "a_comma_after_it": after(",", "',' does not occur"),
    "a_full_stop_after_it": after(".", r"'\.' does not occur"),
    "a_file_extension_after_it": after(".pdf", r"'\.' does not occur"),
    "a_colon_after_it": after(":", "':' does not occur"),
    "an_exclamation_mark_after_it": after("!", "'!' does not occur"),
    "a_question_mark_after_it": after("?", r"'\?' does not occur"),
    "a_tag_after_it": after("-TDI", "'-' does not occur"),
    "a_path_after_it": lambda p: Spoilt(f"{ibip_text(*p)}/doc", "parts.*this.* 3"),
    "no_separator": with_prefix(lambda prefix: re.sub("[WX]", "", prefix), "exactly one W or X"),
    "two_separators": with_prefix(lambda prefix: f"3W{prefix}", "exactly one W or X"),
    "no_address": with_prefix(lambda prefix: re.sub(".*(?=[WX])", "", prefix), "address .*missing"),
    "a_leading_2_in_the_address": with_prefix(lambda prefix: f"2{prefix}", "address .*begins with 2"),
    "an_address_that_is_none": with_prefix(lambda prefix: re.sub(".*(?=[WX])", "333", prefix), "no IP address"),
    "an_address_that_is_too_long": with_prefix(lambda prefix: f"{'3' * 60}{prefix}", "no IP address"),
    "a_leading_2_in_the_port": with_port("2345", "port begins with 2"),
    "port_0": with_port("2", "port begins with 2"),
    "port_800": with_port("34K", "port 800"),
    "port_65536": with_port("5AS9", "port .*65535"),
    "a_port_of_many_graphemes": with_port("3" * 9, "port .*65535"),
    "no_prefix": lambda p: Spoilt("/" + ibip_text(*p).split("/")[1], "parts is missing", 0),
    "no_suffix": lambda p: Spoilt(ibip_text(*p).split("/")[0] + "/", "parts is missing"),
    "an_x_in_the_suffix": with_suffix(lambda suffix: f"{suffix}X3", "no X"),
    "two_w_in_the_suffix": with_suffix(lambda suffix: f"{whole(suffix)}W3W3", "at most one W"),
    "no_seconds": with_suffix(lambda suffix: "W3", "seconds are missing"),
    "a_leading_2_in_the_seconds": with_suffix(lambda suffix: f"2{suffix}", "seconds .*begin with 2"),
    "an_empty_fraction": with_suffix(lambda suffix: f"{whole(suffix)}W", "fraction .*missing or zero"),
    "a_fraction_of_zero": with_suffix(lambda suffix: f"{whole(suffix)}W22", "fraction .*missing or zero"),
    "a_fraction_that_ends_in_zero": with_suffix(lambda s: f"{whole(s)}W{base_27(50)}", "fraction .*ends in zero"),
    "a_fraction_of_31_digits": with_suffix(lambda s: f"{whole(s)}W{base_27(10**30 + 1)}", "more than 30 digits"),
    "a_fraction_of_many_graphemes": with_suffix(lambda s: f"{whole(s)}W{'2' * 50}3", "more than 30 digits"),
    "a_date_after_9999": with_suffix(lambda suffix: "UUUUUUUU", "after the year 9999"),
    "seconds_of_many_graphemes": with_suffix(lambda suffix: "3" * 50, "after the year 9999"),
}


@given(ibip_parts)
def test_a_spoilt_ibip_is_refused_for_what_was_spoilt(parts: IbipParts) -> None:
    assert complaints(IBIP_MUTATIONS, parts) == {}


# --- texts that are far from any label -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("", "empty"),
        (" ", "white space"),
        ("abc", "parts.*this.* 1"),
        ("a" * 1000, "longer than any IBI"),
        ("a." * 1000, "longer than any IBI"),
        ("a/b/c", "this.* 3"),
        ("LK47B6W/362SFKH/2010/08.25.12.38", "first two parts are an IBIp"),
    ],
)
def test_what_is_no_label_at_all_is_refused_for(text: str, about: str) -> None:
    assert complaint(Spoilt(text, about)) is None


@given(ibips, instants)
def test_two_parts_that_are_an_ibip_are_no_host(label: ibi.Ibip, instant: Instant) -> None:
    date = RepositoryName.from_parts("a.b", 80, instant).suffix
    about = "IBIp" if label.prefix[0].isalpha() else "begins with a letter"
    assert complaint(Spoilt(f"{label}/{date}", about)) is None
