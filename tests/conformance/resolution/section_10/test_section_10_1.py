"""R §10.1: a resolution without a modifier. `CCSDS\\%20650` is printed for `CCSDS%20650` in the answer (E30)."""

from __future__ import annotations

from ibi.standard.label import parse
from ibi.standard.messages import (
    Acknowledgment,
    Notice,
    ServiceSubject,
    UrlList,
    UrlRequest,
    ip_addresses,
    parse_answer,
    parse_request,
)
from ibi.standard.pairs import Pairs

BASE = "http://mtc-m16c.sid.inpe.br/sid.inpe.br/mtc-m18@80/2008/03.17.15.17"
REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&"
    "servicesubject=urlRequest"
)
ANSWER = "\r\n".join(
    [
        "archiveaddress mtc-m16c.sid.inpe.br",
        "contenttype Data",
        "ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "state Original",
        "timestamp 2009-07-21T14:43:31Z",
        "url http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf",
        "urlkey 1427244889-5349022633744855",
    ]
).encode()
ACKNOWLEDGMENT = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "contenttype=Data&"
    "ibi=rep%20sid.inpe.br/mtc-m18@80/2009/07.21.14.43%20ibip%208JMKD3MGP8W/35MMLL8&"
    "servicesubject=acknowledgment&"
    "state=Original&"
    "url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf&"
    "url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8&"
    "urlkey=1427244889-5349022633744855"
)
CLIENTS = ip_addresses("172.16.44.200 150.163.68.1")


def answer() -> UrlList:
    read = parse_answer(ServiceSubject.URL_REQUEST, Pairs.decode(ANSWER))
    assert isinstance(read, UrlList)
    return read


def test_the_request_is_written_byte_for_byte() -> None:
    request = UrlRequest(CLIENTS, parse("8JMKD3MGP8W/35MMLL8"))
    service = parse("sid.inpe.br/mtc-m18@80/2008/03.17.15.17")
    assert request.to_url("mtc-m16c.sid.inpe.br", service) == f"{BASE}?{REQUEST}"
    assert parse_request(REQUEST) == request


def test_the_answer_is_read_and_written_byte_for_byte() -> None:
    assert answer().encode() == ANSWER


def test_the_acknowledgment_of_that_answer_is_written_byte_for_byte() -> None:
    entry, key = answer().entry(), answer().url_key
    assert entry is not None
    assert entry.url is not None
    assert entry.content_type is not None
    assert key is not None
    acknowledgment = Acknowledgment(
        client_addresses=CLIENTS,
        content_type=entry.content_type,
        ibi=entry.ibi,
        state=entry.state,
        url=entry.url,
        persistent_url="http://urlib.net:80/8JMKD3MGP8W/35MMLL8",
        url_key=key,
    )
    assert acknowledgment.to_query() == ACKNOWLEDGMENT
    assert parse_request(ACKNOWLEDGMENT) == acknowledgment


def test_the_notice_is_one_pair() -> None:
    assert Notice().encode() == b"notice {acknowledgment received}"
    assert parse_answer(ServiceSubject.ACKNOWLEDGMENT, Pairs.decode(Notice().encode())) == Notice()
