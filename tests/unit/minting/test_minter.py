"""A queue of requests against the memory of the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from ibi.minting.model import BatchShare, Gap, LabelBatch, MintRequest, Span, TickState
from ibi.minting.rules.errors import (
    ClockBeforeBuild,
    ClockBehind,
    ClockJumped,
    IdempotencyConflict,
    InvalidCount,
    QueueTooLong,
)
from ibi.minting.rules.minter import (
    FINEST,
    MAX_COUNT,
    Decision,
    Rules,
    Spread,
    check_behind,
    check_build_date,
    check_jump,
    decide,
    with_accepted_clock,
)
from ibi.standard.clock import MINUTE, SECOND, Granularity
from ibi.standard.clock_reading import Reading
from ibi.standard.errors import IbiError
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, parse

IDENTITY = Identity("mtc-m18.sid.inpe.br", "150.163.34.248")
NOW = Instant.parse("2027-03-01T12:00:30.25Z")
READING = Reading(NOW, 5_000_000_000, "boot")
RULES = Rules(wait_bound=Fraction(1))
NOTHING: Callable[[str, str], BatchShare | None] = lambda who, key: None  # noqa: E731


def after(seconds: int | str) -> Instant:
    return Instant.from_fraction(NOW.as_fraction() + Fraction(seconds))


def queue(
    *requests: MintRequest,
    state: TickState = TickState(),  # noqa: B008  (frozen)
    rules: Rules = RULES,
    reading: Reading = READING,
    remembered: Callable[[str, str], BatchShare | None] = NOTHING,
    spread: Spread | None = None,
) -> Decision:
    return decide(IDENTITY, rules, state, requests, reading, remembered, spread)


def dates(outcome: BatchShare | IbiError) -> list[Instant]:
    assert isinstance(outcome, BatchShare), outcome
    return [label.instant for label in outcome.labels()]


def refusal(outcome: BatchShare | IbiError) -> IbiError:
    assert isinstance(outcome, IbiError)
    return outcome


ONE = MintRequest(1, "ana")


# Who gets what.


def test_each_gets_its_part_of_one_batch_in_order() -> None:
    decision = queue(MintRequest(2, "ana"), MintRequest(1, "rui"), MintRequest(3, "ana"))
    assert decision.batch is not None
    assert [tick.date for tick in decision.batch.ticks()] == [date for one in decision.outcomes for date in dates(one)]
    assert decision.state == TickState(dates(decision.outcomes[2])[-1], (), READING, None)
    assert decision.keys == ()


def test_an_empty_queue_mints_nothing() -> None:
    assert queue() == Decision(TickState(), None, (), ())


def test_the_labels_are_those_of_the_identity() -> None:
    (share,) = queue(ONE, reading=READING._replace(wall=Instant.parse("2027-03-01T12:00:00Z"))).outcomes
    assert isinstance(share, BatchShare)
    (label,) = share.labels()
    assert label.rep == "sid.inpe.br/mtc-m18/2027/03.01.12.00"
    ibip = parse(label.ibip or "")
    assert isinstance(ibip, Ibip)
    assert (ibip.ip, ibip.port, ibip.instant) == (IDENTITY.ip, 800, label.instant)
    assert share.ready == label.instant == parse(label.rep).instant


def test_without_an_address_there_are_repository_names_only() -> None:
    decision = decide(replace(IDENTITY, ip=None), Rules(), TickState(), [ONE], READING, NOTHING)
    (share,) = decision.outcomes
    assert isinstance(share, BatchShare)
    assert [label.ibip for label in share.labels()] == [None]


def test_a_sandbox_marks_its_batches() -> None:
    decision = decide(Identity.of_sandbox(8765), Rules(), TickState(), [ONE], READING, NOTHING)
    assert decision.batch is not None
    assert decision.batch.sandbox


@pytest.mark.parametrize("count", [0, -1, -(10**12), MAX_COUNT + 1, 10**12])
def test_a_count_out_of_range_takes_no_date(count: int) -> None:
    alone = queue(MintRequest(count, "eva", "k"))
    assert isinstance(alone.outcomes[0], InvalidCount)
    assert alone.batch is None
    among = queue(ONE, MintRequest(count, "eva"), ONE)
    assert isinstance(among.outcomes[1], InvalidCount)
    assert among.batch == queue(ONE, ONE).batch
    assert str(count) in str(among.outcomes[1])


def test_the_most_that_may_be_asked_for_takes_no_memory() -> None:
    decision = queue(MintRequest(MAX_COUNT, "ana"), MintRequest(MAX_COUNT, "rui"), rules=Rules(wait_bound=Fraction(0)))
    assert decision.batch is not None
    assert decision.batch.count == 2 * MAX_COUNT
    first, second = decision.outcomes
    assert isinstance(first, BatchShare)
    assert isinstance(second, BatchShare)
    assert first.ready < next(second.labels()).instant


# Keys.


def batch_of(count: int) -> LabelBatch:
    batch = queue(MintRequest(count, "ana")).batch
    assert batch is not None
    return batch


def test_what_was_served_is_served_again() -> None:
    share = BatchShare(batch_of(5), 1, 3, "ana")
    asked: list[tuple[str, str]] = []

    def remembered(who: str, key: str) -> BatchShare | None:
        asked.append((who, key))
        return share

    decision = queue(MintRequest(3, "ana", "k"), remembered=remembered)
    assert decision == Decision(TickState(), None, (share,), ())
    assert asked == [("ana", "k")]


def test_what_was_served_is_served_again_even_if_the_clock_is_refused() -> None:
    share = BatchShare(batch_of(5), 1, 3, "ana")
    state = TickState(after(3600))
    decision = queue(MintRequest(3, "ana", "k"), state=state, remembered=lambda who, key: share)
    assert decision.outcomes == (share,)
    mixed = queue(ONE, MintRequest(3, "ana", "k"), state=state, remembered=lambda who, key: share)
    assert isinstance(mixed.outcomes[0], ClockBehind)
    assert mixed.outcomes[1] == share


def test_a_key_used_for_another_count_is_a_conflict() -> None:
    share = BatchShare(batch_of(5), 1, 3, "ana")
    decision = queue(ONE, MintRequest(2, "ana", "k"), remembered=lambda who, key: share)
    assert isinstance(decision.outcomes[1], IdempotencyConflict)
    assert decision.batch == queue(ONE).batch


def test_twins_in_one_queue_share() -> None:
    twin = MintRequest(2, "ana", "k")
    decision = queue(twin, ONE, twin, twin)
    assert decision.outcomes[0] == decision.outcomes[2] == decision.outcomes[3]
    assert decision.batch is not None
    assert decision.batch.count == 3
    assert decision.keys == (("k", decision.outcomes[0]),)


def test_twins_that_differ_are_a_conflict() -> None:
    decision = queue(MintRequest(2, "ana", "k"), MintRequest(3, "ana", "k"), MintRequest(2, "ana", "k"))
    assert isinstance(decision.outcomes[1], IdempotencyConflict)
    assert decision.outcomes[0] == decision.outcomes[2]


def test_one_key_of_two_askers_is_two_keys() -> None:
    decision = queue(MintRequest(2, "ana", "k"), MintRequest(2, "rui", "k"))
    first, second = decision.outcomes
    assert not set(dates(first)) & set(dates(second))
    assert [(key, share.who) for key, share in decision.keys] == [("k", "ana"), ("k", "rui")]


def test_the_first_valid_one_of_twins_is_served() -> None:
    decision = queue(MintRequest(0, "ana", "k"), MintRequest(2, "ana", "k"))
    assert isinstance(decision.outcomes[0], InvalidCount)
    assert len(dates(decision.outcomes[1])) == 2


def test_twins_of_a_refused_one_are_refused() -> None:
    twin = MintRequest(100, "ana", "k")
    decision = queue(twin, ONE, twin, rules=Rules(granularity=SECOND))
    assert decision.outcomes[0] is decision.outcomes[2]
    assert isinstance(decision.outcomes[0], QueueTooLong)
    assert decision.keys == ()


# Granularity.


def test_a_fixed_granularity_is_kept() -> None:
    decision = queue(*[ONE] * 4, rules=Rules(granularity=SECOND))
    assert [dates(outcome)[0].fraction for outcome in decision.outcomes] == [""] * 4


def test_who_would_wait_too_long_at_a_fixed_granularity_takes_no_date() -> None:
    rules = Rules(granularity=SECOND, behind_limit=Fraction(2))
    decision = queue(ONE, MintRequest(10, "eva"), ONE, MintRequest(4, "eva"), ONE, rules=rules)
    assert [isinstance(outcome, QueueTooLong) for outcome in decision.outcomes] == [False, True, False, True, False]
    assert decision.batch is not None
    assert decision.batch.count == 3
    error = refusal(decision.outcomes[1])
    assert "10 labels at a granularity of 1 s" in str(error)
    assert all(dates(decision.outcomes[index])[-1] <= after(3) for index in (0, 2, 4))


def test_if_every_request_would_wait_too_long_nothing_is_minted() -> None:
    decision = queue(MintRequest(10, "eva"), MintRequest(20, "eva"), rules=Rules(granularity=SECOND))
    assert decision.batch is None
    assert decision.state == TickState()


def test_at_a_minute_one_waits_a_minute_at_most() -> None:
    rules = Rules(granularity=MINUTE)
    first = queue(ONE, rules=rules)
    second = queue(ONE, state=first.state, rules=rules)
    assert dates(second.outcomes[0]) == [Instant.parse("2027-03-01T12:01:00Z")]
    third = queue(ONE, state=second.state, rules=rules)
    assert isinstance(third.outcomes[0], QueueTooLong)


def test_at_low_traffic_labels_are_short() -> None:
    state, reading, suffixes = TickState(), READING, []
    for _ in range(3):
        decision = queue(ONE, state=state, reading=reading)
        state = decision.state
        suffixes.append(str(dates(decision.outcomes[0])[0]))
        wall = Instant.from_fraction(reading.wall.as_fraction() + 60)
        reading = reading._replace(wall=wall, uptime=reading.uptime + 60 * 10**9)
    assert suffixes == ["2027-03-01T12:00:00Z", "2027-03-01T12:01:00Z", "2027-03-01T12:02:00Z"]


def test_with_a_bound_of_nothing_no_request_waits() -> None:
    state, rules = TickState(), Rules(wait_bound=Fraction(0))
    for _ in range(5):
        decision = queue(ONE, state=state, rules=rules)
        state = decision.state
        (outcome,) = decision.outcomes
        assert dates(outcome)[0] <= after("0.00000001")


def test_a_clock_a_little_behind_does_not_make_labels_long() -> None:
    """Everybody has to wait for the last date to pass; a ten-thousandth of a second more or less, then."""
    decision = queue(ONE, state=TickState(after(3)))
    assert str(dates(decision.outcomes[0])[0]) == "2027-03-01T12:00:33.2501Z"


def test_the_first_labels_of_a_clock_are_short() -> None:
    decision = queue(MintRequest(3, "a"), state=TickState(), rules=Rules(wait_bound=Fraction(1, 100)))
    issued = [str(date) for date in dates(decision.outcomes[0])]
    assert issued == ["2027-03-01T12:00:00Z", "2027-03-01T12:00:30Z", "2027-03-01T12:00:30.2Z"]


def test_a_clock_behind_is_not_outrun_by_many_commits() -> None:
    """Each commit pushes the last date a little further ahead; a second's worth must not use up the patience."""
    state = TickState(after(3))
    for _ in range(5_000):
        decision = queue(ONE, state=state)
        assert dates(decision.outcomes[0])
        state = decision.state
    assert state.last is not None
    assert state.last <= after("3.6")


def test_a_clock_almost_too_far_behind_still_serves() -> None:
    decision = queue(ONE, state=TickState(after("4.9")))
    assert after("4.9") < dates(decision.outcomes[0])[0] <= after(5)


def test_granularity_changes_under_load() -> None:
    state, issued = TickState(), []
    for text in ["60", "0.001", "1", "0.000001", "0.1", "0.01"] * 5:
        rules = Rules(granularity=Granularity.parse(text), behind_limit=Fraction(10_000))
        decision = queue(MintRequest(3, "ana"), MintRequest(2, "rui"), state=state, rules=rules)
        issued += [date for outcome in decision.outcomes for date in dates(outcome)]
        state = decision.state
    assert issued == sorted(set(issued))
    assert len(issued) == 150


# The clock.


def test_a_clock_behind_refuses_at_once_and_says_how_far() -> None:
    decision = queue(ONE, state=TickState(after(3600)))
    error = refusal(decision.outcomes[0])
    assert isinstance(error, ClockBehind)
    assert "3600 s behind" in str(error)
    assert error.retry_after == 3600
    assert decision.state == TickState(after(3600))


def test_minting_recovers_when_the_clock_has_caught_up() -> None:
    state = TickState(after(3600))
    reading = READING._replace(wall=after(3601))
    assert dates(queue(ONE, state=state, reading=reading).outcomes[0])[0] > after(3600)


def test_a_little_behind_is_waited_for() -> None:
    decision = queue(ONE, state=TickState(after(2)))
    assert after(2) < dates(decision.outcomes[0])[0] <= after(4)


def test_a_jump_is_refused_and_forgiven_when_it_is_taken_back() -> None:
    state = queue(ONE).state
    for seconds in (-3600, 6, 86_400):
        jumped = Reading(after(seconds + 1), READING.uptime + 10**9, "boot")
        decision = queue(ONE, state=state, reading=jumped)
        assert isinstance(decision.outcomes[0], ClockJumped)
        assert decision.state == state
    back = Reading(after(2), READING.uptime + 2 * 10**9, "boot")
    assert dates(queue(ONE, state=state, reading=back).outcomes[0])


def test_a_step_that_is_too_small_to_notice_is_no_jump() -> None:
    state = queue(ONE).state
    for seconds in (4, -4):
        reading = Reading(after(seconds + 10), READING.uptime + 10 * 10**9, "boot")
        assert dates(queue(ONE, state=state, reading=reading).outcomes[0])


def test_drift_over_a_long_time_is_no_jump() -> None:
    state = queue(ONE).state
    month = 30 * 86_400
    reading = Reading(after(month + 1000), READING.uptime + month * 10**9, "boot")
    assert dates(queue(ONE, state=state, reading=reading).outcomes[0])


def test_after_a_restart_uptimes_are_not_compared() -> None:
    state = queue(ONE).state
    reading = Reading(after(86_400), 0, "another boot")
    assert dates(queue(ONE, state=state, reading=reading).outcomes[0])


def test_a_clock_before_the_software_is_refused_unless_accepted() -> None:
    reading = READING._replace(wall=Instant.parse("2020-01-01T00:00:00Z"))
    assert isinstance(queue(ONE, reading=reading).outcomes[0], ClockBeforeBuild)
    accepted = TickState(accepted=Instant.parse("2019-12-31T00:00:00Z"))
    assert dates(queue(ONE, reading=reading, state=accepted).outcomes[0])
    later = TickState(accepted=Instant.parse("2020-01-02T00:00:00Z"))
    assert isinstance(queue(ONE, reading=reading, state=later).outcomes[0], ClockBeforeBuild)


# Dates issued ahead.


def test_dates_issued_ahead_are_passed_over() -> None:
    state = TickState(after("-0.5"), (Span(after("-0.2"), after("-0.1")), Span(after("0.4"), after("0.6"))))
    decision = queue(*[ONE] * 9, state=state, rules=Rules(granularity=Granularity.parse("0.1")))
    issued = [date for outcome in decision.outcomes for date in dates(outcome)]
    assert issued[0] > after("0.6")
    assert decision.state.ahead == ()


def test_dates_issued_ahead_are_kept_until_they_are_passed() -> None:
    span = Span(after(60), after(70))
    decision = queue(ONE, state=TickState(after(-100), (Span(after(-90), after(-80)), span)))
    assert decision.state.ahead == (span,)


def test_what_was_issued_a_little_ahead_is_waited_for() -> None:
    """At the coarsest granularity that waits for next to nothing more than that."""
    state = TickState(after(-1), (Span(after("-0.5"), after(3)),))
    decision = queue(ONE, state=state)
    assert str(dates(decision.outcomes[0])[0]) == "2027-03-01T12:00:33.2501Z"


def test_what_was_issued_far_ahead_is_not_waited_for() -> None:
    state = TickState(after(-1), (Span(after("-0.5"), after(300)),))
    decision = queue(ONE, state=state)
    assert isinstance(decision.outcomes[0], QueueTooLong)
    assert decision.state == state


def test_a_finer_granularity_fits_before_what_was_issued_ahead() -> None:
    state = TickState(after("-0.1"), (Span(after("0.001"), after(300)),))
    decision = queue(*[ONE] * 100, state=state)
    issued = [date for outcome in decision.outcomes for date in dates(outcome)]
    assert issued[-1] < after("0.001")
    assert decision.batch is not None
    assert decision.batch.granularity > FINEST


# After a gap (E57, E58).


def half(limit: int) -> int:
    return limit // 2


@pytest.mark.parametrize("granularity", [None, "60", "1", "0.01"])
@pytest.mark.parametrize("last", [None, after(-90), after(2)])
def test_after_a_gap_dates_are_later_than_now_and_than_the_last(granularity: str | None, last: Instant | None) -> None:
    rules = Rules(None if granularity is None else Granularity.parse(granularity))
    for gap in (Gap.BEGINNING, Gap.LOST_TRACK):
        decision = queue(ONE, state=TickState(last, gap=gap), rules=rules)
        assert dates(decision.outcomes[0])[0] > max(NOW, last or NOW)
        assert decision.state.gap is Gap.NONE
        assert decision.state.resumed == (NOW if gap is Gap.LOST_TRACK else None)


def test_a_refusal_closes_no_gap() -> None:
    state = TickState(after(100), gap=Gap.LOST_TRACK)
    assert queue(ONE, state=state).state == state


@pytest.mark.parametrize(("passed", "is_spread"), [(0, True), (599, True), (601, False), (-60, True)])
def test_dates_are_spread_for_ten_minutes_after_track_was_lost(passed: int, *, is_spread: bool) -> None:
    state = TickState(after(-10_000), resumed=after(-passed))
    decision = queue(ONE, ONE, state=state, rules=Rules(), spread=half)
    first, second = (dates(outcome)[0] for outcome in decision.outcomes)
    assert (first == after("0.005000001"), second == after("0.005000002")) == (is_spread, is_spread)
    assert decision.state.resumed == state.resumed


def test_where_the_last_date_is_ahead_it_is_left_behind_by_little() -> None:
    state = TickState(after(3), resumed=NOW)
    (outcome,) = queue(ONE, state=state, rules=Rules(), spread=half).outcomes
    assert dates(outcome) == [after("3.000050001")]


def test_a_fixed_granularity_is_not_spread() -> None:
    state = TickState(after(-10), resumed=NOW)
    (outcome,) = queue(ONE, state=state, rules=Rules(SECOND), spread=half).outcomes
    assert dates(outcome)[0].fraction == ""


def test_spread_dates_pass_over_what_was_issued_ahead() -> None:
    span = Span(after(0), after("0.5"))
    state = TickState(after(-10), (span,), resumed=NOW)
    (outcome,) = queue(ONE, state=state, rules=Rules(), spread=half).outcomes
    assert dates(outcome)[0] > span.last


# --- whether the machine's clock can be believed ---------------------------------------------------------------------


WHOLE_SECOND = Instant.parse("2027-03-01T12:00:30Z")
LIMIT = Fraction(5)


def at(seconds: int | str) -> Instant:
    return Instant.from_fraction(WHOLE_SECOND.seconds + Fraction(seconds))


def reading(wall: int | str, uptime: int, boot: str = "boot") -> Reading:
    return Reading(at(wall), uptime * 10**9, boot)


@pytest.mark.parametrize(("wall", "uptime"), [(0, 0), (100, 100), (105, 100), (95, 100), (86_400 + 80, 86_400)])
def test_what_the_uptime_explains_is_no_jump(wall: int, uptime: int) -> None:
    check_jump(reading(0, 0), reading(wall, uptime), LIMIT)


@pytest.mark.parametrize(
    ("wall", "uptime"), [(6, 0), (-6, 0), (106, 100), (94, 100), (0, 3600), (86_400 + 100, 86_400)]
)
def test_what_it_does_not_is_a_jump(wall: int, uptime: int) -> None:
    with pytest.raises(ClockJumped):
        check_jump(reading(0, 0), reading(wall, uptime), LIMIT)


def test_without_a_reading_of_this_boot_there_is_no_jump() -> None:
    check_jump(None, reading(0, 0), LIMIT)
    check_jump(reading(0, 0, "another"), reading(86_400, 0), LIMIT)


def test_a_clock_may_be_behind_by_the_limit_and_no_more() -> None:
    check_behind(WHOLE_SECOND, None, LIMIT)
    check_behind(WHOLE_SECOND, at(-1), LIMIT)
    check_behind(WHOLE_SECOND, at(5), LIMIT)
    with pytest.raises(ClockBehind) as error:
        check_behind(WHOLE_SECOND, at("5.001"), LIMIT)
    assert error.value.retry_after == Fraction("5.001")


def test_the_build_date_is_the_earliest_honest_time() -> None:
    check_build_date(WHOLE_SECOND, None, WHOLE_SECOND)
    check_build_date(at(1), None, WHOLE_SECOND)
    check_build_date(at(-1), at(-2), WHOLE_SECOND)
    check_build_date(at(-2), at(-2), WHOLE_SECOND)
    for accepted in (None, at(5), at(0)):
        with pytest.raises(ClockBeforeBuild):
            check_build_date(at(-1), accepted, WHOLE_SECOND)


def test_accepting_a_clock_keeps_what_lies_ahead_apart() -> None:
    past, straddling = Span(at(-9), at(-8)), Span(at(-1), at(1))
    near, far = Span(at(2), at(3)), Span(at(100), at(100))
    state = with_accepted_clock(TickState(at(100)), reading(0, 7), [far, past, near, straddling])
    assert state == TickState(at(-8), (Span(at(-1), at(3)), far), reading(0, 7), WHOLE_SECOND)


def test_accepting_a_clock_set_forward_keeps_nothing_apart() -> None:
    state = with_accepted_clock(TickState(at(-8)), reading(0, 7), [Span(at(-9), at(-8))])
    assert state == TickState(at(-8), (), reading(0, 7), WHOLE_SECOND)


def test_accepting_a_clock_before_anything_was_minted() -> None:
    assert with_accepted_clock(TickState(), reading(0, 7), []) == TickState(None, (), reading(0, 7), WHOLE_SECOND)


def test_many_labels_ahead_are_short_to_remember() -> None:
    issued = [Span(at(second), at(second)) for second in range(1, 10_000)]
    assert with_accepted_clock(TickState(at(9_999)), reading(0, 7), issued).ahead == (Span(at(1), at(9_999)),)
