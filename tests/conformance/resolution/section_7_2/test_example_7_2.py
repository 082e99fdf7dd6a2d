"""R Example 7.2: the request for inclusion. It prints `www.urlib.net` for `urlib.net` (E30)."""

from __future__ import annotations

from ibi.standard.label import parse
from ibi.standard.messages import (
    ArchiveProtocol,
    InclusionRequest,
    RegistrationKey,
    ServiceSubject,
    ip_address,
    parse_request,
    resolver_service,
    subject_of,
)

PAIRS = [
    "servicesubject=inclusionRequest",
    "archiveaddress=mtc-m21.sid.inpe.br",
    "archiveserviceibi=sid.inpe.br/mtc-m21/2012/06.05.15.34.39",
    "archiveip=150.163.34.239",
    "archiveprotocol=HTTP",
    "archiveplatformversion=2014:11.09.02.16.15",
    "archiveadmemailaddress=banon@dpi.inpe.br",
    "registrationkey=1234567890",
]
REQUEST = InclusionRequest(
    archive_address="mtc-m21.sid.inpe.br",
    archive_service_ibi=parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39"),
    archive_ip=ip_address("150.163.34.239"),
    archive_protocol=ArchiveProtocol.HTTP,
    platform_version="2014:11.09.02.16.15",
    admin_mail_address="banon@dpi.inpe.br",
    registration_key=RegistrationKey("1234567890"),
)


def test_the_example_is_read() -> None:
    assert subject_of("&".join(PAIRS)) is ServiceSubject.INCLUSION_REQUEST
    assert parse_request("&".join(PAIRS)) == InclusionRequest.from_query("&".join(PAIRS)) == REQUEST


def test_the_example_is_written_with_its_pairs_sorted() -> None:
    written = REQUEST.to_url("urlib.net", resolver_service())
    assert written == f"http://urlib.net/J8LNKB5R7W/3FUQHC5?{'&'.join(sorted(PAIRS))}"
