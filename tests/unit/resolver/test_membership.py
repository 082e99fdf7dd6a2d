"""What each message makes of a registration."""

from __future__ import annotations

from dataclasses import replace

from ibi.instant import Instant
from ibi.label import parse
from ibi.messages import ArchiveProtocol, InclusionRequest, LabelForms, RegistrationKey, ip_address
from ibi.model.registration import Registration
from ibi.model.visibility import network
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.membership import archive_ref, called_back, excluded, included

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


def confirmed(registration: Registration, *, yes: bool = True) -> Registration:
    assert registration.inclusion is not None
    return called_back(registration, registration.inclusion, confirmed=yes)


def test_one_that_is_not_included_is_nobody_to_ask() -> None:
    assert archive_ref(REGISTERED) is None
    assert archive_ref(excluded(included(REGISTERED, REQUEST, NOW))) is None


def test_one_that_is_included_is_asked_with_what_it_was_registered_with() -> None:
    assert archive_ref(included(REGISTERED, REQUEST, NOW)) == ArchiveRef(
        SERVICE, "mtc-m21.sid.inpe.br", ArchiveProtocol.HTTP, REGISTERED.hosts, REGISTERED.networks
    )


def test_it_is_not_confirmed_before_it_was_called() -> None:
    inclusion = included(REGISTERED, REQUEST, NOW).inclusion
    assert inclusion is not None
    assert not inclusion.confirmed
    assert inclusion.since == NOW


def test_the_same_again_changes_nothing() -> None:
    once = confirmed(included(REGISTERED, REQUEST, NOW))
    assert included(once, REQUEST, LATER) == once


def test_a_new_address_begins_anew_and_other_news_do_not() -> None:
    once = confirmed(included(REGISTERED, REQUEST, NOW))
    moved = included(once, replace(REQUEST, archive_address="mtc-m22.sid.inpe.br"), LATER).inclusion
    assert moved is not None
    assert (moved.confirmed, moved.since) == (False, LATER)
    updated = included(once, replace(REQUEST, platform_version="2"), LATER).inclusion
    assert updated is not None
    assert (updated.confirmed, updated.since, updated.platform_version) == (True, LATER, "2")
    secured = included(once, replace(REQUEST, archive_protocol=ArchiveProtocol.HTTPS), LATER).inclusion
    assert secured is not None
    assert not secured.confirmed


def test_one_that_stops_answering_is_no_longer_confirmed() -> None:
    once = confirmed(included(REGISTERED, REQUEST, NOW))
    again = confirmed(once, yes=False)
    assert again.inclusion is not None
    assert not again.inclusion.confirmed


def test_a_call_to_where_it_was_says_nothing_of_where_it_is() -> None:
    before = included(REGISTERED, REQUEST, NOW)
    assert before.inclusion is not None
    moved = included(before, replace(REQUEST, archive_address="mtc-m22.sid.inpe.br"), LATER)
    assert called_back(moved, before.inclusion, confirmed=True) == moved
    assert called_back(excluded(before), before.inclusion, confirmed=True) == REGISTERED
