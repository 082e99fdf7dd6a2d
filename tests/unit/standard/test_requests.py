from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from ipaddress import IPv6Address

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import parse
from ibi.standard.messages import (
    Acknowledgment,
    ArchiveProtocol,
    ContentType,
    ExclusionRequest,
    InclusionConfirmationRequest,
    InclusionRequest,
    RegistrationKey,
    Request,
    ServiceSubject,
    State,
    UnknownSubject,
    UrlKey,
    UrlRequest,
    ip_address,
    ip_addresses,
    parse_request,
    service_url,
    subject_of,
)
from ibi.standard.messages.values import IpAddress

CLIENTS = ip_addresses("150.163.2.175")
LABEL = parse("LK47B6W/362SFKH")


def membership(kind: type[InclusionRequest | ExclusionRequest], address: str = "host.org") -> Request:
    return kind(
        archive_address=address,
        archive_service_ibi=LABEL,
        archive_ip=ip_address("150.163.34.239"),
        archive_protocol=ArchiveProtocol.HTTP,
        platform_version="1",
        admin_mail_address="a@host.org",
        registration_key=RegistrationKey("1234567890"),
    )


def acknowledgment(url: str = "http://host/x", state: State | None = State.COPY) -> Acknowledgment:
    return Acknowledgment(
        CLIENTS, ContentType.DATA, url, "http://urlib.net/LK47B6W/362SFKH", UrlKey("1424636122"), state
    )


REQUESTS = [
    membership(InclusionRequest),
    membership(ExclusionRequest),
    InclusionConfirmationRequest(),
    UrlRequest(CLIENTS, LABEL),
    acknowledgment(),
    acknowledgment().for_robot(),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.subject.value)
def test_every_request_is_read_as_it_was_written(request_: Request) -> None:
    assert parse_request(request_.to_query()) == request_
    assert type(request_).from_query(request_.to_query()) == request_
    assert subject_of(request_.to_query()) is request_.subject


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.subject.value)
def test_every_request_is_frozen_hashable_and_can_be_pickled(request_: Request) -> None:
    assert {request_, pickle.loads(pickle.dumps(request_))} == {request_}
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        request_.subject = ServiceSubject.URL_REQUEST  # type: ignore[misc]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.subject.value)
def test_a_request_of_one_kind_is_not_read_as_another(request_: Request) -> None:
    other = UrlRequest if request_.subject is not ServiceSubject.URL_REQUEST else Acknowledgment
    with pytest.raises(InvalidMessage, match="expected"):
        other.from_query(request_.to_query())


def test_a_query_without_a_subject_is_no_request() -> None:
    assert subject_of("") is None
    assert subject_of("x=1&ibiurl.verblist=GetMetadata") is None


def test_a_subject_is_read_in_any_case() -> None:
    assert parse_request("servicesubject=INCLUSIONCONFIRMATIONREQUEST") == InclusionConfirmationRequest()


@pytest.mark.parametrize("subject", ["", "urlrequests", "ac\u212anowledgment", "urlRequest "])
def test_an_unknown_subject_is_refused(subject: str) -> None:
    with pytest.raises(UnknownSubject):
        subject_of(f"servicesubject={subject}")


@pytest.mark.parametrize("address", ["host.org/x", "host.org?x", "a@b", "", "host.org\r\n"])
def test_no_url_is_built_of_an_address_that_is_none(address: str) -> None:
    with pytest.raises(InvalidMessage):
        service_url(address, LABEL)
    with pytest.raises(InvalidMessage):
        membership(InclusionRequest, address)


def test_a_request_for_a_url_needs_a_client_and_not_a_crowd() -> None:
    UrlRequest(CLIENTS * 64, LABEL)
    for clients in ((), CLIENTS * 65):
        with pytest.raises(InvalidMessage, match="one to 64"):
            UrlRequest(clients, LABEL)
    with pytest.raises(InvalidMessage, match="one to 64"):
        ip_addresses("150.163.2.175 " * 65)


def test_an_address_with_a_scope_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="scope"):
        UrlRequest((IPv6Address("fe80::1%eth0"),), LABEL)


def test_a_path_gets_its_leading_slash_when_the_request_is_made() -> None:
    assert UrlRequest(CLIENTS, LABEL, file_path="x") == UrlRequest(CLIENTS, LABEL, file_path="/x")
    assert UrlRequest(CLIENTS, LABEL, file_path="/") == UrlRequest(CLIENTS, LABEL)


@pytest.mark.parametrize("path", ["/../x", "/a\ud800", "/a\\b", "/a\nb"])
def test_a_path_is_checked_when_the_request_is_made(path: str) -> None:
    with pytest.raises(InvalidMessage):
        UrlRequest(CLIENTS, LABEL, file_path=path)


def test_no_archive_is_thanked_for_what_was_deleted() -> None:
    with pytest.raises(InvalidMessage, match="deleted"):
        acknowledgment(state=State.DELETED)


def test_a_url_is_made_one_that_can_travel() -> None:
    assert acknowledgment("http://host/a b|ó\\").url == "http://host/a%20b%7C%C3%B3%5C"


@pytest.mark.parametrize("url", ["http\u017f://host/", "http://host\u3002org/", "http://ho st/", "http://host/\ud800"])
def test_a_url_that_programs_would_read_differently_is_refused(url: str) -> None:
    with pytest.raises(InvalidMessage):
        acknowledgment(url)


def test_an_empty_optional_pair_is_none() -> None:
    query = acknowledgment().to_query().replace("state=Copy", "state=&ibi=")
    assert Acknowledgment.from_query(query).state is Acknowledgment.from_query(query).ibi is None


@pytest.mark.parametrize("clients", ["192.0.2.1", "2001:db8::7 192.0.2.9"])
def test_thanks_on_behalf_of_others_differ_in_nothing_else(clients: str) -> None:
    first = acknowledgment("http://host/a b", State.ORIGINAL)
    others = first.for_clients(ip_addresses(clients))
    assert others == replace(first, client_addresses=ip_addresses(clients))
    assert first == acknowledgment("http://host/a b", State.ORIGINAL)


@pytest.mark.parametrize("clients", [(), (IPv6Address("fe80::1%eth0"),), CLIENTS * 65])
def test_the_others_are_looked_at_like_the_first(clients: tuple[IpAddress, ...]) -> None:
    with pytest.raises(InvalidMessage, match=r"clientinformation\.ipaddress"):
        acknowledgment().for_clients(clients)
