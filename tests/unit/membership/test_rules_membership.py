"""What each message makes of a registration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.membership.model.registration import FailedContact, Inclusion, Registration
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import (
    SILENCE,
    CallBack,
    after_call_back,
    after_exclusion,
    after_inclusion,
    after_silence,
    archive_ref,
    is_proven,
    with_claimed_forms,
    with_waiting_form,
)
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import ArchiveProtocol, InclusionRequest, LabelForms, RegistrationKey, ip_address
from ibi.standard.networks import network
from ibi.standard.reply import Failure

NOW = Instant.parse("2026-11-15T12:00:00Z")
LATER = Instant.parse("2026-11-15T13:00:00Z")
SERVICE = LabelForms.of(parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39"))
REGISTERED = Registration(SERVICE, "hash", NOW, hosts=frozenset({"cdn.inpe.br"}), networks=(network("150.163.0.0/16"),))
REQUEST = InclusionRequest(
    archive_address="mtc-m21.sid.inpe.br",
    archive_service_ibi=SERVICE.labels[0],
    archive_ip=ip_address("150.163.34.239"),
    archive_protocol=ArchiveProtocol.HTTP,
    platform_version="1",
    admin_mail_address="banon@dpi.inpe.br",
    registration_key=RegistrationKey("1234567890"),
)


def confirmed(registration: Registration, *, yes: bool = True, at: Instant = NOW) -> Registration:
    assert registration.inclusion is not None
    return after_call_back(registration, registration.inclusion, CallBack(yes), at)


def test_one_that_is_not_included_is_not_asked() -> None:
    assert archive_ref(REGISTERED) is None
    assert archive_ref(after_exclusion(after_inclusion(REGISTERED, REQUEST, NOW))) is None


def test_one_that_is_included_is_asked_with_what_it_was_registered_with() -> None:
    assert archive_ref(after_inclusion(REGISTERED, REQUEST, NOW)) == ArchiveRef(
        SERVICE, "mtc-m21.sid.inpe.br", ArchiveProtocol.HTTP, REGISTERED.hosts, REGISTERED.networks
    )


def test_an_archive_is_not_confirmed_before_it_was_called() -> None:
    inclusion = after_inclusion(REGISTERED, REQUEST, NOW).inclusion
    assert inclusion is not None
    assert not inclusion.confirmed
    assert inclusion.since == NOW


def test_the_same_again_changes_nothing() -> None:
    once = confirmed(after_inclusion(REGISTERED, REQUEST, NOW))
    assert after_inclusion(once, REQUEST, LATER) == once


def later(seconds: int) -> Instant:
    return Instant(NOW.seconds + seconds)


MOVED = replace(REQUEST, archive_address="mtc-m22.sid.inpe.br")


def test_other_news_from_the_same_address_leave_it_confirmed() -> None:
    once = confirmed(after_inclusion(REGISTERED, REQUEST, NOW))
    updated = after_inclusion(once, replace(REQUEST, platform_version="2"), LATER).inclusion
    assert updated is not None
    assert (updated.confirmed, updated.answered, updated.since, updated.platform_version) == (True, NOW, LATER, "2")


# --- another address (E60) --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("request_", [MOVED, replace(REQUEST, archive_protocol=ArchiveProtocol.HTTPS)])
def test_a_new_address_is_pending_while_the_one_before_counts(request_: InclusionRequest) -> None:
    once = confirmed(after_inclusion(REGISTERED, REQUEST, NOW))
    moved = after_inclusion(once, request_, LATER)
    assert moved.inclusion == once.inclusion
    assert moved.pending is not None
    assert (moved.pending.address, moved.pending.confirmed, moved.pending.since) == (
        request_.archive_address,
        False,
        LATER,
    )
    assert archive_ref(moved) == archive_ref(once)


def test_a_new_address_counts_at_once_if_the_one_before_never_answered() -> None:
    moved = after_inclusion(confirmed(after_inclusion(REGISTERED, REQUEST, NOW), yes=False), MOVED, LATER)
    assert moved.inclusion is not None
    assert (moved.inclusion.address, moved.pending) == ("mtc-m22.sid.inpe.br", None)


def test_one_that_does_not_answer_just_now_is_not_given_up() -> None:
    silent = confirmed(confirmed(after_inclusion(REGISTERED, REQUEST, NOW)), yes=False)
    assert after_inclusion(silent, MOVED, LATER).pending is not None


def test_a_pending_address_counts_once_it_confirms() -> None:
    moved = after_inclusion(confirmed(after_inclusion(REGISTERED, REQUEST, NOW)), MOVED, later(60))
    assert moved.pending is not None
    refused = after_call_back(moved, moved.pending, CallBack(False, None, Failure.BAD_CERTIFICATE), later(120))
    assert refused == replace(moved, failed=FailedContact("bad-certificate", later(120)))
    assert moved.inclusion is not None
    assert after_call_back(refused, moved.inclusion, CallBack(confirmed=True), later(121)).failed == refused.failed
    after = after_call_back(moved, moved.pending, CallBack(confirmed=True), later(180))
    assert after.pending is None
    assert after.inclusion is not None
    assert (after.inclusion.address, after.inclusion.confirmed) == ("mtc-m22.sid.inpe.br", True)
    assert after.inclusion.since == after.inclusion.answered == later(180)


def test_asking_again_for_the_pending_address_does_not_begin_its_hour_anew() -> None:
    moved = after_inclusion(confirmed(after_inclusion(REGISTERED, REQUEST, NOW)), MOVED, later(60))
    assert after_inclusion(moved, MOVED, later(600)) == moved
    renewed = after_inclusion(moved, replace(MOVED, platform_version="2"), later(600)).pending
    assert renewed is not None
    assert (renewed.since, renewed.platform_version) == (later(60), "2")
    elsewhere = after_inclusion(moved, replace(MOVED, archive_address="mtc-m23.sid.inpe.br"), later(600)).pending
    assert elsewhere is not None
    assert elsewhere.since == later(600)


def test_asking_for_the_address_before_takes_the_pending_one_back() -> None:
    once = confirmed(after_inclusion(REGISTERED, REQUEST, NOW))
    assert after_inclusion(after_inclusion(once, MOVED, LATER), REQUEST, LATER) == once


def test_a_pending_address_counts_after_an_hour_of_silence_and_not_before() -> None:
    moved = after_inclusion(confirmed(after_inclusion(REGISTERED, REQUEST, NOW)), MOVED, later(100_000))
    assert after_silence(moved, later(100_000 + SILENCE - 1)) == moved
    after = after_silence(moved, later(100_000 + SILENCE))
    assert after.inclusion is not None
    assert (after.inclusion.address, after.inclusion.confirmed, after.inclusion.answered, after.pending) == (
        "mtc-m22.sid.inpe.br",
        False,
        None,
        None,
    )


def test_every_answer_of_the_address_before_begins_the_hour_anew() -> None:
    moved = after_inclusion(confirmed(after_inclusion(REGISTERED, REQUEST, NOW)), MOVED, later(60))
    heard = confirmed(moved, at=later(3000))
    assert heard.inclusion is not None
    assert heard.inclusion.answered == later(3000)
    assert after_silence(heard, later(60 + SILENCE)) == heard
    assert after_silence(heard, later(3000 + SILENCE)).pending is None


def test_an_exclusion_ends_what_is_pending() -> None:
    moved = after_inclusion(confirmed(after_inclusion(REGISTERED, REQUEST, NOW)), MOVED, LATER)
    assert after_exclusion(moved) == replace(REGISTERED, last_inclusion=moved.inclusion)
    again = after_inclusion(after_exclusion(moved), MOVED, LATER)
    assert again.inclusion is not None
    assert again.inclusion.address == "mtc-m22.sid.inpe.br"


def test_an_answer_is_noted_every_ten_minutes_at_most_while_nothing_is_pending() -> None:
    once = confirmed(after_inclusion(REGISTERED, REQUEST, NOW))
    assert confirmed(once, at=later(599)) == once
    noted = confirmed(once, at=later(600)).inclusion
    assert noted is not None
    assert noted.answered == later(600)


# --- the other form of its label (E59) --------------------------------------------------------------------------------

BOTH = LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
HERE = Inclusion(
    "mtc-m19.sid.inpe.br:8080", ip_address("192.0.2.1"), ArchiveProtocol.HTTP, "1", "banon@dpi.inpe.br", NOW
)


def test_the_form_that_is_missing_waits() -> None:
    assert BOTH.rep is not None
    assert BOTH.ibip is not None
    by_rep, by_ibip = (
        replace(REGISTERED, service=LabelForms(BOTH.rep)),
        replace(REGISTERED, service=LabelForms(ibip=BOTH.ibip)),
    )
    assert with_claimed_forms(by_rep, BOTH.labels).waiting == BOTH.ibip
    assert with_claimed_forms(by_ibip, BOTH.labels).waiting == BOTH.rep
    assert with_waiting_form(with_claimed_forms(by_rep, BOTH.labels)) == replace(REGISTERED, service=BOTH)
    assert with_waiting_form(by_rep) == by_rep


def test_a_form_that_is_known_or_of_another_date_does_not_wait() -> None:
    whole = replace(REGISTERED, service=BOTH)
    assert with_claimed_forms(whole, [parse("8JMKD3MGP8W/3EPGUE5")]) == whole
    assert with_claimed_forms(REGISTERED, BOTH.labels) == REGISTERED


def test_a_repository_name_is_proven_by_the_host_that_was_dialled_whatever_the_port() -> None:
    for label in ("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "SID.inpe.br/MTC-m19.8765/2013/09.04.12.27.57"):
        assert is_proven(parse(label), HERE, CallBack(confirmed=True))
        assert not is_proven(parse(label), HERE, CallBack(confirmed=False))
        assert not is_proven(parse(label), replace(HERE, address="evil.example.org"), CallBack(confirmed=True))


def test_an_ibip_is_proven_by_the_address_that_was_connected_to() -> None:
    assert BOTH.ibip is not None
    ip = ip_address(BOTH.ibip.ip)
    assert is_proven(BOTH.ibip, HERE, CallBack(confirmed=True, ip=ip))
    assert not is_proven(BOTH.ibip, HERE, CallBack(confirmed=False, ip=ip))
    assert not is_proven(BOTH.ibip, HERE, CallBack(confirmed=True))
    # What the inclusion says of its own address proves nothing.
    assert not is_proven(BOTH.ibip, replace(HERE, ip=ip), CallBack(confirmed=True, ip=ip_address("192.0.2.1")))


def test_one_that_stops_answering_is_no_longer_confirmed() -> None:
    once = confirmed(after_inclusion(REGISTERED, REQUEST, NOW))
    again = confirmed(once, yes=False)
    assert again.inclusion is not None
    assert not again.inclusion.confirmed


def test_a_call_to_where_it_was_says_nothing_of_where_it_is() -> None:
    before = after_inclusion(REGISTERED, REQUEST, NOW)
    assert before.inclusion is not None
    moved = after_inclusion(before, replace(REQUEST, archive_address="mtc-m22.sid.inpe.br"), LATER)
    assert after_call_back(moved, before.inclusion, CallBack(confirmed=True), LATER) == moved
    excluded = after_exclusion(before)
    assert after_call_back(excluded, before.inclusion, CallBack(confirmed=True), LATER) == excluded
