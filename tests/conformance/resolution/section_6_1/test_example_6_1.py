"""R Example 6.1: a service request, and the base URLs of R §6.1."""

from __future__ import annotations

from ibi.standard.label import parse
from ibi.standard.messages import (
    ArchiveProtocol,
    UrlRequest,
    ip_addresses,
    parse_request,
    resolver_service,
    service_url,
)

BASE = "http://mtc-m16d.sid.inpe.br/sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
PAIRS = [
    "servicesubject=urlRequest",
    "clientinformation.ipaddress=150.163.2.175",
    "parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5",
]
REQUEST = UrlRequest(ip_addresses("150.163.2.175"), parse("8JMKD3MGP7W/3EPGUE5"))


def test_the_example_is_read_as_a_request_for_a_url() -> None:
    assert parse_request("&".join(PAIRS)) == REQUEST


def test_the_example_is_written_with_its_pairs_sorted() -> None:
    service = parse("sid.inpe.br/mtc-m19@80/2009/08.21.17.02")
    assert REQUEST.to_url("mtc-m16d.sid.inpe.br", service) == f"{BASE}?{'&'.join(sorted(PAIRS))}"


def test_the_base_url_of_the_resolver_ends_in_the_ibi_of_its_service() -> None:
    assert service_url("urlib.net", resolver_service()) == "http://urlib.net/J8LNKB5R7W/3FUQHC5"


def test_the_base_url_of_an_archive_keeps_the_spelling_of_its_label() -> None:
    service = parse("Sid.INPE.br/mtc-m19@80/2009/08.21.17.02")
    assert service_url("host.org:8080", service) == "http://host.org:8080/Sid.INPE.br/mtc-m19@80/2009/08.21.17.02"


def test_the_base_url_of_an_archive_with_https_begins_with_https() -> None:
    assert service_url("host.org", resolver_service(), ArchiveProtocol.HTTPS).startswith("https://host.org/")
