"""E22: `archiveprotocol=HTTPS` is an extension."""

from __future__ import annotations

from ibi.messages import ArchiveProtocol, InclusionRequest, service_url

QUERY = (
    "archiveaddress=host.org&archiveadmemailaddress=a@host.org&archiveip=150.163.34.239&archiveplatformversion=1&"
    "archiveprotocol=HTTPS&archiveserviceibi=LK47B6W/362SFKH&registrationkey=1234567890&servicesubject=inclusionRequest"
)


def test_an_archive_may_speak_https() -> None:
    request = InclusionRequest.from_query(QUERY)
    assert request.archive_protocol is ArchiveProtocol.HTTPS
    assert request.to_query() == QUERY


def test_such_an_archive_is_asked_by_https() -> None:
    request = InclusionRequest.from_query(QUERY)
    url = service_url(request.archive_address, request.archive_service_ibi, request.archive_protocol)
    assert url == "https://host.org/LK47B6W/362SFKH"
