"""Words that are nearly the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.rules.spelling import correct, is_near, one_edit

LETTERS = st.text("abcde", min_size=4, max_size=8)


@pytest.mark.parametrize("near", ["glacirs", "glaciiers", "glacoers", "galciers", "glacier", "lgaciers"])
def test_one_slip_is_found_from_either_side(near: str) -> None:
    assert "glaciers" in one_edit(near)
    assert is_near(near, "glaciers")


@pytest.mark.parametrize(("one", "other"), [("река", "река"), ("ναυτιλα", "ναυτιλια"), ("рке", "река")])
def test_other_alphabets_have_slips_too(one: str, other: str) -> None:
    assert is_near(one, other)


@given(LETTERS, LETTERS)
def test_near_is_what_two_edits_reach(one: str, other: str) -> None:
    within_one = one_edit(one) | {one}
    assert is_near(one, other) == is_near(other, one)
    if other in within_one:
        assert is_near(one, other)


def test_a_text_keeps_all_that_is_not_corrected() -> None:
    def nearest(word: str, *, is_beginning: bool) -> str | None:
        return {"glacirs": "glaciers"}.get(word, word)

    assert correct('title:"Glacirs, of" OR -glacirs x', nearest) == 'title:"glaciers, of" OR -glaciers x'
    assert correct("glaciers", nearest) is None
    assert correct("", nearest) is None
    assert correct("word " * 200 + "glacirs", nearest) is None  # the first words are looked at
