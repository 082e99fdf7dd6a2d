from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ibi.standard.errors import InvalidPairs
from ibi.standard.pairs import Pairs, Value, encoded_word

ALPHABET = [chr(code) for code in (*range(0x21, 0x7B), 0x7C, 0x7E)]
# Any Unicode text that is not empty, and often what could break out of a word.
words = st.text(st.one_of(st.sampled_from(" \r\n{}%\t\x00a"), st.characters(exclude_categories=["Cs"])), min_size=1)
values: st.SearchStrategy[Value] = words | st.lists(words, max_size=4).map(tuple)
items = st.lists(st.tuples(words, values), unique_by=lambda item: encoded_word(item[0]), max_size=8)
blanks = st.text(" \n", min_size=1, max_size=3).map(lambda blank: blank.replace("\n", "\r\n")) | st.just("\n")


@given(items)
def test_what_is_encoded_decodes_to_what_it_was(items: list[tuple[str, Value]]) -> None:
    pairs = Pairs(items)
    assert Pairs.decode(pairs.encode()) == Pairs.decode(pairs.encode_on_one_line()) == pairs
    assert Pairs(pairs.items()) == pairs


@given(items)
def test_no_value_makes_a_pair_more_or_less(items: list[tuple[str, Value]]) -> None:
    decoded = Pairs.decode(Pairs(items).encode())
    assert len(decoded) == len(items)
    for name, value in items:
        read = decoded[encoded_word(name)]
        assert isinstance(read, str) == isinstance(value, str)
        assert isinstance(read, str) or len(read) == len(value)


@given(items)
def test_what_is_written_is_ascii_lines_sorted_by_name(items: list[tuple[str, Value]]) -> None:
    body = Pairs(items).encode()
    names = [line.split(b" ")[0] for line in body.split(b"\r\n")] if body else []
    assert names == sorted(names)
    assert len(names) == len(items)
    assert set(body) <= {*b" \r\n{}", *map(ord, ALPHABET)}


@given(items, st.randoms(use_true_random=False))
def test_order_does_not_matter(items: list[tuple[str, Value]], chance: object) -> None:
    other = Pairs(items[::-1])
    assert other == Pairs(items)
    assert hash(other) == hash(Pairs(items))
    assert other.encode() == Pairs(items).encode()


@given(
    st.data(),
    st.lists(st.tuples(st.text(ALPHABET, min_size=1), st.text(ALPHABET, min_size=1)), unique_by=lambda i: i[0]),
)
def test_any_run_of_blanks_and_line_ends_separates(data: st.DataObject, items: list[tuple[str, str]]) -> None:
    body = "".join(f"{name}{data.draw(blanks)}{value}{data.draw(blanks)}" for name, value in items)
    assert Pairs.decode(body.encode()) == Pairs(items)


@given(st.binary() | st.text("ab {}\r\n%\t", max_size=30).map(str.encode))
@example(b"a {b}c d")
@example(b"a b\rc d")
def test_any_bytes_are_a_list_of_pairs_or_raise_the_one_error(body: bytes) -> None:
    try:
        pairs = Pairs.decode(body)
    except InvalidPairs as error:
        assert 0 <= error.offset <= len(error.text)
        assert str(error)
    else:
        assert Pairs.decode(pairs.encode()) == pairs


@given(st.text(st.characters()))
def test_any_text_becomes_a_word_of_the_alphabet_or_raises_the_one_error(text: str) -> None:
    try:
        word = encoded_word(text)
    except InvalidPairs:
        assert not text or any("\ud800" <= character <= "\udfff" for character in text)
    else:
        assert set(word) <= set(ALPHABET)
        assert encoded_word(word) == word
