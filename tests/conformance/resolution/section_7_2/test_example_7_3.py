"""R Example 7.3: the request for exclusion. Only its subject differs from Example 7.2."""

from __future__ import annotations

from ibi.standard.messages import (
    ExclusionRequest,
    InclusionRequest,
    ServiceSubject,
    parse_request,
    resolver_service,
    subject_of,
)

PAIRS = [
    "servicesubject=exclusionRequest",
    "archiveaddress=mtc-m21.sid.inpe.br",
    "archiveserviceibi=sid.inpe.br/mtc-m21/2012/06.05.15.34.39",
    "archiveip=150.163.34.239",
    "archiveprotocol=HTTP",
    "archiveplatformversion=2014:11.09.02.16.15",
    "archiveadmemailaddress=banon@dpi.inpe.br",
    "registrationkey=1234567890",
]


def test_the_example_is_read() -> None:
    request = parse_request("&".join(PAIRS))
    assert isinstance(request, ExclusionRequest)
    assert subject_of("&".join(PAIRS)) is request.subject is ServiceSubject.EXCLUSION_REQUEST
    assert request.archive_service_ibi.spelling == "sid.inpe.br/mtc-m21/2012/06.05.15.34.39"


def test_the_example_is_written_with_its_pairs_sorted() -> None:
    written = parse_request("&".join(PAIRS)).to_url("urlib.net", resolver_service())
    assert written == f"http://urlib.net/J8LNKB5R7W/3FUQHC5?{'&'.join(sorted(PAIRS))}"


def test_a_request_for_exclusion_is_never_one_for_inclusion() -> None:
    excluded = parse_request("&".join(PAIRS))
    included = parse_request("&".join(PAIRS).replace("exclusionRequest", "inclusionRequest"))
    assert isinstance(included, InclusionRequest)
    assert included != excluded
