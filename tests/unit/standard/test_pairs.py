from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from time import perf_counter

import pytest

from ibi.standard.errors import InvalidPairs
from ibi.standard.messages import State
from ibi.standard.pairs import LIMIT, MOST, LenientPairs, Pairs, Value, decode_leniently, encoded_word, split_tcl_list

PAIRS = Pairs([("state", "Original"), ("ibi", ("rep", "a.br/b/2009/07.21.13.23"))])


def test_pairs_are_a_mapping() -> None:
    assert isinstance(PAIRS, Mapping)
    assert dict(PAIRS) == {"state": "Original", "ibi": ("rep", "a.br/b/2009/07.21.13.23")}
    assert PAIRS.get("url") is None
    assert "ibi" in PAIRS
    assert len(PAIRS) == 2


def test_order_does_not_matter_to_equality_and_hash() -> None:
    other = Pairs(reversed(list(PAIRS.items())))
    assert other == PAIRS
    assert hash(other) == hash(PAIRS)
    assert {other, PAIRS} == {PAIRS}


def test_pairs_differ_from_other_pairs_and_from_other_things() -> None:
    assert Pairs([("state", "Copy")]) != Pairs([("state", "Original")])
    assert Pairs([("state", "Copy")]) != {"state": "Copy"}


def test_pairs_cannot_change() -> None:
    with pytest.raises(AttributeError):
        PAIRS._values = {}
    with pytest.raises(AttributeError):
        del PAIRS._values
    with pytest.raises(AttributeError):
        PAIRS.colour = "red"
    with pytest.raises(TypeError):
        PAIRS["state"] = "Copy"  # type: ignore[index]


def test_pairs_survive_copying_and_pickling() -> None:
    assert copy.deepcopy(PAIRS) == PAIRS
    assert pickle.loads(pickle.dumps(PAIRS)) == PAIRS


def test_a_word_may_be_of_a_subclass_of_str() -> None:
    assert Pairs([("state", State.ORIGINAL)]).encode() == b"state Original"


def test_the_repr_of_pairs_builds_them_again() -> None:
    assert repr(Pairs([("a", "1"), ("b", ("2",))])) == "Pairs([('a', '1'), ('b', ('2',))])"


def test_constants_are_written_on_one_line() -> None:
    pairs = Pairs([("status.confirmation", "successful"), ("status.archive", "included")])
    assert pairs.encode_on_one_line() == b"status.archive included status.confirmation successful"
    assert (
        Pairs([("notice", ("acknowledgment", "received"))]).encode_on_one_line() == b"notice {acknowledgment received}"
    )


@pytest.mark.parametrize(
    "value",
    [
        "x\r\nstate Original",
        "x\nstate Original",
        "x state Original",
        "{x} state Original",
        "x}",
        "{",
        "\u2028a b",
        "\x85a",
    ],
)
def test_a_value_cannot_make_a_second_pair(value: str) -> None:
    for pairs in (Pairs([("url", value)]), Pairs([("url", (value,))]), Pairs([(value, "x")])):
        for body in (pairs.encode(), pairs.encode_on_one_line()):
            assert Pairs.decode(body) == pairs
            assert len(Pairs.decode(body)) == 1


@pytest.mark.parametrize("word", ["100%", "%", "%zz", "Relat%f3rio%20Final.pdf", "%7B"])
def test_a_percent_sign_is_left_alone(word: str) -> None:
    assert encoded_word(word) == word


def test_what_is_encoded_alike_is_equal() -> None:
    assert Pairs([("a", "ó {}")]) == Pairs([("a", "%C3%B3%20%7B%7D")])


@pytest.mark.parametrize("pairs", [[("", "x")], [("a", "")], [("a", ("",))], [("a", ("x", ""))]])
def test_an_empty_word_is_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidPairs):
        Pairs(pairs)


@pytest.mark.parametrize("pairs", [[("\ud800", "x")], [("a", "\udc7f")], [("a", ("x\udfff",))]])
def test_half_a_surrogate_pair_is_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidPairs):
        Pairs(pairs)


@pytest.mark.parametrize("pairs", [[("a", "1"), ("a", "1")], [("ó", "1"), ("%C3%B3", "2")]])
def test_a_repeated_name_is_refused_also_if_only_its_encoding_repeats(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidPairs, match="twice"):
        Pairs(pairs)


def test_a_body_longer_than_the_limit_is_not_read() -> None:
    assert Pairs.decode(b"a 1", limit=3) == Pairs([("a", "1")])
    with pytest.raises(InvalidPairs, match="4 bytes and at most 3"):
        Pairs.decode(b"a 12", limit=3)
    with pytest.raises(InvalidPairs):
        Pairs.decode(b" " * (LIMIT + 1))


@pytest.mark.parametrize("between", [b" ", b"\r\n", b"\n"])
def test_of_very_many_pairs_none_is_read(between: bytes) -> None:
    pairs = [b"%x y" % number for number in range(MOST + 1)]
    assert len(Pairs.decode(between.join(pairs[:-1]))) == MOST
    with pytest.raises(InvalidPairs, match=f"more than {MOST} pairs"):
        Pairs.decode(between.join(pairs))


def test_many_words_of_one_value_are_one_pair() -> None:
    words = ["w"] * 3 * MOST
    assert Pairs.decode(b"a {" + " ".join(words).encode() + b"} b 1") == Pairs([("a", tuple(words)), ("b", "1")])


def test_of_a_long_list_the_end_is_read_as_strictly() -> None:
    long = b" ".join(b"%x {y z}" % number for number in range(MOST - 1))
    assert len(Pairs.decode(long)) == MOST - 1
    for end, reason in ((b" 0 y", "twice"), (b" name", "without a value"), (b" name {", "braces that")):
        with pytest.raises(InvalidPairs, match=reason):
            Pairs.decode(long + end)


@pytest.mark.parametrize(
    ("body", "offset", "reason"),
    [
        (b"a 1\r\nb", 5, "a name without a value"),
        (b"a 1 {b} 2", 4, "braces where a name should be"),
        (b"a 1 b {2", 4, "braces that do not enclose"),
        (b"a 1\x00", 3, "may not stand there"),
        (b"a 1\r\nb 2\rc 3", 8, "carriage return"),
        (b"a 1 b \xf3", 6, "byte F3 is not ASCII"),
    ],
)
def test_the_error_says_where_and_why(body: bytes, offset: int, reason: str) -> None:
    with pytest.raises(InvalidPairs, match=reason) as refused:
        Pairs.decode(body)
    assert refused.value.offset == offset


@pytest.mark.parametrize(
    "body",
    [
        b"a" * LIMIT,
        b"a " * (LIMIT // 2) + b"a",
        b"a {" * (LIMIT // 3),
        b"a " + b"{" * (LIMIT - 2),
        b"a {" + b"b " * (LIMIT // 2 - 2),
        b"a" + b" " * (LIMIT - 1),
        b"a" + b"\r\n" * (LIMIT // 2 - 1) + b"}",
        b"a 1 " * (LIMIT // 4),
        b"\r" * LIMIT,
    ],
    ids=lambda body: repr(body[:8]),
)
def test_hostile_bodies_take_no_longer_than_their_length_deserves(body: bytes) -> None:
    start = perf_counter()
    with pytest.raises(InvalidPairs):
        Pairs.decode(body)
    assert perf_counter() - start < 0.1 + len(body) / 1024 / 1000


# --- lists of other makes ---


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("", []),
        ("a b", ["a", "b"]),
        ("{a b} {}", ["a b", ""]),
        ("{a {b c} d}", ["a {b c} d"]),
        (r"{a\}b}", [r"a\}b"]),
        (r"a\ b \{ \x41\u00e9", ["a b", "{", "Aé"]),
        ('"a b" c', ["a b", "c"]),
        ("http://x/{y}", ["http://x/{y}"]),
        ("a\tb\r\nc\vd", ["a", "b", "c", "d"]),
        (r"\ud800", ["\ufffd"]),
    ],
)
def test_a_list_of_tcl_is_split_into_its_elements(text: str, elements: list[str]) -> None:
    assert split_tcl_list(text) == elements


@pytest.mark.parametrize("text", ["{a", "a {b", "{a}b", '"a', '"a"b', "{{}", "{a\\}"])
def test_a_text_whose_braces_or_quotes_do_not_close_is_no_list(text: str) -> None:
    assert split_tcl_list(text) is None


@pytest.mark.parametrize(
    ("body", "pairs", "left_out"),
    [
        (b"a b", [("a", "b")], ()),
        (b"a b c", None, ()),
        (b"a {b {c d}}", [("a", ("b", "c%20d"))], ()),
        (b"a {http://x/[1]} b 1", [("a", ("http://x/[1]",)), ("b", "1")], ()),
        (b"a http://x/{y}", [("a", "http://x/%7By%7D")], ()),
        ("a é".encode(), [("a", "%C3%A9")], ()),
        ("a é".encode("latin-1"), [("a", "%E9")], ()),
        (b"a \xc3\xa9\xe9\xc3 b \xc2\xa0x", [("a", "%C3%A9%E9%C3"), ("b", "%C2%A0x")], ()),
        (b"a 1\r\nb\r\nc 2", [("a", "1"), ("c", "2")], ("b",)),
        (b"a 1\r\nb {x y\r\nc 2", [("a", "1"), ("c", "2")], ("b {x y",)),
        (b"a 1\nb 2\na 3", [("a", "3"), ("b", "2")], ()),
        (b"a 1 b 2 a 1", [("a", "1"), ("b", "2")], ()),
        (b"a {1 2} b 2 a {} a {3 4}", [("a", ("3", "4")), ("b", "2")], ()),
        ("%C3%A9 1 b 2 é 3".encode(), [("%C3%A9", "3"), ("b", "2")], ()),
        (b"{} 1\nb {2 {}}", [("b", ("2",))], ()),
    ],
)
def test_as_much_of_a_list_is_read_as_can_be(
    body: bytes, pairs: list[tuple[str, Value]] | None, left_out: tuple[str, ...]
) -> None:
    """E47."""
    if pairs is None:
        with pytest.raises(InvalidPairs):
            decode_leniently(body)
    else:
        assert decode_leniently(body) == LenientPairs(Pairs(pairs), left_out)


def test_what_is_left_out_of_a_list_is_bounded() -> None:
    body = b"good 1\n" + b"x{ odd line\n" * 100 + b"y" * 1000 + b"\n"
    assert len(decode_leniently(body).left_out) == 32
    assert max(map(len, decode_leniently(body).left_out)) <= 64


def test_a_list_that_is_too_long_is_not_read_leniently_either() -> None:
    with pytest.raises(InvalidPairs, match="at most 5"):
        decode_leniently(b"a b c d", limit=5)
    many = b"\n".join(b"n%d {}x" % number for number in range(10)) + b"\n"
    with pytest.raises(InvalidPairs):
        decode_leniently(many)
    with pytest.raises(InvalidPairs, match="more than"):
        decode_leniently(b"\xc3\xa9 x " + b" ".join(b"n%d x" % number for number in range(MOST + 1)))
