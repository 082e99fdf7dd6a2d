"""Keys of answers: whatever item and relation they speak for, they are known again, and nothing else is."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import LabelForms, UrlKey
from ibi.standard.messages.identification import LIFETIME, RANDOM_LIMIT, UrlKeys
from ibi.standard.relation import Relation
from tests.properties.label_strategies import labels
from tests.properties.relation_strategies import any_tags, relations

KEYS = UrlKeys(b"s" * 32)
seconds = st.integers(1_000_000_000, 9_999_999_999)
randoms = st.integers(0, RANDOM_LIMIT - 1)
forms = labels.map(LabelForms.of)


@given(forms, relations(any_tags), seconds, randoms, st.integers(0, LIFETIME))
def test_a_key_is_legal_and_says_what_it_was_made_for(
    item: LabelForms, relation: Relation, made: int, random: int, age: int
) -> None:
    subject = KEYS.subject(item, relation)
    key = UrlKey(KEYS.make(subject, made, random).decode())
    known = KEYS.check(key, made + age)
    if subject.digits:
        assert known is not None
        assert (known.seconds, known.label, known.relation) == (made, item.labels[0], relation)
    else:
        assert known is None


@given(forms, seconds, randoms, st.integers(0, 255), st.sampled_from("0123456789"))
def test_no_other_digit_will_do_anywhere(item: LabelForms, made: int, random: int, place: int, digit: str) -> None:
    text = KEYS.make(KEYS.subject(item, Relation.ITSELF), made, random).decode()
    place %= len(text)
    assume(text[place] not in ("-", digit))
    assert KEYS.check(UrlKey(text[:place] + digit + text[place + 1 :]), made) is None


@given(st.from_regex(r"[0-9]{10,20}-[0-9]{10,200}", fullmatch=True), seconds)
def test_digits_from_nowhere_are_no_key(text: str, now: int) -> None:
    try:
        key = UrlKey(text)
    except InvalidMessage:
        return
    assert KEYS.check(key, now) is None


@given(forms, forms, seconds, randoms)
def test_a_key_of_one_item_is_no_key_of_another(one: LabelForms, other: LabelForms, made: int, random: int) -> None:
    assume(one != other)
    mine, theirs = (KEYS.subject(item, Relation.ITSELF) for item in (one, other))
    key, another = KEYS.make(mine, made, random), KEYS.make(theirs, made, random)
    mixed = key[: len(key) - len(mine.digits)] + another[len(another) - len(theirs.digits) :]
    assume(theirs.digits and mixed != another)
    assert KEYS.check(UrlKey(mixed.decode()), made) is None
