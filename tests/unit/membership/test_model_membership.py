"""What an Archive sends to its resolver next, and when (R Figure 7.1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.membership.model.membership import LONGEST_WAIT, Membership, Phase, RequestFailure, exclusion_of
from ibi.standard.label import parse
from ibi.standard.messages import (
    ArchiveProtocol,
    ErrorAnswer,
    ExclusionRequest,
    ExclusionStatus,
    InclusionRequest,
    InclusionStatus,
    RegistrationKey,
    ServiceSubject,
    ip_address,
)

AWAY = RequestFailure("away", sent=False)
CUT = RequestFailure("cut")
ASKING = Membership().after_switch(on=True)
IN = ASKING.after(InclusionStatus(confirmed=True))
LEAVING = IN.after_switch(on=False)


def test_the_way_in_and_out() -> None:
    assert (Membership().request, ASKING.request) == (None, ServiceSubject.INCLUSION_REQUEST)
    assert (IN.phase, IN.confirmed, IN.request) == (Phase.INCLUDED, True, None)
    assert (LEAVING.phase, LEAVING.request) == (Phase.EXCLUDING, ServiceSubject.EXCLUSION_REQUEST)
    assert LEAVING.after(ExclusionStatus()) == Membership()


UNCONFIRMED = InclusionStatus(confirmed=False)


def test_an_archive_is_included_even_if_the_resolver_could_not_call_back() -> None:
    there = ASKING.after(UNCONFIRMED)
    assert (there.phase, there.confirmed, there.known, there.reason) == (Phase.INCLUDED, False, True, None)


def test_an_archive_asks_again_until_the_resolver_has_got_through() -> None:
    each, waits = ASKING.after(AWAY).after(AWAY).after(UNCONFIRMED), []
    for _ in range(12):
        assert (each.phase, each.request) == (Phase.INCLUDED, ServiceSubject.INCLUSION_REQUEST)
        assert each.after_switch(on=True) == each
        waits.append(each.wait(0))
        each = each.after(UNCONFIRMED)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    assert each.after(InclusionStatus(confirmed=True)) == IN


def test_an_archive_stays_included_while_it_cannot_ask_whether_it_is_reached() -> None:
    failed = ASKING.after(UNCONFIRMED).after(AWAY)
    assert (failed.phase, failed.known, failed.reason, failed.wait(0)) == (Phase.INCLUDED, True, "away", 2)
    assert failed.after(UNCONFIRMED).reason is None


def test_whom_the_resolver_refuses_is_not_included_any_longer() -> None:
    refused = ASKING.after(UNCONFIRMED).after(ErrorAnswer("not registered"))
    assert (refused.phase, refused.reason) == (Phase.INCLUDING, "not registered")


def test_unconfirmed_it_says_good_bye_all_the_same() -> None:
    assert ASKING.after(UNCONFIRMED).after_switch(on=False).phase is Phase.EXCLUDING


@pytest.mark.parametrize("each", [Membership(), ASKING, IN, LEAVING])
def test_looking_at_the_switch_twice_changes_nothing(each: Membership) -> None:
    for on in (True, False):
        assert each.after_switch(on=on).after_switch(on=on) == each.after_switch(on=on)


def test_waits_double_up_to_ten_minutes() -> None:
    waits, each = [], ASKING
    for _ in range(13):
        waits.append(each.wait(0))
        each = each.after(AWAY)
    assert waits == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    assert replace(each, failures=10**9).wait(0) == LONGEST_WAIT


def test_chance_takes_up_to_half_of_a_wait() -> None:
    failed = ASKING.after(AWAY).after(AWAY)
    assert (failed.wait(0), failed.wait(0.5), failed.wait(1)) == (2, 1.5, 1)


def test_a_failure_is_told_until_it_has_passed() -> None:
    failed = ASKING.after(AWAY)
    assert (failed.phase, failed.reason, failed.failures) == (Phase.INCLUDING, "away", 1)
    assert failed.after_switch(on=True) == failed
    assert failed.after(InclusionStatus(confirmed=True)) == IN


def test_an_archive_that_is_not_registered_asks_on() -> None:
    refused = ASKING.after(ErrorAnswer("not registered"))
    assert (refused.request, refused.reason) == (ServiceSubject.INCLUSION_REQUEST, "not registered")
    assert refused.wait(0) == 1


def test_to_whom_it_never_got_through_it_says_no_good_bye() -> None:
    assert ASKING.after(AWAY).after_switch(on=False) == Membership()
    assert ASKING.after(ErrorAnswer("not registered")).after_switch(on=False) == Membership()


def test_who_may_have_got_the_request_is_told_that_it_ended() -> None:
    assert ASKING.after(CUT).after(AWAY).after_switch(on=False).phase is Phase.EXCLUDING


def test_a_good_bye_is_repeated_until_it_is_heard_or_refused() -> None:
    failed = LEAVING.after(CUT)
    assert (failed.phase, failed.known, failed.wait(0)) == (Phase.EXCLUDING, True, 1)
    assert failed.after(ErrorAnswer("who are you")) == Membership(reason="who are you")


def test_switched_on_again_it_asks_at_once() -> None:
    again = LEAVING.after(CUT).after(CUT).after_switch(on=True)
    assert (again.phase, again.wait(0), again.known, again.reason) == (Phase.INCLUDING, 0, True, None)


def test_both_requests_have_the_same_pairs() -> None:
    inclusion = InclusionRequest(
        archive_address="mtc-m21.sid.inpe.br",
        archive_service_ibi=parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39"),
        archive_ip=ip_address("150.163.34.239"),
        archive_protocol=ArchiveProtocol.HTTP,
        platform_version="2014:11.09.02.16.15",
        admin_mail_address="banon@dpi.inpe.br",
        registration_key=RegistrationKey("1234567890"),
    )
    exclusion = exclusion_of(inclusion)
    assert type(exclusion) is ExclusionRequest
    assert exclusion.to_query() == inclusion.to_query().replace("inclusionRequest", "exclusionRequest")
