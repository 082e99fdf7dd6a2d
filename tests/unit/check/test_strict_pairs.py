"""The strict reader of lists of pairs: R Table 6.2, and nothing beyond it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.check.rules.pair_lists import FaultKind, read_pairs

WORDS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="{}"), min_size=1, max_size=8)
VALUES = st.one_of(WORDS, st.lists(WORDS, min_size=2, max_size=4))


def kinds(body: bytes) -> list[FaultKind]:
    return [fault.kind for fault in read_pairs(body).faults]


@given(st.dictionaries(WORDS, VALUES, max_size=6), st.sampled_from([" ", "\r\n"]), st.integers(1, 3))
def test_what_the_grammar_derives_has_no_fault(pairs: dict[str, str | list[str]], joint: str, blanks: int) -> None:
    written = [
        f"{name}{' ' * blanks}{value if isinstance(value, str) else '{' + ' '.join(value) + '}'}"
        for name, value in pairs.items()
    ]
    read = read_pairs(joint.join(written).encode())
    assert read.faults == ()
    assert read.values == {name: (value,) if isinstance(value, str) else tuple(value) for name, value in pairs.items()}


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(body: bytes) -> None:
    for fault in read_pairs(body).faults:
        assert str(fault).startswith("byte ")


def test_an_empty_body_is_an_empty_list() -> None:
    assert read_pairs(b"") == read_pairs(b"")
    assert read_pairs(b"").faults == ()


@pytest.mark.parametrize(
    "body",
    [
        b"a",
        b"a ",
        b"{a} b",
        b"a {b c",
        b"a {b  c}",
        b"a {b}",
        b"a {}",
        b"a { b c}",
        b"a b\x00",
        b"a \xf3",
        b"a {b {c d}}",
        b"<html><body>",
    ],
)
def test_what_the_grammar_does_not_derive_is_a_fault(body: bytes) -> None:
    assert FaultKind.GRAMMAR in kinds(body)


@pytest.mark.parametrize(
    "body", [b"a b\n", b"a b\r\n", b" a b", b"\r\na b", b"a b\nc d", b"a b  c d", b"a b\r\n\r\nc d"]
)
def test_other_separators_are_faults_and_reading_goes_on(body: bytes) -> None:
    assert kinds(body) == [FaultKind.SEPARATOR]
    assert read_pairs(body).word("a") == "b"


def test_a_name_that_comes_twice_is_a_fault_and_the_first_counts() -> None:
    read = read_pairs(b"a b a c")
    assert [fault.kind for fault in read.faults] == [FaultKind.REPEATED]
    assert read.word("a") == "b"


def test_braces_may_be_empty_for_the_platform_alone() -> None:
    read = read_pairs(b"ibi.platformsoftware {}")
    assert read.faults == ()
    assert read.values == {"ibi.platformsoftware": ()}


@pytest.mark.parametrize("body", [b"a x\xf3y\r\nb c", b"a x{y\r\nb c", b"\xf3 d\r\nb c", b"a x\x01 b c"])
def test_reading_goes_on_behind_a_word_that_cannot_be_read(body: bytes) -> None:
    read = read_pairs(body)
    assert read.values["b"] == ("c",)
    assert [fault.kind for fault in read.faults] == [FaultKind.GRAMMAR]
    assert read.faults[0].offset == min(body.find(octet) for octet in (b"\xf3", b"{", b"\x01") if octet in body)
