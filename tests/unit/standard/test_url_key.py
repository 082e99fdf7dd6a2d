"""Keys: known again, good for a while, and not to be made by anybody else."""

from __future__ import annotations

from hmac import new

import pytest

from ibi.standard.label import parse
from ibi.standard.messages import LabelForms, UrlKey
from ibi.standard.messages.identification import LIFETIME, UrlKeys
from ibi.standard.relation import Relation

NOW = 1_426_203_276
KEYS = UrlKeys(bytes(range(32)))
FORMS = LabelForms.of(parse("sid.inpe.br/mtc-m19/2013/09.04.12.27.57"), parse("8JMKD3MGP7W/3EPGUE5"))
RELATION = Relation.from_modifier("!:(oai_dc)")


def key(forms: LabelForms = FORMS, relation: Relation = RELATION, seconds: int = NOW, random: int = 5) -> UrlKey:
    return UrlKey(KEYS.make(KEYS.subject(forms, relation), seconds, random).decode())


def test_a_key_is_two_numbers_of_which_the_first_is_the_time() -> None:
    first, second = key().reveal().split("-")
    assert first == "1426203276"
    assert second.isdigit()


@pytest.mark.parametrize("length", [32, 63, 64, 65, 200])
def test_a_key_is_signed_with_the_hmac_of_rfc_2104(length: int) -> None:
    secret = bytes(range(length))
    keys = UrlKeys(secret)
    subject = keys.subject(FORMS, RELATION)
    made = keys.make(subject, NOW, 5)
    signature = new(secret, b"1426203276-00000005" + subject.text, "sha256").digest()
    assert int(made[19:43]) == int.from_bytes(signature[:16], "big") % 10**24


def test_a_key_is_known_again_with_its_item_and_relation() -> None:
    known = KEYS.check(key(), NOW + 10)
    assert known is not None
    assert (known.seconds, known.label, known.relation) == (NOW, FORMS.ibip, RELATION)


def test_an_item_without_an_ibip_is_named_by_its_repository_name() -> None:
    known = KEYS.check(key(LabelForms(FORMS.rep)), NOW)
    assert known is not None
    assert known.label == FORMS.rep


@pytest.mark.parametrize(
    ("seconds", "good"), [(-61, False), (-60, True), (0, True), (LIFETIME, True), (LIFETIME + 1, False)]
)
def test_a_key_is_good_from_when_it_was_made_for_its_lifetime(seconds: int, good: bool) -> None:
    assert (KEYS.check(key(), NOW + seconds) is not None) is good


def test_every_answer_has_another_key() -> None:
    assert len({key(random=random).reveal() for random in range(100)}) == 100


def test_keys_of_another_secret_are_not_known() -> None:
    assert UrlKeys(b"x" * 32).check(key(), NOW) is None


def test_a_key_whose_digits_were_changed_is_not_known() -> None:
    text = key().reveal()
    for place, digit in enumerate(text):
        if digit != "-":
            changed = text[:place] + str((int(digit) + 1) % 10) + text[place + 1 :]
            assert KEYS.check(UrlKey(changed), NOW) is None, place


def test_the_end_of_one_key_does_not_fit_the_beginning_of_another() -> None:
    one, other = key().reveal(), key(LabelForms(FORMS.rep), Relation.ITSELF).reveal()
    assert KEYS.check(UrlKey(one[:43] + other[43:]), NOW) is None


@pytest.mark.parametrize(
    "text",
    ["1426203276", "1426203276-5985125171467764", "0" * 256, "1426203276-" + "0" * 245, "1426203276-" + "9" * 33],
)
def test_keys_that_were_never_made_are_not_known(text: str) -> None:
    assert KEYS.check(UrlKey(text), NOW) is None


def test_a_name_that_is_too_long_to_be_carried_makes_a_legal_key_that_counts_nothing() -> None:
    long = LabelForms.of(parse(f"{'.'.join(['x' * 60] * 3)}.br/word/2013/09.04.12.27.57"))
    made = key(long)
    assert len(made.reveal()) <= 256
    assert KEYS.check(made, NOW) is None


def test_the_secret_is_long_and_not_shown() -> None:
    with pytest.raises(ValueError, match="32"):
        UrlKeys(b"short")
    assert "x" * 8 not in repr(UrlKeys(b"x" * 32))


@pytest.mark.parametrize("seconds", [-61, -60, 0, LIFETIME, LIFETIME + 1])
def test_a_key_given_within_the_process_says_what_any_other_says(seconds: int) -> None:
    keys = UrlKeys(bytes(range(32)))
    issued = keys.issue(keys.subject(FORMS, RELATION), NOW, 5)
    assert issued == key()
    known, signed = keys.check(issued, NOW + seconds), KEYS.check(key(), NOW + seconds)
    assert (known and known[:3]) == (signed and signed[:3])
    assert known is None or known.rep == FORMS.rep  # which need not be looked up


def test_keys_that_were_given_long_ago_are_known_by_their_signature() -> None:
    keys = UrlKeys(bytes(range(32)))
    issued = [keys.issue(keys.subject(FORMS, RELATION), NOW, random) for random in range(10_000)]
    assert all(keys.check(each, NOW) is not None for each in (issued[0], issued[-1]))


def test_a_name_too_long_for_a_key_counts_nothing_within_the_process_either() -> None:
    keys = UrlKeys(bytes(range(32)))
    long = LabelForms.of(parse(f"{'a' * 60}.{'b' * 60}.br/{'c' * 60}/2013/09.04.12.27.57"))
    issued = keys.issue(keys.subject(long, RELATION), NOW, 5)
    assert keys.check(issued, NOW) is None
