"""Guessing gets slower, and honest people hardly notice."""

from __future__ import annotations

from ibi.services.wrong_guesses import WrongGuesses

KEYS = (("name", "ada"), ("network", "192.0.2.0/24"))


def test_a_few_slips_cost_nothing() -> None:
    guesses = WrongGuesses()
    guesses.wrong(KEYS, 0.0)
    guesses.wrong(KEYS, 0.0)

    assert guesses.wait(KEYS, 0.0) == 0


def test_each_further_guess_costs_twice_as_much_up_to_a_bound() -> None:
    guesses, waits = WrongGuesses(), []
    for _ in range(20):
        guesses.wrong(KEYS, 0.0)
        waits.append(guesses.wait(KEYS, 0.0))

    assert waits[2:6] == [1, 2, 4, 8]
    assert waits[-1] == 300


def test_the_same_name_from_elsewhere_and_another_name_from_the_same_place_wait_too() -> None:
    guesses = WrongGuesses()
    for _ in range(5):
        guesses.wrong(KEYS, 0.0)

    assert guesses.wait((KEYS[0], ("network", "elsewhere")), 0.0) == 4
    assert guesses.wait((("name", "bob"), KEYS[1]), 0.0) == 4
    assert guesses.wait((("name", "bob"), ("network", "elsewhere")), 0.0) == 0


def test_time_and_success_make_up_for_it() -> None:
    guesses = WrongGuesses()
    for _ in range(5):
        guesses.wrong(KEYS, 0.0)

    assert guesses.wait(KEYS, 4.0) == 0
    guesses.right(KEYS)
    assert guesses.wait(KEYS, 0.0) == 0
    guesses.wrong(KEYS, 0.0)
    assert len(guesses) == 2


def test_what_was_wrong_an_hour_ago_is_forgotten() -> None:
    guesses = WrongGuesses()
    for _ in range(9):
        guesses.wrong(KEYS, 0.0)
    guesses.wrong(KEYS, 4000.0)

    assert guesses.wait(KEYS, 4000.0) == 0


def test_it_is_bounded() -> None:
    guesses = WrongGuesses(most=100)
    for number in range(1000):
        guesses.wrong((("name", number),), 0.0)

    assert len(guesses) == 100
